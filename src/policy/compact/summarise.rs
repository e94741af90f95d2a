//! The whole summary of a compaction, from its material to the text that is stored (compaction 3.20, 5).

use std::borrow::Cow;

use crate::gateway::ruleset::PiChange;
use crate::js::{self, JsString, Throws, Value};
use crate::policy::compact::chunks::{SAFETY_MARGIN, adaptive_ratio, at_least_one, max_chunk_tokens, total};
use crate::policy::compact::failures::{failures_section, tool_failures};
use crate::policy::compact::job::{Cancel, Dropped, Mode, NoSummary, SummaryJob, Written};
use crate::policy::compact::layout::{NO_HISTORY, Parts};
use crate::policy::compact::request::{Form, Purpose, SummaryRequest, TURN_FOCUS};
use crate::policy::compact::share::{ShareSettings, SharedMessage, prune_by_share};
use crate::policy::compact::stages::{
    Answers, Halt, NoAnswer, Stage, estimates, max_prefix_tokens, max_summary_tokens,
};
use crate::policy::repair::shape_of;
use crate::store::entry::Role;
use crate::store::measure::role_of;

/// Makes a summary with the answers of someone, one call after the other. Nothing is stored.
pub fn summarise(job: &SummaryJob, answers: &mut dyn Answers) -> Result<Written, NoSummary> {
    summarise_within(job, job.window, answers)
}

/// The same in another window than the job's own, in tokens; an infinite one splits and drops nothing.
pub fn summarise_within(
    job: &SummaryJob,
    window: f64,
    answers: &mut dyn Answers,
) -> Result<Written, NoSummary> {
    let lists = job.material.files.lists();
    let mut written = match job.mode {
        Mode::Default => Written { parts: by_runtime(job, answers)?, details: lists, dropped: None },
        Mode::Safeguard => safeguard(job, window, answers)?,
    };
    written.parts.files = written.details.section();
    Ok(written)
}

/// The previous compaction's summary; absent and null are none, an empty text is one.
fn previous(job: &SummaryJob) -> Option<JsString> {
    let previous = job.material.previous_summary.as_ref().filter(|value| !value.is_null());
    previous.map(|value| js::to_text(Some(value)))
}

/// Mode `default`: one call, another for the beginning of a split turn, no fallback (compaction 3.20).
fn by_runtime(job: &SummaryJob, answers: &mut dyn Answers) -> Result<Parts, NoSummary> {
    let (previous, prefix) = (previous(job), &job.material.turn_prefix);
    let mut call = |request: SummaryRequest<'_>| {
        answers.answer(&request).map_err(|error| match error {
            NoAnswer::Failed(why) => NoSummary::Failed(why),
            NoAnswer::Ended => NoSummary::Ended,
        })
    };
    let pi = job.material.pi;
    let history = if job.material.history.is_empty() && !prefix.is_empty() {
        // Since it keeps system messages, the runtime carries the summary before on (store-pi-1.5 I3).
        previous
            .clone()
            .filter(|_| pi.has(PiChange::KeepsSystemMessages))
            .unwrap_or_else(|| NO_HISTORY.into())
    } else {
        call(SummaryRequest {
            purpose: Purpose::History,
            form: Form::Checkpoint,
            merges: false,
            pi,
            messages: &job.material.history,
            previous: previous.as_ref(),
            focus: job.instructions.as_ref(),
            max_tokens: max_summary_tokens(job.reserve_tokens),
        })?
    };
    let prefix_request = SummaryRequest {
        purpose: Purpose::TurnPrefix,
        form: Form::TurnPrefix,
        merges: false,
        pi,
        messages: prefix,
        previous: None,
        focus: job.instructions.as_ref().filter(|_| pi.has(PiChange::FocusesPrefix)),
        max_tokens: max_prefix_tokens(job.reserve_tokens),
    };
    let turn_prefix = if prefix.is_empty() { None } else { Some(call(prefix_request)?) };
    Ok(Parts { history, turn_prefix, ..Parts::default() })
}

/// Mode `safeguard` (compaction 5).
fn safeguard(job: &SummaryJob, window: f64, answers: &mut dyn Answers) -> Result<Written, NoSummary> {
    let (history, prefix) = (&job.material.history, &job.material.turn_prefix);
    if !history.iter().any(is_real) {
        return Err(NoSummary::Cancelled(Cancel::NothingReal));
    }
    let halted = |halt| match halt {
        Halt::Ended => NoSummary::Ended,
        Halt::Threw => NoSummary::Cancelled(Cancel::Malformed),
    };
    let failures = failures_section(&tool_failures(history.iter().chain(prefix)));
    let kept = keep(job, window, answers).map_err(halted)?;
    let tokens = all_estimates(&kept.messages, prefix).map_err(|_| halted(Halt::Threw))?;
    let stage = stage(job, window, Purpose::History, &tokens);
    let main = Stage { previous: kept.previous.as_ref(), custom: job.instructions.as_ref(), ..stage };
    let history = main.summarise(&kept.messages, answers).map_err(halted)?;
    let focus = JsString::from(TURN_FOCUS);
    let turn_prefix = if prefix.is_empty() {
        None
    } else {
        let stage = Stage { purpose: Purpose::TurnPrefix, custom: Some(&focus), ..stage };
        Some(stage.summarise(prefix, answers).map_err(halted)?)
    };
    let parts = Parts { history, turn_prefix, failures, rules: job.rules.clone(), ..Parts::default() };
    Ok(Written { parts, details: job.material.files.lists(), dropped: kept.dropped })
}

/// Custom messages, shell commands and summaries are not real (compaction 5.1).
fn is_real(message: &Value) -> bool {
    matches!(role_of(message), Role::User | Role::Assistant | Role::ToolResult)
}

/// A stage without previous summary and instructions; its calls fit messages of these tokens (compaction 5.9, 5.16).
fn stage<'a>(job: &'a SummaryJob, window: f64, purpose: Purpose, tokens: &[f64]) -> Stage<'a> {
    let ratio = adaptive_ratio(total(tokens), tokens.len(), window);
    Stage {
        purpose,
        window,
        max_chunk_tokens: max_chunk_tokens(window, ratio),
        max_tokens: max_summary_tokens(at_least_one(job.reserve_tokens.floor())),
        identifiers: &job.identifiers,
        custom: None,
        previous: None,
        merges: false,
    }
}

/// Tokens of each message of two lists.
fn all_estimates(first: &[Value], second: &[Value]) -> Result<Vec<f64>, Throws> {
    Ok([estimates(first)?, estimates(second)?].concat())
}

/// The history that is summarised, and the summary it goes on from.
struct Kept<'a> {
    messages: Cow<'a, [Value]>,
    previous: Option<JsString>,
    dropped: Option<Dropped>,
}

/// Drops the oldest parts of the history when what stays is too large already (compaction 5.7, 5.8), and summarises them
/// first.
fn keep<'a>(job: &'a SummaryJob, window: f64, answers: &mut dyn Answers) -> Result<Kept<'a>, Halt> {
    let history = &job.material.history;
    let whole = |dropped| Kept { messages: Cow::Borrowed(history), previous: previous(job), dropped };
    let new_tokens = new_content(job)?;
    if !new_tokens.is_some_and(|tokens| tokens > (window * job.share * SAFETY_MARGIN).floor()) {
        return Ok(whole(None));
    }
    let tokens = estimates(history)?;
    let sized = history
        .iter()
        .zip(tokens)
        .map(|(message, tokens)| Ok(SharedMessage { shape: shape_of(message), tokens }));
    let settings = ShareSettings { share: job.share, ..ShareSettings::new(window) };
    let shared = prune_by_share(&sized.collect::<Vec<_>>(), &settings)?;
    if shared.dropped_chunks == 0 {
        return Ok(whole(None));
    }
    let dropped = Dropped {
        chunks: shared.dropped_chunks,
        messages: shared.dropped_messages,
        tokens: shared.dropped_tokens,
        new_content_percent: new_tokens.unwrap_or(f64::NAN) / window * 100.0,
    };
    let summary = dropped_summary(job, window, &shared.dropped_messages(history, job.now_ms), answers)?;
    let messages = shared.kept_messages(history, job.now_ms);
    Ok(Kept {
        messages: messages.into(),
        previous: summary.or_else(|| previous(job)),
        dropped: Some(dropped),
    })
}

/// Tokens of the context that are not summarised: system prompt and tools are among them when a provider counted
/// (compaction 5.7). None where nothing is known.
fn new_content(job: &SummaryJob) -> Result<Option<f64>, Throws> {
    if !job.tokens_before.is_finite() {
        return Ok(None);
    }
    let summarised =
        total(&estimates(&job.material.history)?) + total(&estimates(&job.material.turn_prefix)?);
    let new = (job.tokens_before - summarised).floor();
    Ok(Some(if new.is_nan() { new } else { new.max(0.0) }))
}

/// The summary of what was dropped; none where that fails, which the gateway only logs.
fn dropped_summary(
    job: &SummaryJob,
    window: f64,
    messages: &[Value],
    answers: &mut dyn Answers,
) -> Result<Option<JsString>, Halt> {
    let previous = previous(job);
    let Ok(tokens) = estimates(messages) else { return Ok(None) };
    let stage = stage(job, window, Purpose::Dropped, &tokens);
    let stage = Stage { previous: previous.as_ref(), custom: job.instructions.as_ref(), ..stage };
    match stage.summarise(messages, answers) {
        Ok(text) => Ok(Some(text)),
        Err(Halt::Threw) => Ok(None),
        Err(Halt::Ended) => Err(Halt::Ended),
    }
}
