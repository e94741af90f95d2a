//! Op `tokens`: estimates per message, plain and in the form that decisions use.

use clawscope::context::tokens::projected::estimate_projected;
use clawscope::context::tokens::{estimate_context, estimate_message};
use clawscope::gateway::compaction::pi_compaction;
use clawscope::js::{JsException, Value};
use clawscope::policy::compact::check::is_due_between_turns;
use clawscope::store::entry::EntryKind;
use clawscope::units::Tokens;

use super::super::estimates::{written, written_tokens};
use super::super::tokens::recorded_usage;
use super::super::{Session, number, object, or_throws};
use super::{branch_of, built, leaf_of};

pub(super) fn answer(mut session: Session) -> Result<Value, JsException> {
    built(&mut session)?;
    let (index, context) = (&session.index, &session.context);
    let messages = &context.messages;
    let projected = estimate_projected(index, &branch_of(&session), messages);
    let window = session.setting("contextWindow").and_then(Value::as_f64);
    let compacts = |window| {
        estimate_projected(index, &context.path, messages).map(|estimate| {
            let settings = pi_compaction(session.case.get("settings"));
            Value::Bool(is_due_between_turns(&settings, estimate.tokens, window))
        })
    };
    let tokens = messages
        .iter()
        .map(|message| or_throws(estimate_message(&message.size).map(|tokens| number(tokens.get()))));
    let bodies = session.messages();
    let as_written = |estimate| written(&bodies, estimate);
    Ok(object([
        ("estimate", or_throws(estimate_context(messages).map(as_written))),
        ("projected", or_throws(projected.map(as_written))),
        ("perMessage", Value::Array(tokens.collect())),
        ("lastAssistantUsage", recorded_usage(&session, &leaf_of(&session.case))),
        (
            "contextUsage",
            window.map_or(Value::Null, |window| or_throws(context_usage(&session, Tokens(window)))),
        ),
        ("shouldCompact", window.map_or(Value::Null, |window| or_throws(compacts(Tokens(window))))),
    ]))
}

/// Oracle of store-pi-1.5 E6: the usage that pi shows of a context. It names no tokens after a compaction until an answer
/// reports usage, and is absent for a window of 0 or less. clawscope shows its own estimate.
fn context_usage(session: &Session, window: Tokens) -> Result<Value, JsException> {
    if window.is_nan() || window <= Tokens::ZERO {
        return Ok(Value::Null);
    }
    let (index, context) = (&session.index, &session.context);
    let compaction = context.path.iter().rposition(|ix| index.entry(*ix).kind == EntryKind::Compaction);
    let counted = |since: usize| {
        let after = &context.path[since + 1..];
        context.messages.iter().any(|message| message.size.usage.is_some() && after.contains(&message.entry))
    };
    let estimate = match compaction {
        Some(at) if !counted(at) => None,
        _ => Some(estimate_projected(index, &context.path, &context.messages)?),
    };
    Ok(object([
        ("tokens", estimate.map_or(Value::Null, |estimate| written_tokens(&session.messages(), estimate))),
        ("contextWindow", number(window.get())),
        ("percent", estimate.map_or(Value::Null, |estimate| number(estimate.tokens / window * 100.0))),
    ]))
}
