//! The part of a version's rules that repair needs, with the parts that depend on the model.

use crate::gateway::ruleset::{PairingRule, Rules, Ruleset};

/// Text of an invented result where a model is called through the Responses API (compaction 6.8).
const SHORT_RESULT_TEXT: &str = "aborted";
/// Text of an invented result (compaction 6.3), first that of clawdbot, as the gateway was called.
pub(super) const MISSING_RESULT_TEXTS: [&str; 2] = [
    "[clawdbot] missing tool result in session history; inserted synthetic error result for transcript repair.",
    "[openclaw] missing tool result in session history; inserted synthetic error result for transcript repair.",
];

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

    /// Returns the text of an invented result.
    pub(super) fn missing_result_text(self) -> &'static str {
        let [of_clawdbot, of_openclaw] = MISSING_RESULT_TEXTS;
        match self.rules.marker {
            _ if self.is_responses_api && self.rules.pairing.short_for_responses => SHORT_RESULT_TEXT,
            marker if marker.starts_with("clawdbot.") => of_clawdbot,
            _ => of_openclaw,
        }
    }
}
