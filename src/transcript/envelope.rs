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
pub struct Opened<'a> {
    /// Few words for each part of the envelope that says something: `cron nightly-report`, `telegram`, `lark group`.
    pub marks: Vec<String>,
    /// The person's own words; empty where there is nothing but an envelope.
    pub said: &'a str,
}

impl Opened<'_> {
    /// The marks as they are shown before the words; none where there are no marks.
    pub fn mark(&self) -> Option<String> {
        (!self.marks.is_empty()).then(|| format!("⟨{}⟩", self.marks.join(" · ")))
    }
}

/// Takes one kind of envelope from the front of a text and answers what is behind it.
type Kind = for<'a> fn(&'a str, &mut Marks) -> Option<&'a str>;

/// Every kind. The sentences of a gateway come last: they are the longest to compare.
const KINDS: [Kind; 5] =
    [head::system_events, head::brackets, block::metadata, block::frame, notice::sentence];

/// Takes the envelope off a message. A text without one comes back as it is.
pub fn opened(text: &str) -> Opened<'_> {
    let mut marks = Marks::default();
    let mut rest = text.trim_start();
    while let Some(after) = KINDS.iter().find_map(|kind| kind(rest, &mut marks)) {
        // A kind that takes nothing would be tried forever.
        if after.len() >= rest.len() {
            break;
        }
        rest = after.trim_start();
    }
    let said = trailer::cut(trailer::without_context(rest), &mut marks);
    let marks = marks.words();
    let is_bare = said.len() == text.trim().len() || (said.is_empty() && marks.is_empty());
    Opened { marks, said: if is_bare { text } else { said } }
}

#[cfg(test)]
#[path = "envelope/tests.rs"]
mod tests;
