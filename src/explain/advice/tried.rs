//! Changes as the rules read them.

use crate::explain::advice::{Change, WINDOW};
use crate::inspect::Inspection;
use crate::js::Value;
use crate::policy::StepSettings;
use crate::policy::settings::{StepSetting, settings_of};

/// Changed settings as the rules read them.
#[derive(Debug)]
pub(super) struct Tried {
    /// Of every step.
    pub settings: StepSettings,
    /// Pruning is on.
    pub prune_on: bool,
    /// A setting of pruning is changed, so that it takes part.
    pub prunes: bool,
    /// A setting of compaction is changed, or what its trigger reads: the session decides anew when to compact.
    pub compacts: bool,
    /// Window of the runtime's own trigger, in tokens, where that is changed.
    pub runtime_window: Option<f64>,
}

impl Tried {
    pub(super) fn new(inspection: &Inspection, changes: &[Change]) -> Self {
        let begins = |with: &str| changes.iter().any(|change| change.key.starts_with(with));
        let window = changes.iter().find(|change| change.key == WINDOW).and_then(|it| it.tuned.as_f64());
        Self {
            settings: settings_under(inspection, changes),
            prune_on: inspection.configured_on || begins("contextPruning."),
            prunes: begins("contextPruning."),
            compacts: begins("compaction.") || window.is_some(),
            runtime_window: window,
        }
    }
}

/// The configured settings with these changes.
pub(super) fn settings_under(inspection: &Inspection, changes: &[Change]) -> StepSettings {
    let rows = &inspection.settings;
    let value = |row: &StepSetting| {
        let own = changes.iter().find(|change| change.key == row.key());
        own.map_or_else(|| row.row.value.clone(), |change| change.tuned.clone())
    };
    let values: Vec<Value> = rows.iter().map(value).collect();
    settings_of(rows, &values, &inspection.configured)
}
