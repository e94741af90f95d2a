//! The estimate of gateways of 2026.9: still four chars a token, but a character that costs a tokenizer more
//! weighs more (pruning 8.5; compaction 12, token estimate).

use crate::context::tokens::chars4::CHARS_PER_TOKEN;
use crate::context::tokens::script::{in_ranges, points};
use crate::js::{self, JsString, Value};
use crate::store::entry::Role;
use crate::store::measure::role_of;

/// Weight of a char in estimates and truncation.
pub const NORMAL: f64 = 1.0;
/// Weight of a char in the context guard.
pub const GUARD: f64 = 2.0;
/// Chars of an image, in user messages too.
const IMAGE_CHARS: f64 = 8000.0;

/// Chars of the notes about what a summary is not shown, and of what stands around them.
const IMAGE_OMITTED: f64 = 39.0;
const OTHER_OMITTED: f64 = 42.0;
const AROUND_OMITTED: f64 = 17.0;
/// Stands for the arguments of a call that has none.
const UNDEFINED: &str = "undefined";

/// Ranges of one weight: chars they count, how often the plain weight of a unit comes off, and the ranges.
type Weight = (f64, f64, &'static [(u32, u32)]);

/// The table of pruning 8.5: each range in order within its weight.
const WEIGHTS: [Weight; 5] = [
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

/// Length of a text when a plain unit weighs `unit`: [`NORMAL`] or [`GUARD`] (pruning 8.5).
pub fn weighted_length(text: &JsString, unit: f64) -> f64 {
    let units = text.units();
    let plain = units.len() as f64 * unit;
    // Below the first character of the table.
    if units.iter().all(|unit| *unit < 0xB7) {
        return plain;
    }
    points(units).fold(plain, |sum, point| sum + surplus(point, unit))
}

/// What a character weighs beyond its units.
fn surplus(point: u32, unit: f64) -> f64 {
    if point < 0xB7 {
        return 0.0;
    }
    let weight = WEIGHTS.iter().find(|(_, _, ranges)| in_ranges(ranges, point));
    weight.map_or(0.0, |(chars, units, _)| chars - units * unit)
}

/// Tokens of one message as 2026.9 estimates them. Which fields count is as in pi's estimate (compaction 1.2 to
/// 1.7), with the weights, images of 8000 chars in user, custom and toolResult messages with a note for a summary, and nothing for a shell
/// command that is not sent. What has an odd shape counts nothing. The note that this version adds for a
/// sender is not known from a transcript and does not count.
pub fn estimate_message(message: &Value) -> f64 {
    (message_chars(message) / CHARS_PER_TOKEN).ceil()
}

fn message_chars(message: &Value) -> f64 {
    let field = |key| length(message.get(key));
    match role_of(message) {
        Role::User | Role::Custom | Role::ToolResult => match message.get("content") {
            Some(Value::Array(blocks)) => blocks.iter().map(content_block).sum::<f64>() + omissions(blocks),
            content => length(content),
        },
        Role::Assistant => {
            let blocks = message.get("content").and_then(Value::as_array).unwrap_or_default();
            blocks.iter().map(assistant_block).sum()
        }
        Role::BashExecution if js::truthy(message.get("excludeFromContext")) => 0.0,
        Role::BashExecution => field("command") + field("output"),
        Role::BranchSummary | Role::CompactionSummary => field("summary"),
        Role::System | Role::Other => 0.0,
    }
}

fn length(text: Option<&Value>) -> f64 {
    text.and_then(Value::as_str).map_or(0.0, |text| weighted_length(text, NORMAL))
}

fn is(block: &Value, kind: &str) -> bool {
    block.get("type").is_some_and(|value| value.str_is(kind))
}

fn content_block(block: &Value) -> f64 {
    if is(block, "image") {
        IMAGE_CHARS
    } else if ["text", "toolResult", "tool_result"].iter().any(|kind| is(block, kind)) {
        let text = length(block.get("text"));
        let other = if is(block, "text") { 0.0 } else { length(block.get("content")) };
        if text > 0.0 { text } else { other }
    } else {
        0.0
    }
}

/// What a summary is told of the blocks of a message that it is not shown: a note for images, one for other data.
fn omissions(blocks: &[Value]) -> f64 {
    let has_image = blocks.iter().any(|block| is(block, "image"));
    let is_other = |block: &&Value| !is(block, "image") && !is(block, "text") && content_block(block) == 0.0;
    let has_other = blocks.iter().any(|block| is_other(&block));
    match (has_image, has_other) {
        (false, false) => 0.0,
        (true, false) => IMAGE_OMITTED + AROUND_OMITTED,
        (false, true) => OTHER_OMITTED + AROUND_OMITTED,
        (true, true) => IMAGE_OMITTED + 1.0 + OTHER_OMITTED + AROUND_OMITTED,
    }
}

fn assistant_block(block: &Value) -> f64 {
    if is(block, "text") {
        length(block.get("text"))
    } else if is(block, "thinking") {
        length(block.get("thinking"))
    } else if is(block, "toolCall") {
        let arguments = block.get("arguments").map_or_else(|| UNDEFINED.to_owned(), js::stringify);
        length(block.get("name")) + weighted_length(&arguments.into(), NORMAL)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length_of(text: &str, unit: f64) -> f64 {
        weighted_length(&text.into(), unit)
    }

    fn tokens(json: &str) -> f64 {
        estimate_message(&js::parse(json).expect("test JSON"))
    }

    #[test]
    fn lengths_are_those_of_the_real_gateway() {
        let lengths = ["你好", "㐀", "𠀀", "｡", "😀", "é"].map(|text| length_of(text, NORMAL));
        assert_eq!(lengths, [8.0, 12.0, 16.0, 8.0, 2.0, 1.0]);
    }

    #[test]
    fn in_the_guard_plain_chars_weigh_double_and_heavy_ones_stay() {
        let lengths = ["ab", "你好", "㐀", "𠀀", "\u{1D360}", "😀"].map(|text| length_of(text, GUARD));
        assert_eq!(lengths, [4.0, 8.0, 12.0, 16.0, 12.0, 4.0]);
    }

    #[test]
    fn half_a_surrogate_pair_weighs_one_unit() {
        assert_eq!(weighted_length(&JsString::from(vec![0xD840, 0x4F60]), NORMAL), 1.0 + 4.0);
    }

    #[test]
    fn every_weight_has_its_ranges_in_order() {
        for (_, _, ranges) in WEIGHTS {
            assert!(ranges.iter().all(|(first, last)| first <= last));
            assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0), "{ranges:x?}");
        }
    }

    #[test]
    fn an_image_weighs_2000_tokens_and_a_note_in_user_messages_too() {
        let image = r#"{"role":"user","content":[{"type":"text","text":"看"},{"type":"image","data":"x"}]}"#;
        assert_eq!(tokens(image), 2015.0);
        assert_eq!(tokens(&image.replace("user", "toolResult")), 2015.0);
        assert_eq!(tokens(&image.replace("user", "assistant")), 1.0);
    }

    #[test]
    fn a_command_that_is_not_sent_weighs_nothing() {
        let command =
            r#"{"role":"bashExecution","command":"ls","output":"abcdef","excludeFromContext":false}"#;
        assert_eq!(tokens(command), 2.0);
        assert_eq!(tokens(&command.replace("false", "true")), 0.0);
    }

    #[test]
    fn a_call_weighs_its_name_and_its_arguments_as_json() {
        let call =
            r#"{"role":"assistant","content":[{"type":"toolCall","name":"read","arguments":{"p":"你好"}}]}"#;
        assert_eq!(tokens(call), ((4.0 + 8.0 + 8.0) / 4.0_f64).ceil());
        assert_eq!(tokens(r#"{"role":"assistant","content":"text"}"#), 0.0);
        assert_eq!(tokens(r#"{"role":"user","content":"四個字符"}"#), 4.0);
    }
}
