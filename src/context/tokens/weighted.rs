//! The estimate of OpenClaw 2026.9: four chars per token, but a character that needs more tokens weighs more (pruning
//! 8.5; compaction 12, token estimate).

use std::sync::LazyLock;

use crate::context::tokens::chars4::CHARS_PER_TOKEN;
use crate::context::tokens::script::code_points;
use crate::js::{self, JsException, JsString, Object, Value};
use crate::store::entry::Role;
use crate::store::measure::role_of;
use crate::units::{Chars, Tokens};

/// Weight of a char in estimates and truncation.
pub const NORMAL_WEIGHT: f64 = 1.0;
/// Weight of a char in the context guard.
pub const GUARD_WEIGHT: f64 = 2.0;
/// Chars of an image, also in user messages.
const IMAGE_CHARS: Chars = Chars(8000.0);

/// Chars of the notes that replace omitted blocks in a summary's input, and of the text around them.
const IMAGE_OMITTED_CHARS: Chars = Chars(39.0);
const OTHER_OMITTED_CHARS: Chars = Chars(42.0);
const OMITTED_WRAPPER_CHARS: Chars = Chars(17.0);
/// Replaces the arguments of a call without any.
const UNDEFINED: &str = "undefined";

/// One weight: the chars that a character counts, how many plain units are deducted from it, and the ranges.
type WeightRow = (f64, f64, &'static [(u32, u32)]);

/// The table of pruning 8.5, ascending ranges within each weight.
const WEIGHTS: [WeightRow; 5] = [
    (4.0, 1.0, &[(0xB7, 0xB7), (0x3000, 0x319F), (0x4E00, 0x9FA5), (0xAC00, 0xD7AF), (0xFF01, 0xFF60)]),
    (
        12.0,
        1.0,
        &[
            (0x1100, 0x11FF),
            (0x2E80, 0x2FFF),
            (0x31A0, 0x4DFF),
            (0x9FA6, 0xA4FF),
            (0xA700, 0xA707),
            (0xA960, 0xA97F),
            (0xD7B0, 0xD7FF),
            (0xF900, 0xFAFF),
        ],
    ),
    (
        8.0,
        1.0,
        &[
            (0x2C7, 0x2C7),
            (0x2C9, 0x2CB),
            (0x2D9, 0x2D9),
            (0x2EA, 0x2EB),
            (0x305, 0x305),
            (0x323, 0x323),
            (0xFE10, 0xFE4F),
            (0xFF61, 0xFFDC),
            (0xFFE0, 0xFFE6),
        ],
    ),
    (12.0, 2.0, &[(0x1D360, 0x1D371)]),
    (
        16.0,
        2.0,
        &[
            (0x16FE0, 0x16FFF),
            (0x1AFF0, 0x1AFFF),
            (0x1B000, 0x1B16F),
            (0x1F200, 0x1F2FF),
            (0x20000, 0x2FA1F),
            (0x30000, 0x3347F),
        ],
    ),
];

/// Units that are checked together; enough to use the processor's wide registers.
pub const CHUNK: usize = 32;
/// First character of the table.
const FIRST_WEIGHTED: u32 = 0xB7;

struct WeightRange {
    first: u32,
    last: u32,
    chars: f64,
    units: f64,
}

/// The table in one ascending list: truncation weighs every character of long texts.
static RANGES: LazyLock<Vec<WeightRange>> = LazyLock::new(|| {
    let ranges = WEIGHTS.iter().flat_map(|(chars, units, ranges)| {
        ranges.iter().map(|(first, last)| WeightRange {
            first: *first,
            last: *last,
            chars: *chars,
            units: *units,
        })
    });
    let mut ranges: Vec<WeightRange> = ranges.collect();
    ranges.sort_by_key(|range| range.first);
    ranges
});

/// Returns the length of a text whose plain units weigh `unit`: [`NORMAL_WEIGHT`] or [`GUARD_WEIGHT`] (pruning 8.5).
pub fn weighted_length(text: &JsString, unit: f64) -> Chars {
    weighted_units(text.units(), unit)
}

/// Returns the weighted length of UTF-16 units. Weighted characters are few in most texts, so the others are passed over
/// by the chunk.
fn weighted_units(units: &[u16], unit: f64) -> Chars {
    let mut length = Chars::from_len(units.len()) * unit;
    let mut rest = units;
    loop {
        let uniform = rest.chunks(CHUNK).take_while(|chunk| is_uniform(chunk)).count() * CHUNK;
        let Some(odd) = rest.get(uniform..).filter(|odd| !odd.is_empty()) else { return length };
        // A pair at the end of the chunk stays whole.
        let ends_high = |at: usize| odd.get(at - 1).is_some_and(|unit| (0xD800..0xDC00).contains(unit));
        let end = (CHUNK + usize::from(ends_high(CHUNK))).min(odd.len());
        length += code_points(&odd[..end]).map(|point| surplus(point, unit)).sum::<Chars>();
        rest = &odd[end..];
    }
}

/// Whether all units weigh the same, because they are below the table's first character.
pub fn is_uniform(units: &[u16]) -> bool {
    units.iter().fold(0, |all, unit| all.max(*unit)) < FIRST_WEIGHTED as u16
}

/// Returns a character's weight beyond its plain units.
pub fn surplus(point: u32, unit: f64) -> Chars {
    if point < FIRST_WEIGHTED {
        return Chars::ZERO;
    }
    let at = RANGES.partition_point(|range| range.last < point);
    match RANGES.get(at) {
        Some(range) if range.first <= point => Chars(range.chars - range.units * unit),
        _ => Chars::ZERO,
    }
}

/// Estimates a message in tokens: weighted chars / 4, rounded up (compaction 12, token estimate). An image in user,
/// custom and toolResult messages counts 8,000 chars plus the note of a summary; a shell command that is not sent
/// counts 0. With `counts_envelope` (2026.9.6) the line feeds between texts count, and a user message includes its sender. A
/// value that should be a text but is not makes the result NaN.
///
/// # Errors
/// The runtime throws on the message's shape.
pub fn estimate(message: &Value, counts_envelope: bool) -> Result<Tokens, JsException> {
    let field = |key| js_length(message.get(key));
    let chars = match role_of(message) {
        _ if message.get("excludeFromContext") == Some(&Value::Bool(true)) => Chars::ZERO,
        Role::User if counts_envelope => content_chars(message, counts_envelope)? + sender_chars(message),
        Role::User | Role::Custom | Role::ToolResult => content_chars(message, counts_envelope)?,
        Role::Assistant => {
            match message.get("content") {
                Some(Value::Array(blocks)) => blocks
                    .iter()
                    .try_fold(Chars::ZERO, |sum, block| Ok(sum + assistant_block_chars(block)?))?,
                // JavaScript iterates over its characters, none of which is a block.
                Some(Value::String(_)) => Chars::ZERO,
                _ => return Err(JsException),
            }
        }
        Role::BashExecution => field("command")? + field("output")?,
        Role::BranchSummary | Role::CompactionSummary => field("summary")?,
        Role::System | Role::Other => Chars::ZERO,
    };
    Ok(chars.to_tokens(CHARS_PER_TOKEN).ceil())
}

/// Estimates a message for display; 0 if that fails.
pub fn estimate_or_zero(message: &Value) -> Tokens {
    estimate(message, true).ok().filter(|tokens| tokens.is_finite()).unwrap_or(Tokens::ZERO)
}

/// Returns the `length` of a value that may be no text: NaN for other types. Errors when it is absent or null.
fn js_length(text: Option<&Value>) -> Result<Chars, JsException> {
    match text {
        Some(Value::String(text)) => Ok(weighted_length(text, NORMAL_WEIGHT)),
        None | Some(Value::Null) => Err(JsException),
        Some(_) => Ok(Chars::NAN),
    }
}

fn is_block_type(block: &Value, kind: &str) -> bool {
    block.get("type").is_some_and(|value| value.str_is(kind))
}

fn content_chars(message: &Value, counts_envelope: bool) -> Result<Chars, JsException> {
    let blocks = match message.get("content") {
        Some(Value::String(text)) => return Ok(weighted_length(text, NORMAL_WEIGHT)),
        Some(Value::Array(blocks)) if !blocks.iter().any(Value::is_null) => blocks,
        _ => return Err(JsException),
    };
    let texts: Vec<Chars> =
        blocks.iter().filter_map(block_text).map(|text| weighted_length(&text, NORMAL_WEIGHT)).collect();
    let joined = if counts_envelope { Chars::from_len(texts.len().saturating_sub(1)) } else { Chars::ZERO };
    let images = blocks.iter().filter(|block| is_block_type(block, "image")).count() as f64;
    Ok(texts.iter().sum::<Chars>() + joined + IMAGE_CHARS * images + omission_chars(blocks))
}

/// Returns the text of a block that a summary reads.
fn block_text(block: &Value) -> Option<JsString> {
    let is_result = is_block_type(block, "toolResult") || is_block_type(block, "tool_result");
    let text = block.get("text").filter(|text| js::is_truthy(Some(text)));
    let text = text.filter(|_| is_result || is_block_type(block, "text")).map(|text| js::to_text(Some(text)));
    let other = || block.get("content").and_then(Value::as_str).filter(|_| is_result).cloned();
    text.or_else(other).filter(|text| !text.is_empty())
}

/// Returns the chars of the notes for blocks that a summary does not see: one for images, one for other data.
fn omission_chars(blocks: &[Value]) -> Chars {
    let has_image = blocks.iter().any(|block| is_block_type(block, "image"));
    let is_other = |block: &&Value| {
        !is_block_type(block, "image") && !is_block_type(block, "text") && block_text(block).is_none()
    };
    let has_other = blocks.iter().any(|block| is_other(&block));
    match (has_image, has_other) {
        (false, false) => Chars::ZERO,
        (true, false) => IMAGE_OMITTED_CHARS + OMITTED_WRAPPER_CHARS,
        (false, true) => OTHER_OMITTED_CHARS + OMITTED_WRAPPER_CHARS,
        (true, true) => IMAGE_OMITTED_CHARS + Chars(1.0) + OTHER_OMITTED_CHARS + OMITTED_WRAPPER_CHARS,
    }
}

/// Returns the chars of ` sender=` and a user message's sender as JSON.
fn sender_chars(message: &Value) -> Chars {
    let member = |key: &str| {
        let text = message.get("__openclaw")?.get(key)?.as_str()?;
        let text: Vec<u16> = text.units().iter().copied().filter(|unit| *unit != 0).collect();
        Some(JsString::from(text).trim()).filter(|text| !text.is_empty())
    };
    let Some(id) = member("senderId") else { return Chars::ZERO };
    let mut sender = Object::default();
    sender.set("id", Value::String(id));
    for (key, from) in [("name", "senderName"), ("username", "senderUsername")] {
        if let Some(text) = member(from) {
            sender.set(key, Value::String(text));
        }
    }
    weighted_length(&format!(" sender={}", js::stringify(&Value::Object(sender))).into(), NORMAL_WEIGHT)
}

fn assistant_block_chars(block: &Value) -> Result<Chars, JsException> {
    if block.is_null() {
        return Err(JsException);
    }
    if is_block_type(block, "text") {
        js_length(block.get("text"))
    } else if is_block_type(block, "thinking") {
        js_length(block.get("thinking"))
    } else if is_block_type(block, "toolCall") {
        let arguments = block.get("arguments").map_or_else(|| UNDEFINED.to_owned(), js::stringify);
        Ok(js_length(block.get("name"))? + weighted_length(&arguments.into(), NORMAL_WEIGHT))
    } else {
        Ok(Chars::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length_of(text: &str, unit: f64) -> f64 {
        weighted_length(&text.into(), unit).get()
    }

    fn tokens(json: &str) -> Tokens {
        estimate(&js::parse(json).expect("test JSON"), false).expect("it can be measured")
    }

    #[test]
    fn lengths_match_the_real_gateway() {
        let lengths = ["你好", "㐀", "𠀀", "｡", "😀", "é"].map(|text| length_of(text, NORMAL_WEIGHT));
        assert_eq!(lengths, [8.0, 12.0, 16.0, 8.0, 2.0, 1.0]);
    }

    #[test]
    fn the_guard_doubles_the_weight_of_plain_chars_only() {
        let lengths = ["ab", "你好", "㐀", "𠀀", "\u{1D360}", "😀"].map(|text| length_of(text, GUARD_WEIGHT));
        assert_eq!(lengths, [4.0, 8.0, 12.0, 16.0, 12.0, 4.0]);
    }

    #[test]
    fn half_a_surrogate_pair_weighs_one_unit() {
        assert_eq!(weighted_length(&JsString::from(vec![0xD840, 0x4F60]), NORMAL_WEIGHT), Chars(1.0 + 4.0));
    }

    #[test]
    fn a_character_has_one_weight() {
        assert!(RANGES.iter().all(|range| range.first <= range.last));
        for pair in RANGES.windows(2) {
            assert!(pair[0].last < pair[1].first, "{:x} {:x}", pair[0].last, pair[1].first);
        }
        assert_eq!(RANGES[0].first, FIRST_WEIGHTED);
        let weights =
            [0x2FFF, 0x3000, 0x319F, 0x31A0, 0x1D371, 0x1D372].map(|point| surplus(point, 1.0).get());
        assert_eq!(weights, [11.0, 3.0, 3.0, 11.0, 10.0, 0.0]);
    }

    #[test]
    fn an_image_weighs_2000_tokens_and_a_note_in_user_messages_too() {
        let image = r#"{"role":"user","content":[{"type":"text","text":"看"},{"type":"image","data":"x"}]}"#;
        assert_eq!(tokens(image), Tokens(2015.0));
        assert_eq!(tokens(&image.replace("user", "toolResult")), Tokens(2015.0));
        assert_eq!(tokens(&image.replace("user", "assistant")), Tokens(1.0));
    }

    #[test]
    fn from_9_6_on_texts_count_with_their_summary_envelope() {
        let tokens = |json: &str| {
            [false, true].map(|counts_envelope| estimate(&js::parse(json).unwrap(), counts_envelope))
        };
        let texts =
            r#"{"role":"user","content":[{"type":"text","text":"abcd"},{"type":"text","text":"abcd"}]}"#;
        assert_eq!(tokens(texts), [2.0, 3.0].map(Tokens).map(Ok));
        let named = r#"{"role":"user","content":"abcd","__openclaw":{"senderId":" u1 ","senderName":"Ann"}}"#;
        // ` sender={"id":"u1","name":"Ann"}` has 32 chars.
        assert_eq!(tokens(named), [1.0, 9.0].map(Tokens).map(Ok));
        assert_eq!(tokens(r#"{"role":"user","content":[null]}"#), [Err(JsException), Err(JsException)]);
    }

    #[test]
    fn an_unsent_command_weighs_0_tokens() {
        let command =
            r#"{"role":"bashExecution","command":"ls","output":"abcdef","excludeFromContext":false}"#;
        assert_eq!(tokens(command), Tokens(2.0));
        assert_eq!(tokens(&command.replace("false", "true")), Tokens::ZERO);
    }

    #[test]
    fn a_call_weighs_its_name_and_its_arguments_as_json() {
        let call =
            r#"{"role":"assistant","content":[{"type":"toolCall","name":"read","arguments":{"p":"你好"}}]}"#;
        assert_eq!(tokens(call), Tokens(((4.0 + 8.0 + 8.0) / 4.0_f64).ceil()));
        assert_eq!(tokens(r#"{"role":"user","content":"四個字符"}"#), Tokens(4.0));
    }
}
