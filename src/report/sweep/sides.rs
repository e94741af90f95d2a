//! Settings with a name side by side: the configuration, the tuned settings and presets, replayed as the cells of a
//! sweep are.

use std::sync::Arc;

use crate::policy::PolicySet;
use crate::replay::{Settings, TraceTotals};
use crate::report::regret::RegretFinder;
use crate::report::sweep::{Cell, replay_cells, settings_under};
use crate::report::timeline::RecordedSession;
use crate::session::path_texts::IsWanted;
use crate::session::setting_change::SettingChange;
use crate::session::simulated_settings::simulate_settings;
use crate::session::{ContextDetails, LoadedSession};
use crate::store::body::BodyError;
use crate::units::Moment;

#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SideName {
    #[default]
    Config,
    /// The settings of the tuning pane.
    Tuning,
    Preset(String),
}

impl SideName {
    pub fn label(&self) -> &str {
        match self {
            Self::Config => "config",
            Self::Tuning => "tuning",
            Self::Preset(name) => name,
        }
    }
}

/// Settings that are compared with others.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    pub name: SideName,
    /// The differences from the configuration.
    pub changes: Vec<SettingChange>,
    /// The policies of the replay.
    pub policies: PolicySet,
}

/// A session under the settings of a side.
#[derive(Debug, Clone, PartialEq)]
pub struct SideOutcome {
    pub cell: Cell,
    /// Tokens of the next prompt; `None` if no plan can be made.
    pub next_call_tokens: Option<u64>,
    /// Whether the gateway refuses the window, so that every message fails.
    pub is_window_refused: bool,
}

/// The compared sides, with an outcome for each.
#[derive(Debug, Clone, PartialEq)]
pub struct SideComparison {
    pub sides: Vec<Side>,
    pub outcomes: Vec<SideOutcome>,
}

/// Replays a session under every side; `None` once the caller cancelled.
///
/// # Errors
/// When an entry cannot be read again.
pub fn compare_sides(
    recording: &RecordedSession,
    sides: Vec<Side>,
    now_ms: Moment,
    wanted: IsWanted<'_>,
) -> Result<Option<SideComparison>, BodyError> {
    let session = &recording.session;
    let bare = |(at, side): (usize, &Side)| {
        let totals = TraceTotals::default();
        let (points, changed_keys) = (vec![at], side.changes.len());
        let cell = Cell { points, changed_keys, distance: 0.0, totals, regret: None };
        (cell, settings_under(session, &side.changes, side.policies).0)
    };
    let bare: Vec<(Cell, Settings)> = sides.iter().enumerate().map(bare).collect();
    let Some(cells) = replay_cells(recording, &bare, wanted, &|_, _| {}) else { return Ok(None) };
    let Some(detailed) = with_details(session, wanted)? else { return Ok(None) };
    let finder = RegretFinder::new(session, &recording.inputs);
    let outcome = |((side, cell), (_, settings)): ((&Side, Cell), &(Cell, Settings))| {
        let regret = finder.simulated(settings).ok().map(|regret| regret.totals());
        let simulated = simulate_settings(session, &side.changes, side.policies);
        let gate = detailed.gate(simulated.prune_on, &simulated.policies.prune, now_ms);
        let plan = detailed.plan(&simulated.policies, gate).ok();
        wanted().then(|| SideOutcome {
            cell: Cell { regret, ..cell },
            next_call_tokens: plan.map(|plan| detailed.next_budget_after(&plan).total()),
            is_window_refused: simulated.refused_window.is_some(),
        })
    };
    let outcomes: Option<Vec<SideOutcome>> = sides.iter().zip(cells).zip(&bare).map(outcome).collect();
    Ok(outcomes.map(|outcomes| SideComparison { sides, outcomes }))
}

/// Reads the texts of a session's messages, as some policies cannot decide by sizes.
fn with_details(session: &LoadedSession, wanted: IsWanted<'_>) -> Result<Option<LoadedSession>, BodyError> {
    if session.details.is_some() {
        return Ok(Some(session.clone()));
    }
    let LoadedSession { source, index, context, .. } = session;
    let rules = session.ruleset.id.rules();
    let details = ContextDetails::read_while(source, index, context, rules, None, &mut || wanted())?;
    let read = |details| LoadedSession { details: Some(Arc::new(details)), ..session.clone() };
    Ok(details.map(read))
}
