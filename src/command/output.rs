//! Output of commands. It makes text safe for a terminal, uses colour only on a terminal, and writes JSON as one line
//! with exact integers.

use std::io::{self, Write};

use crossterm::style::{Color, Stylize};
use schemars::JsonSchema;
use serde::Serialize;

use super::failure::{Failure, RETRY_LEAD};
use crate::doc::{Doc, Line, Table, Tone, wrap_line};
pub use crate::export::json::SCHEMA_VERSION;
use crate::export::json::{self, JsonOutput};
use crate::text::{visible, width};

/// The two output streams of a command.
pub struct Output<'a> {
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
    has_colour: bool,
    width: Option<usize>,
}

impl std::fmt::Debug for Output<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Output")
            .field("colour", &self.has_colour)
            .field("width", &self.width)
            .finish_non_exhaustive()
    }
}

impl<'a> Output<'a> {
    /// Creates an output without colour or width limit.
    pub fn new(out: &'a mut dyn Write, err: &'a mut dyn Write) -> Self {
        Self { out, err, has_colour: false, width: None }
    }

    /// Limits lines to `width` columns, and uses colour if `colour` is set.
    #[must_use]
    pub fn with_terminal(self, width: Option<usize>, colour: bool) -> Self {
        Self { has_colour: colour, width, ..self }
    }

    /// Whether colours are on.
    pub fn has_colour(&self) -> bool {
        self.has_colour
    }

    /// Writes text that is safe for the terminal to the error stream.
    pub fn write_error(&mut self, text: &str) -> io::Result<()> {
        self.err.write_all(text.as_bytes())
    }

    /// Terminal columns; `None` if the output is not a terminal.
    pub fn width(&self) -> Option<usize> {
        self.width
    }

    /// Adds the escape codes of `tone`, if colours are on.
    pub fn paint(&self, tone: Tone, text: &str) -> String {
        if !self.has_colour || text.is_empty() {
            return text.to_owned();
        }
        match tone {
            Tone::Plain => text.to_owned(),
            Tone::Strong => text.bold().to_string(),
            Tone::Dim | Tone::Part(_) => text.with(Color::DarkGrey).to_string(),
            Tone::Good => text.with(Color::Green).to_string(),
            Tone::Warning => text.with(Color::Yellow).to_string(),
            Tone::Bad => text.with(Color::Red).to_string(),
            Tone::Trimmed => text.with(Color::Cyan).to_string(),
            Tone::Cleared => text.with(Color::Magenta).to_string(),
        }
    }

    /// Writes a line in one tone, with control characters escaped. On a terminal it wraps at words.
    pub fn line(&mut self, tone: Tone, text: &str) -> io::Result<()> {
        let Some(columns) = self.width else {
            let text = self.paint(tone, &visible(text));
            return writeln!(self.out, "{text}");
        };
        wrap_line(text, columns).iter().try_for_each(|line| writeln!(self.out, "{}", self.paint(tone, line)))
    }

    /// Writes a document.
    pub(super) fn doc(&mut self, doc: &Doc) -> io::Result<()> {
        self.lines("", &doc.lines(self.width))
    }

    /// Writes a document below its title.
    pub(super) fn indented_doc(&mut self, doc: &Doc) -> io::Result<()> {
        self.lines("  ", &doc.lines(self.width_beside("  ")))
    }

    fn width_beside(&self, indent: &str) -> Option<usize> {
        self.width.map(|columns| columns.saturating_sub(width(indent)).max(1))
    }

    fn lines(&mut self, indent: &str, lines: &[Line]) -> io::Result<()> {
        for line in lines {
            let painted: String = line.spans.iter().map(|span| self.paint(span.tone, &span.text)).collect();
            writeln!(self.out, "{}", format!("{indent}{painted}").trim_end())?;
        }
        Ok(())
    }

    /// Wraps the lines of a message for the error stream. A command line to type stays whole.
    fn wrap_message(&self, text: &str) -> String {
        let wrap = |line: &str| match self.width {
            Some(columns) if !line.starts_with(RETRY_LEAD) => wrap_line(line, columns).join("\n"),
            _ => visible(line).into_owned(),
        };
        text.lines().map(wrap).collect::<Vec<_>>().join("\n")
    }

    /// Writes a JSON object as one line, `schemaVersion` first.
    pub fn json(&mut self, answer: &impl JsonOutput) -> io::Result<()> {
        json::write_line(self.out, answer)
    }

    /// Writes a note to the error stream.
    pub fn note(&mut self, text: &str) -> io::Result<()> {
        let one_line = visible(text);
        let text = self.wrap_message(&one_line);
        writeln!(self.err, "{text}")
    }

    /// Writes a failure to the error stream, as text or as one JSON object.
    pub fn failure(&mut self, failure: &Failure, json: bool) -> io::Result<()> {
        let Failure::Reported { exit, message, candidates, .. } = failure else { return Ok(()) };
        if !json {
            let text = self.wrap_message(&format!("error: {message}"));
            return writeln!(self.err, "{text}");
        }
        let (message, candidates) = (message.clone(), candidates.clone());
        let error = ErrorJson { code: exit.code(), kind: exit.word(), message, candidates };
        writeln!(self.err, "{}", json::to_line(&FailureJson { error })?)
    }
}

impl Table {
    /// Prints heading and rows with `indent` before each line.
    pub(super) fn print(&self, output: &mut Output, indent: &str) -> io::Result<()> {
        output.lines(indent, &self.lines(output.width_beside(indent)))
    }
}

/// A failed command, on the error stream.
#[derive(Serialize, JsonSchema)]
pub(super) struct FailureJson {
    error: ErrorJson,
}

impl JsonOutput for FailureJson {}

#[derive(Serialize, JsonSchema)]
struct ErrorJson {
    /// The exit code.
    code: u8,
    /// The exit code as a word.
    kind: &'static str,
    message: String,
    /// Known names that resemble the argument.
    candidates: Vec<String>,
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Answer {
        a: &'static str,
    }

    impl JsonOutput for Answer {}

    #[test]
    fn json_is_one_line_and_names_its_schema_first() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut output = Output::new(&mut out, &mut err);
        output.json(&Answer { a: "x\u{1b}[2J\u{9b}2J" }).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "{\"schemaVersion\":1,\"a\":\"x\\u001b[2J\\u009b2J\"}\n");
    }

    #[test]
    fn errors_go_to_stderr_as_text_or_json() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut output = Output::new(&mut out, &mut err);
        let failure = Failure::refused("no\u{7}");
        output.failure(&failure, false).unwrap();
        output.failure(&failure, true).unwrap();
        assert!(out.is_empty());
        let text = String::from_utf8(err).unwrap();
        let (plain, json) = text.split_once('\n').unwrap();
        assert!(plain.starts_with("error: no") && !plain.contains('\u{7}'));
        let json: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(json["error"]["code"], 4);
    }
}
