//! The words of a message in one text.

use crate::context::bodies::into_message;
use crate::ids::EntryIx;
use crate::js::{self, Json, JsonKind, Object};
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
