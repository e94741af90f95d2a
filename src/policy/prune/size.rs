//! What a message weighs to the pruner, by version: which blocks count, what a character weighs, and what fails
//! (pruning 5.4, 8.5; releases R12–R14).

use crate::context::tokens::script::points;
use crate::context::tokens::weighted::{NORMAL, weighted_length};
use crate::gateway::ruleset::{PruneSize, PruneWeight};
use crate::js::{JsString, Throws, Value, length_of, stringify};
use crate::store::entry::Role;
use crate::store::measure::{PRUNE_IMAGE_CHARS, blocks, role_of};

/// Chars of a message of any other role.
const OTHER_CHARS: f64 = 256.0;
/// Chars of the arguments of a call that has none.
const NO_ARGUMENTS: f64 = 2.0;
/// Code points that weigh three more than their units (releases R12).
const HEAVY: [(u32, u32); 4] = [(0x2E80, 0xA4FF), (0xAC00, 0xD7AF), (0xF900, 0xFAFF), (0x20000, 0x2FA1F)];
/// Code points of two units that count as one as soon as a text has a heavy one (releases R12).
const HALVED: (u32, u32) = (0x20000, 0x2FBFF);

impl PruneSize {
    /// Chars of a message.
    ///
    /// # Errors
    /// Where the real pruner fails on its shape.
    pub fn chars(self, message: &Value) -> Result<f64, Throws> {
        let role = role_of(message);
        let content = message.get("content");
        match (role, content) {
            (Role::User, Some(Value::String(text))) => Ok(self.text(text)),
            (Role::User | Role::ToolResult, _) => {
                self.walked(content)?.iter().try_fold(0.0, |sum, block| Ok(sum + self.block(block)?))
            }
            (Role::Assistant, _) => {
                self.walked(content)?.iter().try_fold(0.0, |sum, block| Ok(sum + self.answer_block(block)?))
            }
            _ => Ok(OTHER_CHARS),
        }
    }

    /// Chars of the thinking of an answer: what goes where a model is not sent it again (releases R13).
    pub fn thinking(self, message: &Value) -> f64 {
        let blocks = message.get("content").and_then(Value::as_array).unwrap_or_default();
        let thinks = |block: &&Value| {
            let is = |kind| block.get("type").is_some_and(|value| value.str_is(kind));
            is("thinking") || is("redacted_thinking")
        };
        let answers = role_of(message) == Role::Assistant && self.odd_answers;
        blocks.iter().filter(|_| answers).filter(thinks).map(|block| self.known_answer_block(block)).sum()
    }

    /// What a text weighs.
    pub fn text(self, text: &JsString) -> f64 {
        match self.weight {
            PruneWeight::Units => text.len() as f64,
            PruneWeight::Blocks => blocks_length(text),
            PruneWeight::Table => weighted_length(text, NORMAL),
        }
    }

    /// The blocks of a content; by the newest rules an odd one has none.
    fn walked(self, content: Option<&Value>) -> Result<&[Value], Throws> {
        match blocks(content) {
            Err(Throws) if self.weight == PruneWeight::Table => Ok(&[]),
            other => other,
        }
    }

    /// A text as it stands in a block: odd ones fail, or count as JavaScript tells their length.
    fn text_of(self, value: Option<&Value>) -> Result<f64, Throws> {
        match value {
            Some(Value::String(text)) => Ok(self.text(text)),
            other => self.odd(other),
        }
    }

    /// What is no text where one is expected: its characters cannot be looked at, its length may be told.
    fn odd(self, value: Option<&Value>) -> Result<f64, Throws> {
        if self.weight == PruneWeight::Units { length_of(value) } else { Err(Throws) }
    }

    fn block(self, block: &Value) -> Result<f64, Throws> {
        if block.as_object().is_none() && self.odd_texts {
            return Ok(0.0);
        }
        let is = |kind| crate::store::measure::block_is(block, kind);
        if is("image")? {
            return Ok(PRUNE_IMAGE_CHARS);
        }
        if !is("text")? {
            return Ok(0.0);
        }
        match block.get("text") {
            Some(Value::String(text)) => Ok(self.text(text)),
            _ if self.odd_texts => Ok(self.text(&stringify(block).into())),
            odd => self.odd(odd),
        }
    }

    fn answer_block(self, block: &Value) -> Result<f64, Throws> {
        if self.odd_answers {
            return Ok(block.as_object().map_or(0.0, |_| self.known_answer_block(block)));
        }
        let is = |kind| crate::store::measure::block_is(block, kind);
        if is("text")? {
            self.text_of(block.get("text"))
        } else if is("thinking")? {
            self.text_of(block.get("thinking"))
        } else {
            Ok(call_chars(block))
        }
    }

    /// The same where what is no text counts nothing.
    fn known_answer_block(self, block: &Value) -> f64 {
        let is = |kind: &str| block.get("type").is_some_and(|value| value.str_is(kind));
        let text = |key: &str| block.get(key).and_then(Value::as_str).map_or(0.0, |text| self.text(text));
        let table = self.weight == PruneWeight::Table;
        if self.signatures && (is("thinking") || is("redacted_thinking")) {
            let data = if table || is("redacted_thinking") { text("data") } else { 0.0 };
            let signature = if table { text("signature") } else { 0.0 };
            return text("thinking") + text("thinkingSignature") + signature + data;
        }
        match () {
            () if is("text") && table && block.get("text").is_none_or(|text| text.as_str().is_none()) => {
                self.text(&stringify(block).into())
            }
            () if is("text") => text("text"),
            () if is("thinking") => text("thinking"),
            () => call_chars(block),
        }
    }
}

/// The arguments of a call, in plain units; of every other block nothing.
fn call_chars(block: &Value) -> f64 {
    if !block.get("type").is_some_and(|kind| kind.str_is("toolCall")) {
        return 0.0;
    }
    match block.get("arguments") {
        None | Some(Value::Null) => NO_ARGUMENTS,
        Some(arguments) => crate::js::stringify_len(arguments) as f64,
    }
}

/// Length of a text by the blocks of Chinese, Japanese and Korean (releases R12).
pub(crate) fn blocks_length(text: &JsString) -> f64 {
    let units = text.units();
    let plain = units.len() as f64;
    if units.iter().all(|unit| *unit < 0x2E80) {
        return plain;
    }
    let is_heavy = |point: &u32| HEAVY.iter().any(|(first, last)| (*first..=*last).contains(point));
    let heavy = points(units).filter(is_heavy).count() as f64;
    if heavy == 0.0 {
        return plain;
    }
    let halved = points(units).filter(|point| (HALVED.0..=HALVED.1).contains(point)).count() as f64;
    plain - halved + 3.0 * heavy
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;
    use crate::js::parse;

    fn chars(ruleset: Ruleset, json: &str) -> Result<f64, Throws> {
        ruleset.rules().prune_size.chars(&parse(json).unwrap())
    }

    #[test]
    fn characters_of_the_blocks_weigh_four() {
        let lengths =
            ["你好", "あ", "한", "𠀀", "｡", "😀", "é", "⺀"].map(|text| blocks_length(&text.into()));
        assert_eq!(lengths, [8.0, 4.0, 4.0, 4.0, 1.0, 2.0, 1.0, 4.0]);
        // A pair behind the block loses a unit as soon as the text has a heavy character.
        assert_eq!(blocks_length(&"\u{2FA20}".into()), 2.0);
        assert_eq!(blocks_length(&"\u{2FA20}你".into()), 5.0);
    }

    #[test]
    fn signatures_count_from_4_1_on() {
        let thinking = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"ab","thinkingSignature":"cde"},{"type":"redacted_thinking","data":"fghi"}]}"#;
        assert_eq!(chars(Ruleset::V2026_3_31, thinking), Ok(2.0));
        assert_eq!(chars(Ruleset::V2026_4_1, thinking), Ok(9.0));
    }

    #[test]
    fn odd_blocks_fail_first_in_answers_and_at_last_nowhere() {
        let answer = r#"{"role":"assistant","content":[null,{"type":"text"},{"type":"text","text":"a"}]}"#;
        assert_eq!(chars(Ruleset::V2026_3_2, answer), Err(Throws));
        assert_eq!(chars(Ruleset::V2026_3_7, answer), Ok(1.0));
        let result = r#"{"role":"toolResult","content":[null,{"type":"text","text":5}]}"#;
        assert_eq!(chars(Ruleset::V2026_4_15, result), Err(Throws));
        assert_eq!(chars(Ruleset::V2026_4_25, result), Ok(24.0));
        assert_eq!(chars(Ruleset::V2026_4_25, r#"{"role":"toolResult"}"#), Err(Throws));
        assert_eq!(chars(Ruleset::V2026_9_2, r#"{"role":"toolResult"}"#), Ok(0.0));
    }
}
