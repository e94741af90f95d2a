//! The cut of tool results in a transcript after an overflow, by the budget of all results where a version has one,
//! otherwise by the limit of one result (releases R35–R38).

use crate::gateway::ruleset::Rules;
use crate::policy::fate::MessageFate;
use crate::policy::message_list::MessageList;
use crate::policy::reason::Reason;
use crate::policy::settings::TruncateSettings;
use crate::policy::truncate::reduce_step::apply_budget;
use crate::policy::truncate::{result_budget, truncate_list};
use crate::units::Tokens;

/// Cuts the results of a list as the gateway rewrites them in the transcript after an overflow: each to its limit, and
/// since 2026.4.8 all of them to a budget.
pub fn truncate_after_overflow(
    list: &mut MessageList,
    rules: &Rules,
    window: Tokens,
    truncate: &TruncateSettings,
) {
    let single = truncate.max_result_chars_under(rules, window);
    match result_budget(rules, window, Some(single), false) {
        Some(budget) => {
            let mut fates: Vec<MessageFate> =
                list.sizes().map(|size| MessageFate::kept(&size, Reason::WithinLimit)).collect();
            apply_budget(list, &mut fates, &budget);
        }
        None => _ = truncate_list(list, rules, window, truncate),
    }
}
