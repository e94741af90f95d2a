//! Op `tokens`: estimates per message and of the whole, and the compaction trigger.

use clawscope::context::tokens::usage::last_usage;
use clawscope::context::tokens::{estimate_context, estimate_message};
use clawscope::gateway::compaction::pi_compaction;
use clawscope::js::{JsException, Value};
use clawscope::store::body;
use clawscope::transcript::Leaf;
use clawscope::units::{Chars, Tokens};

use super::estimates::written;
use super::{Session, number, object, or_throws};

pub(crate) fn answer(session: &Session) -> Value {
    let messages = &session.context.messages;
    let estimate = estimate_context(messages);
    let pruner = |at: usize| messages[at].size.prune_chars.value().map(Chars::get);
    let pruner_total = (0..messages.len()).try_fold(0.0, |sum, at| Ok(sum + pruner(at)?));
    let tokens = messages
        .iter()
        .map(|message| or_throws(estimate_message(&message.size).map(|tokens| number(tokens.get()))));
    object([
        ("estimate", or_throws(estimate.map(|estimate| written(&session.messages(), estimate)))),
        ("perMessage", Value::Array(tokens.collect())),
        (
            "prunerChars",
            Value::Array((0..messages.len()).map(|at| or_throws(pruner(at).map(number))).collect()),
        ),
        ("prunerCharsTotal", or_throws(pruner_total.map(number))),
        ("lastAssistantUsage", recorded_usage(session, &session.leaf)),
        ("shouldCompact", should_compact(session, estimate.map(|estimate| estimate.tokens).map(Tokens::get))),
    ])
}

/// The usage of the last answer before a leaf.
pub(super) fn recorded_usage(session: &Session, leaf: &Leaf) -> Value {
    let path = session.tree.branch(&session.index, leaf);
    let Some((ix, _)) = last_usage(&session.index, &path) else { return Value::Null };
    let message = body::read_message(&session.source, &session.index, ix).expect("body");
    message.and_then(|message| message.get("usage").cloned()).unwrap_or(Value::Null)
}

fn should_compact(session: &Session, tokens: Result<f64, JsException>) -> Value {
    let (Some(window), Ok(tokens)) = (session.setting("contextWindow").and_then(Value::as_f64), tokens)
    else {
        return Value::Null;
    };
    Value::Bool(pi_compaction(session.case.get("settings")).should_compact(Tokens(tokens), Tokens(window)))
}
