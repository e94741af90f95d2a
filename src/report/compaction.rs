//! A planned compaction in numbers: whether it would fire, where it cuts, and the tokens that it summarises, keeps and
//! loses.

use std::collections::HashSet;
use std::ops::Range;

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::tokens::chars4::estimate_or_zero;
use crate::context::tokens::usage::last_usage;
use crate::gateway::compaction::CompactionSettings;
use crate::ids::EntryIx;
use crate::plan::Plan;
use crate::policy::Reason;
use crate::policy::compact::{BranchEntry, Preparation};
use crate::session::{LoadedSession, UnmeasuredReason};
use crate::store::entry::{EntryKind, Role};
use crate::units::Tokens;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompactionView {
    /// The trigger of the runtime's compaction.
    pub trigger: CompactionTrigger,
    /// Tokens of the context as the runtime stores them with the compaction (compaction 3.9); NaN if the usage is
    /// malformed.
    pub tokens_before: Tokens,
    pub first_kept: EntryIx,
    /// The effect of the cut on a turn.
    pub split: TurnSplit,
    /// The previous compaction's summary, which the new one includes (compaction 3.12).
    pub previous: MessageTotals,
    /// Messages summarised as history.
    pub history: MessageTotals,
    /// Messages summarised as the start of a split turn.
    pub turn_prefix: MessageTotals,
    /// Messages kept verbatim.
    pub kept: MessageTotals,
    /// Messages that the previous compaction kept and this one loses (compaction 3.3).
    pub lost: MessageTotals,
    /// Tokens assumed for the summary.
    pub summary_tokens: u64,
    /// Estimated tokens of the context after the compaction.
    pub tokens_after: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MessageTotals {
    pub messages: u64,
    pub tokens: u64,
}

/// The effect of the cut on a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnSplit {
    /// The cut is between two turns.
    None,
    /// The cut is inside a turn.
    Turn,
    /// The cut is between two turns, but an entry before the user message makes the runtime treat the whole previous
    /// turn as the start of a split one (compaction 3.8c).
    Misdetected,
}

impl TurnSplit {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Turn => "turn",
            Self::Misdetected => "false",
        }
    }
}

/// The trigger of the runtime's automatic compaction (compaction 2.7, 2.11).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CompactionTrigger {
    /// Tokens from the last answer's own usage; `None` without usage.
    pub tokens: Option<Tokens>,
    /// The runtime compacts above this number of tokens.
    pub threshold: Tokens,
    /// Whether `tokens` exceed the threshold.
    pub fires: bool,
}

impl LoadedSession {
    /// Returns whether the runtime would compact after the last answer on the path. Only that answer's usage counts.
    pub fn compaction_trigger(&self, plan: &Plan) -> CompactionTrigger {
        self.compaction_trigger_with(&plan.settings.compaction)
    }

    /// Does the same under these settings. Ignores counts from before a summary and from the branch that this one was
    /// copied from (compaction 2.13).
    pub fn compaction_trigger_with(&self, settings: &CompactionSettings) -> CompactionTrigger {
        let (window, rules) = (self.window.tokens, self.ruleset.id.rules());
        let trigger = settings.trigger(self.limits.runtime_window, window);
        let stale = matches!(
            self.measured,
            Err(UnmeasuredReason::SinceCompaction
                | UnmeasuredReason::SinceReset
                | UnmeasuredReason::SinceCommit)
        );
        let usage = last_usage(&self.index, &self.context.path).filter(|_| !stale);
        let tokens = usage.map(|(_, usage)| usage.context_tokens);
        CompactionTrigger {
            tokens,
            threshold: trigger.tokens,
            fires: tokens.is_some_and(|tokens| {
                settings.should_compact_under(rules, tokens, self.limits.runtime_window)
                    || trigger.before_chat_turn && trigger.is_reached(tokens)
            }),
        }
    }

    /// Returns the compaction of a plan; `None` if compaction is off or has nothing to do.
    pub fn compaction_view(&self, plan: &Plan) -> Option<CompactionView> {
        let preparation = plan.compaction?;
        let branch = &self.details.as_ref()?.branch;
        let lost_until = preparation.previous_compaction.unwrap_or(0).min(preparation.start);
        let sent: HashSet<EntryIx> = self.context.messages.iter().map(|message| message.entry).collect();
        let lost = branch[..lost_until].iter().filter(|entry| sent.contains(&entry.entry));
        Some(CompactionView {
            trigger: self.compaction_trigger(plan),
            tokens_before: preparation.tokens_before,
            first_kept: preparation.first_kept,
            split: detect_split(branch, &preparation),
            previous: previous_summary(plan),
            history: message_totals(branch, preparation.history(), preparation.previous_compaction),
            turn_prefix: message_totals(branch, preparation.turn_prefix(), preparation.previous_compaction),
            kept: message_totals(branch, kept_range(branch, &preparation), preparation.previous_compaction),
            lost: lost.fold(MessageTotals::default(), add_entry),
            summary_tokens: plan.settings.summary_tokens,
            tokens_after: plan
                .effects
                .iter()
                .find(|effect| effect.policy == crate::policy::Policy::Compact)?
                .tokens_after,
        })
    }
}

fn previous_summary(plan: &Plan) -> MessageTotals {
    let fates = plan.fates().iter().zip(&*plan.tokens_before);
    fates.filter(|(fate, _)| fate.reason == Reason::PreviousSummary).fold(
        MessageTotals::default(),
        |part, (_, tokens)| MessageTotals { messages: part.messages + 1, tokens: part.tokens + tokens },
    )
}

fn kept_range(branch: &[BranchEntry], preparation: &Preparation) -> Range<usize> {
    preparation.cut.first_kept..branch.len()
}

/// Sums the messages of a range. The new compaction does not include the previous summary, so it is left out.
fn message_totals(branch: &[BranchEntry], range: Range<usize>, previous: Option<usize>) -> MessageTotals {
    range.filter(|at| Some(*at) != previous).map(|at| &branch[at]).fold(MessageTotals::default(), add_entry)
}

fn add_entry(part: MessageTotals, entry: &BranchEntry) -> MessageTotals {
    match entry.message {
        Some(size) => {
            MessageTotals { messages: part.messages + 1, tokens: part.tokens + estimate_or_zero(&size) }
        }
        None => part,
    }
}

fn detect_split(branch: &[BranchEntry], preparation: &Preparation) -> TurnSplit {
    if preparation.cut.turn_start.is_none() {
        return TurnSplit::None;
    }
    let cut = &branch[preparation.cut.first_kept];
    let silent =
        !matches!(cut.kind, EntryKind::Message | EntryKind::CustomMessage | EntryKind::BranchSummary);
    let first = branch[preparation.cut.first_kept..].iter().find(|entry| entry.kind == EntryKind::Message);
    let before_user = first.is_some_and(|entry| entry.role() == Some(Role::User));
    if silent && before_user { TurnSplit::Misdetected } else { TurnSplit::Turn }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;
    use crate::policy::prune::Gate;
    use crate::policy::{Policy, PolicySet, PolicySettings, Reason};
    use crate::session::testing::{call, entry_ix, loaded_session, message, result, transcript, user};

    fn view(entries: &[String], keep: f64) -> CompactionView {
        let session = loaded_session(&transcript(entries), 200_000.0).load_details().expect("reads");
        let mut settings = PolicySettings {
            enabled: PolicySet::of(&[Policy::Compact]),
            ..session.configured_settings.clone()
        };
        settings.compaction.keep_recent_tokens = Tokens(keep);
        let plan = session.plan(&settings, Gate::Off).expect("plans");
        session.compaction_view(&plan).expect("something to compact")
    }

    #[test]
    fn a_cut_inside_a_turn_lists_the_messages_before_it() {
        let entries = [
            user("12345678"),
            user("12345678"),
            call("c1", "exec", "{}"),
            result("c1", "exec", "12345678", ""),
        ];
        let view = view(&entries, 3.0);
        assert_eq!((view.split, view.first_kept), (TurnSplit::Turn, entry_ix(2)));
        assert_eq!((view.history.messages, view.turn_prefix.messages, view.kept.messages), (1, 1, 2));
    }

    #[test]
    fn an_entry_between_turns_makes_the_turn_before_look_split() {
        let touch =
            r#"{"type":"custom","customType":"openclaw.cache-ttl","data":{"timestamp":1}}"#.to_owned();
        let entries = [user("12345678"), call("c1", "exec", "{}"), touch, user("12345678")];
        let view = view(&entries, 2.0);
        assert_eq!(
            (view.split, view.history.messages, view.turn_prefix.messages),
            (TurnSplit::Misdetected, 0, 2)
        );
    }

    #[test]
    fn the_newest_rules_summarise_previously_kept_messages_too() {
        let before =
            r#"{"type":"compaction","summary":"so far","firstKeptEntryId":"e0","tokensBefore":9}"#.to_owned();
        let entries = [user("12345678"), before, user("12345678"), user("12345678")];
        let mut session = loaded_session(&transcript(&entries), 200_000.0);
        session.ruleset.id = Ruleset::V2026_9_6;
        let session = session.load_details().expect("reads");
        let mut settings = PolicySettings::built_in(Ruleset::V2026_9_6, Tokens(200_000.0));
        settings.enabled = PolicySet::of(&[Policy::Compact]);
        settings.compaction.keep_recent_tokens = Tokens(2.0);
        let plan = session.plan(&settings, Gate::Off).expect("plans");
        let view = session.compaction_view(&plan).expect("something to compact");
        assert_eq!((view.lost.messages, view.history.messages, view.kept.messages), (0, 2, 1));
        let reasons: Vec<Reason> = plan.fates().iter().map(|fate| fate.reason).collect();
        assert_eq!(
            reasons,
            [
                Reason::PreviousSummary,
                Reason::SummarisedHistory,
                Reason::SummarisedHistory,
                Reason::KeptRecent
            ]
        );
    }

    #[test]
    fn a_session_compacts_strictly_above_the_window_less_the_reserve() {
        let answer = |total: u32| {
            let usage = format!(r#""usage":{{"input":{total},"totalTokens":{total}}}"#);
            message(&format!(r#"{{"role":"assistant","stopReason":"stop","content":[],{usage}}}"#))
        };
        let settings =
            CompactionSettings { reserve_tokens: Tokens(20_000.0), ..CompactionSettings::default() };
        let trigger = |total, measured| {
            let session = loaded_session(&transcript(&[user("go"), answer(total)]), 200_000.0);
            LoadedSession { measured: Err(measured), ..session }.compaction_trigger_with(&settings)
        };
        assert!(!trigger(180_000, UnmeasuredReason::NoUsage).fires);
        assert!(trigger(180_001, UnmeasuredReason::NoUsage).fires);
        let stale = trigger(180_001, UnmeasuredReason::SinceCompaction);
        assert_eq!((stale.tokens, stale.threshold, stale.fires), (None, Tokens(180_000.0), false));
    }

    #[test]
    fn previously_kept_messages_are_listed_as_lost() {
        let before =
            r#"{"type":"compaction","summary":"so far","firstKeptEntryId":"e0","tokensBefore":9}"#.to_owned();
        let view = view(&[user("12345678"), before, user("12345678"), user("12345678")], 2.0);
        assert_eq!((view.lost.messages, view.history.messages, view.kept.messages), (1, 1, 1));
    }
}
