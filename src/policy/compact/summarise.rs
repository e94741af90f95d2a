//! Makes the summary of a compaction, from messages to the text that is stored (compaction 3.20, 5).

use std::borrow::Cow;

use crate::gateway::ruleset::PiChange;
use crate::js::{self, JsException, JsString, Value};
use crate::policy::compact::chunks::{
    SAFETY_MARGIN, adaptive_ratio, at_least_one, max_chunk_tokens, total_tokens,
};
use crate::policy::compact::failures::{collect_tool_failures, failures_section};
use crate::policy::compact::history_share::{HistoryMessage, ShareSettings, prune_by_share};
use crate::policy::compact::layout::{NO_HISTORY, SummaryParts};
use crate::policy::compact::request::{SummaryForm, SummaryPurpose, SummaryRequest, TURN_FOCUS};
use crate::policy::compact::stages::{
    AnswerFailure, Stage, StageError, SummaryModel, estimate_each, max_prefix_tokens, max_summary_tokens,
};
use crate::policy::compact::summary_spec::{
    CancelReason, DroppedHistory, NoSummary, StoredSummary, SummaryMode, SummarySpec,
};
use crate::policy::repair::{RepairRules, shape_of};
use crate::store::entry::Role;
use crate::store::measure::role_of;
use crate::units::Tokens;

/// Makes a summary with the answers of a model, in a window in tokens: the job's own, or an infinite one, in which it
/// splits and drops nothing. Stores nothing.
pub fn summarise_within(
    job: &SummarySpec,
    window: Tokens,
    answers: &mut dyn SummaryModel,
) -> Result<StoredSummary, NoSummary> {
    let lists = job.texts.files.to_lists();
    let mut written = match job.mode {
        SummaryMode::Default => {
            StoredSummary { parts: summarise_by_runtime(job, answers)?, details: lists, dropped: None }
        }
        SummaryMode::Safeguard => summarise_by_safeguard(job, window, answers)?,
    };
    written.parts.files = written.details.section();
    Ok(written)
}

/// Returns the previous compaction's summary. Absent and null count as none; an empty text does not.
fn previous_summary(job: &SummarySpec) -> Option<JsString> {
    let previous = job.texts.previous_summary.as_ref().filter(|value| !value.is_null());
    previous.map(|value| js::to_text(Some(value)))
}

/// Summarises in mode `default`: one call, another for the beginning of a split turn, no fallback (compaction 3.20).
fn summarise_by_runtime(
    job: &SummarySpec,
    answers: &mut dyn SummaryModel,
) -> Result<SummaryParts, NoSummary> {
    let (previous, prefix) = (previous_summary(job), &job.texts.turn_prefix);
    let mut call = |request: SummaryRequest<'_>| {
        answers.answer(&request).map_err(|error| match error {
            AnswerFailure::Failed(why) => NoSummary::Failed(why),
            AnswerFailure::Aborted => NoSummary::Aborted,
        })
    };
    let pi = job.texts.pi;
    let history = if job.texts.history.is_empty() && !prefix.is_empty() {
        // Since releases keep system messages, the runtime also carries the previous summary on (store-pi-1.5 I3).
        previous
            .clone()
            .filter(|_| pi.has(PiChange::KeepsSystemMessages))
            .unwrap_or_else(|| NO_HISTORY.into())
    } else {
        call(SummaryRequest {
            purpose: SummaryPurpose::History,
            form: SummaryForm::Checkpoint,
            is_merge: false,
            pi,
            messages: &job.texts.history,
            previous_summary: previous.as_ref(),
            focus: job.instructions.as_ref(),
            max_tokens: max_summary_tokens(job.reserve_tokens),
        })?
    };
    let prefix_request = SummaryRequest {
        purpose: SummaryPurpose::TurnPrefix,
        form: SummaryForm::TurnPrefix,
        is_merge: false,
        pi,
        messages: prefix,
        previous_summary: None,
        focus: job.instructions.as_ref().filter(|_| pi.has(PiChange::FocusesPrefix)),
        max_tokens: max_prefix_tokens(job.reserve_tokens),
    };
    let turn_prefix = if prefix.is_empty() { None } else { Some(call(prefix_request)?) };
    Ok(SummaryParts { history, turn_prefix, ..SummaryParts::default() })
}

/// Summarises in mode `safeguard` (compaction 5).
fn summarise_by_safeguard(
    job: &SummarySpec,
    window: Tokens,
    answers: &mut dyn SummaryModel,
) -> Result<StoredSummary, NoSummary> {
    let (history, prefix) = (&job.texts.history, &job.texts.turn_prefix);
    if !history.iter().any(is_real) {
        return Err(NoSummary::Cancelled(CancelReason::NoRealMessage));
    }
    let halted = |halt| match halt {
        StageError::Aborted => NoSummary::Aborted,
        StageError::Threw => NoSummary::Cancelled(CancelReason::Malformed),
    };
    let failures = failures_section(&collect_tool_failures(history.iter().chain(prefix)));
    let kept = retain_history(job, window, answers).map_err(halted)?;
    let tokens = estimate_all(&kept.messages, prefix).map_err(|_| halted(StageError::Threw))?;
    let stage = new_stage(job, window, SummaryPurpose::History, &tokens);
    let main = Stage {
        previous_summary: kept.previous_summary.as_ref(),
        instructions: job.instructions.as_ref(),
        ..stage
    };
    let history = main.summarise(&kept.messages, answers).map_err(halted)?;
    let focus = JsString::from(TURN_FOCUS);
    let turn_prefix = if prefix.is_empty() {
        None
    } else {
        let stage = Stage { purpose: SummaryPurpose::TurnPrefix, instructions: Some(&focus), ..stage };
        Some(stage.summarise(prefix, answers).map_err(halted)?)
    };
    let parts = SummaryParts {
        history,
        turn_prefix,
        failures,
        rules: job.rules_section.clone(),
        ..SummaryParts::default()
    };
    Ok(StoredSummary { parts, details: job.texts.files.to_lists(), dropped: kept.dropped })
}

/// Whether a message is real: custom messages, shell commands and summaries are not (compaction 5.1).
fn is_real(message: &Value) -> bool {
    matches!(role_of(message), Role::User | Role::Assistant | Role::ToolResult)
}

/// Builds a stage without previous summary and instructions, with a chunk size for messages of these tokens (compaction
/// 5.9, 5.16).
fn new_stage<'a>(
    job: &'a SummarySpec,
    window: Tokens,
    purpose: SummaryPurpose,
    tokens: &[Tokens],
) -> Stage<'a> {
    let ratio = adaptive_ratio(total_tokens(tokens), tokens.len(), window);
    Stage {
        purpose,
        window,
        max_chunk_tokens: max_chunk_tokens(window, ratio),
        max_tokens: max_summary_tokens(Tokens(at_least_one(job.reserve_tokens.floor().get()))),
        identifiers: &job.identifiers,
        instructions: None,
        previous_summary: None,
        is_merge: false,
    }
}

fn estimate_all(first: &[Value], second: &[Value]) -> Result<Vec<Tokens>, JsException> {
    Ok([estimate_each(first)?, estimate_each(second)?].concat())
}

/// The history to summarise and the summary it continues.
struct RetainedHistory<'a> {
    messages: Cow<'a, [Value]>,
    previous_summary: Option<JsString>,
    dropped: Option<DroppedHistory>,
}

/// Drops the oldest parts of the history when the new content is already too large (compaction 5.7, 5.8), and
/// summarises them first.
fn retain_history<'a>(
    job: &'a SummarySpec,
    window: Tokens,
    answers: &mut dyn SummaryModel,
) -> Result<RetainedHistory<'a>, StageError> {
    let history = &job.texts.history;
    let whole = |dropped| RetainedHistory {
        messages: Cow::Borrowed(history),
        previous_summary: previous_summary(job),
        dropped,
    };
    let new_tokens = new_content_tokens(job)?;
    if !new_tokens.is_some_and(|tokens| tokens > (window * job.history_share * SAFETY_MARGIN).floor()) {
        return Ok(whole(None));
    }
    let tokens = estimate_each(history)?;
    let rule = RepairRules::default().pairing();
    let sized = history
        .iter()
        .zip(tokens)
        .map(|(message, tokens)| Ok(HistoryMessage { shape: shape_of(message, rule), tokens }));
    let settings = ShareSettings { share: job.history_share, ..ShareSettings::new(window) };
    let shared = prune_by_share(&sized.collect::<Vec<_>>(), &settings)?;
    if shared.dropped_chunks == 0 {
        return Ok(whole(None));
    }
    let dropped = DroppedHistory {
        chunks: shared.dropped_chunks,
        messages: shared.dropped_message_count,
        tokens: shared.dropped_tokens,
        new_content_percent: new_tokens.unwrap_or(Tokens(f64::NAN)) / window * 100.0,
    };
    let summary = summarise_dropped(job, window, &shared.dropped_messages(history, job.now_ms), answers)?;
    let messages = shared.retained_messages(history, job.now_ms);
    Ok(RetainedHistory {
        messages: messages.into(),
        previous_summary: summary.or_else(|| previous_summary(job)),
        dropped: Some(dropped),
    })
}

/// Returns the context tokens that are not summarised, including system prompt and tools if a provider counted them
/// (compaction 5.7); `None` when the context has no finite count.
fn new_content_tokens(job: &SummarySpec) -> Result<Option<Tokens>, JsException> {
    if !job.tokens_before.is_finite() {
        return Ok(None);
    }
    let summarised = total_tokens(&estimate_each(&job.texts.history)?)
        + total_tokens(&estimate_each(&job.texts.turn_prefix)?);
    let new = (job.tokens_before - summarised).floor();
    Ok(Some(if new.is_nan() { new } else { new.max(Tokens::ZERO) }))
}

/// Summarises the dropped part; `None` when that fails, which the gateway only logs.
fn summarise_dropped(
    job: &SummarySpec,
    window: Tokens,
    messages: &[Value],
    answers: &mut dyn SummaryModel,
) -> Result<Option<JsString>, StageError> {
    let previous = previous_summary(job);
    let Ok(tokens) = estimate_each(messages) else { return Ok(None) };
    let stage = new_stage(job, window, SummaryPurpose::Dropped, &tokens);
    let stage =
        Stage { previous_summary: previous.as_ref(), instructions: job.instructions.as_ref(), ..stage };
    match stage.summarise(messages, answers) {
        Ok(text) => Ok(Some(text)),
        Err(StageError::Threw) => Ok(None),
        Err(StageError::Aborted) => Err(StageError::Aborted),
    }
}
