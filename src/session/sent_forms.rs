//! What the last count of a session measured: the messages in the form in which the gateway sent them.
//!
//! The provider counts a prompt after the gateway's history limit, pruning and guard. The transcript holds the whole
//! messages, so a count can only be compared with them after the same steps. The next prompt passes through these steps
//! again, and so does the context that a plan leaves: nothing is subtracted from a count that was never in it.

use crate::context::{Context, ContextMessage};
use crate::gateway::pruning::PruneSettings;
use crate::gateway::ruleset::Rules;
use crate::policy::guard::GuardLimits;
use crate::policy::settings::GuardSettings;
use crate::policy::{Policy, PolicySet};
use crate::session::context_details::{PruneReach, markers};
use crate::store::entry::{MessageSize, Role};
use crate::store::index::Index;
use crate::units::{Chars, Tokens};

/// Factor by which the guard counts the chars of results at most (pruning 6.32).
const GUARD_WEIGHT: f64 = 2.0;

/// The forms of a context's messages in which the gateway sends them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SentForms {
    /// Estimated tokens of each message at the last counted call, which sent the first ones only.
    pub(super) at_count: Vec<u64>,
    /// Estimated tokens of each message in the next prompt.
    pub(super) next: Vec<u64>,
    /// The steps that ran.
    pub(super) steps: PolicySet,
}

/// The settings that decide whether a step can change a prompt.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepSettings<'a> {
    pub(super) rules: &'a Rules,
    /// Window of the model itself, in tokens.
    pub(super) model_window: Tokens,
    pub(super) guard: GuardSettings,
    /// Pruning's settings, if it is configured and a run has touched the cache.
    pub(super) prune: Option<&'a PruneSettings>,
    /// Window of the session, in tokens.
    pub(super) window: Tokens,
    /// Turns; 0 for no limit.
    pub(super) history_limit: f64,
}

impl SentForms {
    /// Whether the next prompt has the messages of the counted one in the same forms.
    pub(super) fn is_sent_again(&self) -> bool {
        self.next.starts_with(&self.at_count)
    }
}

impl StepSettings<'_> {
    /// Returns the steps that may change a context, by sizes alone.
    pub(super) fn steps_for(&self, index: &Index, context: &Context) -> PolicySet {
        self.steps_with(index, context, || self.has_marks(index, context))
    }

    /// Does the same where `has_marks` knows whether the transcript says which messages were pruned.
    pub(super) fn steps_with(
        &self,
        index: &Index,
        context: &Context,
        has_marks: impl FnOnce() -> bool,
    ) -> PolicySet {
        let messages = &context.messages;
        let turns = messages.iter().filter(|message| message.size.role == Role::User).count();
        PolicySet::NONE
            .with(Policy::History, self.limits_history() && turns as f64 > self.history_limit)
            .with(Policy::Prune, self.may_prune(index, context) || self.prune.is_some() && has_marks())
            .with(Policy::Guard, self.may_guard(messages))
    }

    pub(super) fn limits_history(&self) -> bool {
        self.history_limit > 0.0
    }

    /// Whether the transcript says which messages were pruned.
    pub(super) fn has_marks(&self, index: &Index, context: &Context) -> bool {
        markers(self.rules, index, &context.path).next().is_some()
    }

    /// Whether the messages may fill enough of the window to be pruned.
    fn may_prune(&self, index: &Index, context: &Context) -> bool {
        let Some(settings) = self.prune else { return false };
        let reach = PruneReach::new((self.rules, settings, self.window), index, context, None);
        reach.may_prune(context.messages.len())
    }

    fn may_guard(&self, messages: &[ContextMessage]) -> bool {
        let Some(limits) = self.guard_limits() else { return false };
        let total: Chars = messages.iter().map(|message| most_guard_chars(&message.size)).sum();
        let largest = messages.iter().filter(|message| message.size.role == Role::ToolResult);
        total > limits.budget
            || largest.map(|it| most_guard_chars(&it.size)).any(|chars| chars > limits.single)
    }

    pub(super) fn guard_limits(&self) -> Option<GuardLimits> {
        GuardLimits::under(self.rules, self.model_window, &self.guard)
    }
}

/// Returns the chars of a message that the guard counts at most.
pub(super) fn most_guard_chars(size: &MessageSize) -> Chars {
    let chars = size.pi_chars.value().unwrap_or(Chars::ZERO);
    if size.role == Role::ToolResult { chars * GUARD_WEIGHT } else { chars }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;
    use crate::session::testing::{call, loaded_session, result, transcript, user};

    /// The steps that may act on a result of `chars` in a window of 10,000 tokens, of which pruning starts at 30 %.
    fn steps_of(rules: Ruleset, text: &str, marker: &str) -> PolicySet {
        let mut entries = vec![user("go"), call("c", "exec", "{}"), result("c", "exec", text, "")];
        entries.extend((0..3).map(|_| call("d", "exec", "{}")));
        entries.push(marker.to_owned());
        let entries: Vec<String> = entries.into_iter().filter(|entry| !entry.is_empty()).collect();
        let session = loaded_session(&transcript(&entries), 10_000.0);
        let prune = PruneSettings::default();
        let steps = StepSettings {
            rules: rules.rules(),
            model_window: Tokens(1e9),
            guard: GuardSettings::default(),
            prune: Some(&prune),
            window: Tokens(10_000.0),
            history_limit: 0.0,
        };
        steps.steps_for(&session.index, &session.context)
    }

    #[test]
    fn pruning_may_act_on_a_result_that_fills_its_share_of_the_window() {
        let pruned = PolicySet::of(&[Policy::Prune]);
        assert_eq!(steps_of(Ruleset::V2026_3_2, &"x".repeat(6_000), ""), PolicySet::NONE);
        assert_eq!(steps_of(Ruleset::V2026_3_2, &"x".repeat(12_000), ""), pruned);
        assert_eq!(steps_of(Ruleset::V2026_9_2, &"道".repeat(3_000), ""), pruned, "4 chars each");
    }

    #[test]
    fn pruning_may_act_again_where_the_transcript_says_what_it_pruned() {
        let marker = r#"{"type":"custom","customType":"openclaw.cache-ttl","data":{"timestamp":5}}"#;
        assert_eq!(steps_of(Ruleset::V2026_9_2, "short", ""), PolicySet::NONE);
        assert_eq!(steps_of(Ruleset::V2026_9_2, "short", marker), PolicySet::of(&[Policy::Prune]));
        assert_eq!(steps_of(Ruleset::V2026_3_2, "short", marker), PolicySet::NONE, "it keeps no marks");
    }
}
