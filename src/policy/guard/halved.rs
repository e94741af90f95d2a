//! The texts that the guard makes from 2026.4.5 to 7.35 (releases R42, R43). A result over its limit keeps half the
//! limit in units, because each unit counts twice. A result that must make room in the budget is trimmed before a
//! notice replaces it.

use crate::gateway::ruleset::{HeadTailCut, Notice, Rules};
use crate::js::{self, JsException, JsString, Json, JsonKind, Object, Value, json};
use crate::policy::guard::text::{COMPACTED, NOTICE, cut_text};
use crate::policy::truncate::Suffix;
use crate::store::entry::CharCount;
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

/// Chars of an image.
pub const IMAGE_CHARS: Chars = Chars(8000.0);
/// Chars of a message of any other role.
const OTHER_CHARS: Chars = Chars(256.0);
/// Chars of absent or null arguments.
const NO_ARGUMENTS_CHARS: Chars = Chars(2.0);
const RESULT_WEIGHT: f64 = 2.0;

#[derive(Debug, Clone, Copy)]
pub struct GuardSize {
    /// Whether the guard may cut and replace the message.
    pub is_result: bool,
    /// NaN if a text block holds a value without length; an error if it holds no text, because the guard fails on it.
    pub chars: CharCount,
}

/// Treats NaN as equal to itself.
impl PartialEq for GuardSize {
    fn eq(&self, other: &Self) -> bool {
        let bits =
            |counted: &Self| (counted.is_result, counted.chars.value().map(|chars| chars.get().to_bits()));
        bits(self) == bits(other)
    }
}

impl GuardSize {
    /// Counts a message under the reference rules, with the details of results.
    pub fn of<'a>(message: impl Json<'a>) -> Self {
        Self::of_under(message, None)
    }

    /// Counts a message under the rules of a version; those of the reference without any (releases R40, R44). Messages
    /// of role `user` or `assistant` keep that role even if their type is `toolResult`.
    pub fn of_under<'a>(message: impl Json<'a>, rules: Option<&Rules>) -> Self {
        let details = rules.is_none_or(|rules| rules.guard_counts_details);
        let accepts_malformed = rules.is_some_and(|rules| rules.prune_size.accepts_malformed_texts);
        let role = |name| message.get("role").is_some_and(|role| role.str_is(name));
        let is_result = role("toolResult")
            || role("tool")
            || message.get("type").is_some_and(|kind| kind.str_is("toolResult"));
        let content = message.get("content");
        let chars = if role("user") {
            user_chars(content, accepts_malformed)
        } else if role("assistant") {
            Ok(assistant_chars(content))
        } else if is_result {
            user_chars(content, accepts_malformed).map(|content| {
                result_chars(content, message.get("details").filter(|_| details).map(unknown_chars))
            })
        } else if is_container(message) {
            Ok(OTHER_CHARS)
        } else {
            Ok(Chars::ZERO)
        };
        Self { is_result, chars: CharCount::new(chars) }
    }
}

/// Returns the chars of a tool result from those of its content and details.
pub fn result_chars(content: Chars, details: Option<Chars>) -> Chars {
    ((content + details.unwrap_or(Chars::ZERO)) * RESULT_WEIGHT).ceil()
}

/// Returns the chars of details, and of values that the guard does not know: the length of a string, otherwise that of
/// the JSON text.
pub fn unknown_chars<'a>(value: impl Json<'a>) -> Chars {
    Chars::from_len(value.unit_len().unwrap_or_else(|| value.json_len()))
}

/// Counts content; a text block without text has the length of its JSON text if the version accepts one.
fn user_chars<'a>(content: Option<impl Json<'a>>, accepts_malformed: bool) -> Result<Chars, JsException> {
    let Some(content) = content else { return Ok(Chars::ZERO) };
    match content.items() {
        Some(mut blocks) => {
            blocks.try_fold(Chars::ZERO, |sum, block| Ok(sum + block_chars(block, accepts_malformed)?))
        }
        None => Ok(Chars::from_len(content.unit_len().unwrap_or(0))),
    }
}

fn block_chars<'a>(block: impl Json<'a>, accepts_malformed: bool) -> Result<Chars, JsException> {
    if let Some(chars) = text_of(block, "text") {
        return Ok(chars);
    }
    if is(block, "text") && !accepts_malformed {
        return json::length(block.get("text")).map(Chars);
    }
    Ok(if is(block, "image") { IMAGE_CHARS } else { unknown_chars(block) })
}

fn assistant_chars<'a>(content: Option<impl Json<'a>>) -> Chars {
    let blocks = content.and_then(Json::items).into_iter().flatten().filter(|block| is_container(*block));
    blocks.fold(Chars::ZERO, |sum, block| sum + assistant_block_chars(block))
}

fn assistant_block_chars<'a>(block: impl Json<'a>) -> Chars {
    if let Some(chars) = text_of(block, "text").or_else(|| text_of(block, "thinking")) {
        return chars;
    }
    match block.get("arguments").filter(|arguments| !arguments.is_null()) {
        None if is(block, "toolCall") => NO_ARGUMENTS_CHARS,
        Some(arguments) if is(block, "toolCall") => Chars::from_len(arguments.json_len()),
        _ => Chars::from_len(block.json_len()),
    }
}

/// Returns the chars of the string under the key `kind`, for a block of that type.
fn text_of<'a>(block: impl Json<'a>, kind: &str) -> Option<Chars> {
    let chars = block.get(kind).and_then(Json::unit_len)?;
    is(block, kind).then_some(Chars::from_len(chars))
}

fn is_container<'a>(value: impl Json<'a>) -> bool {
    matches!(value.kind(), JsonKind::Object | JsonKind::Array(_))
}

fn is<'a>(block: impl Json<'a>, kind: &str) -> bool {
    block.get("type").is_some_and(|value| value.str_is(kind))
}
