//! The texts that the guard makes from 2026.4.5 to 7.35 (releases R42, R43). A result over its limit keeps half the
//! limit in units, because each unit counts twice. A result that must make room in the budget is trimmed before a
//! notice replaces it.

use crate::gateway::ruleset::{HeadTailCut, Notice};
use crate::js;
use crate::js::{JsString, Object, Value};
use crate::policy::guard::estimate::GuardSize;
use crate::policy::guard::text::{COMPACTED, NOTICE, cut_text};
use crate::policy::truncate::Suffix;
use crate::units::Chars;

/// Suffix of a result that was trimmed for the budget.
const TRIMMED: &str = "\n[compacted: tool output trimmed to free context]";

/// Units that a trimmed result keeps at least, and its smallest budget.
const MIN_TRIMMED_UNITS: Chars = Chars(96.0);

/// Smallest target for a trimmed result, in chars as the guard counts them.
const MIN_COUNTED_CHARS: Chars = Chars(192.0);

/// A cut falls on a line end beyond this share of the kept text.
const NEWLINE_SHARE: f64 = 0.7;

/// Cuts a result to its limit; `notice` counts the missing chars, in versions that report them.
pub fn halved_message(message: &Value, single: Chars, notice: Option<Notice>) -> Value {
    let text = joined_text(message.get("content"));
    let room = (single / 2.0).floor();
    let new = if text.is_empty() {
        empty_result_text(message, single, notice)
    } else if room <= Chars::ZERO {
        notice.map_or_else(|| NOTICE.into(), |notice| notice.text(Chars::from_len(text.len())))
    } else if Chars::from_len(text.len()) <= room {
        text
    } else {
        notice.map_or_else(|| cut_text(&text, room), |notice| cut_with_count(&text, room, notice))
    };
    with_text(message, new)
}

/// Returns the text for a result that holds no text.
fn empty_result_text(message: &Value, single: Chars, notice: Option<Notice>) -> JsString {
    let counted = GuardSize::of(message).chars.value().unwrap_or(Chars::ZERO);
    let lost = ((counted - single).max(Chars(1.0)) / 2.0).floor();
    notice.map_or_else(|| NOTICE.into(), |notice| notice.text(lost))
}

/// Returns a head and a notice that counts the missing chars; together they fit `room`.
fn cut_with_count(text: &JsString, room: Chars, notice: Notice) -> JsString {
    let length = Chars::from_len(text.len());
    let body = (0..4)
        .fold(room, |body, _| (room - Chars::from_len(notice.text(length - body).len())).max(Chars::ZERO));
    let line =
        text.last_index_of_lf(body.whole() as usize).filter(|at| Chars::from_len(*at) > body * NEWLINE_SHARE);
    let cut = line.unwrap_or(body.whole() as usize);
    let mut new = text.slice(0, cut);
    new.push(&notice.text(Chars::from_len(text.len() - cut)));
    new
}

/// Trims a result until the guard counts at most `most` chars. `None` if it holds no text, if `most` has no room for
/// the notice, or if the trim does not make it smaller; the notice replaces the result then.
pub fn trimmed_message(message: &Value, ends: HeadTailCut, most: Chars) -> Option<Value> {
    let text = joined_text(message.get("content"));
    let room = (most / 2.0).floor();
    if text.is_empty() || room <= Chars::from_len(COMPACTED.len()) {
        return None;
    }
    let suffix = JsString::from(TRIMMED);
    let cut = ends.cut(&text, room.max(MIN_TRIMMED_UNITS), MIN_TRIMMED_UNITS, Suffix::Fixed(&suffix));
    let new = with_text(message, cut.unwrap_or(text));
    let counted = |message: &Value| GuardSize::of(message).chars.value().unwrap_or(Chars::NAN);
    (counted(&new) < counted(message)).then_some(new)
}

/// Returns the chars that a result may keep if it has to free `needed` of its `counted` chars.
pub(super) fn max_retained_chars(counted: Chars, needed: Chars) -> Chars {
    (counted - needed).max(MIN_COUNTED_CHARS)
}

// Cuts or replaces one message as the guard does (pruning 6.33, 6.35, 6.36).

/// Cuts a tool result to a limit: joins its texts into one, and removes other blocks and the details (pruning 6.33).
pub fn cut_message(message: &Value, max_chars: Chars) -> Value {
    let text = joined(message.get("content"), |text| Some(js::to_text(text)));
    with_text(message, cut_text(&text, max_chars))
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

/// Joins the text blocks with one line feed, as releases since 2026.4.24 do: a text that is no string is skipped.
pub(super) fn joined_text(content: Option<&Value>) -> JsString {
    joined(content, |text| Some(text?.as_str()?.clone()))
}

/// Joins the texts of a content that `read` returns.
fn joined(content: Option<&Value>, read: impl Fn(Option<&Value>) -> Option<JsString>) -> JsString {
    let blocks = match content {
        Some(Value::String(text)) => return text.clone(),
        Some(Value::Array(blocks)) => blocks.as_slice(),
        _ => &[],
    };
    let is_text = |block: &&Value| block.get("type").is_some_and(|kind| kind.str_is("text"));
    let texts = blocks.iter().filter(is_text).filter_map(|block| read(block.get("text")));
    let mut all = JsString::new();
    for (at, text) in texts.enumerate() {
        if at > 0 {
            all.push_str("\n");
        }
        all.push(&text);
    }
    all
}
