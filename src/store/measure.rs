//! Sizes of one message, measured once when its line is read. The two char counts follow the runtime's code exactly,
//! malformed values and exceptions included (pruning 0.7).

use std::fmt;
use std::iter::Sum;

use derive_more::{Add, AddAssign, SubAssign};

use crate::js::json::{self, is_truthy};
use crate::js::{JsException, Json, JsonKind, Value};
use crate::store::role::Role;
use crate::units::Chars;

/// Chars that an image block counts in pi's estimate (compaction 1.5).
pub const PI_IMAGE_CHARS: Chars = Chars(4800.0);
/// Chars that an image block counts in the context pruner (pruning 5.4).
pub const PRUNE_IMAGE_CHARS: Chars = Chars(8000.0);
/// Chars that a message of any other role counts in the context pruner (pruning 5.4).
const PRUNE_OTHER_CHARS: Chars = Chars(256.0);

/// Returns the role of a message; [`Role::Other`] when the message is not an object.
pub fn role_of<'a>(message: impl Json<'a>) -> Role {
    message.get("role").and_then(Json::text).map_or(Role::Other, |text| Role::from_text(&text))
}

/// Counts chars as pi's `estimateTokens` does before it divides by 4 (compaction 1.1–1.9).
pub fn pi_chars<'a>(message: impl Json<'a>) -> Result<Chars, JsException> {
    let content = message.get("content");
    let role = role_of(message);
    match role {
        Role::User => match content.map(Json::kind) {
            Some(JsonKind::String(units)) => Ok(Chars::from_len(units)),
            Some(JsonKind::Array(_)) => sum_blocks(content, |block| pi_block_chars(role, block)),
            _ => Ok(Chars::ZERO),
        },
        Role::Assistant => sum_blocks(content, |block| pi_block_chars(role, block)),
        Role::ToolResult | Role::Custom => match content.map(Json::kind) {
            Some(JsonKind::String(units)) => Ok(Chars::from_len(units)),
            _ => sum_blocks(content, |block| pi_block_chars(role, block)),
        },
        Role::BashExecution => Ok(length(message.get("command"))? + length(message.get("output"))?),
        Role::BranchSummary | Role::CompactionSummary => length(message.get("summary")),
        Role::System => system_chars(&message.to_value()),
        Role::Other => Ok(Chars::ZERO),
    }
}

/// Counts chars of a system message: its content with images, like a user's, the text of each section, and the added
/// tools as JSON (store-pi-1.5 E1).
fn system_chars(message: &Value) -> Result<Chars, JsException> {
    let content = message.get("content");
    let content = match content.map(Json::kind) {
        None | Some(JsonKind::Null) => Chars::ZERO,
        Some(JsonKind::String(units)) => Chars::from_len(units),
        _ => sum_blocks(content, |block| Ok(pi_text_chars(block)? + image_chars(block, PI_IMAGE_CHARS)?))?,
    };
    let sections = section_texts(message).try_fold(Chars::ZERO, |sum, text| Ok(sum + length(Some(text))?))?;
    let tools = message.get("toolsAdded").map_or(0, Json::json_len);
    Ok(content + sections + Chars::from_len(tools))
}

/// Returns the texts of a system message's sections; removed sections have none.
fn section_texts(message: &Value) -> impl Iterator<Item = &Value> {
    let values: Vec<&Value> = match message.get("sections") {
        Some(Value::Object(sections)) => sections.iter().map(|(_, text)| text).collect(),
        Some(Value::Array(sections)) => sections.iter().collect(),
        _ => Vec::new(),
    };
    values.into_iter().filter(|text| text.is_truthy())
}

/// Counts chars as the context pruner does (pruning 5.4).
pub fn prune_chars<'a>(message: impl Json<'a>) -> Result<Chars, JsException> {
    let content = message.get("content");
    match role_of(message) {
        Role::User => match content.map(Json::kind) {
            Some(JsonKind::String(units)) => Ok(Chars::from_len(units)),
            _ => sum_blocks(content, prune_block_chars),
        },
        Role::ToolResult => sum_blocks(content, prune_block_chars),
        Role::Assistant => sum_blocks(content, prune_assistant_block_chars),
        _ => Ok(PRUNE_OTHER_CHARS),
    }
}

/// Returns the items that a loop over the content visits: an array's items; none of a string, whose characters match no
/// block type. Anything else throws (pruning 0.7).
pub fn blocks(content: Option<&Value>) -> Result<&[Value], JsException> {
    match content {
        Some(Value::Array(items)) => Ok(items),
        Some(Value::String(_)) => Ok(&[]),
        _ => Err(JsException),
    }
}

/// Whether a block has this type; a null block throws.
pub fn is_block_type<'a>(block: impl Json<'a>, kind: &str) -> Result<bool, JsException> {
    if block.is_null() {
        return Err(JsException);
    }
    Ok(block.get("type").is_some_and(|value| value.str_is(kind)))
}

/// Sums the sizes of a content's items, visited as by [`blocks`].
fn sum_blocks<'a, J: Json<'a>>(
    content: Option<J>,
    size: impl Fn(J) -> Result<Chars, JsException>,
) -> Result<Chars, JsException> {
    match content.and_then(Json::items) {
        Some(mut items) => items.try_fold(Chars::ZERO, |total, block| Ok(total + size(block)?)),
        None if content.is_some_and(|content| content.unit_len().is_some()) => Ok(Chars::ZERO),
        None => Err(JsException),
    }
}

/// Returns the `length` of a value as chars.
fn length<'a>(value: Option<impl Json<'a>>) -> Result<Chars, JsException> {
    json::length(value).map(Chars)
}

fn image_chars<'a>(block: impl Json<'a>, chars: Chars) -> Result<Chars, JsException> {
    Ok(if is_block_type(block, "image")? { chars } else { Chars::ZERO })
}

/// Counts the chars of one content block in pi's estimate, which depends on the role of its message (compaction
/// 1.2–1.5).
pub fn pi_block_chars<'a>(role: Role, block: impl Json<'a>) -> Result<Chars, JsException> {
    match role {
        Role::User => pi_text_chars(block),
        Role::Assistant => pi_assistant_block_chars(block),
        Role::ToolResult | Role::Custom => Ok(pi_text_chars(block)? + image_chars(block, PI_IMAGE_CHARS)?),
        _ => Ok(Chars::ZERO),
    }
}

/// Counts a text block; a falsy text is skipped (compaction 1.8a).
fn pi_text_chars<'a>(block: impl Json<'a>) -> Result<Chars, JsException> {
    let text = block.get("text");
    if is_block_type(block, "text")? && is_truthy(text) { length(text) } else { Ok(Chars::ZERO) }
}

fn pi_assistant_block_chars<'a>(block: impl Json<'a>) -> Result<Chars, JsException> {
    if is_block_type(block, "text")? {
        length(block.get("text"))
    } else if is_block_type(block, "thinking")? {
        length(block.get("thinking"))
    } else if is_block_type(block, "toolCall")? {
        let arguments = block.get("arguments").ok_or(JsException)?;
        Ok(length(block.get("name"))? + Chars::from_len(arguments.json_len()))
    } else {
        Ok(Chars::ZERO)
    }
}

fn prune_block_chars<'a>(block: impl Json<'a>) -> Result<Chars, JsException> {
    if is_block_type(block, "text")? {
        length(block.get("text"))
    } else {
        image_chars(block, PRUNE_IMAGE_CHARS)
    }
}

fn prune_assistant_block_chars<'a>(block: impl Json<'a>) -> Result<Chars, JsException> {
    if is_block_type(block, "text")? {
        length(block.get("text"))
    } else if is_block_type(block, "thinking")? {
        length(block.get("thinking"))
    } else if is_block_type(block, "toolCall")? {
        Ok(prune_argument_chars(block.get("arguments")))
    } else {
        Ok(Chars::ZERO)
    }
}

/// Counts arguments as JSON; absent and null ones count as `{}`.
fn prune_argument_chars<'a>(arguments: Option<impl Json<'a>>) -> Chars {
    arguments
        .filter(|arguments| !arguments.is_null())
        .map_or(Chars(2.0), |arguments| Chars::from_len(arguments.json_len()))
}

/// Further sizes of a content besides the two counts. Unknown blocks count as 0.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct ContentSizes {
    /// Chars of the text blocks joined with one LF each (pruning 5.7); NaN when a text is not a string.
    pub joined_chars: Chars,
    /// Number of text blocks in an array content.
    pub text_blocks: u32,
    /// Number of image blocks.
    pub images: u32,
    pub text_chars: CompactChars,
    pub thinking_chars: CompactChars,
    /// Chars of names and arguments; in a system message, of the added tools as JSON.
    pub tool_call_chars: CompactChars,
    /// Whether a text block holds something that is not a string.
    pub needs_body: bool,
}

/// Measures a message's content, or the text fields of roles without content.
pub fn content_sizes<'a>(message: impl Json<'a>) -> ContentSizes {
    let mut parts = ContentSizes::default();
    for field in ["command", "output", "summary"] {
        parts.text_chars += json_chars(message.get(field));
    }
    let content = message.get("content");
    parts.text_chars += json_chars(content);
    content.and_then(Json::items).into_iter().flatten().for_each(|block| parts.add_block(block));
    parts.joined_chars += Chars::from(parts.text_blocks.saturating_sub(1));
    if role_of(message) == Role::System {
        let message = &message.to_value();
        parts.text_chars += section_texts(message).map(|text| json_chars(Some(text))).sum::<CompactChars>();
        parts.tool_call_chars = CompactChars::from_len(message.get("toolsAdded").map_or(0, Json::json_len));
    }
    parts
}

impl ContentSizes {
    fn add_block<'a>(&mut self, block: impl Json<'a>) {
        let is = |kind| is_block_type(block, kind).unwrap_or(false);
        if is("text") {
            let text = block.get("text");
            self.text_blocks += 1;
            self.text_chars += json_chars(text);
            self.joined_chars += length(text).unwrap_or(Chars::NAN);
            self.needs_body |= text.and_then(Json::unit_len).is_none();
        } else if is("image") {
            self.images += 1;
        } else if is("thinking") {
            self.thinking_chars += json_chars(block.get("thinking"));
        } else if is("toolCall") {
            self.tool_call_chars += tool_call_chars(block);
        }
    }
}

/// Counts the chars of a tool call's name and of its arguments as JSON.
pub fn tool_call_chars<'a>(block: impl Json<'a>) -> CompactChars {
    let arguments = block.get("arguments").map_or(0, Json::json_len);
    json_chars(block.get("name")) + CompactChars::from_len(arguments)
}

fn json_chars<'a>(value: Option<impl Json<'a>>) -> CompactChars {
    CompactChars::from_len(value.and_then(Json::unit_len).unwrap_or(0))
}

/// Whole chars in a record of the index; rules read them with [`CompactChars::get`].
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Add, AddAssign, SubAssign)]
pub struct CompactChars(u32);

impl CompactChars {
    pub const ZERO: Self = Self(0);

    /// Returns the length of a text; one beyond 4 billion is longer than any line that is read.
    pub const fn from_len(units: usize) -> Self {
        Self(units as u32)
    }

    /// Returns the chars as the rules count them.
    pub fn get(self) -> Chars {
        Chars::from(self.0)
    }
}

/// Drops a fraction; negative chars are 0.
impl From<Chars> for CompactChars {
    fn from(chars: Chars) -> Self {
        Self(chars.get() as u32)
    }
}

impl fmt::Debug for CompactChars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Sum for CompactChars {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::ZERO, |sum, part| sum + part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js;

    fn message(json: &str) -> Value {
        js::parse(json).expect("test JSON")
    }

    #[test]
    fn an_image_in_a_user_message_is_free_for_pi_and_8000_for_the_pruner() {
        let user =
            message(r#"{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image","data":"x"}]}"#);
        assert_eq!(pi_chars(&user), Ok(Chars(2.0)));
        assert_eq!(prune_chars(&user), Ok(Chars(8002.0)));
    }

    #[test]
    fn tool_calls_count_name_and_arguments_for_pi_and_only_arguments_for_the_pruner() {
        let call = message(
            r#"{"role":"assistant","content":[{"type":"toolCall","name":"exec","arguments":{"a":1.0}}]}"#,
        );
        assert_eq!(pi_chars(&call), Ok(Chars(4.0 + 7.0)));
        assert_eq!(prune_chars(&call), Ok(Chars(7.0)));
    }

    #[test]
    fn null_arguments_are_4_chars_for_pi_and_2_for_the_pruner_and_absent_ones_throw_only_for_pi() {
        let null =
            message(r#"{"role":"assistant","content":[{"type":"toolCall","name":"","arguments":null}]}"#);
        assert_eq!((pi_chars(&null), prune_chars(&null)), (Ok(Chars(4.0)), Ok(Chars(2.0))));
        let absent = message(r#"{"role":"assistant","content":[{"type":"toolCall","name":""}]}"#);
        assert_eq!((pi_chars(&absent), prune_chars(&absent)), (Err(JsException), Ok(Chars(2.0))));
    }

    #[test]
    fn a_numeric_text_makes_the_size_nan_and_a_missing_one_throws_for_the_pruner() {
        let number = message(r#"{"role":"toolResult","content":[{"type":"text","text":5}]}"#);
        assert!(prune_chars(&number).is_ok_and(Chars::is_nan));
        let missing = message(r#"{"role":"toolResult","content":[{"type":"text"}]}"#);
        assert_eq!((pi_chars(&missing), prune_chars(&missing)), (Ok(Chars(0.0)), Err(JsException)));
    }

    #[test]
    fn string_content_of_a_tool_result_counts_for_pi_only() {
        let result = message(r#"{"role":"toolResult","content":"12345"}"#);
        assert_eq!((pi_chars(&result), prune_chars(&result)), (Ok(Chars(5.0)), Ok(Chars(0.0))));
    }

    #[test]
    fn other_roles_are_256_chars_to_the_pruner_and_scalars_too() {
        assert_eq!(prune_chars(&message(r#"{"role":"system"}"#)), Ok(Chars(256.0)));
        assert_eq!((pi_chars(&message("5")), prune_chars(&message("5"))), (Ok(Chars(0.0)), Ok(Chars(256.0))));
    }

    #[test]
    fn a_system_message_weighs_its_texts_its_sections_and_the_tools_it_adds() {
        let chars = |json: &str| pi_chars(&message(json));
        assert_eq!(
            chars(r#"{"role":"system","content":"ab","sections":{"a":"cd","b":null},"toolsAdded":[]}"#),
            Ok(Chars(6.0))
        );
        assert_eq!(
            chars(r#"{"role":"system","content":[{"type":"image"}],"toolsRemoved":[{"name":"x"}]}"#),
            Ok(Chars(4800.0))
        );
        assert!(chars(r#"{"role":"system","content":"","sections":{"a":5}}"#).is_ok_and(Chars::is_nan));
    }

    #[test]
    fn joined_chars_add_one_line_feed_between_blocks() {
        let result = message(
            r#"{"role":"toolResult","content":[{"type":"text","text":"abc"},{"type":"image"},{"type":"text","text":"de"}]}"#,
        );
        let parts = content_sizes(&result);
        assert_eq!((parts.joined_chars, parts.text_blocks, parts.images), (Chars(6.0), 2, 1));
    }
}
