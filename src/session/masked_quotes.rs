//! Quotes from messages without their secrets. A quote is taken out of the words that reveal a secret, so the words around
//! it decide whether it is shown.

use std::borrow::Cow;
use std::cell::RefCell;

use super::LoadedSession;
use super::message_texts::read_texts;
use crate::ids::EntryIx;
use crate::redact::masked;
use crate::store::body::LineBuffer;

/// In place of a quote that is or holds a secret of its message.
const HIDDEN: &str = "[redacted:value]";

/// Places of a quote in its message that are looked at.
const MAX_PLACES: usize = 8;
/// Bytes before and after a quote that may reveal it.
const CONTEXT_BYTES: usize = 300;

#[derive(Debug)]
pub struct MaskedQuotes<'a> {
    session: &'a LoadedSession,
    /// The message that was quoted last, and its text; `None` if it cannot be read again.
    last: RefCell<Option<(EntryIx, Option<String>)>>,
}

impl<'a> MaskedQuotes<'a> {
    pub fn new(session: &'a LoadedSession) -> Self {
        Self { session, last: RefCell::default() }
    }

    /// Returns a quote from a message as it may be shown: hidden if the message reveals that it is a secret, or cannot be
    /// read again.
    pub fn masked<'t>(&self, entry: EntryIx, quote: &'t str) -> Cow<'t, str> {
        if let Cow::Owned(masked) = masked(quote) {
            return Cow::Owned(masked);
        }
        let mut last = self.last.borrow_mut();
        if last.as_ref().is_none_or(|(own, _)| *own != entry) {
            *last = Some((entry, read_texts(self.session, entry, &mut LineBuffer::default()).ok()));
        }
        let text = last.as_ref().and_then(|(_, text)| text.as_deref());
        let is_shown = text.is_some_and(|text| !is_secret(text, quote));
        Cow::Borrowed(if is_shown { quote } else { HIDDEN })
    }
}

/// Whether the words around a quote reveal that it is a secret.
fn is_secret(text: &str, quote: &str) -> bool {
    text.match_indices(quote).take(MAX_PLACES).any(|(at, _)| {
        let from = text.floor_char_boundary(at.saturating_sub(CONTEXT_BYTES));
        let to = text.ceil_char_boundary((at + quote.len() + CONTEXT_BYTES).min(text.len()));
        !masked(&text[from..to]).contains(quote)
    })
}
