//! Parts that several commands print: a session, a window, a message.

use super::output::{Output, Tone};
use crate::context::budget::{Budget, BudgetPart};
use crate::context::tokens::chars4::estimate_or_zero;
use crate::format::{format_estimate, format_number};
use crate::gateway::provenance::Provenance;
use crate::gateway::window::WindowInfo;
use crate::ids::EntryIx;
use crate::js::{Object, Value};
use crate::session::LoadedSession;
pub(super) use crate::session::json::session_json;
use crate::session::lifecycle::Lifecycle;
use crate::store::entry::{CharCount, MessageSize};
use std::io;

pub(super) fn lifecycle_value(lifecycle: &Lifecycle, now_ms: f64) -> Value {
    let policy = &lifecycle.policy;
    let from = |(value, origin): (Value, &Provenance)| {
        Value::from(Object::from([("value", value), ("from", Value::from(origin.to_string()))]))
    };
    let next = lifecycle.next_reset.map(|next| {
        Object::from([
            ("at", number_value(next.at_ms)),
            ("reason", Value::from(next.mode.as_str())),
            ("local", Value::from(lifecycle.next_reset_local.clone())),
            ("due", Value::from(lifecycle.is_due(now_ms))),
        ])
    });
    Value::from(Object::from([
        ("type", Value::from(policy.kind.as_str())),
        ("mode", from((Value::from(policy.mode.0.as_str()), &policy.mode.1))),
        ("atHour", from((number_value(policy.at_hour.0), &policy.at_hour.1))),
        (
            "idleMinutes",
            policy
                .idle_minutes
                .as_ref()
                .map_or(Value::Null, |(minutes, origin)| from((number_value(*minutes), origin))),
        ),
        ("next", Value::from(next)),
        ("leaves", Value::from(lifecycle.reset_effect)),
    ]))
}

pub(super) fn window_value(window: WindowInfo) -> Value {
    Value::from(Object::from([
        ("tokens", number_value(window.tokens)),
        ("source", Value::from(window.source.name())),
    ]))
}

/// Returns a double as JSON; null if it is not finite.
pub(super) fn number_value(number: f64) -> Value {
    if number.is_finite() { Value::Number(number) } else { Value::Null }
}

/// Returns chars as JSON; null where the real program throws.
pub(super) fn size_value(size: CharCount) -> Value {
    size.value().map_or(Value::Null, number_value)
}

/// Returns the tool of a result, or of an assistant message that calls only one tool.
pub(super) fn tool_name(session: &LoadedSession, entry: EntryIx, size: &MessageSize) -> Option<String> {
    crate::session::tool::tool_of(&session.index, entry, size)
}

/// Estimates the tokens of a message, as every list does.
pub(super) fn message_tokens(size: &MessageSize) -> u64 {
    estimate_or_zero(size)
}

/// Formats the estimated tokens of an entry; `refused` if a refusal is all that its call recorded.
pub(super) fn format_entry_tokens(session: &LoadedSession, entry: EntryIx, size: &MessageSize) -> String {
    let refused = session.overflow_at(entry).is_some_and(|overflow| overflow.kind.is_refusal());
    if refused && size.usage.is_none() { "refused".to_owned() } else { format_estimate(message_tokens(size)) }
}

pub(super) fn budget_value(budget: &Budget) -> Value {
    let parts = BudgetPart::ALL.iter().map(|part| (part.name(), Value::from(budget.tokens(*part))));
    let mut object: Object = parts.collect();
    object.set("total", Value::from(budget.total()));
    Value::from(object)
}

/// Formats the non-empty parts of the budget on one line.
pub(super) fn describe_budget(budget: &Budget) -> String {
    let parts = BudgetPart::ALL.iter().filter(|part| budget.tokens(**part) > 0);
    parts
        .map(|part| format!("{} ~{}", part.name(), format_number(budget.tokens(*part))))
        .collect::<Vec<_>>()
        .join(" · ")
}

/// Prints key, file, model and window of a session.
pub(super) fn print_session_header(
    output: &mut Output,
    session: &LoadedSession,
    window: WindowInfo,
) -> io::Result<()> {
    let item = &session.item;
    output.line(Tone::Strong, &item.key.0)?;
    if let Some(path) = &item.path {
        output.line(Tone::Dim, &path.to_string_lossy())?;
    }
    let model = [session.provider.as_str(), session.model.as_str()];
    let model = model.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
    let model = if model.is_empty() { "model unknown".to_owned() } else { model };
    output.line(Tone::Plain, &format!("{model} · window {}", describe_window(session, window)))?;
    if let Some(unfinished) = &session.unfinished_commit {
        output.line(
            Tone::Bad,
            &format!("! {}; `clawscope doctor --repair` settles it", unfinished.description()),
        )?;
    }
    Ok(())
}

/// Formats a window with its origin, `200,000 (config)`, and the limit that refusals proved: `· provider refused at
/// 65,474`.
fn describe_window(session: &LoadedSession, window: WindowInfo) -> String {
    let own = window == session.window;
    let source = if own { session.describe_window_source() } else { window.source.label() };
    let refused = session
        .smallest_refused_window()
        .map(|tokens| format!(" · provider refused at {}", format_number(tokens)));
    format!("{} ({source}){}", format_number(window.tokens.max(0.0) as u64), refused.unwrap_or_default())
}
