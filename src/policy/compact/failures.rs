//! Collects the tool failures that end a safeguard summary (compaction 5.3, 5.4).

use std::collections::HashSet;

use crate::js::{self, JsString, Value};
use crate::store::entry::Role;
use crate::store::measure::role_of;

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
