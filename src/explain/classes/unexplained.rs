//! It overflowed, and none of the known patterns is there: the numbers alone.

use crate::explain::case::Case;
use crate::explain::classes::{compared, numbers_of, overflow};
use crate::explain::failure::Failure;
use crate::explain::finding::{Class, Confidence, Evidence, Finding};
use crate::explain::words::{count, exact, percent, thousands, told};
use crate::store::entry::Role;

pub(super) fn finding(case: &Case<'_>, failure: &Failure) -> Finding {
    let messages = failure.then.context.messages.len();
    let line = format!(
        "{}: {} tokens in {} grew message by message; none of the known patterns fits",
        overflow(failure),
        told(failure.requested, failure.counted),
        count(messages, "message"),
    );
    let roles = [(Role::User, "you"), (Role::Assistant, "assistant"), (Role::ToolResult, "tool results")];
    let share = |(role, name): (Role, &str)| {
        format!("{name} {}", percent(failure.tokens_of(role), failure.requested as f64))
    };
    let mut finding = Finding::new(Class::Unexplained, Confidence::Possible, line)
        .by("compaction 8.8")
        .seen(numbers_of(failure))
        .seen(Evidence::new(roles.map(share).join(", ")))
        .number("over", failure.over() as f64)
        .number("requested", failure.requested as f64);
    finding.evidence.extend(compared(case, failure));
    finding
}

/// Nothing was refused yet, but the next prompt is larger than the window.
pub(super) fn next_call(case: &Case<'_>) -> Option<Finding> {
    let (prompt, counted) = case.prompt();
    let window = case.window();
    let over = prompt.checked_sub(window).filter(|over| *over > 0 && window > 0)?;
    let line = format!(
        "The next prompt is ~{} over the window: {} tokens of {}",
        thousands(over),
        told(prompt, counted),
        exact(window)
    );
    let last = case.calls.last().map(|call| call.entry);
    let confidence = if counted { Confidence::Likely } else { Confidence::Possible };
    Some(
        Finding::new(Class::Unexplained, confidence, line)
            .by("compaction 7.1")
            .seen(Evidence::new("the last call that was counted").at(last))
            .number("prompt", prompt as f64)
            .number("window", window as f64),
    )
}
