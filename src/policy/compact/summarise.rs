//! Makes the summary of a compaction, from messages to the text that is stored (compaction 3.20, 5).

use std::borrow::Cow;
use std::collections::HashSet;

use crate::gateway::ruleset::PiChange;
use crate::js;
use crate::js::{JsException, JsString, Value};
use crate::policy::compact::chunks::{
    SAFETY_MARGIN, adaptive_ratio, at_least_one, max_chunk_tokens, total_tokens,
};
use crate::policy::compact::history_share::{HistoryMessage, ShareSettings, prune_by_share};
use crate::policy::compact::request::{SummaryForm, SummaryPurpose, SummaryRequest, TURN_FOCUS};
use crate::policy::compact::stages::{
    AnswerFailure, CancelReason, DroppedHistory, NO_HISTORY, NoSummary, Stage, StageError, StoredSummary,
    SummaryMode, SummaryModel, SummaryParts, SummarySpec, estimate_each, max_prefix_tokens,
    max_summary_tokens,
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

// Collects the tool failures that end a safeguard summary (compaction 5.3, 5.4).

/// Longest text of a failure, in UTF-16 units (compaction 5.3).
const MAX_TEXT_UNITS: usize = 240;

const ELLIPSIS: &str = "...";

/// Most lines in the section (compaction 5.4).
const MAX_LINES: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolFailure {
    /// The tool name, not trimmed; `tool` when the result names none.
    pub tool: JsString,
    /// The result's text on one line, cut to 240 units; the cut may split a surrogate pair.
    pub text: JsString,
    /// Status and exit code, if the result has them; otherwise empty.
    pub meta: JsString,
}

/// Collects failed results, oldest first, one per call (compaction 5.3).
pub fn collect_tool_failures<'a>(messages: impl IntoIterator<Item = &'a Value>) -> Vec<ToolFailure> {
    let mut seen = HashSet::new();
    let failed = messages.into_iter().filter(|message| {
        role_of(*message) == Role::ToolResult && message.get("isError") == Some(&Value::Bool(true))
    });
    let first = failed.filter(|message| {
        let id = message.get("toolCallId").and_then(Value::as_str);
        id.is_some_and(|id| !id.is_empty() && seen.insert(id.clone()))
    });
    first.map(parse_failure).collect()
}

/// Writes the failures as a section of a summary; empty without any (compaction 5.4).
pub fn failures_section(failures: &[ToolFailure]) -> JsString {
    let mut text = JsString::new();
    if failures.is_empty() {
        return text;
    }
    text.push_str("\n\n## Tool Failures");
    for failure in failures.iter().take(MAX_LINES) {
        text.push_str("\n- ");
        text.push(&failure.tool);
        if !failure.meta.is_empty() {
            text.push_str(" (");
            text.push(&failure.meta);
            text.push_str(")");
        }
        text.push_str(": ");
        text.push(&failure.text);
    }
    if failures.len() > MAX_LINES {
        text.push_str(&format!("\n- ...and {} more", failures.len() - MAX_LINES));
    }
    text
}

fn parse_failure(message: &Value) -> ToolFailure {
    let named = message.get("toolName").and_then(Value::as_str).filter(|name| !name.is_blank());
    let meta = format_meta(message.get("details"));
    let said = one_line(&result_text(message.get("content")));
    let text = match (said.is_empty(), meta.is_empty()) {
        (false, _) => truncate(said),
        (true, false) => "failed".into(),
        (true, true) => "failed (no output)".into(),
    };
    ToolFailure { tool: named.cloned().unwrap_or_else(|| "tool".into()), text, meta }
}

/// Joins the text blocks with line feeds; content that is not a list of blocks has no text.
fn result_text(content: Option<&Value>) -> JsString {
    let mut text = JsString::new();
    let blocks = content.and_then(Value::as_array).unwrap_or_default();
    let texts = blocks.iter().filter(|block| block.get("type").is_some_and(|kind| kind.str_is("text")));
    for (at, block) in texts.filter_map(|block| block.get("text")?.as_str()).enumerate() {
        if at > 0 {
            text.push_str("\n");
        }
        text.push(block);
    }
    text
}

/// Collapses every run of white space to one space and trims both ends.
fn one_line(text: &JsString) -> JsString {
    let white = |unit: &u16| char::from_u32(u32::from(*unit)).is_some_and(js::is_trimmed);
    let words = text.units().split(white).filter(|word| !word.is_empty());
    JsString::from(words.collect::<Vec<_>>().join(&u16::from(b' ')))
}

fn truncate(text: JsString) -> JsString {
    if text.len() <= MAX_TEXT_UNITS {
        return text;
    }
    let mut cut = text.slice(0, MAX_TEXT_UNITS - ELLIPSIS.len());
    cut.push_str(ELLIPSIS);
    cut
}

/// Writes `status=…` and `exitCode=…`, if present.
fn format_meta(details: Option<&Value>) -> JsString {
    let mut meta = JsString::new();
    let field = |key| details.and_then(|details| details.get(key));
    if let Some(status) = field("status").and_then(Value::as_str).filter(|status| !status.is_empty()) {
        meta.push_str("status=");
        meta.push(status);
    }
    if let Some(code) = field("exitCode").and_then(Value::as_f64).filter(|code| code.is_finite()) {
        let gap = if meta.is_empty() { "" } else { " " };
        meta.push_str(&format!("{gap}exitCode={}", js::number_text(code)));
    }
    meta
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(results: &[&str]) -> String {
        let messages: Vec<Value> = results
            .iter()
            .map(|rest| js::parse(&format!(r#"{{"role":"toolResult",{rest}}}"#)).expect("test JSON"))
            .collect();
        failures_section(&collect_tool_failures(&messages)).to_string_lossy()
    }

    #[test]
    fn a_failure_has_its_tool_its_codes_and_one_line_of_text() {
        let result = r#""isError":true,"toolCallId":"a","toolName":" exec","details":{"status":"failed","exitCode":0},"content":[{"type":"text","text":"no\n\n  such\tfile "},{"type":"image"},{"type":"text","text":"x"}]"#;
        assert_eq!(
            section(&[result]),
            "\n\n## Tool Failures\n-  exec (status=failed exitCode=0): no such file x"
        );
    }

    #[test]
    fn a_failure_without_text_has_a_placeholder() {
        let bare = r#""isError":true,"toolCallId":"a","toolName":" ","content":"text is no block""#;
        let coded = r#""isError":true,"toolCallId":"b","details":{"status":"","exitCode":1},"content":[]"#;
        let expected = "\n\n## Tool Failures\n- tool: failed (no output)\n- tool (exitCode=1): failed";
        assert_eq!(section(&[bare, coded]), expected);
    }

    #[test]
    fn only_true_failures_count_and_each_call_once() {
        for not_one in [
            r#""isError":1,"toolCallId":"a","content":[]"#,
            r#""isError":true,"toolCallId":"","content":[]"#,
            r#""isError":true,"content":[]"#,
        ] {
            assert_eq!(section(&[not_one]), "", "{not_one}");
        }
        let twice = r#""isError":true,"toolCallId":"a","content":[{"type":"text","text":"x"}]"#;
        assert_eq!(section(&[twice, twice]), "\n\n## Tool Failures\n- tool: x");
    }

    #[test]
    fn long_texts_are_cut_at_240_units_and_long_lists_after_8_lines() {
        let result = |id: usize, text: &str| {
            format!(r#""isError":true,"toolCallId":"{id}","content":[{{"type":"text","text":"{text}"}}]"#)
        };
        let whole = section(&[&result(0, &"x".repeat(240))]);
        assert!(whole.ends_with(&format!(": {}", "x".repeat(240))));
        let cut = section(&[&result(0, &"x".repeat(241))]);
        assert!(cut.ends_with(&format!(": {}...", "x".repeat(237))));
        let many: Vec<String> = (0..11).map(|id| result(id, "x")).collect();
        let text = section(&many.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(text.lines().count(), 3 + 8 + 1);
        assert!(text.ends_with("\n- ...and 3 more"));
    }
}
