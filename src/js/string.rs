//! JavaScript strings: UTF-16 units, which may contain half a surrogate pair if a rule cut through one (pruning 0.1).
//! Rust's `str` cannot hold such a half.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A UTF-16 string that may contain lone surrogates. Every length, index and offset is in UTF-16 units.
///
/// Its order is by unit, as for JavaScript's `<` and `sort` (compaction 3.14).
#[derive(Clone)]
pub struct JsString(Units);

/// Equal ids and names of thousands of messages can share their units (see [`SharedStrings`]).
#[derive(Clone)]
enum Units {
    Own(Vec<u16>),
    Shared(Arc<[u16]>),
}

impl JsString {
    pub const fn new() -> Self {
        Self(Units::Own(Vec::new()))
    }

    /// The length in UTF-16 units.
    pub fn len(&self) -> usize {
        self.units().len()
    }

    pub fn is_empty(&self) -> bool {
        self.units().is_empty()
    }

    pub fn units(&self) -> &[u16] {
        match &self.0 {
            Units::Own(units) => units,
            Units::Shared(units) => units,
        }
    }

    /// Returns the units for a change; copies shared ones.
    fn units_mut(&mut self) -> &mut Vec<u16> {
        if let Units::Shared(units) = &self.0 {
            self.0 = Units::Own(units.to_vec());
        }
        match &mut self.0 {
            Units::Own(units) => units,
            Units::Shared(_) => unreachable!("shared units were copied above"),
        }
    }

    /// Returns the units from `start` up to `end`, both clamped to the length; empty if they cross. May split a
    /// surrogate pair (pruning 0.1).
    #[must_use]
    pub fn slice(&self, start: usize, end: usize) -> Self {
        let end = end.min(self.len());
        Self::from(self.units()[start.min(end)..end].to_vec())
    }

    pub fn push_str(&mut self, text: &str) {
        push_text(self.units_mut(), text);
    }

    /// Appends `other`; two halves of a surrogate pair that meet become one character.
    pub fn push(&mut self, other: &Self) {
        self.units_mut().extend_from_slice(other.units());
    }

    /// Converts to UTF-8, with U+FFFD for each lone surrogate.
    pub fn to_string_lossy(&self) -> String {
        let mut bytes = Vec::with_capacity(self.len());
        let mut rest = self.units();
        while !rest.is_empty() {
            let (block, behind) = rest.split_at(block_len(rest));
            push_utf8(&mut bytes, block);
            rest = behind;
        }
        String::from_utf8(bytes).unwrap_or_else(|error| utf8_lossy(error.as_bytes()).into_owned())
    }

    pub fn eq_str(&self, text: &str) -> bool {
        // No string has more UTF-16 units than UTF-8 bytes.
        self.len() <= text.len() && self.units().iter().copied().eq(text.encode_utf16())
    }

    /// Removes the white space of ECMAScript at both ends (pruning 0.3).
    #[must_use]
    pub fn trim(&self) -> Self {
        let Some(start) = self.units().iter().position(|&unit| !is_white_space(unit)) else {
            return Self::new();
        };
        let end = self.units().iter().rposition(|&unit| !is_white_space(unit)).map_or(start, |last| last + 1);
        self.slice(start, end)
    }

    /// Whether [`trim`](Self::trim) leaves nothing (pruning 0.3).
    pub fn is_blank(&self) -> bool {
        self.units().iter().all(|&unit| is_white_space(unit))
    }

    /// Maps to lower case, fully and independent of the locale; keeps lone surrogates (pruning 0.3).
    #[must_use]
    pub fn to_lowercase(&self) -> Self {
        let mut lower = Self::from(Vec::with_capacity(self.len()));
        let mut run = String::new();
        for decoded in char::decode_utf16(self.units().iter().copied()) {
            match decoded {
                Ok(char) => run.push(char),
                // A lone surrogate has no case and ends a word, so the runs around it are independent.
                Err(lone) => {
                    lower.push_str(&std::mem::take(&mut run).to_lowercase());
                    lower.units_mut().push(lone.unpaired_surrogate());
                }
            }
        }
        lower.push_str(&run.to_lowercase());
        lower
    }

    /// Returns the index of the last line feed at or before `at_most`, as
    /// `lastIndexOf("\n", at_most)`.
    pub fn last_index_of_lf(&self, at_most: usize) -> Option<usize> {
        let end = at_most.saturating_add(1).min(self.len());
        self.units()[..end].iter().rposition(|&unit| unit == LF)
    }
}

/// Interned strings: equal ones are kept in memory once.
#[derive(Debug, Default)]
pub struct SharedStrings(HashSet<Arc<[u16]>>);

impl SharedStrings {
    /// Lets a string share its units with all equal ones that were passed before.
    pub fn share(&mut self, text: &mut JsString) {
        let known = self.0.get(text.units()).cloned();
        let units = known.unwrap_or_else(|| {
            let units: Arc<[u16]> = text.units().into();
            self.0.insert(Arc::clone(&units));
            units
        });
        text.0 = Units::Shared(units);
    }
}

const LF: u16 = 0x0A;

/// Appends `text`; widens ASCII, nearly all of a transcript, without decoding.
pub(super) fn push_text(units: &mut Vec<u16>, text: &str) {
    units.reserve(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let plain = rest.bytes().position(|byte| !byte.is_ascii()).unwrap_or(rest.len());
        units.extend(rest.as_bytes()[..plain].iter().map(|byte| u16::from(*byte)));
        let behind = &rest[plain..];
        let odd = behind.bytes().position(|byte| byte.is_ascii()).unwrap_or(behind.len());
        units.extend(behind[..odd].encode_utf16());
        rest = &behind[odd..];
    }
}

/// Returns the text of bytes, with U+FFFD for invalid UTF-8. Text that is UTF-8, nearly all of a transcript, is only
/// checked.
pub fn utf8_lossy(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Units that are decoded together: few, so that one accent does not make a long text slow.
const BLOCK_UNITS: usize = 64;

/// Returns the length of the first block of units, which does not end within a surrogate pair.
fn block_len(units: &[u16]) -> usize {
    let mut end = units.len().min(BLOCK_UNITS);
    while end < units.len() && matches!(units[end - 1], 0xD800..=0xDBFF) {
        end += 1;
    }
    end
}

/// Appends units as UTF-8; narrows ASCII, nearly all of a transcript, without decoding.
fn push_utf8(bytes: &mut Vec<u8>, units: &[u16]) {
    if units.iter().fold(0, |all, unit| all | unit) < 0x80 {
        bytes.extend(units.iter().map(|unit| *unit as u8));
        return;
    }
    // The units between two ASCII ones are decoded together: they may be halves of a pair.
    for run in units.chunk_by(|one, next| (*one < 0x80) == (*next < 0x80)) {
        if run[0] < 0x80 {
            bytes.extend(run.iter().map(|unit| *unit as u8));
            continue;
        }
        let chars = char::decode_utf16(run.iter().copied());
        for char in chars.map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER)) {
            bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
}

/// Whether ECMAScript's trim removes this character (pruning 0.3).
pub fn is_trimmed(char: char) -> bool {
    u16::try_from(u32::from(char)).is_ok_and(is_white_space)
}

/// The white space that `trim` removes (pruning 0.3). Rust's set differs: it has U+0085 and lacks U+FEFF.
const fn is_white_space(unit: u16) -> bool {
    matches!(
        unit,
        0x09..=0x0D
            | 0x20
            | 0xA0
            | 0x1680
            | 0x2000..=0x200A
            | 0x2028
            | 0x2029
            | 0x202F
            | 0x205F
            | 0x3000
            | 0xFEFF
    )
}

impl Default for JsString {
    fn default() -> Self {
        Self::new()
    }
}

impl PartialEq for JsString {
    fn eq(&self, other: &Self) -> bool {
        self.units() == other.units()
    }
}

impl Eq for JsString {}

impl Hash for JsString {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.units().hash(state);
    }
}

impl PartialOrd for JsString {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for JsString {
    fn cmp(&self, other: &Self) -> Ordering {
        self.units().cmp(other.units())
    }
}

impl fmt::Debug for JsString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string_lossy(), f)
    }
}

impl From<&str> for JsString {
    fn from(text: &str) -> Self {
        let mut units = Vec::new();
        push_text(&mut units, text);
        Self(Units::Own(units))
    }
}

impl From<String> for JsString {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<Vec<u16>> for JsString {
    fn from(units: Vec<u16>) -> Self {
        Self(Units::Own(units))
    }
}

impl PartialEq<str> for JsString {
    fn eq(&self, other: &str) -> bool {
        self.eq_str(other)
    }
}

impl PartialEq<&str> for JsString {
    fn eq(&self, other: &&str) -> bool {
        self.eq_str(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_counts_utf16_units() {
        assert_eq!(JsString::from("a漢😀").len(), 4);
    }

    #[test]
    fn a_slice_may_cut_a_surrogate_pair_in_half_and_is_clamped() {
        let text = JsString::from("x😀y");
        assert_eq!(text.slice(0, 2).units(), [0x78, 0xD83D]);
        assert_eq!(text.slice(0, 2).to_string_lossy(), "x\u{FFFD}");
        assert_eq!(text.slice(3, 99), "y");
        assert!(text.slice(3, 1).is_empty());
        assert!(text.slice(50, 99).is_empty());
    }

    #[test]
    fn a_text_of_any_mix_is_decoded_as_the_standard_library_does_it() {
        let parts: [&[u16]; 5] =
            [&[0x61; 61], &[0xE9, 0x6F22], &[0xD83D, 0xDE00], &[0xD83D; 5], &[0xDE00, 0x62]];
        for order in 0..5_usize.pow(5) {
            let picked = (0..5).map(|at| parts[order / 5_usize.pow(at) % 5]);
            let units: Vec<u16> = picked.flatten().copied().collect();
            assert_eq!(JsString::from(units.clone()).to_string_lossy(), String::from_utf16_lossy(&units));
        }
    }

    #[test]
    fn two_surrogate_halves_pushed_together_are_one_character() {
        let text = JsString::from("😀");
        let mut joined = text.slice(0, 1);
        joined.push(&text.slice(1, 2));
        joined.push_str("é");
        assert_eq!(joined, "😀é");
    }

    #[test]
    fn strings_that_share_units_are_equal_and_change_separately() {
        let mut shared = SharedStrings::default();
        let (mut one, mut other) = (JsString::from("call_1"), JsString::from("call_1"));
        shared.share(&mut one);
        shared.share(&mut other);
        assert_eq!(one.units().as_ptr(), other.units().as_ptr());
        other.push_str("x");
        assert_eq!((&one, &other), (&JsString::from("call_1"), &JsString::from("call_1x")));
        assert!(one < other);
    }

    #[test]
    fn trim_removes_exactly_the_ecmascript_white_space() {
        let trimmed: Vec<u16> =
            (0..=u16::MAX).filter(|&unit| JsString::from(vec![unit]).trim().is_empty()).collect();
        let mut expected: Vec<u16> = (0x09..=0x0D).chain([0x20, 0xA0, 0x1680]).collect();
        expected.extend((0x2000..=0x200A).chain([0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF]));
        assert_eq!(trimmed, expected);
        assert_eq!(JsString::from("\u{FEFF}\t a b \u{A0}\n").trim(), "a b");
        assert_eq!(JsString::from("\u{85}x\u{85}").trim().len(), 3);
    }

    #[test]
    fn blank_is_empty_after_trim() {
        assert!(JsString::new().is_blank());
        assert!(JsString::from(" \u{2028}\r\n").is_blank());
        assert!(!JsString::from(" \u{200B}").is_blank());
    }

    #[test]
    fn lower_case_is_the_full_mapping_and_keeps_lone_surrogates() {
        assert_eq!(JsString::from("İ").to_lowercase(), "i\u{307}");
        assert_eq!(JsString::from("ΑΣ Σ").to_lowercase(), "ας σ");
        let lone = JsString::from(vec![0x41, 0xD83D, 0x42, 0xDE00]);
        assert_eq!(lone.to_lowercase().units(), [0x61, 0xD83D, 0x62, 0xDE00]);
        assert_eq!(JsString::from("𐐀").to_lowercase(), "𐐨");
    }

    #[test]
    fn comparing_with_text_checks_every_unit() {
        let text = JsString::from("tool😀");
        assert!(text.eq_str("tool😀") && !text.eq_str("tool") && !text.eq_str("tool😀x"));
        assert!(!JsString::from(vec![0xD83D]).eq_str("\u{FFFD}"));
    }

    #[test]
    fn order_is_by_unit_so_astral_comes_before_the_private_use_area() {
        let mut texts = ["\u{E000}", "😀", "a", "B", "9", "10"].map(JsString::from);
        texts.sort();
        assert_eq!(texts, ["10", "9", "B", "a", "😀", "\u{E000}"].map(JsString::from));
    }
}
