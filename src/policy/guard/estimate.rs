//! The chars of a message as the guard counts them: those of tool results twice (pruning 6.31, 6.32).

use crate::gateway::ruleset::Rules;
use crate::js::{JsException, Json, JsonKind, json};
use crate::store::entry::CharCount;
use crate::units::Chars;

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
