//! Removes the envelope that a gateway or runtime puts around the words of a user message.
//!
//! Few user messages of a gateway begin with the user's own words. System events, timestamps, metadata blocks and notes
//! about attachments come first; ids and instructions follow. For example, `[Telegram Alice id:123 2026-02-26 06:13
//! UTC] hello` becomes `⟨telegram⟩` and `hello`. Each kind of envelope is one table row or one function that strips the
//! front of the text. They occur in any order, so all are tried until none fits. Every kind strips something or stops
//! the search and reads no further than it strips, so the time is linear.

mod block;
mod head;
mod marks;
mod notice;
mod trailer;

use marks::Marks;

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
    notice::strip_sentence,
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
    let message = trailer::strip_trailer(trailer::strip_context(rest), &mut marks);
    let marks = marks.into_words();
    let is_bare = message.len() == text.trim().len() || (message.is_empty() && marks.is_empty());
    UnwrappedMessage { marks, text: if is_bare { text } else { message } }
}

#[cfg(test)]
#[path = "envelope/tests.rs"]
mod tests;
