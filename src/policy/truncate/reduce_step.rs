//! Applies the budget of all tool results to a message list (releases R35–R38).

use crate::gateway::ruleset::{Aggregate, Rules};
use crate::policy::edit::Edit;
use crate::policy::fate::{Fate, MessageFate};
use crate::policy::features::ContentFeatures;
use crate::policy::message_list::{MessageChange, MessageList};
use crate::policy::reason::Reason;
use crate::policy::settings::{ReduceSettings, TruncateSettings};
use crate::policy::truncate::aggregate::{AppliedReduction, ResultEditor, reduce_results};
use crate::policy::truncate::{Reduction, ResultBudget, result_budget};
use crate::store::entry::Role;
use crate::units::{Chars, Tokens};

/// Cuts the results of a list until they fit, for a window in tokens. A version without such a budget changes nothing.
pub fn reduce_list(
    list: &mut MessageList,
    rules: &Rules,
    window: Tokens,
    truncate: &TruncateSettings,
    settings: &ReduceSettings,
) -> Vec<MessageFate> {
    let sent = if settings.keeps_sent { sent_before(list) } else { 0 };
    let untouched = |at: usize| {
        let size = list.size(at);
        let reason = match size.role {
            Role::ToolResult if at < sent => Reason::KeepsSent,
            Role::ToolResult => Reason::WithinLimit,
            _ => Reason::Untouched,
        };
        MessageFate::kept(&size, reason)
    };
    let mut fates: Vec<MessageFate> = (0..list.len()).map(untouched).collect();
    let for_prompts = !matches!(rules.aggregate, Aggregate::Newest { .. });
    let single = truncate.max_result_chars_under(rules, window);
    let Some(mut budget) = result_budget(rules, window, Some(single), for_prompts) else { return fates };
    (budget.single_limit, budget.total_limit, budget.sent_until) =
        (single.max(Chars(1.0)), settings.all_chars, sent);
    apply_budget(list, &mut fates, &budget);
    fates
}

pub(super) fn apply_budget(list: &mut MessageList, fates: &mut [MessageFate], budget: &ResultBudget) {
    let done = reduce_to_budget(list, budget);
    for AppliedReduction { at, reduction: by, .. } in done {
        let (fate, reason) = match by {
            Reduction::OverLimit { .. } => (Fate::Truncated, Reason::OverLimit),
            Reduction::OverBudget { .. } => (Fate::Truncated, Reason::OverAggregate),
            Reduction::Elided { .. } => (Fate::Cleared, Reason::OverAggregate),
        };
        let after = list.size(at).prune_chars;
        fates[at] = MessageFate { fate, reason, after, ..fates[at] };
    }
}

/// Changes the results of a list until they fit a budget, and returns the changes in order.
pub fn reduce_to_budget(list: &mut MessageList, budget: &ResultBudget) -> Vec<AppliedReduction> {
    let has_text = |at: usize| {
        list.size(at).role == Role::ToolResult
            && list.features_at(at).is_some_and(|features| features.body.is_some())
    };
    let is_result: Vec<bool> = (0..list.len()).map(has_text).collect();
    let chars = (0..list.len())
        .map(|at| if list.size(at).role == Role::ToolResult { chars(list, at) } else { Chars::ZERO });
    let chars = chars.collect();
    reduce_results(&mut ListEditor { list, budget, previous: None }, &is_result, chars, budget)
}

/// Returns the length of a result, measured with its features.
fn chars(list: &MessageList, at: usize) -> Chars {
    list.features_at(at)
        .and_then(ContentFeatures::text_features)
        .map_or(Chars::ZERO, |text_features| text_features.chars)
}

struct ListEditor<'l, 'c> {
    list: &'l mut MessageList<'c>,
    budget: &'l ResultBudget,
    previous: Option<MessageChange>,
}

impl ResultEditor for ListEditor<'_, '_> {
    fn change(&mut self, at: usize, by: Reduction) -> Chars {
        self.previous = self.list.messages()[at].change.clone();
        self.list.apply_edit(
            at,
            &Edit::Reduce { reduction: by, ends: self.budget.ends, aggregate: self.budget.rule },
        );
        chars(self.list, at)
    }

    fn revert(&mut self, at: usize) {
        self.list.restore_change(at, self.previous.take());
    }
}

/// Returns the chars that cutting results after an overflow would free.
pub fn reducible_chars(
    list: &MessageList,
    rules: &Rules,
    window: Tokens,
    truncate: &TruncateSettings,
) -> Chars {
    let single = truncate.max_result_chars_under(rules, window);
    let Some(budget) = result_budget(rules, window, Some(single), false) else { return Chars::ZERO };
    reduce_to_budget(&mut list.clone(), &budget).iter().map(|done| done.freed_chars).sum()
}

/// Returns the position after the last answer: an earlier call sent all messages before it.
fn sent_before(list: &MessageList) -> usize {
    list.sizes().rposition(|size| size.role == Role::Assistant).map_or(0, |at| at + 1)
}

// Applies the truncation of gateways since 2026.8.1 to a message list: each result to its limit, then all results to
// their budget, oldest first (pruning 8.3). Results after the last message of another role keep more chars and
// do not shrink for the budget.

/// Cuts the results of a list for a window in tokens; `limit` is that of one result, in weighted chars.
pub(super) fn truncate_list(
    list: &mut MessageList,
    rules: &Rules,
    window: Tokens,
    limit: Chars,
    settings: &TruncateSettings,
) -> Vec<MessageFate> {
    let untouched = |at: usize| {
        let size = list.size(at);
        let is_result = size.role == Role::ToolResult;
        MessageFate::kept(&size, if is_result { Reason::WithinLimit } else { Reason::Untouched })
    };
    let mut fates: Vec<MessageFate> = (0..list.len()).map(untouched).collect();
    if let Some(mut budget) = result_budget(rules, window, None, true) {
        // At least one char, as in `result_budget`.
        let single = limit.max(Chars(1.0));
        (budget.single_limit, budget.total_limit) = (single, rules.aggregate.budget(window, single, true));
        budget.fresh_min_keep = Some(settings.min_keep_chars);
        apply_budget(list, &mut fates, &budget);
    }
    fates
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;
    use crate::policy::testing::{ListFixture as Messages, calls, result};

    /// Returns the fates of results of these many chars; `|` is an answer.
    fn reduced(ruleset: Ruleset, list: &str, settings: ReduceSettings) -> Vec<(Fate, Reason, u64)> {
        let message = |word: &str| match word.parse::<usize>() {
            Ok(chars) => result("c", &"x".repeat(chars)),
            Err(_) => calls(&["c"]),
        };
        let messages = Messages::under(ruleset, &list.split(' ').map(message).collect::<Vec<_>>());
        let mut list = messages.list();
        let truncate = TruncateSettings::built_in(ruleset.rules(), Tokens(100_000.0));
        let fates = reduce_list(&mut list, ruleset.rules(), Tokens(100_000.0), &truncate, &settings);
        messages.check(&list);
        fates.iter().map(|fate| (fate.fate, fate.reason, fate.after.whole_chars().whole())).collect()
    }

    fn all(all_chars: f64) -> ReduceSettings {
        ReduceSettings { all_chars: Chars(all_chars), keeps_sent: false }
    }

    #[test]
    fn older_releases_reduce_the_newest_results_first_and_later_ones_the_oldest() {
        let newest = reduced(Ruleset::V2026_4_15, "| 5000 5000 5000 |", all(12_000.0));
        assert_eq!([newest[1].1, newest[3].1], [Reason::WithinLimit, Reason::OverAggregate]);
        let oldest = reduced(Ruleset::V2026_5_28, "| 5000 5000 5000 |", all(12_000.0));
        assert_eq!([oldest[1].1, oldest[3].1], [Reason::OverAggregate, Reason::WithinLimit]);
        assert!(oldest.iter().map(|(.., chars)| chars).sum::<u64>() <= 12_100);
    }

    #[test]
    fn sent_results_keep_their_bytes_until_the_gateway_restarts() {
        let settings = ReduceSettings { keeps_sent: true, ..all(4000.0) };
        let kept = reduced(Ruleset::V2026_6_11, "| 5000 5000 | 3000", settings);
        assert_eq!([kept[1].1, kept[4].1], [Reason::KeepsSent, Reason::OverAggregate]);
        let restarted = reduced(Ruleset::V2026_6_11, "| 5000 5000 | 3000", all(4000.0));
        assert_eq!(restarted[1].1, Reason::OverAggregate);
    }

    #[test]
    fn from_7_1_on_a_note_replaces_results_without_room() {
        let reported = reduced(Ruleset::V2026_7_1, "| 200 200 200 |", all(100.0));
        assert!(
            reported
                .iter()
                .any(|(fate, reason, _)| (*fate, *reason) == (Fate::Cleared, Reason::OverAggregate))
        );
        assert!(
            reduced(Ruleset::V2026_3_2, "| 200 |", all(1.0)).iter().all(|(fate, ..)| *fate == Fate::Kept)
        );
    }
}

#[cfg(test)]
mod step_2026_9_tests {
    use crate::gateway::ruleset::Ruleset;
    use crate::policy::settings::TruncateSettings;
    use crate::policy::testing::{ListFixture as Messages, calls, result};
    use crate::policy::truncate::truncate_list;
    use crate::policy::{Fate, Reason};
    use crate::units::Tokens;

    /// Returns the fates of results of these many chars; `|` is an answer.
    fn truncated(list: &str, window: Tokens) -> Vec<(Fate, Reason, u64)> {
        let message = |word: &str| match word.parse::<usize>() {
            Ok(chars) => result("c", &"x".repeat(chars)),
            Err(_) => calls(&["c"]),
        };
        let messages = Messages::under(Ruleset::V2026_9_6, &list.split(' ').map(message).collect::<Vec<_>>());
        let mut list = messages.list();
        let rules = Ruleset::V2026_9_6.rules();
        let settings = TruncateSettings::built_in(rules, window);
        let fates = truncate_list(&mut list, rules, window, &settings);
        messages.check(&list);
        fates.iter().map(|fate| (fate.fate, fate.reason, fate.after.whole_chars().whole())).collect()
    }

    #[test]
    fn each_result_has_a_limit_and_fresh_results_keep_more() {
        let reported = truncated("20000 16000 | 20000", Tokens(50_000.0));
        assert_eq!((reported[0].0, reported[0].1), (Fate::Truncated, Reason::OverLimit));
        assert_eq!(reported[1], (Fate::Kept, Reason::WithinLimit, 16_000));
        assert_eq!(reported[2].1, Reason::Untouched);
        assert!([reported[0].2, reported[3].2].iter().all(|chars| *chars <= 16_000));
    }

    #[test]
    fn all_results_share_a_budget_and_the_oldest_answered_ones_are_cut() {
        let reported = truncated("9000 9000 9000 9000 9000 | 9000", Tokens(9_000.0));
        assert_eq!((reported[0].0, reported[0].1), (Fate::Truncated, Reason::OverAggregate));
        assert_eq!(reported[5].1, Reason::Untouched);
    }

    #[test]
    fn results_that_cannot_be_cut_enough_get_the_shorter_notice() {
        let list = format!("{} | {}", ["300"; 30].join(" "), ["1900"; 30].join(" "));
        let reported = truncated(&list, Tokens(2_000.0));
        let cut = |fate: &(Fate, Reason, u64)| (fate.0, fate.1) == (Fate::Truncated, Reason::OverAggregate);
        assert!(reported[..30].iter().all(|fate| cut(fate) && fate.2 < 102), "{reported:?}");
        assert!(reported[31..].iter().all(|fate| fate.0 == Fate::Kept));
    }
}
