//! Applies the truncation of gateways since 2026.8.1 to a message list: each result to its limit, then all results to
//! their budget, oldest first (pruning 8.3). Results after the last message of another role keep more chars and
//! do not shrink for the budget.

use crate::gateway::ruleset::Rules;
use crate::policy::fate::MessageFate;
use crate::policy::message_list::MessageList;
use crate::policy::reason::Reason;
use crate::policy::settings::TruncateSettings;
use crate::policy::truncate::reduce_step::apply_budget;
use crate::policy::truncate::result_budget;
use crate::store::entry::Role;
use crate::units::{Chars, Tokens};

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
