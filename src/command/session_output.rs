//! Parts that several commands print: a session, a window, a message.

use schemars::JsonSchema;
use serde::Serialize;

use super::output::Output;
use crate::context::budget::{Budget, BudgetPart};
use crate::context::tokens::chars4::estimate_or_zero;
use crate::doc::Tone;
use crate::format::{format_estimate, format_number};
use crate::gateway::registry::Provenance;
use crate::gateway::window::WindowInfo;
use crate::ids::EntryIx;
use crate::redact::masked;
use crate::session::LoadedSession;
pub(super) use crate::session::json::{SessionJson, finite, rounded, session_json};
use crate::session::lifecycle::Lifecycle;
use crate::session::tool::tool_of;
use crate::store::entry::{CharCount, MessageSize};
use crate::units::{Chars, Moment};
use std::io;

/// The reset rules of the session, and the next reset.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct LifecycleJson {
    /// The kind of conversation that the reset rules apply to.
    r#type: &'static str,
    mode: OriginJson<&'static str>,
    /// The hour of daily resets, local time.
    at_hour: OriginJson<Option<f64>>,
    /// Minutes without a message before a reset.
    idle_minutes: Option<OriginJson<Option<f64>>>,
    next: Option<NextResetJson>,
    /// The effect of a reset on the transcript.
    leaves: &'static str,
}

#[derive(Serialize, JsonSchema)]
struct OriginJson<T> {
    value: T,
    /// The file and key, or the rule, that the value comes from.
    from: String,
}

#[derive(Serialize, JsonSchema)]
struct NextResetJson {
    /// ms since 1970.
    at: Option<Moment>,
    reason: &'static str,
    /// Local date and time.
    local: Option<String>,
    /// Whether it happens with the next message.
    due: bool,
}

pub(super) fn lifecycle_json(lifecycle: &Lifecycle, now_ms: Moment) -> LifecycleJson {
    let policy = &lifecycle.policy;
    let number = |(number, origin): &(f64, Provenance)| OriginJson {
        value: finite(*number),
        from: origin.to_string(),
    };
    LifecycleJson {
        r#type: policy.kind.as_str(),
        mode: OriginJson { value: policy.mode.0.as_str(), from: policy.mode.1.to_string() },
        at_hour: number(&policy.at_hour),
        idle_minutes: policy.idle_minutes.as_ref().map(number),
        next: lifecycle.next_reset.map(|next| NextResetJson {
            at: finite(next.at_ms),
            reason: next.mode.as_str(),
            local: lifecycle.next_reset_local.clone(),
            due: lifecycle.is_due(now_ms),
        }),
        leaves: lifecycle.reset_effect,
    }
}

/// Returns chars; `None` where the real program throws.
pub(super) fn size_json(size: CharCount) -> Option<f64> {
    size.value().ok().map(Chars::get).and_then(finite)
}

/// Returns the tool of a result, or of an assistant message that calls only one tool; secrets are masked.
pub(super) fn tool_name(session: &LoadedSession, entry: EntryIx, size: &MessageSize) -> Option<String> {
    tool_of(&session.index, entry, size).map(|tool| masked(&tool).into_owned())
}

/// Estimates the tokens of a message, as every list does.
pub(super) fn message_tokens(size: &MessageSize) -> u64 {
    estimate_or_zero(size)
}

/// Formats the tokens of an entry, by estimate unless they are given; `refused` if a refusal is all that its call recorded.
pub(super) fn format_entry_tokens(
    session: &LoadedSession,
    entry: EntryIx,
    size: &MessageSize,
    tokens: Option<u64>,
) -> String {
    let refused = session.overflow_at(entry).is_some_and(|overflow| overflow.kind.is_refusal());
    if refused && size.usage.is_none() {
        return "refused".to_owned();
    }
    format_estimate(tokens.unwrap_or_else(|| message_tokens(size)))
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
    if let Some(error) = &session.config.error {
        output.line(Tone::Bad, &format!("! the configuration cannot be read, so defaults apply: {error}"))?;
    }
    if let Some(unfinished) = &session.unfinished_commit {
        output.line(
            Tone::Bad,
            &format!("! {}; `clawscope doctor --repair` finishes it", unfinished.description()),
        )?;
    }
    Ok(())
}

/// Formats a window with its origin, `200,000 (config)`, and the limit that refusals proved: `· provider refused at
/// 65,474`.
fn describe_window(session: &LoadedSession, window: WindowInfo) -> String {
    let refused = session
        .smallest_refused_window()
        .map(|tokens| format!(" · provider refused at {}", format_number(tokens)));
    let (tokens, origin) = (format_number(window.model_tokens.whole()), window.origin());
    format!("{tokens} ({origin}){}", refused.unwrap_or_default())
}
