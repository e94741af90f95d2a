//! Finds calls that were refused in words: failed answers, answers with a special stop reason, and prompts that threw.

use std::borrow::Cow;

use crate::ids::EntryIx;
use crate::js;
use crate::policy::overflow::{
    Classification, ErrorClass, RefusalNumbers, Runtime, StopDetails, Verdict, classify_error,
    documented_request_limit, gateway, is_bodyless_status, is_recognised, is_recognised_in_run, judge,
    stated_excess, stated_sizes,
};
use crate::redact::masked;
use crate::session::message::facts::time_ms;
use crate::session::overflow::call::{Overflow, OverflowKind, OverflowScope};
use crate::session::prompt_estimates::PromptEstimates;
use crate::store::body;
use crate::store::entry::{Entry, EntryKind, Role, StopReason};
use crate::store::index::Index;
use crate::store::intern::ValueIx;
use crate::units::{Bytes, Chars, Moment};

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

// Whether a request that was refused with a status and no text may have been too large in bytes (overflow-texts 5.1).

/// Chars of a request from which the smallest common limit of servers, 1 MB, may refuse it for its bytes.
const SMALLEST_BODY_LIMIT: Chars = Chars(1_000_000.0);

/// Share of a documented limit that the estimate must reach: the request holds the prompt and the tools too.
const MIN_LIMIT_SHARE: f64 = 0.9;

/// Fewer bytes in a message for each of its images mean that a copy of the store lacks their data.
const MIN_IMAGE_BYTES: u64 = 1_000;

/// Chars per estimated token.
const CHARS_PER_TOKEN: f64 = 4.0;

/// Whether the request of a failed call may have been too large in bytes: by the limit that its provider documents, else if
/// it had images, or as many chars as the smallest common limit of servers.
fn may_exceed_bytes(index: &Index, call: EntryIx, provider: &str) -> bool {
    let estimates = PromptEstimates::new(index, None);
    let chars = estimates.sent_to(call).to_chars(CHARS_PER_TOKEN);
    let path = std::iter::successors(estimates.parent(call), |ix| estimates.parent(*ix));
    let sent =
        path.take_while(|ix| !matches!(index.entry(*ix).kind, EntryKind::Compaction | EntryKind::Reset));
    let with_images = sent.filter_map(|ix| Some((index.entry(ix), index.entry(ix).message?.images)));
    let (mut images, mut data, mut is_complete) = (0, 0, true);
    for (entry, count) in with_images.filter(|(_, count)| *count > 0) {
        images += count;
        data += entry.bytes().0;
        is_complete &= entry.bytes().0 >= MIN_IMAGE_BYTES * u64::from(count);
    }
    match documented_request_limit(provider) {
        Some(Bytes(limit)) if is_complete => chars.get() + data as f64 >= MIN_LIMIT_SHARE * limit as f64,
        _ => images > 0 || chars >= SMALLEST_BODY_LIMIT,
    }
}

// Refusals in words that name no cause, but that state the size of the prompt (releases R78).

/// The rule that recognises such a refusal.
pub(crate) const UNKNOWN_WORDS: &str = "R78";

/// Returns the overflow behind an error of no known class, if its text states a size as large as the prompt is by
/// the usage of the call before it, and a smaller one.
fn find_stated_size(index: &Index, error: &CallError, time_ms: Moment) -> Option<Overflow> {
    if error.class != ErrorClass::Other || error.noted_by_gateway {
        return None;
    }
    let prompt = || PromptEstimates::new(index, None).counted_to(index, error.entry);
    let numbers = stated_sizes(&error.text, prompt)?;
    Some(Overflow {
        text: error.text.clone(),
        rule: UNKNOWN_WORDS,
        requested: numbers.requested,
        limit: numbers.limit,
        recognised: Some(false),
        ..Overflow::from_usage(error.entry, OverflowKind::Refused, time_ms, error.model)
    })
}

impl Overflow {
    /// Whether only the sizes in unknown words show it.
    pub fn is_by_stated_size(&self) -> bool {
        self.rule == UNKNOWN_WORDS
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct CallError {
    /// Its answer, or the gateway's note of a prompt that threw.
    pub entry: EntryIx,
    pub class: ErrorClass,
    /// What the text says was requested, reserved for the reply, and allowed.
    pub numbers: RefusalNumbers,
    /// Provider and model that were called.
    pub model: Option<(ValueIx, ValueIx)>,
    /// The error's words, else its codes; may be empty.
    pub text: String,
    /// Whether the gateway noted the error itself instead of keeping a failed answer.
    pub noted_by_gateway: bool,
}

impl CallError {
    /// Returns the error text without secrets: some providers quote the key or the request.
    pub fn shown_text(&self) -> Cow<'_, str> {
        masked(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use crate::session::overflow::OverflowKind;
    use crate::session::testing::{loaded_session, message, transcript, user};

    fn kind_after(first: &str, provider: &str) -> OverflowKind {
        let failed = format!(
            r#"{{"role":"assistant","provider":"{provider}","model":"m","content":[],"stopReason":"error","errorMessage":"413 status code (no body)"}}"#
        );
        let session = loaded_session(&transcript(&[first.to_owned(), message(&failed)]), 200_000.0);
        session.overflows.first().expect("an overflow").kind
    }

    fn image(bytes: usize) -> String {
        let data = "A".repeat(bytes);
        let content = format!(
            r#"{{"role":"user","content":[{{"type":"image","data":"{data}","mimeType":"image/png"}}]}}"#
        );
        message(&content)
    }

    #[test]
    fn where_no_limit_is_known_a_413_without_a_body_is_for_bytes_if_the_request_may_have_many() {
        assert_eq!(kind_after(&user(&"x".repeat(40_000)), "p"), OverflowKind::Refused);
        assert_eq!(kind_after(&user(&"x".repeat(1_100_000)), "p"), OverflowKind::Bytes);
        assert_eq!(kind_after(&image(4), "p"), OverflowKind::Bytes);
    }

    #[test]
    fn the_documented_limit_of_the_provider_decides_where_there_is_one() {
        assert_eq!(kind_after(&user(&"x".repeat(1_100_000)), "anthropic"), OverflowKind::Refused);
        assert_eq!(kind_after(&image(1_500_000), "anthropic"), OverflowKind::Refused);
        assert_eq!(kind_after(&image(19_000_000), "google"), OverflowKind::Bytes);
        assert_eq!(kind_after(&image(19_000_000), "anthropic"), OverflowKind::Refused);
        assert_eq!(
            kind_after(&image(4), "anthropic"),
            OverflowKind::Bytes,
            "a copy without the image's data"
        );
    }
}

#[cfg(test)]
mod unknown_words_tests {
    use crate::session::overflow::OverflowKind;
    use crate::session::testing::{loaded_session, message, transcript, user};

    /// Returns what a refusal with this text counts as, after an answer whose prompt and reply have 6,100 tokens.
    fn judged(text: &str, usage: &str) -> Option<(OverflowKind, Option<u64>, Option<u64>)> {
        let answer = format!(
            r#"{{"role":"assistant","provider":"p","model":"m","content":[{{"type":"text","text":"hi"}}],"stopReason":"stop","usage":{usage}}}"#
        );
        let failed = format!(
            r#"{{"role":"assistant","provider":"p","model":"m","content":[],"stopReason":"error","errorMessage":"{text}"}}"#
        );
        let lines = [user("hi"), message(&answer), user("on"), message(&failed)];
        let session = loaded_session(&transcript(&lines), 200_000.0);
        session.overflows.first().map(|it| (it.kind, it.requested, it.limit))
    }

    const USAGE: &str = r#"{"input":6000,"output":100,"cacheRead":0,"cacheWrite":0,"totalTokens":6100}"#;

    #[test]
    fn unknown_words_with_the_size_of_the_prompt_and_a_smaller_one_are_an_overflow() {
        let refused = Some((OverflowKind::Refused, Some(6_150), Some(5_000)));
        assert_eq!(
            judged("400 Input payload of 6150 units is above the plan's ceiling (5000).", USAGE),
            refused
        );
        assert_eq!(judged("400 输入6150超过5000", USAGE), refused);
    }

    #[test]
    fn errors_of_a_known_class_and_sizes_that_nothing_confirms_are_none() {
        assert_eq!(judged("429 Rate limit reached: limit 5000, used 6150", USAGE), None);
        assert_eq!(judged("500 Internal server error 6150 5000", USAGE), None);
        assert_eq!(
            judged("400 Input payload of 9150 units is above the plan's ceiling (5000).", USAGE),
            None
        );
        let uncounted = r#"{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0}"#;
        assert_eq!(
            judged("400 Input payload of 6150 units is above the plan's ceiling (5000).", uncounted),
            None
        );
    }
}
