//! A summary out of the conversation's own words: no model, no network, the same text for the same messages.
//!
//! It has the runtime's headings, so that a model goes on from it as from any other. What was asked and what is open come
//! from the person's messages and the last answer; what was done from the tool calls; what stands in the way from the
//! failures that nothing made good. A summary it goes on from is carried along, shortened.

mod calls;
mod carried;
mod draft;
mod envelope;
mod facts;
mod words;

use calls::{Outcome, ToolWork};
use carried::Carried;
use draft::{Draft, Part, Weight};
use facts::Facts;
use words::{one_line, shortened};

use crate::policy::compact::{Form, Purpose, SummaryRequest};
use crate::summarize::{Answer, CallError, Cancel, Summarizer, SummarizerKind};

/// Chars of the first request at most.
const FIRST_REQUEST: usize = 600;
/// Chars of any other line at most.
const LINE: usize = 240;
/// Later requests that are told.
const REQUESTS: usize = 8;
/// Tools whose files are listed (compaction 3.13).
const FILE_TOOLS: [&str; 3] = ["read", "write", "edit"];
/// Tokens that are used even where fewer are allowed: less says nothing.
const LEAST_TOKENS: f64 = 128.0;
/// What the last line begins with, by which it is known again.
const SIGNED: &str = "Extractive summary:";

/// The offline summarizer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extractive;

impl Summarizer for Extractive {
    fn kind(&self) -> SummarizerKind {
        SummarizerKind::Extractive
    }

    fn takes_any_length(&self) -> bool {
        true
    }

    fn summarise(&self, request: &SummaryRequest<'_>, cancel: &Cancel) -> Result<Answer, CallError> {
        if cancel.is_cancelled() {
            return Err(CallError::Cancelled);
        }
        let facts = Facts::of(request.messages);
        let carried = request.previous.map(|text| Carried::of(&text.to_string_lossy())).unwrap_or_default();
        // The gateway asks for the beginning of a turn in the other form, but means the same (compaction 5.16).
        let of_turn = request.form == Form::TurnPrefix || request.purpose == Purpose::TurnPrefix;
        let mut draft = if of_turn { turn_prefix(&facts) } else { checkpoint(&facts, &carried) };
        let last = if of_turn { Part::Suffix } else { Part::Context };
        draft.add(last, Weight::Key, signature(&facts, request.messages.len()));
        let chars = request.max_tokens.max(LEAST_TOKENS) * 4.0;
        Ok(Answer::of(draft.text(chars as usize)))
    }
}

/// Goal, constraints, progress, decisions, next steps and context.
fn checkpoint(facts: &Facts, carried: &Carried) -> Draft {
    let mut draft = Draft::checkpoint();
    carry(&mut draft, carried);
    goal(&mut draft, facts);
    for rule in &facts.rules {
        draft.add(Part::Constraints, Weight::Main, format!("\"{rule}\""));
    }
    work(&mut draft, facts, Part::Done);
    open(&mut draft, facts);
    for decision in &facts.decisions {
        draft.add(Part::Decisions, Weight::Main, decision.clone());
    }
    for step in &facts.next_steps {
        draft.add(Part::Next, Weight::Main, step.clone());
    }
    context(&mut draft, facts, Part::Context);
    draft
}

/// Original request, early progress and what the suffix needs.
fn turn_prefix(facts: &Facts) -> Draft {
    let mut draft = Draft::turn_prefix();
    for (at, request) in facts.requests.iter().enumerate() {
        let (chars, weight) = if at == 0 { (FIRST_REQUEST * 2, Weight::Key) } else { (LINE, Weight::Main) };
        draft.add(Part::Request, weight, request.words(chars));
    }
    work(&mut draft, facts, Part::Early);
    for decision in &facts.decisions {
        draft.add(Part::Early, Weight::Side, decision.clone());
    }
    failures(&mut draft, facts, Part::Suffix);
    context(&mut draft, facts, Part::Suffix);
    draft
}

/// What an earlier summary says, part by part; it goes before what is new.
fn carry(draft: &mut Draft, carried: &Carried) {
    for (part, line) in carried.lines() {
        let weight = if part == Part::Goal { Weight::Main } else { Weight::Side };
        draft.add(part, weight, line.to_owned());
    }
}

fn goal(draft: &mut Draft, facts: &Facts) {
    let Some((first, later)) = facts.requests.split_first() else { return };
    draft.add(Part::Goal, Weight::Key, first.words(FIRST_REQUEST));
    // The newest requests say best what is wanted by now.
    let skipped = later.len().saturating_sub(REQUESTS);
    for (at, request) in later.iter().skip(skipped).enumerate() {
        let weight = if skipped + at + 1 == later.len() { Weight::Key } else { Weight::Main };
        draft.add(Part::Goal, weight, format!("then: {}", request.words(LINE)));
    }
    if skipped > 0 {
        draft.add(Part::Goal, Weight::Side, format!("({skipped} other requests in between)"));
    }
}

/// What was done with which tools and files.
fn work(draft: &mut Draft, facts: &Facts, part: Part) {
    for (files, verb) in [(&facts.changed, "changed"), (&facts.read, "read")] {
        let weight = if verb == "changed" { Weight::Key } else { Weight::Side };
        if !files.is_empty() {
            draft.add(part, weight, format!("{verb} {}", listed(files, 6)));
        }
    }
    for tool in facts.work.tools() {
        // What the files say already is not said again.
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

/// What was being worked on, what fails still, and what was asked last.
fn open(draft: &mut Draft, facts: &Facts) {
    if let Some(request) = facts.open_request() {
        draft.add(
            Part::InProgress,
            Weight::Key,
            format!("not answered yet: {}", shortened(request, LINE * 2)),
        );
        draft.add(Part::Next, Weight::Key, format!("answer: {}", shortened(request, LINE)));
    }
    for call in facts.work.pending() {
        draft.add(Part::InProgress, Weight::Main, format!("called without a result yet: {}", call.words()));
    }
    if let Some(question) = &facts.question {
        draft.add(Part::Next, Weight::Key, format!("the person was asked: {question}"));
    }
    failures(draft, facts, Part::Blocked);
}

fn failures(draft: &mut Draft, facts: &Facts, part: Part) {
    for call in facts.work.unresolved() {
        let Outcome::Failed(text) = &call.outcome else { continue };
        draft.add(
            part,
            Weight::Main,
            format!("{} failed: {}", call.words(), shortened(&one_line(text), LINE)),
        );
    }
}

fn context(draft: &mut Draft, facts: &Facts, part: Part) {
    for text in &facts.told_summaries {
        draft.add(part, Weight::Side, format!("from another branch: {}", shortened(text, LINE * 2)));
    }
    if let Some(answer) = &facts.last_answer {
        draft.add(part, Weight::Key, format!("last answer: {}", shortened(answer, LINE * 2)));
    }
    if let Some(error) = &facts.last_error {
        draft.add(
            part,
            Weight::Main,
            format!("the last answer ended with an error: {}", shortened(error, LINE)),
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
    let calls = facts.work.calls();
    format!("{SIGNED} quoted from {messages} messages and {calls} tool calls{span}; no model was asked.")
}

/// The last `most` of a list, with how many there are besides.
fn listed(items: &[String], most: usize) -> String {
    let skipped = items.len().saturating_sub(most);
    let more = if skipped > 0 { format!(" and {skipped} more") } else { String::new() };
    format!("{}{more}", items[skipped..].join(", "))
}

#[cfg(test)]
#[path = "extractive/tests.rs"]
mod tests;
