//! An estimate of a context as the real programs write it: a usage that is no number stays what it is, and JavaScript
//! appends to a text where it would add to a number.

use clawscope::context::tokens::{ContextEstimate, estimate_context};
use clawscope::context::{bodies, build_context};
use clawscope::js::{JsException, Value, is_text, is_truthy, plus};
use clawscope::units::Tokens;

use super::{Session, number, object};

const COMPONENTS: [&str; 4] = ["input", "output", "cacheRead", "cacheWrite"];

/// An estimate of these messages.
pub(super) fn written(messages: &[Value], estimate: ContextEstimate) -> Value {
    let usage = odd_usage(messages, estimate);
    object([
        ("tokens", tokens_of(usage.as_ref(), estimate)),
        ("usageTokens", usage.unwrap_or_else(|| number(estimate.usage_tokens.get()))),
        ("trailingTokens", number(estimate.trailing_tokens.get())),
        ("lastUsageIndex", estimate.last_usage.map_or(Value::Null, |at| number(at as f64))),
    ])
}

/// The tokens of an estimate of these messages.
pub(super) fn written_tokens(messages: &[Value], estimate: ContextEstimate) -> Value {
    tokens_of(odd_usage(messages, estimate).as_ref(), estimate)
}

/// The tokens before a compaction of the session's branch.
pub(super) fn tokens_before(session: &Session, tokens: Tokens) -> Result<Value, JsException> {
    let context = build_context(&session.index, &session.tree, &session.leaf)?;
    let messages = bodies::read_messages(&session.source, &session.index, &context).expect("bodies");
    Ok(match estimate_context(&context.messages) {
        Ok(estimate) if estimate.tokens.get().total_cmp(&tokens.get()).is_eq() => {
            written_tokens(&messages, estimate)
        }
        _ => number(tokens.get()),
    })
}

fn tokens_of(usage: Option<&Value>, estimate: ContextEstimate) -> Value {
    match usage {
        Some(usage) if is_text(Some(usage)) => {
            plus(Some(usage), Some(&Value::Number(estimate.trailing_tokens.get())))
        }
        _ => number(estimate.tokens.get()),
    }
}

/// The tokens of the anchor's usage, if they are no number.
fn odd_usage(messages: &[Value], estimate: ContextEstimate) -> Option<Value> {
    let usage = messages.get(estimate.last_usage?)?.get("usage")?;
    if usage.get("contextUsage").is_some() {
        return None;
    }
    let total = usage.get("totalTokens").cloned();
    let sum = || {
        COMPONENTS
            .iter()
            .map(|name| usage.get(name).cloned())
            .reduce(|sum, next| Some(plus(sum.as_ref(), next.as_ref())))
    };
    let tokens = if is_truthy(total.as_ref()) { total } else { sum().flatten() };
    tokens.filter(|tokens| !matches!(tokens, Value::Number(_) | Value::Null))
}
