//! Builds a summary from the conversation's own words: no model, no network, the same text for the same messages.
//!
//! It has the runtime's headings, so that a model can continue from it as from any other summary. Requests and open
//! questions come from the user's messages and the last answer, completed work from the tool calls, and blockers from
//! the failures that no later call resolved. An earlier summary is carried along, shortened.

mod calls;
mod draft;
mod facts;
mod words;

use calls::{CallOutcome, ToolWork};
use draft::{CarriedLines, SIGNATURE, SummaryDraft, SummaryPart, Weight};
use facts::Facts;
use words::{one_line, shortened};

use crate::context::tokens::chars4::CHARS_PER_TOKEN;
use crate::policy::compact::{SummaryForm, SummaryPurpose, SummaryRequest};
use crate::summarize::{CallError, CancelToken, Summarizer, SummarizerKind};
use crate::units::{Chars, Tokens};

/// Limit for the first request.
const FIRST_REQUEST_CHARS: Chars = Chars(600.0);
/// Limit for any other line.
const LINE_CHARS: Chars = Chars(240.0);
/// Limit for the number of later requests.
const MAX_REQUESTS: usize = 8;
/// Tools whose files are listed (compaction 3.13).
const FILE_TOOLS: [&str; 3] = ["read", "write", "edit"];
/// Minimum budget in tokens, even where fewer are allowed: a shorter summary says nothing.
const MIN_TOKENS: f64 = 128.0;

/// The offline summarizer.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExtractiveSummarizer;

impl Summarizer for ExtractiveSummarizer {
    fn kind(&self) -> SummarizerKind {
        SummarizerKind::Extractive
    }

    fn accepts_any_length(&self) -> bool {
        true
    }

    fn summarise(&self, request: &SummaryRequest<'_>, cancel: &CancelToken) -> Result<String, CallError> {
        if cancel.is_cancelled() {
            return Err(CallError::Cancelled);
        }
        let facts = Facts::from_messages(request.messages);
        let carried = request
            .previous_summary
            .map(|text| CarriedLines::from_summary(&text.to_string_lossy()))
            .unwrap_or_default();
        // The gateway requests a turn prefix in the other form, but means the same (compaction 5.16).
        let of_turn =
            request.form == SummaryForm::TurnPrefix || request.purpose == SummaryPurpose::TurnPrefix;
        let mut draft = if of_turn { turn_prefix(&facts) } else { checkpoint(&facts, &carried) };
        let last = if of_turn { SummaryPart::Suffix } else { SummaryPart::Context };
        draft.add(last, Weight::Key, signature(&facts, request.messages.len()));
        let chars = request.max_tokens.max(Tokens(MIN_TOKENS)).to_chars(CHARS_PER_TOKEN);
        Ok(draft.into_text(chars.floor()))
    }
}

/// Builds a checkpoint: goal, constraints, progress, decisions, next steps and context.
fn checkpoint(facts: &Facts, carried: &CarriedLines) -> SummaryDraft {
    let mut draft = SummaryDraft::checkpoint();
    carry(&mut draft, carried);
    goal(&mut draft, facts);
    for rule in &facts.rules {
        draft.add(SummaryPart::Constraints, Weight::Main, format!("\"{rule}\""));
    }
    work(&mut draft, facts, SummaryPart::Done);
    open_work(&mut draft, facts);
    for decision in &facts.decisions {
        draft.add(SummaryPart::Decisions, Weight::Main, decision.clone());
    }
    for step in &facts.next_steps {
        draft.add(SummaryPart::Next, Weight::Main, step.clone());
    }
    context(&mut draft, facts, SummaryPart::Context);
    draft
}

/// Builds a turn prefix: original request, early progress and context for the suffix.
fn turn_prefix(facts: &Facts) -> SummaryDraft {
    let mut draft = SummaryDraft::turn_prefix();
    for (at, request) in facts.requests.iter().enumerate() {
        let (chars, weight) =
            if at == 0 { (FIRST_REQUEST_CHARS * 2.0, Weight::Key) } else { (LINE_CHARS, Weight::Main) };
        draft.add(SummaryPart::Request, weight, request.text(chars));
    }
    work(&mut draft, facts, SummaryPart::Early);
    for decision in &facts.decisions {
        draft.add(SummaryPart::Early, Weight::Side, decision.clone());
    }
    failures(&mut draft, facts, SummaryPart::Suffix);
    context(&mut draft, facts, SummaryPart::Suffix);
    draft
}

/// Adds the lines of an earlier summary before the new ones.
fn carry(draft: &mut SummaryDraft, carried: &CarriedLines) {
    for (part, line) in carried.lines() {
        let weight = if part == SummaryPart::Goal { Weight::Main } else { Weight::Side };
        draft.add(part, weight, line.to_owned());
    }
}

fn goal(draft: &mut SummaryDraft, facts: &Facts) {
    let Some((first, later)) = facts.requests.split_first() else { return };
    draft.add(SummaryPart::Goal, Weight::Key, first.text(FIRST_REQUEST_CHARS));
    // The newest requests matter most.
    let skipped = later.len().saturating_sub(MAX_REQUESTS);
    for (at, request) in later.iter().skip(skipped).enumerate() {
        let weight = if skipped + at + 1 == later.len() { Weight::Key } else { Weight::Main };
        draft.add(SummaryPart::Goal, weight, format!("then: {}", request.text(LINE_CHARS)));
    }
    if skipped > 0 {
        draft.add(SummaryPart::Goal, Weight::Side, format!("({skipped} other requests in between)"));
    }
}

/// Adds files and tool calls.
fn work(draft: &mut SummaryDraft, facts: &Facts, part: SummaryPart) {
    for (files, verb) in [(&facts.changed_files, "changed"), (&facts.read_files, "read")] {
        let weight = if verb == "changed" { Weight::Key } else { Weight::Side };
        if !files.is_empty() {
            draft.add(part, weight, format!("{verb} {}", join_limited(files, 6)));
        }
    }
    for tool in facts.calls.tools() {
        // File tools are left out, because their files are listed already.
        if tool.failed > 0 || !FILE_TOOLS.contains(&tool.name.as_str()) {
            draft.add(part, Weight::Main, tool_line(&tool));
        }
    }
}

/// `exec: 14 calls, 2 failed: cargo test; git status`.
fn tool_line(tool: &ToolWork) -> String {
    let calls = if tool.calls == 1 { "1 call".to_owned() } else { format!("{} calls", tool.calls) };
    let failed = if tool.failed > 0 { format!(", {} failed", tool.failed) } else { String::new() };
    let subjects = tool.subjects();
    let subjects = if subjects.is_empty() { String::new() } else { format!(": {}", subjects.join("; ")) };
    format!("{}: {calls}{failed}{subjects}", tool.name)
}

/// Adds the open request, pending calls, the assistant's last question and unresolved failures.
fn open_work(draft: &mut SummaryDraft, facts: &Facts) {
    if let Some(request) = facts.open_request() {
        draft.add(
            SummaryPart::InProgress,
            Weight::Key,
            format!("not answered yet: {}", shortened(request, LINE_CHARS * 2.0)),
        );
        draft.add(SummaryPart::Next, Weight::Key, format!("answer: {}", shortened(request, LINE_CHARS)));
    }
    for call in facts.calls.pending() {
        draft.add(
            SummaryPart::InProgress,
            Weight::Main,
            format!("called without a result yet: {}", call.text()),
        );
    }
    if let Some(question) = &facts.question {
        draft.add(SummaryPart::Next, Weight::Key, format!("the person was asked: {question}"));
    }
    failures(draft, facts, SummaryPart::Blocked);
}

fn failures(draft: &mut SummaryDraft, facts: &Facts, part: SummaryPart) {
    for call in facts.calls.unresolved() {
        let CallOutcome::Failed(text) = &call.outcome else { continue };
        draft.add(
            part,
            Weight::Main,
            format!("{} failed: {}", call.text(), shortened(&one_line(text), LINE_CHARS)),
        );
    }
}

fn context(draft: &mut SummaryDraft, facts: &Facts, part: SummaryPart) {
    for text in &facts.branch_summaries {
        draft.add(part, Weight::Side, format!("from another branch: {}", shortened(text, LINE_CHARS * 2.0)));
    }
    if let Some(answer) = &facts.last_answer {
        draft.add(part, Weight::Key, format!("last answer: {}", shortened(answer, LINE_CHARS * 2.0)));
    }
    if let Some(error) = &facts.last_error {
        draft.add(
            part,
            Weight::Main,
            format!("the last answer ended with an error: {}", shortened(error, LINE_CHARS)),
        );
    }
    let names = facts.names();
    if !names.is_empty() {
        draft.add(part, Weight::Side, format!("named: {}", names.join(", ")));
    }
}

fn signature(facts: &Facts, messages: usize) -> String {
    let span = match facts.span() {
        Some((first, last)) => format!(", {first} to {last}"),
        None => String::new(),
    };
    let calls = facts.calls.count();
    format!("{SIGNATURE} quoted from {messages} messages and {calls} tool calls{span}; no model was used.")
}

/// Joins the last `most` items and counts the others.
fn join_limited(items: &[String], most: usize) -> String {
    let skipped = items.len().saturating_sub(most);
    let more = if skipped > 0 { format!(" and {skipped} more") } else { String::new() };
    format!("{}{more}", items[skipped..].join(", "))
}

#[cfg(test)]
#[path = "extractive/tests.rs"]
mod tests;
