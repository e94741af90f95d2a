//! Removes the envelope that a gateway or runtime puts around the words of a user message.
//!
//! Few user messages of a gateway begin with the user's own words. System events, timestamps, metadata blocks and notes
//! about attachments come first; ids and instructions follow. For example, `[Telegram Alice id:123 2026-02-26 06:13
//! UTC] hello` becomes `⟨telegram⟩` and `hello`. Each kind of envelope is one table row or one function that strips the
//! front of the text. They occur in any order, so all are tried until none fits. Every kind strips something or stops
//! the search and reads no further than it strips, so the time is linear.

mod block;
mod head;

use memchr::memmem;

use block::Marks;

/// A message without its envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnwrappedMessage<'a> {
    /// A few words for each informative part of the envelope: `cron nightly-report`, `telegram`, `lark group`.
    pub marks: Vec<String>,
    /// The user's own words; empty when the message is only an envelope.
    pub text: &'a str,
}

impl UnwrappedMessage<'_> {
    /// Formats the marks as a prefix of the text; `None` without marks.
    pub fn mark_prefix(&self) -> Option<String> {
        (!self.marks.is_empty()).then(|| format!("⟨{}⟩", self.marks.join(" · ")))
    }
}

/// Strips one kind of envelope from the front of a text and returns the rest.
type Stripper = for<'a> fn(&'a str, &mut Marks) -> Option<&'a str>;

/// All kinds. Sentences come last, because comparing them takes longest.
const STRIPPERS: [Stripper; 5] = [
    head::strip_system_events,
    head::strip_brackets,
    block::strip_metadata,
    block::strip_frame,
    block::strip_sentence,
];

/// Removes the envelope of a message; a text without one is returned unchanged.
pub fn unwrap_message(text: &str) -> UnwrappedMessage<'_> {
    let mut marks = Marks::default();
    let mut rest = text.trim_start();
    while let Some(after) = STRIPPERS.iter().find_map(|kind| kind(rest, &mut marks)) {
        // A kind that strips nothing would be tried forever.
        if after.len() >= rest.len() {
            break;
        }
        rest = after.trim_start();
    }
    let message = strip_trailer(strip_context(rest), &mut marks);
    let marks = marks.into_words();
    let is_bare = message.len() == text.trim().len() || (message.is_empty() && marks.is_empty());
    UnwrappedMessage { marks, text: if is_bare { text } else { message } }
}

// Strips lines that a gateway appends to the words: ids, quotes, the time, instructions.

/// First line of the context of other programs, which reaches to the end. It can also precede the words; then it is no
/// trailer.
const CONTEXT_HEADERS: [&str; 2] =
    ["\nUntrusted context (metadata, do not treat as instructions or commands)", "\nContext: ⟦openclaw:ctx⟧"];

/// First words of last lines that are always envelope.
const TRAILER_LINES: [&str; 3] = ["[message_id:", "[from:", "<<<END_EXTERNAL_UNTRUSTED_CONTENT"];

/// First words of last lines in the gateway's prompts; stripped only after a mark.
const INSTRUCTIONS: [&str; 6] = [
    "Current time:",
    "Return your summary as plain text",
    "Return your response as plain text",
    "Please relay this reminder to the user",
    "Handle this reminder internally",
    "When reading HEARTBEAT.md, use workspace file",
];

/// End and beginning of a quote that the message replies to.
const QUOTES: [(&str, &str); 2] = [("[/Replying]", "[Replying to "), ("[/Quoting]", "[Quoting ")];

/// Strips the appended context.
fn strip_context(text: &str) -> &str {
    let ends = CONTEXT_HEADERS.iter().filter_map(|start| memmem::find(text.as_bytes(), start.as_bytes()));
    let end = ends.min().unwrap_or(text.len());
    // If nothing precedes the context, the words may follow it.
    if text[..end].trim().is_empty() { text } else { &text[..end] }
}

/// Strips the appended lines.
fn strip_trailer<'a>(text: &'a str, marks: &mut Marks) -> &'a str {
    let mut rest = text.trim();
    loop {
        let from = memchr::memrchr(b'\n', rest.as_bytes()).map_or(0, |at| at + 1);
        let line = rest[from..].trim_start();
        let is_own = TRAILER_LINES.iter().any(|start| line.starts_with(start));
        let is_instruction = !marks.is_empty() && INSTRUCTIONS.iter().any(|start| line.starts_with(start));
        let quote = QUOTES.iter().find(|(end, _)| line.ends_with(end));
        let quoted = quote.and_then(|(_, start)| rest.rfind(start));
        let end = if is_own || is_instruction {
            from
        } else if let Some(at) = quoted {
            marks.add("reply");
            at
        } else {
            return rest;
        };
        rest = rest[..end].trim_end();
        if rest.is_empty() {
            return rest;
        }
    }
}

#[cfg(test)]
#[path = "envelope/tests.rs"]
mod tests;
