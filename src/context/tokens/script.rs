//! Counts the chars of a text by script: ASCII, Chinese/Japanese/Korean, and the rest. Tokenizers need very different
//! numbers of chars per token for them.

use std::ops::{Add, AddAssign, Sub};

use crate::js::{CharacterSink, JsString, Json};
use crate::units::Chars;

/// A class of characters that tokenizers treat alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Script {
    /// U+0000 to U+007F: English, code, JSON.
    Ascii,
    /// Chinese, Japanese and Korean, with their punctuation and wide forms.
    Cjk,
    /// Everything else: accents, other alphabets, box drawing, emoji.
    Other,
}

impl Script {
    /// All classes, in the order of [`ScriptChars`].
    pub const ALL: [Self; 3] = [Self::Ascii, Self::Cjk, Self::Other];

    pub fn from_code_point(point: u32) -> Self {
        match point {
            0..=0x7F => Self::Ascii,
            point if in_ranges(&CJK, point) => Self::Cjk,
            _ => Self::Other,
        }
    }

    /// The label on screen and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ascii => "ascii",
            Self::Cjk => "cjk",
            Self::Other => "other",
        }
    }
}

/// Blocks of Chinese, Japanese and Korean: first and last code point, ascending.
const CJK: [(u32, u32); 9] = [
    (0x1100, 0x11FF),
    (0x2E80, 0xA4CF),
    (0xA960, 0xA97F),
    (0xAC00, 0xD7FF),
    (0xF900, 0xFAFF),
    (0xFE30, 0xFE4F),
    (0xFF00, 0xFFEF),
    (0x1B000, 0x1B16F),
    (0x20000, 0x3FFFF),
];

/// Whether one of these ascending ranges holds a code point.
pub(super) fn in_ranges(ranges: &[(u32, u32)], point: u32) -> bool {
    let at = ranges.partition_point(|(_, last)| *last < point);
    ranges.get(at).is_some_and(|(first, _)| *first <= point)
}

/// Decodes UTF-16 units to code points; a lone surrogate counts as itself.
pub(crate) fn code_points(units: &[u16]) -> impl Iterator<Item = u32> + '_ {
    char::decode_utf16(units.iter().copied()).map(|decoded| match decoded {
        Ok(character) => u32::from(character),
        Err(lone) => u32::from(lone.unpaired_surrogate()),
    })
}

/// Chars (UTF-16 units) of each class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScriptChars([u64; 3]);

impl ScriptChars {
    /// Takes the chars of each class in the order of [`Script::ALL`].
    #[cfg(test)]
    pub(crate) const fn new(chars: [u64; 3]) -> Self {
        Self(chars)
    }

    pub fn from_text(text: &JsString) -> Self {
        let units = text.units();
        if units.iter().all(|unit| *unit < 0x80) {
            return Self([units.len() as u64, 0, 0]);
        }
        let mut chars = Self::default();
        for point in code_points(units) {
            chars.add_point(point);
        }
        chars
    }

    /// Counts the chars of a text, which as a `str` has no lone surrogates.
    pub fn from_plain_text(text: &str) -> Self {
        let mut heard = ScriptCounter::default();
        heard.run(text);
        heard.chars
    }

    /// Counts the chars of a value that is a text; 0 for any other value.
    pub fn from_json<'a>(text: impl Json<'a>) -> Self {
        let mut heard = ScriptCounter::default();
        text.visit_characters(&mut heard);
        heard.count_lone_surrogate();
        heard.chars
    }

    fn add_point(&mut self, point: u32) {
        self.0[Script::from_code_point(point) as usize] += if point > 0xFFFF { 2 } else { 1 };
    }

    pub fn chars(&self, script: Script) -> Chars {
        Chars(self.0[script as usize] as f64)
    }

    pub fn total(&self) -> Chars {
        Chars(self.0.iter().sum::<u64>() as f64)
    }

    pub fn as_f64(&self) -> [f64; 3] {
        self.0.map(|chars| chars as f64)
    }
}

/// Counts a text while it is streamed.
#[derive(Default)]
struct ScriptCounter {
    chars: ScriptChars,
    /// A high surrogate that the next unit may complete.
    high_surrogate: Option<u16>,
}

impl ScriptCounter {
    /// Counts a high surrogate that no low one completed.
    fn count_lone_surrogate(&mut self) {
        if let Some(high) = self.high_surrogate.take() {
            self.chars.add_point(high.into());
        }
    }
}

impl CharacterSink for ScriptCounter {
    fn run(&mut self, run: &str) {
        self.count_lone_surrogate();
        let mut rest = run;
        while !rest.is_empty() {
            // Non-ASCII chars are rare, so ASCII is counted in runs.
            let ascii = rest.bytes().position(|byte| byte >= 0x80).unwrap_or(rest.len());
            self.chars.0[Script::Ascii as usize] += ascii as u64;
            rest = &rest[ascii..];
            let Some(char) = rest.chars().next() else { break };
            self.chars.add_point(char.into());
            rest = &rest[char.len_utf8()..];
        }
    }

    fn unit(&mut self, unit: u16) {
        match (self.high_surrogate, unit) {
            (Some(high), 0xDC00..=0xDFFF) => {
                self.high_surrogate = None;
                code_points(&[high, unit]).for_each(|point| self.chars.add_point(point));
            }
            (_, 0xD800..=0xDBFF) => {
                self.count_lone_surrogate();
                self.high_surrogate = Some(unit);
            }
            _ => {
                self.count_lone_surrogate();
                self.chars.add_point(unit.into());
            }
        }
    }
}

impl Add for ScriptChars {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at] + other.0[at]))
    }
}

impl AddAssign for ScriptChars {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for ScriptChars {
    type Output = Self;

    /// Subtracts by class, saturating at 0.
    fn sub(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at].saturating_sub(other.0[at])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chars_are_counted_by_class_in_utf16_units() {
        let chars = ScriptChars::from_text(&"ab {你好。} é😀𠀀 한글カナ".into());
        assert_eq!(chars.0, [7, 3 + 2 + 4, 3]);
        assert_eq!(chars.total(), Chars(19.0));
    }

    #[test]
    fn half_a_surrogate_pair_is_one_other_char() {
        let lone = JsString::from(vec![0x61, 0xD83D, 0x62]);
        assert_eq!(ScriptChars::from_text(&lone).0, [2, 0, 1]);
    }

    #[test]
    fn an_outlined_text_counts_like_a_parsed_one() {
        for json in [
            r#""ab {\u4f60好。} é\n😀\ud83d\ude00\ud840\udc00""#,
            r#""\ud83d\ud83d\ude00x\ude00\ud83d""#,
            r#""\ud83d漢""#,
            "\"\"",
        ] {
            let parsed = crate::js::parse(json).unwrap();
            let own = ScriptChars::from_text(parsed.as_str().unwrap());
            let mut outline = crate::js::Outline::default();
            assert_eq!(
                (ScriptChars::from_json(&parsed), ScriptChars::from_json(outline.read(json).unwrap())),
                (own, own),
                "{json}"
            );
        }
        assert_eq!(ScriptChars::from_json(&crate::js::Value::Null), ScriptChars::default());
    }

    #[test]
    fn script_ranges_include_their_ends() {
        let classes = [0x7F, 0x80, 0x2E7F, 0x2E80, 0xA4CF, 0xA4D0, 0x3FFFF, 0x40000]
            .map(|point| Script::from_code_point(point).name());
        assert_eq!(classes, ["ascii", "other", "other", "cjk", "cjk", "other", "cjk", "other"]);
    }
}
