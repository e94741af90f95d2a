//! The guard on messages themselves (pruning 6.33–6.36). Tests compare [`super::guard_list`] with it.

use crate::js::{self, JsException, JsString, Object, Value};
use crate::policy::guard::estimate::GuardSize;
use crate::policy::guard::limits::GuardLimits;
use crate::policy::guard::text::{COMPACTED, cut_text};
use crate::policy::settings::GuardSettings;
use crate::units::Tokens;

/// Returns the messages of a call after the guard, for a window in tokens. A comparison with
/// NaN is false, as in the gateway, so NaN counts as over the limit.
///
/// # Errors
/// If a message cannot be counted.
pub fn guard_messages(
    messages: &[Value],
    window: Tokens,
    settings: &GuardSettings,
) -> Result<Vec<Value>, JsException> {
    let limits = GuardLimits::new(window, settings);
    let capped = messages.iter().map(|message| {
        let counted = GuardSize::of(message);
        let stays = !counted.is_result || counted.chars.value()? <= limits.single;
        Ok(if stays { message.clone() } else { cut_message(message, limits.single) })
    });
    let mut messages = capped.collect::<Result<Vec<Value>, JsException>>()?;
    let total =
        messages.iter().try_fold(0.0, |sum, message| Ok(sum + GuardSize::of(message).chars.value()?))?;
    if total <= limits.budget {
        return Ok(messages);
    }
    compact_oldest(&mut messages, total - limits.budget)?;
    Ok(messages)
}

/// Replaces results, oldest first, until this many chars are free (pruning 6.35).
fn compact_oldest(messages: &mut [Value], needed: f64) -> Result<(), JsException> {
    let mut gained = 0.0;
    for message in messages.iter_mut().filter(|message| GuardSize::of(&**message).is_result) {
        let before = GuardSize::of(&*message).chars.value()?;
        if before <= COMPACTED.len() as f64 {
            continue;
        }
        *message = compacted_message(message);
        let after = GuardSize::of(&*message).chars.value()?;
        if after >= before {
            continue;
        }
        gained += before - after;
        if gained >= needed {
            break;
        }
    }
    Ok(())
}

/// Cuts a tool result to a limit: joins its texts into one, and removes other blocks and the details (pruning 6.33).
pub fn cut_message(message: &Value, max_chars: f64) -> Value {
    with_text(message, cut_text(&joined_text(message.get("content")), max_chars))
}

/// Replaces a tool result with the guard's notice (pruning 6.35).
pub fn compacted_message(message: &Value) -> Value {
    with_text(message, COMPACTED.into())
}

/// Returns a copy with this text: a string if the content is a string or absent, otherwise one text block. Other keys
/// keep their order (pruning 6.33, 6.36).
pub(super) fn with_text(message: &Value, text: JsString) -> Value {
    let content = match message.get("content") {
        None | Some(Value::String(_)) => Value::String(text),
        Some(_) => {
            let mut block = Object::from([("type", "text")]);
            block.set("text", Value::String(text));
            Value::Array(vec![Value::Object(block)])
        }
    };
    let mut copy = message.as_object().cloned().unwrap_or_default();
    copy.remove("details");
    copy.set("content", content);
    Value::Object(copy)
}

/// Joins the text blocks with one line feed.
pub(super) fn joined_text(content: Option<&Value>) -> JsString {
    let blocks = match content {
        Some(Value::String(text)) => return text.clone(),
        Some(Value::Array(blocks)) => blocks.as_slice(),
        _ => &[],
    };
    let is_text = |block: &&Value| block.get("type").is_some_and(|kind| kind.str_is("text"));
    let texts = blocks.iter().filter(is_text).map(|block| js::to_text(block.get("text")));
    let mut all = JsString::new();
    for (at, text) in texts.enumerate() {
        if at > 0 {
            all.push_str("\n");
        }
        all.push(&text);
    }
    all
}
