//! Calls that were refused in words: failed answers, answers with a stop reason of their own, and prompts that threw.

use crate::gateway::ruleset::Ruleset;
use crate::ids::EntryIx;
use crate::inspect::facts::time;
use crate::inspect::overflow::{Overflow, Scope, Sign};
use crate::js::{self, Value};
use crate::policy::overflow::{
    Judgement, Runtime, Said, Verdict, gateway, judge, recognised, recognised_in_run,
};
use crate::store::body;
use crate::store::entry::{Entry, EntryKind, Role, StopReason};
use crate::store::index::Index;

/// The type of a custom entry that records a prompt that threw.
pub(crate) const PROMPT_ERROR: &str = "openclaw:prompt-error";
/// How the gateway's own refusals begin where it notes them itself.
const OWN_REFUSAL: &str = "Context overflow:";
/// The key that a gateway writes its own version to.
const TOUCHED_BY: [&str; 2] = ["meta", "lastTouchedVersion"];

/// The refusals of a file. A refusal that stands there twice is one: a branch written again copies its errors, and a
/// gateway notes the error of a prompt beside the failed answer.
pub(super) fn refused(scope: &Scope<'_>) -> Vec<Overflow> {
    let version = scope.config.value(&TOUCHED_BY).and_then(Value::as_str).map(js::JsString::to_string_lossy);
    let runtime = runtime(scope.ruleset, version.as_deref());
    let mut found: Vec<Overflow> = Vec::new();
    for (ix, entry) in scope.index.iter() {
        if !may_refuse(scope.index, entry) {
            continue;
        }
        let Some(overflow) = at(scope, ix, entry, runtime) else { continue };
        match found.iter_mut().rev().find(|known| is_same(scope.index, known, &overflow)) {
            Some(known) => known.again.push(ix),
            None => found.push(overflow),
        }
    }
    found
}

/// The program whose detectors read the answers.
fn runtime(ruleset: Ruleset, version: Option<&str>) -> Runtime<'_> {
    match ruleset {
        Ruleset::Pi0_55 => Runtime::Pi("0.55.3"),
        Ruleset::Pi1_5 => Runtime::Pi("1.5.2"),
        // The name of a range holds its first release.
        pi if pi.is_pi() => Runtime::Pi(pi.id().trim_start_matches("pi-")),
        _ => Runtime::OpenClaw(version.unwrap_or(ruleset.id())),
    }
}

/// Whether an entry can be a refusal at all, so that its body is worth reading.
fn may_refuse(index: &Index, entry: &Entry) -> bool {
    let stopped = |stop| matches!(stop, StopReason::Error | StopReason::Other);
    match entry.kind {
        EntryKind::Message => entry.is_call() && entry.message.is_some_and(|size| stopped(size.stop)),
        EntryKind::Custom => index.words.value(entry.word).is_some_and(|word| word.str_is(PROMPT_ERROR)),
        _ => false,
    }
}

fn at(scope: &Scope<'_>, ix: EntryIx, entry: &Entry, runtime: Runtime<'_>) -> Option<Overflow> {
    let value = body::entry(scope.source, scope.index, ix).ok()?;
    let noted = entry.kind == EntryKind::Custom;
    let (said, at) = if noted {
        let error = value.get("data").and_then(|data| data.get("error"))?;
        (Said::of_text(&js::to_text(Some(error)).to_string_lossy()), entry.time)
    } else {
        let message = value.get("message")?;
        (Said::of_message(message), time(entry, message))
    };
    // A summary that was refused is no call of the conversation.
    if is_of_summary(&said.message) {
        return None;
    }
    let judgement = judge(&said);
    let own = judgement.by_gateway || noted && said.message.trim_start().starts_with(OWN_REFUSAL);
    let sign = sign(&judgement, own)?;
    let numbers = judgement.numbers;
    Some(Overflow {
        entry: ix,
        sign,
        noted,
        rule: judgement.rule,
        at,
        model: entry.model,
        requested: numbers.requested,
        limit: numbers.limit,
        reply: numbers.output.filter(|_| sign == Sign::Refused),
        recognised: was_recognised(&said, &judgement, runtime),
        text: words(said),
        again: Vec::new(),
    })
}

/// Whether an error is that of a compaction's own call.
pub(crate) fn is_of_summary(text: &str) -> bool {
    let text = text.to_lowercase();
    let failed = ["compaction failed", "summarization failed", "summarisation failed"];
    failed.iter().any(|words| text.contains(words)) && gateway::is_compaction_failure(&text)
}

fn sign(judgement: &Judgement, own: bool) -> Option<Sign> {
    match judgement.verdict {
        Verdict::No => None,
        Verdict::Bytes => Some(Sign::Bytes),
        Verdict::Tokens if own => Some(Sign::Precheck),
        Verdict::Tokens => Some(Sign::Refused),
    }
}

/// Whether anything of that release recognised it: its own test after the run, or its runtime's within the run.
fn was_recognised(said: &Said, judgement: &Judgement, runtime: Runtime<'_>) -> Option<bool> {
    let after = recognised(said, judgement, runtime)?;
    let within = match runtime {
        Runtime::OpenClaw(version) => recognised_in_run(said, version).unwrap_or(false),
        Runtime::Pi(_) => false,
    };
    Some(after || within)
}

/// What was said, or the stop reason or code where there are no words.
fn words(said: Said) -> String {
    let message = said.message.trim();
    if !message.is_empty() {
        return message.to_owned();
    }
    if said.stop_reason == "error" { said.codes.join(" ") } else { said.stop_reason }
}

/// Whether two entries record one refusal.
fn is_same(index: &Index, known: &Overflow, other: &Overflow) -> bool {
    let copied = known.at == other.at && known.text == other.text;
    copied || known.noted != other.noted && is_one_call(index, known, other)
}

/// Whether a note and a failed answer belong to one call: the same words or numbers, and nobody spoke in between.
fn is_one_call(index: &Index, known: &Overflow, other: &Overflow) -> bool {
    let named = known.requested.is_some() && known.requested == other.requested;
    let alike = named || known.text.contains(&other.text) || other.text.contains(&known.text);
    let from = known.entry.at() + 1;
    let between = (from..other.entry.at()).map(|at| &index.entries[at]);
    let speaks = |entry: &Entry| {
        let answers = entry.is_call() && entry.message.is_some_and(|size| size.stop != StopReason::Error);
        answers
            || matches!(entry.role(), Some(Role::User | Role::ToolResult))
            || entry.kind == EntryKind::Compaction
    };
    alike && !between.into_iter().any(speaks)
}
