//! Op `tokens`: estimates per message and of the whole, and the compaction trigger.

use clawscope::context::ContextMessage;
use clawscope::context::tokens::{ContextEstimate, estimate_under};
use clawscope::gateway::compaction::pi_compaction;
use clawscope::gateway::ruleset::{Estimate, Rules};
use clawscope::js::{JsException, Value};
use clawscope::store::entry::Usage;
use clawscope::units::Tokens;

use super::super::{or_throws, tokens};
use super::{Released, number, object};

pub(super) fn answer(session: &Released) -> Value {
    let rules = session.rules();
    let tokens_of = |at: usize| estimate_under(rules, &session.messages[at]);
    let estimate = estimate_context_under(rules, &session.context().messages, tokens_of);
    let all = 0..session.messages.len();
    let pruner = |at: usize| rules.prune_size.chars(&session.messages[at]);
    let total = all.clone().try_fold(0.0, |sum, at| Ok(sum + pruner(at)?));
    object([
        ("estimate", or_throws(estimate.map(estimated))),
        (
            "perMessage",
            Value::Array(
                all.clone().map(|at| or_throws(tokens_of(at).map(|tokens| number(tokens.get())))).collect(),
            ),
        ),
        ("prunerChars", Value::Array(all.map(|at| or_throws(pruner(at).map(number))).collect())),
        ("prunerCharsTotal", or_throws(total.map(number))),
        ("lastAssistantUsage", tokens::recorded_usage(&session.session)),
        ("shouldCompact", should_compact(session, estimate)),
    ])
}

fn estimated(estimate: ContextEstimate) -> Value {
    object([
        ("tokens", number(estimate.tokens.get())),
        ("usageTokens", number(estimate.usage_tokens.get())),
        ("trailingTokens", number(estimate.trailing_tokens.get())),
        ("lastUsageIndex", estimate.last_usage.map_or(Value::Null, |at| number(at as f64))),
    ])
}

fn should_compact(session: &Released, estimate: Result<ContextEstimate, JsException>) -> Value {
    let (Some(window), Ok(estimate)) = (session.number("contextWindow"), estimate) else {
        return Value::Null;
    };
    let settings = pi_compaction(session.session.case.get("settings"));
    Value::Bool(settings.should_compact_under(session.rules(), estimate.tokens, Tokens(window)))
}

/// Oracle of compaction 12, row "Usage validity": the estimate of a list under a version's rules. `tokens_of` estimates
/// the message at a position; some versions ignore a usage of 0 as an anchor. The product estimates as the session's
/// runtime does, whatever the ruleset.
fn estimate_context_under(
    rules: &Rules,
    messages: &[ContextMessage],
    tokens_of: impl Fn(usize) -> Result<Tokens, JsException>,
) -> Result<ContextEstimate, JsException> {
    let reported = matches!(
        rules.estimate,
        Estimate::Weighted { .. } | Estimate::OwnRuntime { context_usage: true, .. }
    );
    let read = |usage: Usage| {
        let added = usage.prompt_tokens() + usage.output;
        if usage.is_reported_total && !reported { Usage { context_tokens: added, ..usage } } else { usage }
    };
    let counts = |usage: Usage| !rules.usage_above_zero || usage.context_tokens > Tokens::ZERO;
    let anchor =
        messages.iter().rposition(|message| message.size.usage.is_some_and(|usage| counts(read(usage))));
    let usage = anchor.and_then(|at| messages[at].size.usage).map(read);
    let trailing = anchor.map_or(0, |at| at + 1)..messages.len();
    let trailing_tokens = trailing.into_iter().try_fold(0.0, |sum, at| Ok(sum + tokens_of(at)?.get()))?;
    Ok(ContextEstimate {
        tokens: usage
            .map_or(Tokens(trailing_tokens), |usage| usage.context_tokens_with(Tokens(trailing_tokens))),
        usage_tokens: usage.map_or(Tokens::ZERO, |usage| usage.context_tokens),
        trailing_tokens: Tokens(trailing_tokens),
        last_usage: anchor,
    })
}
