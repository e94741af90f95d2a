//! The words of a message in one text.

use std::borrow::Cow;
use std::cell::RefCell;

use crate::context::bodies::into_message;
use crate::ids::EntryIx;
use crate::js::{self, Json, JsonKind, Object};
use crate::redact::masked;
use crate::session::LoadedSession;
use crate::store::body::{self, BodyError, LineBuffer};

/// Reads the words of an entry's message, like [`join_texts`].
///
/// # Errors
/// When the entry cannot be read again.
pub fn read_texts(
    session: &LoadedSession,
    ix: EntryIx,
    buffer: &mut LineBuffer,
) -> Result<String, BodyError> {
    let LoadedSession { source, index, .. } = session;
    if let Some(message) = body::outline_message(source, index, ix, buffer)? {
        return Ok(join_texts(message));
    }
    let entry = body::read_entry(source, index, ix)?;
    Ok(join_texts(&into_message(entry, index.entry(ix).kind)))
}

/// Joins the texts of a message and the arguments of its calls, one per line. Thinking is left out: the model does not get
/// it back.
pub fn join_texts<'a>(message: impl Json<'a>) -> String {
    let mut text = String::new();
    let content = message.get("content").or_else(|| message.get("summary"));
    match content.and_then(Json::items) {
        Some(blocks) => {
            for block in blocks {
                push_texts(block.get("text").or_else(|| block.get("arguments")), &mut text);
            }
        }
        None => push_texts(content, &mut text),
    }
    text
}

fn push_texts<'a>(value: Option<impl Json<'a>>, text: &mut String) {
    let Some(value) = value else { return };
    match value.kind() {
        JsonKind::String(_) => {
            text.push_str(&value.text().unwrap_or_default());
            text.push('\n');
        }
        JsonKind::Number(_) => {
            text.push_str(&js::to_text(Some(&value.to_value())).to_string_lossy());
            text.push('\n');
        }
        JsonKind::Array(_) => {
            value.items().into_iter().flatten().for_each(|item| push_texts(Some(item), text));
        }
        JsonKind::Object => {
            let object = value.to_cow();
            let members = object.as_object().into_iter().flat_map(Object::iter);
            members.for_each(|(_, item)| push_texts(Some(item), text));
        }
        _ => {}
    }
}

// Quotes from messages without their secrets. A quote is taken out of the words that reveal a secret, so the words around
// it decide whether it is shown.

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
