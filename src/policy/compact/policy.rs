//! Compaction as a trimming policy.

use crate::gateway::ruleset::Rules;
use crate::js::Object;
use crate::policy::compact::step::compact_list;
use crate::policy::message_list::MessageList;
use crate::policy::policy_set::Phase;
use crate::policy::settings::PolicySettings;
use crate::policy::trimming::{
    PolicyDetails, PolicyError, PolicyInput, PolicyOutcome, TrimmingPolicy, Windows,
};

/// Replaces old messages with a summary (compaction 1–5).
#[derive(Debug)]
pub struct Compact;

impl TrimmingPolicy for Compact {
    fn word(&self) -> &'static str {
        "compact"
    }

    fn rule(&self) -> &'static str {
        "compaction 3"
    }

    fn phase(&self) -> Phase {
        Phase::Transcript
    }

    fn is_supported_by(&self, _: &Rules) -> bool {
        true
    }

    fn needs_features(&self, _: &Rules) -> bool {
        false
    }

    fn settings_json(&self, settings: &PolicySettings, _: Windows) -> Object {
        Object::from([
            ("reserveTokens", settings.compaction.reserve_tokens.get()),
            ("keepRecentTokens", settings.compaction.keep_recent_tokens.get()),
        ])
    }

    fn run(&self, list: &mut MessageList<'_>, input: &PolicyInput<'_>) -> Result<PolicyOutcome, PolicyError> {
        let branch = input.branch.ok_or(PolicyError::NeedsTexts)?;
        let keep_tokens = input.settings.compaction.keep_recent_tokens;
        let summary_tokens = input.settings.summary_tokens;
        let compacted = compact_list(list, input.rules(), &branch, keep_tokens, summary_tokens)?;
        let outcome = PolicyOutcome::new(compacted.fates);
        // A summary is added even if no message is removed.
        let changed = outcome.changed || compacted.preparation.is_some();
        let details = compacted.preparation.map(PolicyDetails::Compaction);
        Ok(PolicyOutcome { changed, details, ..outcome })
    }
}
