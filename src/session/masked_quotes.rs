//! Quotes from messages without their secrets. A quote is taken out of the words that reveal a secret, so the whole message
//! decides what is masked.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;

use super::LoadedSession;
use super::message_texts::read_texts;
use crate::ids::EntryIx;
use crate::redact::masked;
use crate::store::body::LineBuffer;

/// In place of a quote that is or holds a secret of its message.
const HIDDEN: &str = "[redacted:value]";

#[derive(Debug)]
pub struct MaskedQuotes<'a> {
    session: &'a LoadedSession,
    messages: RefCell<HashMap<EntryIx, Message>>,
}

/// What is known of a message that was quoted.
#[derive(Debug)]
enum Message {
    /// No secret is in it.
    Clean,
    /// Its text, and the text without its secrets.
    Secret { text: String, masked: String },
    /// It cannot be read again, so nothing of it is shown.
    Unread,
}

impl<'a> MaskedQuotes<'a> {
    pub fn new(session: &'a LoadedSession) -> Self {
        Self { session, messages: RefCell::default() }
    }

    /// Returns a quote from a message as it may be shown.
    pub fn masked<'t>(&self, entry: EntryIx, quote: &'t str) -> Cow<'t, str> {
        if let Cow::Owned(masked) = masked(quote) {
            return Cow::Owned(masked);
        }
        let mut messages = self.messages.borrow_mut();
        let is_hidden = match messages.entry(entry).or_insert_with(|| self.read(entry)) {
            Message::Clean => false,
            Message::Secret { text, masked } => text.contains(quote) && !masked.contains(quote),
            Message::Unread => true,
        };
        if is_hidden { Cow::Borrowed(HIDDEN) } else { Cow::Borrowed(quote) }
    }

    fn read(&self, entry: EntryIx) -> Message {
        let Ok(text) = read_texts(self.session, entry, &mut LineBuffer::default()) else {
            return Message::Unread;
        };
        match masked(&text) {
            Cow::Borrowed(_) => Message::Clean,
            Cow::Owned(masked) => Message::Secret { masked, text },
        }
    }
}
