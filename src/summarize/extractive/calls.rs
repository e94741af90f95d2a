//! Extracts the tool calls of a conversation: subject, outcome, and unresolved failures.

use std::collections::HashMap;

use crate::js::{self, Value};
use crate::summarize::extractive::words::{one_line, shortened};
use crate::units::Chars;

/// Arguments that identify the subject of a call, best first.
const SUBJECT_ARGUMENTS: [&str; 15] = [
    "command",
    "cmd",
    "path",
    "file_path",
    "filePath",
    "url",
    "query",
    "pattern",
    "task",
    "prompt",
    "message",
    "text",
    "target",
    "name",
    "action",
];
/// Limit for a subject.
const SUBJECT_CHARS: Chars = Chars(90.0);
/// Limit for the listed subjects of a tool.
const MAX_SUBJECTS: usize = 6;
/// Limit for the listed failures and pending calls.
const MAX_FAILURES: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CallOutcome {
    /// No result yet.
    Pending,
    Succeeded,
    /// The error's text.
    Failed(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ExtractedCall {
    pub(super) tool: String,
    /// Possibly empty.
    pub(super) subject: String,
    pub(super) outcome: CallOutcome,
}

impl ExtractedCall {
    pub(super) fn text(&self) -> String {
        if self.subject.is_empty() { self.tool.clone() } else { format!("{} `{}`", self.tool, self.subject) }
    }
}

/// All calls of one tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ToolWork {
    pub(super) name: String,
    pub(super) calls: usize,
    pub(super) failed: usize,
    subjects: Vec<String>,
}

impl ToolWork {
    /// Returns the newest subjects without repetitions, oldest first.
    pub(super) fn subjects(&self) -> Vec<String> {
        let mut newest: Vec<String> = Vec::new();
        for subject in self.subjects.iter().rev() {
            if newest.len() < MAX_SUBJECTS && !newest.contains(subject) {
                newest.push(subject.clone());
            }
        }
        newest.reverse();
        newest
    }
}

/// All calls, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct ExtractedCalls {
    calls: Vec<ExtractedCall>,
    by_id: HashMap<String, usize>,
}

impl ExtractedCalls {
    pub(super) fn add_call(&mut self, block: &Value) {
        let text = |key| block.get(key).and_then(Value::as_str).map(js::JsString::to_string_lossy);
        let arguments = block.get("arguments").or_else(|| block.get("input"));
        let call = ExtractedCall {
            tool: text("name")
                .map(|name| one_line(&name))
                .filter(|name| !name.is_empty())
                .unwrap_or("tool".to_owned()),
            subject: arguments.map(subject).unwrap_or_default(),
            outcome: CallOutcome::Pending,
        };
        if let Some(id) = text("id") {
            self.by_id.insert(id, self.calls.len());
        }
        self.calls.push(call);
    }

    /// Records the outcome of a call. A result counts as a call if the call itself was summarised before.
    pub(super) fn add_result(&mut self, id: Option<&str>, tool: &str, failed: Option<String>) {
        let outcome = failed.map_or(CallOutcome::Succeeded, CallOutcome::Failed);
        match id.and_then(|id| self.by_id.get(id)).and_then(|at| self.calls.get_mut(*at)) {
            Some(call) => call.outcome = outcome,
            None => self.calls.push(ExtractedCall { tool: tool.to_owned(), subject: String::new(), outcome }),
        }
    }

    /// Adds a shell command that the user ran.
    pub(super) fn add_shell(&mut self, command: &str, failed: Option<String>) {
        let outcome = failed.map_or(CallOutcome::Succeeded, CallOutcome::Failed);
        self.calls.push(ExtractedCall {
            tool: "shell".to_owned(),
            subject: shortened(&one_line(command), SUBJECT_CHARS),
            outcome,
        });
    }

    pub(super) fn count(&self) -> usize {
        self.calls.len()
    }

    /// Groups the calls by tool, the most used first.
    pub(super) fn tools(&self) -> Vec<ToolWork> {
        let mut tools: Vec<ToolWork> = Vec::new();
        for call in &self.calls {
            let at = tools.iter().position(|tool| tool.name == call.tool).unwrap_or_else(|| {
                tools.push(ToolWork { name: call.tool.clone(), ..ToolWork::default() });
                tools.len() - 1
            });
            let tool = &mut tools[at];
            tool.calls += 1;
            tool.failed += usize::from(matches!(call.outcome, CallOutcome::Failed(_)));
            if !call.subject.is_empty() {
                tool.subjects.push(call.subject.clone());
            }
        }
        tools.sort_by_key(|tool| std::cmp::Reverse(tool.calls));
        tools
    }

    /// Returns the newest calls without a result.
    pub(super) fn pending(&self) -> impl Iterator<Item = &ExtractedCall> {
        let calls: Vec<&ExtractedCall> =
            self.calls.iter().filter(|call| call.outcome == CallOutcome::Pending).collect();
        let skipped = calls.len().saturating_sub(MAX_FAILURES);
        calls.into_iter().skip(skipped)
    }

    /// Returns the newest failures that no later call of the same tool with the same subject resolved, each once.
    pub(super) fn unresolved(&self) -> impl Iterator<Item = &ExtractedCall> {
        let mut open: HashMap<(&str, &str), usize> = HashMap::new();
        for (at, call) in self.calls.iter().enumerate() {
            let about = (call.tool.as_str(), call.subject.as_str());
            match call.outcome {
                CallOutcome::Failed(_) => _ = open.insert(about, at),
                CallOutcome::Succeeded => _ = open.remove(&about),
                CallOutcome::Pending => {}
            }
        }
        let mut open: Vec<usize> = open.into_values().collect();
        open.sort_unstable();
        let skipped = open.len().saturating_sub(MAX_FAILURES);
        open.into_iter().skip(skipped).map(|at| &self.calls[at])
    }
}

/// Returns the subject of a call: a known argument, otherwise its first text.
fn subject(arguments: &Value) -> String {
    let text = |value: &Value| {
        value.as_str().map(|text| one_line(&text.to_string_lossy())).filter(|text| !text.is_empty())
    };
    let named = SUBJECT_ARGUMENTS.iter().find_map(|key| text(arguments.get(key)?));
    let first = || arguments.as_object()?.iter().find_map(|(_, value)| text(value));
    named.or_else(first).map(|text| shortened(&text, SUBJECT_CHARS)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(list: &[(&str, &str, Option<&str>)]) -> ExtractedCalls {
        let mut calls = ExtractedCalls::default();
        for (at, (tool, command, failed)) in list.iter().enumerate() {
            let block =
                format!(r#"{{"id":"{at}","name":"{tool}","arguments":{{"x":"y","command":"{command}"}}}}"#);
            calls.add_call(&js::parse(&block).unwrap());
            calls.add_result(Some(&at.to_string()), tool, failed.map(str::to_owned));
        }
        calls
    }

    #[test]
    fn a_failure_is_open_until_the_same_thing_works() {
        let calls = calls(&[
            ("exec", "make", Some("no rule")),
            ("exec", "ls", Some("denied")),
            ("exec", "make", None),
            ("exec", "ls", Some("denied again")),
        ]);
        let open: Vec<String> = calls.unresolved().map(ExtractedCall::text).collect();
        assert_eq!(open, ["exec `ls`"]);
        let tool = calls.tools()[0].clone();
        assert_eq!(
            (tool.calls, tool.failed, tool.subjects()),
            (4, 3, vec!["make".to_owned(), "ls".to_owned()])
        );
    }

    #[test]
    fn a_call_without_a_result_is_pending_and_a_result_without_a_call_counts() {
        let mut calls = ExtractedCalls::default();
        calls.add_call(&js::parse(r#"{"id":"a","name":"read","arguments":{"n":1}}"#).unwrap());
        calls.add_result(Some("other"), "exec", None);
        assert_eq!(calls.pending().map(ExtractedCall::text).collect::<Vec<_>>(), ["read"]);
        assert_eq!(calls.count(), 2);
    }
}
