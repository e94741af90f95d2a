//! The largest limit of chars per tool result under which the failing prompt fits. The limit cuts every longer result
//! in the prompt, not only the newest.

use crate::report::explain::failure::Failure;
use crate::store::entry::Role;
use crate::units::Chars;

/// A result cut below this many chars is useless.
const MIN_LIMIT_CHARS: Chars = Chars(200.0);

/// Returns that limit in chars and the number of results that it cuts; `None` if the prompt fits, or if no limit frees
/// enough.
pub(in crate::report::explain) fn largest_fitting_limit(failure: &Failure) -> Option<(Chars, usize)> {
    let messages = failure.session.context.messages.iter().enumerate();
    let results: Vec<(Chars, f64)> = messages
        .filter(|(_, message)| message.size.role == Role::ToolResult)
        .map(|(at, message)| (message.size.text_chars.get(), failure.weights[at].get()))
        .filter(|(chars, _)| *chars > MIN_LIMIT_CHARS)
        .collect();
    let over = failure.excess_tokens() as f64;
    let over = if over > 0.0 { over + failure.uncounted_margin() as f64 } else { over };
    let freed = |cap: Chars| -> f64 {
        results
            .iter()
            .filter(|(chars, _)| *chars > cap)
            .map(|(chars, tokens)| tokens * (1.0 - cap / *chars))
            .sum()
    };
    let (mut low, mut high) =
        (MIN_LIMIT_CHARS, results.iter().map(|(chars, _)| *chars).fold(MIN_LIMIT_CHARS, Chars::max));
    if over <= 0.0 || freed(low) < over {
        return None;
    }
    while high - low > Chars(1.0) {
        let middle = Chars(f64::midpoint(low.get(), high.get()));
        if freed(middle) >= over { low = middle } else { high = middle }
    }
    let cut = results.iter().filter(|(chars, _)| *chars > low).count();
    Some((low.floor(), cut))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::explain::testing::with_failure;

    /// The limit for results of these chars and tokens in a prompt that is this much too large.
    fn limit_for(results: &[(u32, f64)], over: u64) -> Option<(u64, usize)> {
        let sizes: Vec<String> = results.iter().map(|(_, tokens)| format!("r:{tokens}")).collect();
        with_failure(&format!("u:9 a:9 {}", sizes.join(" ")), 1_000 + over, 0, |_, failure| {
            let mut failure = failure.clone();
            let context = std::sync::Arc::make_mut(&mut failure.session.context);
            for (message, (chars, _)) in context.messages[2..].iter_mut().zip(results) {
                message.size.text_chars = Chars::from(*chars).into();
            }
            largest_fitting_limit(&failure).map(|(chars, cut)| (chars.whole(), cut))
        })
    }

    #[test]
    fn results_are_cut_just_as_far_as_the_prompt_is_too_large() {
        let one = limit_for(&[(4_000, 1_000.0)], 250).expect("a limit");
        assert!((2_999..=3_000).contains(&one.0) && one.1 == 1, "a quarter of 4,000 chars goes: {one:?}");
        let longest = limit_for(&[(4_000, 1_000.0), (2_000, 500.0)], 250).expect("a limit");
        assert_eq!(longest, one, "the shorter one stays whole");
        let both = limit_for(&[(4_000, 1_000.0), (2_000, 500.0)], 900).expect("a limit");
        assert!((1_199..=1_200).contains(&both.0) && both.1 == 2, "{both:?}");
    }

    #[test]
    fn a_prompt_that_nobody_counted_is_cut_well_below_the_limit() {
        let limit = |counts: (Option<u64>, bool)| {
            with_failure("u:9 a:9 r:1000", 1_001, 0, |_, failure| {
                let mut failure = failure.clone();
                (failure.overflow.requested, failure.is_measured) = counts;
                failure.last_counted = None;
                let context = std::sync::Arc::make_mut(&mut failure.session.context);
                context.messages[2].size.text_chars = Chars(4_000.0).into();
                assert_eq!(failure.prompt_size().is_lower_bound, counts.0.is_none());
                largest_fitting_limit(&failure).map(|(chars, _)| chars.whole())
            })
        };
        let counted = limit((Some(1_001), true)).expect("a limit");
        assert!((3_995..=3_996).contains(&counted), "one token of 1,000 goes: {counted}");
        let uncounted = limit((None, false)).expect("a limit");
        assert!((1_995..=1_996).contains(&uncounted), "half of what nobody counted goes too: {uncounted}");
    }

    #[test]
    fn no_limit_is_proposed_that_is_too_small_or_not_needed() {
        assert_eq!(limit_for(&[(4_000, 1_000.0)], 950), Some((200, 1)), "200 chars of 4,000 stay");
        assert_eq!(limit_for(&[(4_000, 1_000.0)], 951), None);
        assert_eq!(limit_for(&[(200, 500.0)], 10), None, "a result this short is useless when cut");
        assert_eq!(limit_for(&[(4_000, 1_000.0)], 0), None, "the prompt fits");
    }
}
