//! The part of a version's rules that repair needs, with the parts that depend on the model.

use crate::gateway::ruleset::{PairingRule, Rules, Ruleset};

/// A version's repair for one model.
#[derive(Debug, Clone, Copy)]
pub struct RepairRules {
    pub rules: &'static Rules,
    /// The model is called through the Responses API.
    pub is_responses_api: bool,
}

/// The repair of the reference release.
impl Default for RepairRules {
    fn default() -> Self {
        Self { rules: Ruleset::default().rules(), is_responses_api: false }
    }
}

impl RepairRules {
    pub fn pairing(self) -> &'static PairingRule {
        &self.rules.pairing
    }

    /// Whether the text of an invented result is one word.
    pub(super) fn has_short_results(self) -> bool {
        self.is_responses_api && self.rules.pairing.short_for_responses
    }
}
