//! The largest limit of chars per tool result under which the failing prompt fits. The limit cuts every longer result
//! in the prompt, not only the newest.

use crate::report::explain::failure::Failure;
use crate::store::entry::Role;

/// A result cut below this many chars is useless.
const MIN_LIMIT_CHARS: f64 = 200.0;

/// Returns that limit in chars and the number of results that it cuts; `None` if the prompt fits, or if no limit frees
/// enough.
pub(in crate::report::explain) fn largest_fitting_limit(failure: &Failure) -> Option<(u64, usize)> {
    let messages = failure.session.context.messages.iter().enumerate();
    let results: Vec<(f64, f64)> = messages
        .filter(|(_, message)| message.size.role == Role::ToolResult)
        .map(|(at, message)| (f64::from(message.size.text_chars), failure.weights[at]))
        .filter(|(chars, _)| *chars > MIN_LIMIT_CHARS)
        .collect();
    let over = failure.prompt_tokens as f64 - failure.limit as f64;
    let freed = |cap: f64| -> f64 {
        results
            .iter()
            .filter(|(chars, _)| *chars > cap)
            .map(|(chars, tokens)| tokens * (1.0 - cap / chars))
            .sum()
    };
    let (mut low, mut high) =
        (MIN_LIMIT_CHARS, results.iter().map(|(chars, _)| *chars).fold(MIN_LIMIT_CHARS, f64::max));
    if over <= 0.0 || freed(low) < over {
        return None;
    }
    while high - low > 1.0 {
        let middle = f64::midpoint(low, high);
        if freed(middle) >= over { low = middle } else { high = middle }
    }
    let cut = results.iter().filter(|(chars, _)| *chars > low).count();
    Some((low as u64, cut))
}
