//! The words of a user message, without the envelope that a gateway or runtime put around them.
//!
//! Almost no user message of a gateway begins with what the person said: before it are system events, date stamps,
//! blocks of metadata, notes about attachments; behind it ids and instructions. Each kind is one row of a table or one
//! function that takes it from the front of the text. They come in any order, so all are tried again until none fits.
//! Every kind either takes something or ends the search, and looks no further than it takes: the time is linear.

mod block;
mod head;
mod marks;
mod notice;
mod trailer;

use marks::Marks;

/// A message without its envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnwrappedMessage<'a> {
    /// Few words for each part of the envelope that says something: `cron nightly-report`, `telegram`, `lark group`.
    pub marks: Vec<String>,
    /// The person's own words; empty where there is nothing but an envelope.
    pub text: &'a str,
}

impl UnwrappedMessage<'_> {
    /// The marks as they are shown before the words; none where there are no marks.
    pub fn mark_prefix(&self) -> Option<String> {
        (!self.marks.is_empty()).then(|| format!("⟨{}⟩", self.marks.join(" · ")))
    }
}

/// Takes one kind of envelope from the front of a text and answers what is behind it.
type Stripper = for<'a> fn(&'a str, &mut Marks) -> Option<&'a str>;

/// Every kind. The sentences of a gateway come last: they are the longest to compare.
const STRIPPERS: [Stripper; 5] = [
    head::strip_system_events,
    head::strip_brackets,
    block::strip_metadata,
    block::strip_frame,
    notice::strip_sentence,
];

/// Takes the envelope off a message. A text without one comes back as it is.
pub fn unwrap_message(text: &str) -> UnwrappedMessage<'_> {
    let mut marks = Marks::default();
    let mut rest = text.trim_start();
    while let Some(after) = STRIPPERS.iter().find_map(|kind| kind(rest, &mut marks)) {
        // A kind that takes nothing would be tried forever.
        if after.len() >= rest.len() {
            break;
        }
        rest = after.trim_start();
    }
    let said = trailer::strip_trailer(trailer::strip_context(rest), &mut marks);
    let marks = marks.into_words();
    let is_bare = said.len() == text.trim().len() || (said.is_empty() && marks.is_empty());
    UnwrappedMessage { marks, text: if is_bare { text } else { said } }
}

#[cfg(test)]
#[path = "envelope/tests.rs"]
mod tests;
