//! Op `tokens`: estimates per message, plain and as decisions are made by.

use clawscope::context::tokens::projected::{context_usage, estimate_projected};
use clawscope::context::tokens::usage::last_usage;
use clawscope::context::tokens::{estimate_context, estimate_message};
use clawscope::gateway::compaction::pi_compaction;
use clawscope::js::{JsException, Value};
use clawscope::policy::compact::check::is_due_between_turns;
use clawscope::store::body;
use clawscope::units::Tokens;

use super::super::{Session, number, object, or_throws};
use super::{built, estimate};

pub(super) fn answer(mut session: Session) -> Result<Value, JsException> {
    built(&mut session)?;
    let (index, context) = (&session.index, &session.context);
    let messages = &context.messages;
    let projected = estimate_projected(index, &context.path, messages);
    let window = session.setting("contextWindow").and_then(Value::as_f64);
    let usage = |window| {
        context_usage(index, context, window).map(|usage| {
            usage.map_or(Value::Null, |usage| {
                object([
                    ("tokens", usage.tokens.map_or(Value::Null, |tokens| number(tokens.get()))),
                    ("contextWindow", number(usage.window.get())),
                    ("percent", usage.percent().map_or(Value::Null, number)),
                ])
            })
        })
    };
    let compacts = |window| {
        projected.map(|estimate| {
            let settings = pi_compaction(session.case.get("settings"));
            Value::Bool(is_due_between_turns(&settings, estimate.tokens, window))
        })
    };
    let tokens = messages
        .iter()
        .map(|message| or_throws(estimate_message(&message.size).map(|tokens| number(tokens.get()))));
    Ok(object([
        ("estimate", or_throws(estimate_context(messages).map(estimate))),
        ("projected", or_throws(projected.map(estimate))),
        ("perMessage", Value::Array(tokens.collect())),
        ("lastAssistantUsage", recorded_usage(&session)),
        ("contextUsage", window.map_or(Value::Null, |window| or_throws(usage(Tokens(window))))),
        ("shouldCompact", window.map_or(Value::Null, |window| or_throws(compacts(Tokens(window))))),
    ]))
}

fn recorded_usage(session: &Session) -> Value {
    let path = session.tree.branch(&session.index, &session.leaf);
    let Some((ix, _)) = last_usage(&session.index, &path) else { return Value::Null };
    let message = body::read_message(&session.source, &session.index, ix).expect("body");
    message.and_then(|message| message.get("usage").cloned()).unwrap_or(Value::Null)
}
