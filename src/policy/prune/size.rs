//! The chars of a message as the pruner counts them. Versions differ in the blocks they count, the weight of a
//! character and the shapes they fail on (pruning 5.4, 8.5; releases R12–R14).

use crate::context::tokens::script::code_points;
use crate::context::tokens::weighted::{NORMAL_WEIGHT, weighted_length};
use crate::gateway::ruleset::{PruneSize, PruneWeight};
use crate::js::{JsException, JsString, Value, length_of, stringify};
use crate::store::entry::Role;
use crate::store::measure::{PRUNE_IMAGE_CHARS, blocks, role_of};
use crate::units::Chars;

/// Chars of a message of any other role.
const OTHER_CHARS: Chars = Chars(256.0);

/// Chars of the arguments of a call without arguments.
const NO_ARGUMENTS: Chars = Chars(2.0);

/// Replaces the thinking of an answer that holds nothing else (since 2026.4.25).
const OMITTED_THINKING: &str = "[assistant reasoning omitted]";

impl PruneSize {
    /// Returns the chars of a message.
    ///
    /// # Errors
    /// If the real pruner fails on its shape.
    pub fn chars(self, message: &Value) -> Result<Chars, JsException> {
        let role = role_of(message);
        let content = message.get("content");
        match (role, content) {
            (Role::User, Some(Value::String(text))) => Ok(self.text_chars(text)),
            (Role::User | Role::ToolResult, _) => self
                .content_blocks(content)?
                .iter()
                .try_fold(Chars::ZERO, |sum, block| Ok(sum + self.block_chars(block)?)),
            (Role::Assistant, _) => self
                .content_blocks(content)?
                .iter()
                .try_fold(Chars::ZERO, |sum, block| Ok(sum + self.assistant_block_chars(block)?)),
            _ => Ok(OTHER_CHARS),
        }
    }

    /// Returns the chars that a message loses if the model does not receive its thinking again, less those of the note
    /// that replaces it (releases R13).
    pub fn thinking_chars(self, message: &Value) -> Chars {
        let blocks = message.get("content").and_then(Value::as_array).unwrap_or_default();
        let thinks = |block: &&Value| {
            let is = |kind| block.get("type").is_some_and(|value| value.str_is(kind));
            is("thinking") || is("redacted_thinking")
        };
        let answers = role_of(message) == Role::Assistant && self.accepts_malformed_answers;
        let thoughts: Vec<&Value> = blocks.iter().filter(|_| answers).filter(thinks).collect();
        let is_all = !thoughts.is_empty() && thoughts.len() == blocks.len();
        let note = if is_all && self.notes_omitted_thinking {
            Chars::from_len(OMITTED_THINKING.len())
        } else {
            Chars::ZERO
        };
        thoughts.into_iter().map(|block| self.lenient_assistant_block_chars(block)).sum::<Chars>() - note
    }

    pub fn text_chars(self, text: &JsString) -> Chars {
        weighted_chars(self.weight, text)
    }

    /// Returns the blocks of a content; since 2026.8.1 a malformed content counts as empty instead of failing.
    fn content_blocks(self, content: Option<&Value>) -> Result<&[Value], JsException> {
        match blocks(content) {
            Err(JsException) if self.weight == PruneWeight::Table => Ok(&[]),
            other => other,
        }
    }

    /// Counts the text of a block; a value that is not a string fails, or counts its JavaScript `length`.
    fn value_chars(self, value: Option<&Value>) -> Result<Chars, JsException> {
        match value {
            Some(Value::String(text)) => Ok(self.text_chars(text)),
            other => self.odd_chars(other),
        }
    }

    /// Counts a value that should be a string: its characters cannot be weighed, but its `length` may be defined.
    fn odd_chars(self, value: Option<&Value>) -> Result<Chars, JsException> {
        if self.weight == PruneWeight::Units { length_of(value).map(Chars) } else { Err(JsException) }
    }

    fn block_chars(self, block: &Value) -> Result<Chars, JsException> {
        if block.as_object().is_none() && self.accepts_malformed_texts {
            return Ok(Chars::ZERO);
        }
        let is = |kind| crate::store::measure::is_block_type(block, kind);
        if is("image")? {
            return Ok(PRUNE_IMAGE_CHARS);
        }
        if !is("text")? {
            return Ok(Chars::ZERO);
        }
        match block.get("text") {
            Some(Value::String(text)) => Ok(self.text_chars(text)),
            _ if self.accepts_malformed_texts => Ok(self.text_chars(&stringify(block).into())),
            odd => self.odd_chars(odd),
        }
    }

    fn assistant_block_chars(self, block: &Value) -> Result<Chars, JsException> {
        if self.accepts_malformed_answers {
            return Ok(block.as_object().map_or(Chars::ZERO, |_| self.lenient_assistant_block_chars(block)));
        }
        let is = |kind| crate::store::measure::is_block_type(block, kind);
        if is("text")? {
            self.value_chars(block.get("text"))
        } else if is("thinking")? {
            self.value_chars(block.get("thinking"))
        } else {
            Ok(call_chars(block))
        }
    }

    /// Counts a block of an answer without failing: a text that is not a string counts 0.
    fn lenient_assistant_block_chars(self, block: &Value) -> Chars {
        let is = |kind: &str| block.get("type").is_some_and(|value| value.str_is(kind));
        let text = |key: &str| {
            block.get(key).and_then(Value::as_str).map_or(Chars::ZERO, |text| self.text_chars(text))
        };
        if self.signatures && (is("thinking") || is("redacted_thinking")) {
            let data = if is("redacted_thinking") { text("data") } else { Chars::ZERO };
            return text("thinking") + text("thinkingSignature") + data;
        }
        match () {
            () if is("text") => text("text"),
            () if is("thinking") => text("thinking"),
            () if is("image") && self.weight == PruneWeight::Table => PRUNE_IMAGE_CHARS,
            () => call_chars(block),
        }
    }
}

/// Counts the arguments of a call in plain units; 0 for every other block.
fn call_chars(block: &Value) -> Chars {
    if !block.get("type").is_some_and(|kind| kind.str_is("toolCall")) {
        return Chars::ZERO;
    }
    match block.get("arguments") {
        None | Some(Value::Null) => NO_ARGUMENTS,
        Some(arguments) => Chars::from_len(crate::js::stringify_len(arguments)),
    }
}

// The chars of a text as the pruner and the prompt check count them: UTF-16 units, and more for scripts that need more
// tokens (releases R12; pruning 8.5).

/// Each of these code points adds 3 chars.
const HEAVY: [(u32, u32); 4] = [(0x2E80, 0xA4FF), (0xAC00, 0xD7AF), (0xF900, 0xFAFF), (0x20000, 0x2FA1F)];

/// Wide forms that also add 3 chars since 2026.7.1. releases.md has one table from 3.31 to 7.35; the program of 7.1
/// differs from it.
const WIDE: [(u32, u32); 2] = [(0xFF01, 0xFF60), (0xFFE0, 0xFFE6)];

/// Code points of two units that count as one, if the text has a heavy or wide one.
const HALVED: (u32, u32) = (0x20000, 0x2FBFF);

pub fn weighted_chars(weight: PruneWeight, text: &JsString) -> Chars {
    match weight {
        PruneWeight::Units => Chars::from_len(text.len()),
        PruneWeight::Blocks { wide } => cjk_length(text, wide),
        PruneWeight::Table => weighted_length(text, NORMAL_WEIGHT),
    }
}

/// Counts by the blocks of Chinese, Japanese and Korean.
fn cjk_length(text: &JsString, wide: bool) -> Chars {
    let units = text.units();
    let plain = Chars::from_len(units.len());
    if units.iter().all(|unit| *unit < 0x2E80) {
        return plain;
    }
    let is_in = |ranges: &[(u32, u32)], point: u32| {
        ranges.iter().any(|(first, last)| (*first..=*last).contains(&point))
    };
    let is_heavy = |point: &u32| is_in(&HEAVY, *point) || wide && is_in(&WIDE, *point);
    let heavy = code_points(units).filter(is_heavy).count() as f64;
    if heavy == 0.0 {
        return plain;
    }
    let halved = code_points(units).filter(|point| (HALVED.0..=HALVED.1).contains(point)).count() as f64;
    plain - Chars(halved) + Chars(3.0 * heavy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;
    use crate::js::parse;

    fn chars(ruleset: Ruleset, json: &str) -> Result<Chars, JsException> {
        ruleset.rules().prune_size.chars(&parse(json).unwrap())
    }

    #[test]
    fn signatures_count_from_4_1_on() {
        let thinking = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"ab","thinkingSignature":"cde"},{"type":"redacted_thinking","data":"fghi"}]}"#;
        assert_eq!(chars(Ruleset::V2026_3_31, thinking), Ok(Chars(2.0)));
        assert_eq!(chars(Ruleset::V2026_4_1, thinking), Ok(Chars(9.0)));
    }

    #[test]
    fn a_note_replaces_thinking_that_is_left_out_from_4_25_on() {
        let thinking =
            parse(r#"{"role":"assistant","content":[{"type":"thinking","thinking":"abcdef"}]}"#).unwrap();
        let gone = |ruleset: Ruleset| ruleset.rules().prune_size.thinking_chars(&thinking).get();
        assert_eq!([gone(Ruleset::V2026_4_15), gone(Ruleset::V2026_4_25)], [6.0, 6.0 - 29.0]);
    }

    #[test]
    fn odd_blocks_fail_first_in_answers_and_at_last_nowhere() {
        let answer = r#"{"role":"assistant","content":[null,{"type":"text"},{"type":"text","text":"a"}]}"#;
        assert_eq!(chars(Ruleset::V2026_3_2, answer), Err(JsException));
        assert_eq!(chars(Ruleset::V2026_3_7, answer), Ok(Chars(1.0)));
        let result = r#"{"role":"toolResult","content":[null,{"type":"text","text":5}]}"#;
        assert_eq!(chars(Ruleset::V2026_4_15, result), Err(JsException));
        assert_eq!(chars(Ruleset::V2026_4_25, result), Ok(Chars(24.0)));
        assert_eq!(chars(Ruleset::V2026_4_25, r#"{"role":"toolResult"}"#), Err(JsException));
        assert_eq!(chars(Ruleset::V2026_9_6, r#"{"role":"toolResult"}"#), Ok(Chars(0.0)));
        let odd = r#"{"role":"assistant","content":[null,{"type":"text","text":7},{"type":"image"}]}"#;
        assert_eq!(
            [Ruleset::V2026_7_1, Ruleset::V2026_8_1].map(|rules| chars(rules, odd)),
            [Ok(Chars::ZERO), Ok(Chars(8000.0))]
        );
    }
}

#[cfg(test)]
mod weight_tests {
    use super::*;

    #[test]
    fn characters_of_the_blocks_weigh_four() {
        let lengths = |wide| {
            ["你好", "あ", "한", "𠀀", "｡", "！", "￥", "😀", "é", "⺀"]
                .map(|text| cjk_length(&text.into(), wide).get())
        };
        assert_eq!(lengths(false), [8.0, 4.0, 4.0, 4.0, 1.0, 1.0, 1.0, 2.0, 1.0, 4.0]);
        assert_eq!(lengths(true), [8.0, 4.0, 4.0, 4.0, 1.0, 4.0, 4.0, 2.0, 1.0, 4.0]);
    }

    #[test]
    fn a_surrogate_pair_above_the_cjk_blocks_loses_a_unit_next_to_a_heavy_character() {
        assert_eq!(cjk_length(&"\u{2FA20}".into(), false), Chars(2.0));
        assert_eq!(cjk_length(&"\u{2FA20}你".into(), false), Chars(5.0));
    }
}
