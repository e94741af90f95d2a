//! Op `tokens`: estimates per message and of the whole, and the compaction trigger.

use clawscope::context::tokens::{ContextEstimate, estimate_context_under, estimate_under};
use clawscope::gateway::compaction::pi_compaction;
use clawscope::js::{JsException, Value};
use clawscope::transcript::Leaf;
use clawscope::units::{Chars, Tokens};

use super::super::estimates::written;
use super::super::{Session, or_throws, tokens};
use super::{Released, number, object};

pub(super) fn answer(session: &Released) -> Value {
    let rules = session.rules();
    let tokens_of = |at: usize| estimate_under(rules, &session.messages[at]);
    let estimate = estimate_context_under(rules, &session.context().messages, tokens_of);
    let all = 0..session.messages.len();
    let pruner = |at: usize| rules.prune_size.chars(&session.messages[at]).map(Chars::get);
    let total = all.clone().try_fold(0.0, |sum, at| Ok(sum + pruner(at)?));
    object([
        ("estimate", or_throws(estimate.map(|estimate| written(&session.messages, estimate)))),
        (
            "perMessage",
            Value::Array(
                all.clone().map(|at| or_throws(tokens_of(at).map(|tokens| number(tokens.get())))).collect(),
            ),
        ),
        ("prunerChars", Value::Array(all.map(|at| or_throws(pruner(at).map(number))).collect())),
        ("prunerCharsTotal", or_throws(total.map(number))),
        ("lastAssistantUsage", tokens::recorded_usage(&session.session, &own_leaf(&session.session))),
        ("shouldCompact", should_compact(session, estimate)),
    ])
}

/// The session's leaf; an unknown one does not move it.
fn own_leaf(session: &Session) -> Leaf {
    match &session.leaf {
        Leaf::Id(id) if session.tree.find_by_text(&session.index, id).is_none() => Leaf::Own,
        leaf => leaf.clone(),
    }
}

fn should_compact(session: &Released, estimate: Result<ContextEstimate, JsException>) -> Value {
    let (Some(window), Ok(estimate)) = (session.number("contextWindow"), estimate) else {
        return Value::Null;
    };
    let settings = pi_compaction(session.session.case.get("settings"));
    Value::Bool(settings.should_compact_under(session.rules(), estimate.tokens, Tokens(window)))
}
