//! The JSON of `context`.

use schemars::JsonSchema;
use serde::Serialize;

use super::ruleset::{RulesetJson, ruleset_json};
use super::session_output::{SessionJson, finite, message_tokens, session_json, size_json, tool_name};
use super::usage_totals::{UsageJson, usage_json};
use crate::context::budget::Budget;
use crate::context::tokens::usage::sum_of_estimates;
use crate::context::tokens::{ContextEstimate, estimate_message};
use crate::context::{ContentSource, ContextMessage};
use crate::export::json::JsonOutput;
use crate::format::{round_tokens, whole_percent};
use crate::gateway::window::WindowInfo;
use crate::ids::EntryIx;
use crate::js::{JsException, Value};
use crate::plan::Plan;
use crate::policy::memory_flush::{Flush, FlushState, FlushTotal};
use crate::session::usage_totals::session_usage;
use crate::session::{CountSource, LoadedSession, SendingChanges, TokenCount, TurnEndCheck};
use crate::store::entry::EntryKind;
use crate::units::Tokens;

/// The messages that the model is sent.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ContextJson {
    session: SessionJson,
    /// The entry that the context ends at.
    leaf: Option<String>,
    provider: String,
    model: String,
    ruleset: RulesetJson,
    window: WindowInfo,
    /// The prompt of the next call, as the list of sessions shows it.
    next_call: NextCallJson,
    /// The runtime's own estimate of the context; null where the runtime would fail.
    estimate: Option<EstimateJson>,
    /// Sum of the messages' estimates.
    message_tokens: Option<Tokens>,
    /// Estimated tokens of every message on the path.
    session_tokens: u64,
    spent: UsageJson,
    /// The parts of `nextCall`, on the same scale.
    budget: Budget,
    memory_flush: Option<FlushJson>,
    /// The check after an `openclaw agent` turn that ends here, in releases that count summarised messages, too.
    turn_end: Option<TurnEndCheck>,
    messages: Vec<MessageJson>,
    #[serde(flatten)]
    sending: SendingChanges,
}

impl JsonOutput for ContextJson {}

#[derive(Serialize, JsonSchema)]
struct NextCallJson {
    tokens: TokenCount,
    /// Its share of the window, in whole percent.
    percent: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct EstimateJson {
    tokens: Option<Tokens>,
    /// Tokens that a provider counted, up to `anchor`.
    usage_tokens: Option<Tokens>,
    /// Estimated tokens after it.
    trailing_tokens: Option<Tokens>,
    /// The answer whose usage holds the count.
    anchor: Option<String>,
    source: &'static str,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct FlushJson {
    state: &'static str,
    /// Tokens.
    threshold: Option<Tokens>,
    total: Option<FlushTotal>,
    /// Tokens that are missing.
    to_go: Option<Tokens>,
    /// Whether compaction comes first.
    late: bool,
    rule: &'static str,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct MessageJson {
    index: usize,
    pub(super) entry: String,
    /// The entry that edited its content.
    edit: Option<String>,
    role: &'static str,
    tool: Option<String>,
    /// Estimated tokens.
    tokens: Option<Tokens>,
    /// Chars as pi counts them.
    chars: Option<f64>,
    /// Chars as the pruner counts them.
    pruner_chars: Option<f64>,
    /// Its form in the next call, if the guard, pruning or the history limit changes it as in the last one.
    sent: Option<SentJson>,
    /// The message, with `--messages`.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Value>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SentJson {
    fate: &'static str,
    reason: &'static str,
    tokens: u64,
    pruner_chars: Option<f64>,
}

fn sent_json(sent: Option<&Plan>, at: usize) -> Option<SentJson> {
    let plan = sent?;
    let fate = plan.fates().get(at).filter(|fate| fate.fate.is_change())?;
    Some(SentJson {
        fate: fate.fate.word(),
        reason: fate.reason.word(),
        tokens: plan.tokens_after[at],
        pruner_chars: size_json(fate.after),
    })
}

/// Sums pi's estimates over every `message` entry of the file, on all branches.
pub(super) fn session_tokens(session: &LoadedSession) -> u64 {
    let entries = session.index.entries.iter().filter(|entry| entry.kind == EntryKind::Message);
    entries.filter_map(|entry| entry.message).map(|size| message_tokens(&size)).sum()
}

/// `sent` are the cuts of the messages.
pub(super) fn messages_json(
    session: &LoadedSession,
    bodies: Option<&[Value]>,
    sent: Option<&Plan>,
) -> Vec<MessageJson> {
    let message = |(at, message): (usize, &ContextMessage)| {
        let size = &message.size;
        MessageJson {
            index: at,
            entry: session.index.display_id(message.entry),
            edit: content_edit(message).map(|edit| session.index.display_id(edit)),
            role: size.role.as_str(),
            tool: tool_name(session, message.entry, size),
            tokens: estimate_message(size).ok(),
            chars: size_json(size.pi_chars),
            pruner_chars: size_json(size.prune_chars),
            sent: sent_json(sent, at),
            message: bodies.and_then(|bodies| bodies.get(at)).cloned(),
        }
    };
    session.context.messages.iter().enumerate().map(message).collect()
}

/// `sent` are the cuts of the messages; `settings` are those of a plan for the next call, if it is under other settings.
pub(super) fn report_json(
    session: &LoadedSession,
    estimate: Result<ContextEstimate, JsException>,
    bodies: Option<&[Value]>,
    sent: Option<&Plan>,
    settings: Option<&Plan>,
    sending: SendingChanges,
) -> ContextJson {
    let messages = &session.context.messages;
    let (next, budget) = next_call(session, settings);
    ContextJson {
        session: session_json(&session.item),
        leaf: session.context.leaf.map(|leaf| session.index.display_id(leaf)),
        provider: session.provider.clone(),
        model: session.model.clone(),
        ruleset: ruleset_json(&session.ruleset),
        window: session.window,
        next_call: NextCallJson {
            tokens: next,
            percent: whole_percent(next.tokens, round_tokens(session.window.model_tokens)),
        },
        estimate: estimate.ok().map(|estimate| estimate_json(session, &estimate)),
        message_tokens: sum_of_estimates(messages).ok(),
        session_tokens: session_tokens(session),
        spent: usage_json(&session_usage(session)),
        budget,
        memory_flush: session.memory_flush().map(|flush| flush_json(&flush)),
        turn_end: session.turn_end_check(&session.context.path),
        messages: messages_json(session, bodies, sent),
        sending,
    }
}

/// Returns the `context_edit` that replaces the message's own content.
fn content_edit(message: &ContextMessage) -> Option<EntryIx> {
    match message.content_source {
        ContentSource::Edited(edit) => Some(edit),
        ContentSource::Own | ContentSource::Checkpoint => None,
    }
}

/// Returns measured tokens up to the anchor and estimates after it; all tokens are estimates without an anchor.
fn estimate_json(session: &LoadedSession, estimate: &ContextEstimate) -> EstimateJson {
    let anchor = estimate.last_usage.map(|at| session.context.messages[at].entry);
    EstimateJson {
        tokens: finite(estimate.tokens),
        usage_tokens: finite(estimate.usage_tokens),
        trailing_tokens: finite(estimate.trailing_tokens),
        anchor: anchor.map(|ix| session.index.display_id(ix)),
        source: if anchor.is_some() { "measured" } else { "est" },
    }
}

fn flush_json(flush: &Flush) -> FlushJson {
    FlushJson {
        state: flush.state.word(),
        threshold: finite(flush.threshold),
        total: flush.total,
        to_go: if let FlushState::Waiting { tokens } = flush.state { finite(tokens) } else { None },
        late: flush.compacts_first,
        rule: flush.state.rule(),
    }
}

/// Returns the prompt of the next call and its parts, as the list and the screen show them.
pub(super) fn next_call(session: &LoadedSession, plan: Option<&Plan>) -> (TokenCount, Budget) {
    let next = &session.next_prompt;
    let budget = match plan {
        Some(plan) => session.next_budget_after(plan),
        None => next.budget(&session.context),
    };
    let is_changed = budget.total() != next.total.tokens;
    let source = match next.total.source {
        CountSource::Measured if is_changed => CountSource::Calibrated,
        source => source,
    };
    (TokenCount { tokens: budget.total(), source }, budget)
}
