//! Repair as a trimming policy.

use crate::gateway::ruleset::Rules;
use crate::policy::message_list::MessageList;
use crate::policy::policy_set::Phase;
use crate::policy::repair::step::repair_list;
use crate::policy::trimming::{PolicyError, PolicyInput, PolicyOutcome, TrimmingPolicy};

/// Pairs calls with results (compaction 6).
#[derive(Debug)]
pub struct Repair;

impl TrimmingPolicy for Repair {
    fn word(&self) -> &'static str {
        "repair"
    }

    fn rule(&self) -> &'static str {
        "compaction 6"
    }

    fn phase(&self) -> Phase {
        Phase::Run
    }

    fn is_supported_by(&self, _: &Rules) -> bool {
        true
    }

    fn needs_features(&self, _: &Rules) -> bool {
        true
    }

    fn run(&self, list: &mut MessageList<'_>, input: &PolicyInput<'_>) -> Result<PolicyOutcome, PolicyError> {
        let repaired = repair_list(list, input.repair_rules());
        // Pairing may move or add messages without changing the fate of one.
        Ok(PolicyOutcome { changed: repaired.changed, ..PolicyOutcome::new(repaired.fates) })
    }
}
