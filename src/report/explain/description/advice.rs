//! Advice in words.

use crate::format::{format_estimate, quantity};
use crate::gateway::setting_value::display_text;
use crate::js::Value;
use crate::policy::settings::SettingId;
use crate::report::explain::advice::{Advice, AdviceOutcome, AdvisedChange, ReplacedValue};
use crate::report::explain::explanation::Explanation;
use crate::report::explain::facts::Finding;
use crate::report::explain::finding::FindingClass;

/// Shown for a value that has no text.
const NO_VALUE: &str = "none";

impl Explanation {
    /// Returns whether a change helps, and the headline of the advice.
    pub fn advice_headline(&self) -> (bool, String) {
        let helps = self.advice.iter().any(|advice| advice.fits_all);
        let tried = quantity(self.tried_count, "change");
        let head = match (helps, self.no_setting_helps()) {
            (true, _) => format!("What would have fixed it ({tried} tried)"),
            (false, true) => format!("No setting would have helped: {tried} tried"),
            (false, false) => format!("None of the {tried} tried would have helped"),
        };
        (helps, head)
    }
}

impl Explanation {
    /// Answers whether the changes that the person asked about help: `With your historyLimit none → 50: every call fits.`
    pub fn asked_line(&self) -> Option<String> {
        let asked = self.asked.as_ref()?;
        Some(format!("With your {}: {}.", asked.description(), asked.outcome.description()))
    }

    /// Returns `Set contextPruning.ttl to 30m: every call fits (replayed).`, that nothing would have helped,
    /// or the way out of what the verdict found; `None` if there is nothing to do. After a commit that helped, says so first.
    pub fn next_step(&self) -> Option<String> {
        let Some(tokens) = self.fits_since_commit else { return self.way_out() };
        let fits =
            format!("Fits now: since the commit, the next prompt has {} tokens.", format_estimate(tokens));
        Some(self.way_out().map_or_else(|| fits.clone(), |later| format!("{fits} For later: {later}")))
    }

    fn way_out(&self) -> Option<String> {
        if let Some(step) = self.verdict().and_then(Finding::step) {
            return Some(step);
        }
        if let Some(best) = self.advice.first().filter(|advice| advice.fits_all) {
            let change = |change: &AdvisedChange| format!("{} to {}", change.key(), change.describe_after());
            let changes = best.changes.iter().map(change).collect::<Vec<_>>().join(" and ");
            return Some(format!("Set {changes}: {} (replayed).", best.outcome.description()));
        }
        self.has_overflowed().then(|| format!("{}. {}", self.advice_headline().1, self.immediate_step()))
    }

    /// Returns a thing to do now that needs no setting.
    fn immediate_step(&self) -> &'static str {
        match self.findings.first().map(|finding| finding.class) {
            Some(FindingClass::UserMessage) => "Send it in parts or as a file.",
            Some(FindingClass::ImageBloat | FindingClass::BytesLimit) => {
                "Send fewer or smaller images, and branch before the large ones."
            }
            Some(FindingClass::SingleResult | FindingClass::ParallelResults) => {
                "Have large output written to a file and read in parts."
            }
            Some(FindingClass::FixedOverhead | FindingClass::ImpossibleBudget) => {
                "Use fewer tools and files, or a model with a larger window."
            }
            Some(FindingClass::ModelSwitch) => "Switch back, and compact before you switch.",
            _ => "Compact it with `commit --policy compact`, or use a model with a larger window.",
        }
    }
}

impl Advice {
    /// Formats the changes: `contextPruning.ttl 1h → 30m`, separated by commas.
    pub fn description(&self) -> String {
        self.changes.iter().map(AdvisedChange::description).collect::<Vec<_>>().join(", ")
    }

    /// Says in a word why a change that lets the recorded calls fit is no solution; otherwise empty.
    pub(super) fn reservation(&self) -> &'static str {
        match self.outcome {
            _ if self.fits_all || self.overflows() > 0 => "",
            AdviceOutcome::LacksRoom => " (tight)",
            AdviceOutcome::Postpones => " (later)",
            AdviceOutcome::Unproven => " (unsure)",
            _ => "",
        }
    }

    /// Returns the name of the file to change.
    pub fn file_name(&self) -> String {
        let own = self.changes.iter().find_map(|change| change.file.as_deref());
        own.map_or_else(|| "openclaw.json".to_owned(), |file| file.display().to_string())
    }
}

impl AdvisedChange {
    fn description(&self) -> String {
        format!("{} {} → {}", self.key(), self.describe_before(), self.describe_after())
    }

    /// Formats the value before the change.
    pub fn describe_before(&self) -> String {
        match &self.before {
            ReplacedValue::Off => "off".to_owned(),
            ReplacedValue::Set(value) => self.text(value),
            ReplacedValue::Unknown => NO_VALUE.to_owned(),
        }
    }

    /// Formats the new value.
    pub fn describe_after(&self) -> String {
        // The settings pane has a switch for the mode, but the file has its name.
        let value = if self.id == SettingId::PruneMode { &self.value } else { &self.setting_value };
        self.text(value)
    }

    fn text(&self, value: &Value) -> String {
        let text = display_text(self.unit, value);
        if text.is_empty() { NO_VALUE.to_owned() } else { text }
    }
}

impl AdviceOutcome {
    /// Describes the outcome in a few words.
    pub fn description(self) -> String {
        let fixed = match self {
            Self::TooManyBytes => "the request would still have too many bytes",
            Self::FitsAfterCompaction => "the call is refused first, and fits after the compaction",
            Self::TooLarge => "the call still does not fit",
            Self::LacksRoom => "fits, but leaves less room than a typical turn needs",
            Self::Postpones => "the recorded calls fit, but the session grows on and overflows later",
            Self::Unproven => "not enough to be sure: the refusal does not say how much was sent",
            Self::Fits { compactions: 0 } => "every call fits",
            Self::Fits { compactions } => {
                return format!("every call fits, with {}", quantity(compactions, "compaction"));
            }
            Self::CallsTooLarge(calls) => return format!("{} would not fit", quantity(calls, "call")),
            Self::OthersTooLarge(1) => "the call fits, but 1 other call does not",
            Self::OthersTooLarge(others) => {
                return format!("the call fits, but {} do not", quantity(others, "other call"));
            }
        };
        fixed.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_counts_compactions_and_other_calls_only_if_there_are_any() {
        let said = AdviceOutcome::description;
        assert_eq!(said(AdviceOutcome::Fits { compactions: 0 }), "every call fits");
        assert_eq!(said(AdviceOutcome::Fits { compactions: 2 }), "every call fits, with 2 compactions");
        assert_eq!(said(AdviceOutcome::OthersTooLarge(1)), "the call fits, but 1 other call does not");
        assert_eq!(said(AdviceOutcome::OthersTooLarge(3)), "the call fits, but 3 other calls do not");
        assert_eq!(said(AdviceOutcome::TooLarge), "the call still does not fit");
    }
}
