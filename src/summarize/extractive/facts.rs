//! Extracts facts from a conversation: requests, rules, decisions, next steps, files, names.

use std::collections::HashMap;

use crate::js;
use crate::js::{JsString, Value};
use crate::policy::compact::FileOps;
use crate::store::entry::Role;
use crate::store::measure::role_of;
use crate::summarize::extractive::calls::ExtractedCalls;
use crate::summarize::extractive::words::{
    is_decision, is_next, is_rule, names, one_line, prose_lines, sentences, shortened,
};
use crate::units::{Chars, Moment};

/// Limit for a quoted sentence.
const QUOTE_CHARS: Chars = Chars(240.0);

/// Limit for each list of rules, decisions and next steps.
const MAX_QUOTES: usize = 10;

/// Requests with equal first chars (without digits) count as one.
const SAME_PREFIX_CHARS: usize = 120;

/// Limit for the listed names.
const MAX_NAMES: usize = 12;

/// A request of the user. Requests that differ only in numbers count as the same.
#[derive(Debug)]
pub(super) struct UserRequest {
    /// The newest wording, on one line.
    text: String,
    times: usize,
}

impl UserRequest {
    /// Returns the request in at most `chars` chars, with its number of repetitions.
    pub(super) fn text(&self, chars: Chars) -> String {
        let words = shortened(&self.text, chars);
        if self.times > 1 { format!("{words} ({} times)", self.times) } else { words }
    }
}

#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Requests of the user, without repetitions.
    pub(super) requests: Vec<UserRequest>,
    /// Sentences of the user that set a rule.
    pub(super) rules: Vec<String>,
    /// Sentences of the assistant that state a decision or cause, the newest last.
    pub(super) decisions: Vec<String>,
    /// Next steps from the last answer.
    pub(super) next_steps: Vec<String>,
    /// The text of the last answer, on one line.
    pub(super) last_answer: Option<String>,
    /// The question at the end of the last answer, unless the user has replied.
    pub(super) question: Option<String>,
    /// The error of the last answer.
    pub(super) last_error: Option<String>,
    /// Summaries of abandoned branches and earlier compactions in the conversation.
    pub(super) branch_summaries: Vec<String>,
    pub(super) calls: ExtractedCalls,
    /// Files that were written or edited.
    pub(super) changed_files: Vec<String>,
    /// Files that were only read.
    pub(super) read_files: Vec<String>,
    /// The last request, if no answer followed.
    open_request: Option<String>,
    /// Index of each request, by its words without digits.
    request_by_words: HashMap<String, usize>,
    /// Names with their number of occurrences.
    name_counts: Vec<(String, usize)>,
    /// Index of each name in `name_counts`.
    name_positions: HashMap<String, usize>,
    /// Times of the first and the last message.
    times: Option<(Moment, Moment)>,
}

impl Facts {
    /// Reads messages; ignores malformed ones.
    pub(super) fn from_messages(messages: &[Value]) -> Self {
        let (mut facts, mut files) = (Self::default(), FileOps::default());
        for message in messages {
            facts.add_time(message);
            files.add_message(message);
            match role_of(message) {
                Role::User | Role::Custom => facts.add_user(&text_of(message)),
                Role::Assistant => facts.add_assistant(message),
                Role::ToolResult => facts.add_result(message),
                Role::BashExecution => facts.add_shell(message),
                Role::BranchSummary | Role::CompactionSummary => {
                    facts.branch_summaries.extend(field(message, "summary").map(|text| one_line(&text)));
                }
                Role::System | Role::Other => {}
            }
        }
        let lists = files.to_lists();
        (facts.changed_files, facts.read_files) = (texts(&lists.modified), texts(&lists.read));
        facts
    }

    /// Returns the last request, if no answer followed.
    pub(super) fn open_request(&self) -> Option<&str> {
        self.open_request.as_deref()
    }

    /// Returns the most frequent names, in order of their first occurrence.
    pub(super) fn names(&self) -> Vec<String> {
        let mut ranked: Vec<usize> = (0..self.name_counts.len()).collect();
        ranked.sort_by_key(|at| std::cmp::Reverse(self.name_counts[*at].1));
        ranked.truncate(MAX_NAMES);
        ranked.sort_unstable();
        ranked.into_iter().map(|at| self.name_counts[at].0.clone()).collect()
    }

    /// Returns the times of the first and the last message as ISO text.
    pub(super) fn span(&self) -> Option<(String, String)> {
        let (first, last) = self.times?;
        Some((js::iso_text(first), js::iso_text(last)))
    }

    fn add_time(&mut self, message: &Value) {
        // The range of JavaScript's dates.
        let time = message
            .get("timestamp")
            .and_then(Value::as_f64)
            .map(Moment)
            .filter(|at| at.abs() <= Moment(8.64e15));
        if let Some(time) = time {
            self.times = Some(self.times.map_or((time, time), |(first, _)| (first, time)));
        }
    }

    fn add_user(&mut self, text: &str) {
        let UserText { sender: by, text } = strip_envelope(text);
        let line = one_line(&text);
        if line.is_empty() {
            return;
        }
        let line = by.map(|by| format!("{}: ", one_line(&by))).unwrap_or_default() + &line;
        for sentence in sentences(&text).into_iter().filter(|sentence| is_rule(sentence)) {
            keep_newest(&mut self.rules, shortened(&sentence, QUOTE_CHARS));
        }
        self.add_name(&text);
        self.question = None;
        self.add_request(&line);
        self.open_request = Some(line);
    }

    fn add_request(&mut self, line: &str) {
        let without_numbers: String =
            line.chars().filter(|char| !char.is_ascii_digit()).take(SAME_PREFIX_CHARS).collect();
        if let Some(known) =
            self.request_by_words.get(&without_numbers).and_then(|at| self.requests.get_mut(*at))
        {
            known.times += 1;
            line.clone_into(&mut known.text);
            return;
        }
        self.request_by_words.insert(without_numbers, self.requests.len());
        self.requests.push(UserRequest { text: line.to_owned(), times: 1 });
    }

    fn add_assistant(&mut self, message: &Value) {
        let failed =
            message.get("stopReason").is_some_and(|why| why.str_is("error") || why.str_is("aborted"));
        for block in message.get("content").and_then(Value::as_array).unwrap_or_default() {
            if block.get("type").is_some_and(|kind| {
                ["toolCall", "toolUse", "functionCall"].iter().any(|own| kind.str_is(own))
            }) {
                self.calls.add_call(block);
            }
        }
        self.last_error = field(message, "errorMessage").filter(|_| failed).map(|text| one_line(&text));
        let text = text_of(message);
        if text.trim().is_empty() {
            return;
        }
        for sentence in sentences(&text).into_iter().filter(|sentence| is_decision(sentence)) {
            keep_newest(&mut self.decisions, shortened(&strip_list_mark(&sentence), QUOTE_CHARS));
        }
        self.next_steps.clear();
        let steps = prose_lines(&text)
            .into_iter()
            .filter(|line| is_next(line))
            .map(|line| shortened(&strip_list_mark(line), QUOTE_CHARS));
        self.next_steps.extend(steps.filter(|step| !step.is_empty()).take(MAX_QUOTES));
        self.add_name(&text);
        if !failed {
            self.open_request = None;
        }
        let last = sentences(&text).pop().filter(|last| last.ends_with(['?', '？']));
        self.question = last.map(|question| shortened(&question, QUOTE_CHARS));
        self.last_answer = Some(one_line(&text));
    }

    fn add_result(&mut self, message: &Value) {
        let failed = message.get("isError") == Some(&Value::Bool(true));
        let text = failed
            .then(|| failure_of(&text_of(message)))
            .map(|text| shortened(&one_line(&text), QUOTE_CHARS));
        let text = text.map(|text| if text.is_empty() { "no output".to_owned() } else { text });
        let tool = field(message, "toolName").map(|name| one_line(&name)).filter(|name| !name.is_empty());
        let id = field(message, "toolCallId");
        self.calls.add_result(id.as_deref(), tool.as_deref().unwrap_or("tool"), text);
    }

    fn add_shell(&mut self, message: &Value) {
        let code = message.get("exitCode").and_then(Value::as_f64).filter(|code| *code != 0.0);
        let why = code.map(|code| format!("exit code {}", js::number_text(code)));
        self.calls.add_shell(&field(message, "command").unwrap_or_default(), why);
    }

    fn add_name(&mut self, text: &str) {
        for name in names(text) {
            if let Some(at) = self.name_positions.get(name) {
                self.name_counts[*at].1 += 1;
            } else {
                self.name_positions.insert(name.to_owned(), self.name_counts.len());
                self.name_counts.push((name.to_owned(), 1));
            }
        }
    }
}

/// Adds a quote once and drops the oldest over the limit.
fn keep_newest(quotes: &mut Vec<String>, quote: String) {
    if quotes.contains(&quote) {
        return;
    }
    quotes.push(quote);
    if quotes.len() > MAX_QUOTES {
        quotes.remove(0);
    }
}

/// Removes the mark of a list line.
fn strip_list_mark(line: &str) -> String {
    let line = one_line(line);
    let line = line.trim_start_matches("- [ ]").trim_start_matches(['-', '*', '#', '>']).trim();
    line.to_owned()
}

fn texts(paths: &[Value]) -> Vec<String> {
    paths.iter().map(|path| one_line(&js::to_text(Some(path)).to_string_lossy())).collect()
}

fn field(message: &Value, key: &str) -> Option<String> {
    message.get(key).and_then(Value::as_str).map(JsString::to_string_lossy)
}

/// Returns the error inside a failed tool's JSON, or the whole text.
fn failure_of(text: &str) -> String {
    let reported =
        js::parse(text).ok().and_then(|value| field(&value, "error").or_else(|| field(&value, "message")));
    reported.unwrap_or_else(|| text.to_owned())
}

/// Returns a message's text, or its text blocks.
fn text_of(message: &Value) -> String {
    match message.get("content") {
        Some(Value::String(text)) => text.to_string_lossy(),
        Some(Value::Array(blocks)) => {
            let texts =
                blocks.iter().filter(|block| block.get("type").is_some_and(|kind| kind.str_is("text")));
            texts.filter_map(|block| field(block, "text")).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

// Extracts a user's words from a channel's envelope: blocks of metadata, each under a line that announces it.

/// End of the line above a block of metadata.
const METADATA: &str = "(untrusted metadata):";

/// Start of the line above the block that names the sender.
const SENDER: &str = "Sender";

/// A message without its envelope.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UserText {
    /// The sender, if the envelope names one.
    pub(super) sender: Option<String>,
    pub(super) text: String,
}

pub(super) fn strip_envelope(text: &str) -> UserText {
    let (mut by, mut kept): (Option<String>, Vec<&str>) = (None, Vec::new());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if !line.trim_end().ends_with(METADATA) {
            kept.push(line);
            continue;
        }
        if lines.next_if(|next| next.trim_start().starts_with("```")).is_none() {
            continue;
        }
        let mut block = String::new();
        for inner in lines.by_ref().take_while(|inner| inner.trim() != "```") {
            block.push_str(inner);
        }
        if line.trim_start().starts_with(SENDER) {
            by = name(&block).or(by);
        }
    }
    UserText { sender: by, text: kept.join("\n").trim().to_owned() }
}

fn name(block: &str) -> Option<String> {
    let value = js::parse(block).ok()?;
    let text = |key| value.get(key).and_then(Value::as_str).map(JsString::to_string_lossy);
    text("name").or_else(|| text("label")).filter(|name| !name.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stripping_an_envelope_removes_metadata_and_keeps_the_sender() {
        let text = "Conversation info (untrusted metadata):\n```json\n{\"message_id\": \"1\"}\n```\n\n\
            Sender (untrusted metadata):\n```json\n{\n \"label\": \"T\",\n \"name\": \"Tomas\"\n}\n```\n\nlook at\n```\ncode\n```";
        let expected =
            UserText { sender: Some("Tomas".to_owned()), text: "look at\n```\ncode\n```".to_owned() };
        assert_eq!(strip_envelope(text), expected);
    }

    #[test]
    fn text_without_an_envelope_is_unchanged() {
        for text in ["", "hello", "a\n```json\n{}\n```"] {
            assert_eq!(strip_envelope(text), UserText { sender: None, text: text.to_owned() });
        }
        assert_eq!(strip_envelope("x (untrusted metadata):\ny").text, "y");
    }
}
