//! The history turn limit of gateways since 2026.7.1: messages before the conversation always stay (releases R80).
//! Since 2026.8.1 it drops turns in batches, so that the start of a prompt stays the same for some turns and the
//! provider's cache stays valid (pruning 8.4).
//!
//! With a limit of 10, a 16th turn drops the first six, and the next five turns drop nothing.

use crate::gateway::ruleset::{HistoryLimitRule, Rules};
use crate::js::Object;
use crate::policy::fate::{Fate, MessageFate};
use crate::policy::message_list::MessageList;
use crate::policy::policy_set::Phase;
use crate::policy::reason::Reason;
use crate::policy::settings::PolicySettings;
use crate::policy::trimming::{PolicyError, PolicyInput, PolicyOutcome, TrimmingPolicy, Windows};
use crate::store::entry::{MessageSize, Role};

/// Keeps only the last user turns (pruning 2).
#[derive(Debug)]
pub struct HistoryPolicy;

impl TrimmingPolicy for HistoryPolicy {
    fn word(&self) -> &'static str {
        "history"
    }

    fn rule(&self) -> &'static str {
        "pruning 2"
    }

    fn phase(&self) -> Phase {
        Phase::Run
    }

    fn is_supported_by(&self, _: &Rules) -> bool {
        true
    }

    fn needs_features(&self, _: &Rules) -> bool {
        false
    }

    fn settings_json(&self, settings: &PolicySettings, _: Windows) -> Object {
        Object::from([("historyLimit", settings.history_limit)])
    }

    fn run(&self, list: &mut MessageList<'_>, input: &PolicyInput<'_>) -> Result<PolicyOutcome, PolicyError> {
        let limit = input.settings.history_limit;
        let sent = list.len().saturating_sub(usize::from(input.ends_with_answer));
        let roles: Vec<Role> = list.sizes().map(|size| size.role).take(sent).collect();
        let loaded = loaded_history(&roles);
        Ok(PolicyOutcome::new(limit_history_under(input.rules(), list, limit, loaded)))
    }
}

/// Messages that a turn limit keeps: a prelude, and those from a position on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetainedRange {
    /// Number of leading messages that stay.
    pub prelude: usize,
    /// First message after the prelude that stays; equal to `prelude` if none is dropped.
    pub from: usize,
}

impl RetainedRange {
    const ALL: Self = Self { prelude: 0, from: 0 };

    pub fn contains(&self, at: usize) -> bool {
        at < self.prelude || at >= self.from
    }
}

/// Returns the number of messages that a run loaded as its history. The limit applies to them before the new message is
/// added (pruning 2.1), so a list that ends in the middle of a run has the messages of this run behind them.
pub fn loaded_history(roles: &[Role]) -> usize {
    let running = roles.last().is_some_and(|last| *last != Role::Assistant);
    let message = roles.iter().rposition(|role| *role == Role::User);
    message.filter(|_| running).unwrap_or(roles.len())
}

/// Drops those of the first `loaded` messages that are beyond a version's limit, and returns the fate of every message of
/// the old list.
pub fn limit_history_under(
    rules: &Rules,
    list: &mut MessageList,
    limit: f64,
    loaded: usize,
) -> Vec<MessageFate> {
    let roles: Vec<Role> = list.sizes().map(|size| size.role).take(loaded).collect();
    let kept = match rules.history_limit {
        HistoryLimitRule::None => RetainedRange::ALL,
        HistoryLimitRule::Exact => {
            RetainedRange { prelude: 0, from: first_kept(roles.iter().copied(), limit) }
        }
        HistoryLimitRule::ExactWithPrelude => retained_with_prelude(&roles, limit),
        HistoryLimitRule::Batches => retained_in_batches(&roles, limit),
    };
    let fate = |(at, size): (usize, MessageSize)| {
        if kept.contains(at) {
            MessageFate::kept(&size, Reason::Untouched)
        } else {
            MessageFate::removed(&size, Fate::Dropped, Reason::BeyondHistoryLimit)
        }
    };
    let fates = list.sizes().enumerate().map(fate).collect();
    list.messages_mut().drain(kept.prelude..kept.from);
    fates
}

/// Keeps the last `limit` turns, and the leading messages of other roles than user and assistant (releases R80).
pub fn retained_with_prelude(roles: &[Role], limit: f64) -> RetainedRange {
    let from = first_kept(roles.iter().copied(), limit);
    let prelude = roles.iter().position(|role| matches!(role, Role::User | Role::Assistant));
    RetainedRange { prelude: prelude.unwrap_or(roles.len()).min(from), from }
}

/// Keeps at least t = ⌊limit⌋ and at most m = ⌈1.5 t⌉ turns: of more than m turns, t + ((turns − t) mod (m − t + 1))
/// stay. Leading messages of other roles than user and assistant always stay.
pub fn retained_in_batches(roles: &[Role], limit: f64) -> RetainedRange {
    if limit.is_nan() || limit <= 0.0 {
        return RetainedRange::ALL;
    }
    let turns: Vec<usize> = (0..roles.len()).filter(|at| roles[*at] == Role::User).collect();
    let (count, least) = (turns.len() as f64, limit.floor());
    let most = (1.5 * least).ceil();
    if count <= most {
        return RetainedRange::ALL;
    }
    let kept = least + (count - least) % (most - least + 1.0);
    let from = turns.get(turns.len() - kept as usize).copied().unwrap_or(roles.len());
    let prelude = roles.iter().position(|role| matches!(role, Role::User | Role::Assistant));
    let prelude = prelude.unwrap_or(roles.len()).min(from);
    RetainedRange { prelude, from }
}

// The history turn limit: the gateway sends only the last user turns of a context, with everything that follows them
// (pruning 2.1).

/// Returns the index of the first message that stays under a limit of `limit` user turns: 0 if all stay, the number of
/// messages if none does (pruning 2.1).
///
/// Only messages of role `user` start a turn. Everything before the first kept turn is dropped, even a leading
/// compaction summary; a list with at most `limit` turns keeps also the messages before its first turn. A limit of 0 or
/// less, or NaN, drops nothing; a fraction is not rounded.
pub fn first_kept(roles: impl DoubleEndedIterator<Item = Role> + ExactSizeIterator, limit: f64) -> usize {
    if limit.is_nan() || limit <= 0.0 {
        return 0;
    }
    let mut turns = 0.0;
    let mut first = roles.len();
    for (at, role) in roles.enumerate().rev() {
        if role == Role::User {
            turns += 1.0;
            if turns > limit {
                return first;
            }
            first = at;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds roles, one letter per message: `u`ser, `a`ssistant, tool `r`esult, `s`ummary.
    fn roles(text_features: &str) -> Vec<Role> {
        let role = |letter| match letter {
            'u' => Role::User,
            'a' => Role::Assistant,
            'r' => Role::ToolResult,
            _ => Role::CompactionSummary,
        };
        text_features.chars().map(role).collect()
    }

    fn turns_kept(turns: usize, limit: f64) -> usize {
        let roles = roles(&"uar".repeat(turns));
        let kept = retained_in_batches(&roles, limit);
        (0..roles.len()).filter(|at| kept.contains(*at) && roles[*at] == Role::User).count()
    }

    #[test]
    fn the_numbers_of_turns_are_those_of_the_real_gateway() {
        let kept = |range: std::ops::RangeInclusive<usize>, limit| {
            range.map(|turns| turns_kept(turns, limit)).collect::<Vec<_>>()
        };
        assert_eq!(kept(1..=11, 3.0), [1, 2, 3, 4, 5, 3, 4, 5, 3, 4, 5]);
        assert_eq!(kept(14..=23, 10.0), [14, 15, 10, 11, 12, 13, 14, 15, 10, 11]);
        assert_eq!(kept(1..=4, 1.9), [1, 2, 1, 2]);
    }

    #[test]
    fn a_summary_before_the_conversation_is_kept() {
        let roles = roles("suauauau");
        let kept = retained_in_batches(&roles, 1.0);
        assert_eq!(kept, RetainedRange { prelude: 1, from: 5 });
        assert_eq!((0..8).filter(|at| kept.contains(*at)).collect::<Vec<_>>(), [0, 5, 6, 7]);
    }

    #[test]
    fn the_running_turn_is_not_part_of_the_loaded_history() {
        let loaded = |letters: &str| loaded_history(&roles(letters));
        assert_eq!(loaded("uaurau"), 5, "the new message is added behind the history");
        assert_eq!(loaded("uaurauar"), 5, "a later call of the same run");
        assert_eq!(loaded("uaura"), 5, "the run has ended: the next one loads everything");
        assert_eq!((loaded("rr"), loaded("")), (2, 0));
    }

    #[test]
    fn without_a_limit_every_turn_is_kept() {
        for limit in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(retained_in_batches(&roles("uuuu"), limit), RetainedRange::ALL);
        }
    }

    #[test]
    fn a_limit_below_one_keeps_only_the_messages_before_the_conversation() {
        assert_eq!(retained_in_batches(&roles("sua"), 0.5), RetainedRange { prelude: 1, from: 3 });
    }
}

#[cfg(test)]
mod history_limit_tests {
    use super::*;

    /// Builds roles, one letter per message: `u`ser, `a`ssistant, tool `r`esult, `b`ash.
    fn roles(letters: &str) -> Vec<Role> {
        let role = |letter| match letter {
            'u' => Role::User,
            'a' => Role::Assistant,
            'r' => Role::ToolResult,
            _ => Role::BashExecution,
        };
        letters.chars().map(role).collect()
    }

    #[track_caller]
    fn check(letters: &str, limit: f64, kept: &str) {
        assert_eq!(&letters[first_kept(roles(letters).into_iter(), limit)..], kept);
    }

    #[test]
    fn the_last_turns_are_kept_with_everything_after_them() {
        check("buarauaura", 2.0, "uaura");
        check("buarauaura", 1.0, "ura");
        check("uuu", 2.0, "uu");
    }

    #[test]
    fn a_session_within_the_limit_keeps_the_messages_before_its_first_turn() {
        check("bauaua", 2.0, "bauaua");
        check("bauaua", 3.0, "bauaua");
    }

    #[test]
    fn no_limit_is_0_or_less_or_no_number_at_all() {
        for limit in [0.0, -3.0, f64::NAN, f64::INFINITY] {
            check("uaua", limit, "uaua");
        }
    }

    #[test]
    fn a_fraction_is_not_rounded() {
        check("uauaua", 1.5, "ua");
        check("uauaua", 0.5, "");
        check("aa", 0.5, "aa");
    }
}
