//! Truncation of oversized tool results: the limit of one result, the cut of a text, its distribution over the blocks
//! of a message, and the entries that the gateway appends when it rewrites a session (pruning 6).

mod aggregate;
mod ends;
pub(in crate::policy) mod message;
mod policy;
mod reduce_step;
pub(in crate::policy) mod replaced_content;
pub mod session;
pub mod v2026_9;
mod weighted_slice;

pub use aggregate::{
    AppliedReduction, BudgetNotice, Reduction, ResultBudget, ResultEditor, reduce_results, result_budget,
};
pub use message::{
    CutOptions, HARD_MAX_CHARS, MIN_KEEP_CHARS, WINDOW_SHARE, is_oversized, min_budget, result_chars,
    sized_result_chars, truncated_message, truncated_message_by, truncated_text,
};
pub(crate) use message::{js_max, truncated_content};
pub use policy::{Reduce, Truncate, truncate_after_overflow, truncate_list};
pub use reduce_step::{reduce_list, reduce_to_budget, reducible_chars};
pub use v2026_9::Suffix;

use crate::gateway::ruleset::Rules;
use crate::policy::settings::TruncateSettings;
use crate::units::{Chars, Tokens};

/// Returns the limit of one tool result in chars, for a window in tokens; has no lower bound, and is NaN for NaN
/// (pruning 6.2).
pub fn max_result_chars(window_tokens: Tokens) -> Chars {
    TruncateSettings::default().max_result_chars(window_tokens)
}

/// [`max_result_chars`] in a version (pruning 8, row "Single limit").
pub fn max_result_chars_under(rules: &Rules, window_tokens: Tokens) -> Chars {
    TruncateSettings::built_in(rules, window_tokens).max_result_chars_under(rules, window_tokens)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;

    #[test]
    fn the_newest_version_caps_a_result_by_the_size_of_the_window() {
        use Ruleset::{V2026_2_1, V2026_3_2, V2026_4_5, V2026_4_15, V2026_9_6};
        let limit = |ruleset: Ruleset| max_result_chars_under(ruleset.rules(), Tokens(200_000.0)).get();
        let reported = [V2026_2_1, V2026_3_2, V2026_4_5, V2026_4_15, V2026_9_6].map(limit);
        assert_eq!(reported, [240_000.0, 240_000.0, 40_000.0, 16_000.0, 64_000.0]);
        assert_eq!(max_result_chars_under(Ruleset::V2026_3_2.rules(), Tokens(2e6)), HARD_MAX_CHARS);
    }

    #[test]
    fn the_limit_is_three_tenths_of_the_window_at_four_chars_a_token_and_400_000_at_most() {
        for (tokens, chars) in [
            (10.0, 12.0),
            (1000.0, 1200.0),
            (8192.0, 9828.0),
            (16_000.0, 19_200.0),
            (200_000.0, 240_000.0),
            (333_333.0, 399_996.0),
            (333_334.0, 400_000.0),
            (2e6, 400_000.0),
            (f64::INFINITY, 400_000.0),
            (3.0, 0.0),
            (0.0, 0.0),
            (-1.0, -4.0),
        ] {
            assert_eq!(max_result_chars(Tokens(tokens)), Chars(chars), "{tokens}");
        }
        assert!(max_result_chars(Tokens(f64::NAN)).is_nan());
    }
}
