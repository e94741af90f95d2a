//! Finds calls that were refused in words: failed answers, answers with a special stop reason, and prompts that threw.

use crate::ids::EntryIx;
use crate::js;
use crate::policy::overflow::{
    Classification, Runtime, StopDetails, Verdict, classify_error, gateway, is_bodyless_status,
    is_recognised, is_recognised_in_run, judge, stated_excess,
};
use crate::session::message::facts::time_ms;
use crate::session::overflow::call::{Overflow, OverflowKind, OverflowScope};
use crate::session::overflow::call_error::CallError;
use crate::session::overflow::request_bytes::may_exceed_bytes;
use crate::session::overflow::unknown_words::find_stated_size;
use crate::store::body;
use crate::store::entry::{Entry, EntryKind, Role, StopReason};
use crate::store::index::Index;

/// Type of the custom entry that records a prompt that threw.
pub(crate) const PROMPT_ERROR: &str = "openclaw:prompt-error";
/// First words of the gateway's own refusals, when it notes them itself.
const GATEWAY_REFUSAL_PREFIX: &str = "Context overflow:";

/// A call that failed in words.
enum FailedCall {
    Overflow(Overflow),
    Error(CallError),
}

/// Returns the refusals of a file, and its other errors. Two records of one refusal count once: a rewritten branch
/// copies its errors, and a gateway notes a prompt's error next to the failed answer.
pub(super) fn find_refused(scope: &OverflowScope<'_>) -> (Vec<Overflow>, Vec<CallError>) {
    let runtime = Runtime::of_ruleset(scope.ruleset, scope.config.written_by.as_deref());
    let (mut found, mut errors): (Vec<Overflow>, Vec<CallError>) = Default::default();
    for (ix, entry) in scope.index.iter() {
        if !may_refuse(scope.index, entry) {
            continue;
        }
        let overflow = match failed_call_at(scope, ix, entry, runtime) {
            Some(FailedCall::Overflow(overflow)) => overflow,
            Some(FailedCall::Error(error)) => {
                errors.push(error);
                continue;
            }
            None => continue,
        };
        match found.iter_mut().rev().find(|known| is_same_refusal(scope.index, known, &overflow)) {
            Some(known) => known.duplicates.push(ix),
            None => found.push(overflow),
        }
    }
    (found, errors)
}

/// Whether the gateway noted an error of a prompt in an entry.
pub(crate) fn is_prompt_error(index: &Index, entry: &Entry) -> bool {
    let is_named = || index.values.value(entry.payload).is_some_and(|word| word.str_is(PROMPT_ERROR));
    entry.kind == EntryKind::Custom && is_named()
}

/// Whether an entry may be a refusal, so that its body is worth reading.
fn may_refuse(index: &Index, entry: &Entry) -> bool {
    let stopped = |stop| matches!(stop, StopReason::Error | StopReason::Other);
    match entry.kind {
        EntryKind::Message => {
            entry.is_model_call() && entry.message.is_some_and(|size| stopped(size.stop_reason))
        }
        _ => is_prompt_error(index, entry),
    }
}

fn failed_call_at(
    scope: &OverflowScope<'_>,
    ix: EntryIx,
    entry: &Entry,
    runtime: Runtime<'_>,
) -> Option<FailedCall> {
    let value = body::read_entry(scope.source, scope.index, ix).ok()?;
    let noted = entry.kind == EntryKind::Custom;
    let (details, at) = if noted {
        let error = value.get("data").and_then(|data| data.get("error"))?;
        (StopDetails::from_text(&js::to_text(Some(error)).to_string_lossy()), entry.time_ms)
    } else {
        let message = value.get("message")?;
        (StopDetails::from_message(message), time_ms(entry, message))
    };
    let judgement = judge(&details);
    let own =
        judgement.by_gateway || noted && details.message.trim_start().starts_with(GATEWAY_REFUSAL_PREFIX);
    // A refused summary call is not part of the conversation.
    let sign = overflow_kind(&judgement, own).map(|kind| {
        let is_bare = kind == OverflowKind::Bytes && is_bodyless_status(&details.message);
        if is_bare && !may_exceed_bytes(scope.index, ix, &called_provider(scope, entry)) {
            OverflowKind::Refused
        } else {
            kind
        }
    });
    let sign = sign.filter(|_| !is_summary_call_error(&details.message));
    let Some(sign) = sign else {
        let error = call_error(ix, entry, details, &judgement)?;
        let sized = find_stated_size(scope.index, &error, at);
        return Some(sized.map_or(FailedCall::Error(error), FailedCall::Overflow));
    };
    let numbers = judgement.numbers;
    Some(FailedCall::Overflow(Overflow {
        entry: ix,
        kind: sign,
        noted_by_gateway: noted,
        rule: judgement.rule,
        time_ms: at,
        model: entry.model,
        requested: numbers.requested.or_else(|| counted_tokens(scope.index, ix)),
        limit: numbers.limit,
        reply_reserve: numbers.output.filter(|_| sign == OverflowKind::Refused),
        excess: stated_excess(&details.message).filter(|_| sign == OverflowKind::Refused),
        recognised: was_recognised(&details, &judgement, runtime),
        text: error_text(details),
        duplicates: Vec::new(),
    }))
}

/// Builds an error that is no overflow; an answer that only has a stop reason unknown to clawscope is none.
fn call_error(
    ix: EntryIx,
    entry: &Entry,
    details: StopDetails,
    judgement: &Classification,
) -> Option<CallError> {
    if details.stop_reason != "error" && details.message.trim().is_empty() {
        return None;
    }
    let (class, numbers) = classify_error(&details, judgement);
    let noted_by_gateway = entry.kind == EntryKind::Custom;
    Some(CallError {
        entry: ix,
        class,
        numbers,
        model: entry.model,
        text: error_text(details),
        noted_by_gateway,
    })
}

fn called_provider(scope: &OverflowScope<'_>, entry: &Entry) -> String {
    entry.model.and_then(|(provider, _)| scope.index.values.text(provider)).unwrap_or_default()
}

/// Returns the prompt tokens that a failed answer reports.
fn counted_tokens(index: &Index, ix: EntryIx) -> Option<u64> {
    let usage = index.unanchored_usage.get(&ix).filter(|usage| usage.has_prompt_tokens())?;
    Some(usage.prompt_tokens().whole())
}

/// Whether an error is that of a compaction's own call.
pub(crate) fn is_summary_call_error(text: &str) -> bool {
    let text = text.to_lowercase();
    let failed = ["compaction failed", "summarization failed", "summarisation failed"];
    failed.iter().any(|words| text.contains(words)) && gateway::is_compaction_failure(&text)
}

fn overflow_kind(judgement: &Classification, own: bool) -> Option<OverflowKind> {
    match judgement.verdict {
        Verdict::NoOverflow => None,
        Verdict::Bytes => Some(OverflowKind::Bytes),
        Verdict::Tokens if own => Some(OverflowKind::Precheck),
        Verdict::Tokens => Some(OverflowKind::Refused),
    }
}

/// Whether that release recognised it, by its test after the run or by its runtime's within the run.
fn was_recognised(details: &StopDetails, judgement: &Classification, runtime: Runtime<'_>) -> Option<bool> {
    let after = is_recognised(details, judgement, runtime)?;
    let within = match runtime {
        Runtime::OpenClaw(version) => is_recognised_in_run(details, version).unwrap_or(false),
        Runtime::Pi(_) => false,
    };
    Some(after || within)
}

/// Returns the error's words, else its stop reason or codes.
fn error_text(details: StopDetails) -> String {
    let message = details.message.trim();
    if !message.is_empty() {
        return message.to_owned();
    }
    if details.stop_reason == "error" { details.codes.join(" ") } else { details.stop_reason }
}

/// Whether two entries record the same refusal.
fn is_same_refusal(index: &Index, known: &Overflow, other: &Overflow) -> bool {
    let copied = known.time_ms == other.time_ms && known.text == other.text;
    copied || known.noted_by_gateway != other.noted_by_gateway && is_same_call(index, known, other)
}

/// Whether a note and a failed answer belong to one call: same words or numbers, and no message between them.
fn is_same_call(index: &Index, known: &Overflow, other: &Overflow) -> bool {
    let named = known.requested.is_some() && known.requested == other.requested;
    let alike = named || known.text.contains(&other.text) || other.text.contains(&known.text);
    let from = known.entry.index() + 1;
    let between = (from..other.entry.index()).map(|at| &index.entries[at]);
    let speaks = |entry: &Entry| {
        let answers =
            entry.is_model_call() && entry.message.is_some_and(|size| size.stop_reason != StopReason::Error);
        answers
            || matches!(entry.role(), Some(Role::User | Role::ToolResult))
            || entry.kind == EntryKind::Compaction
    };
    alike && !between.into_iter().any(speaks)
}
