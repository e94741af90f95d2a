//! Replaces a character by another of the same kind, so that every size that the rules count stays.

use crate::context::tokens::script::Script;
use crate::context::tokens::weighted::{NORMAL_WEIGHT, weighted_length};
use crate::js::JsString;

/// Replacements for letters and digits: the first one with equal traits is used.
const STAND_INS: [char; 14] = ['x', 'X', '1', 'é', '中', '가', '㐀', 'Ａ', 'ｱ', 'ˇ', '𝐱', '𠀀', '𖿠', '𛀀'];

/// Returns a replacement of the same kind, script, weight and length.
pub(super) fn stand_in(char: char) -> char {
    match char {
        'a'..='z' => return 'x',
        'A'..='Z' => return 'X',
        '0'..='9' => return '1',
        _ if !char.is_alphanumeric() => return char,
        _ => {}
    }
    STAND_INS.into_iter().skip(3).find(|other| char_traits(*other) == char_traits(char)).unwrap_or(char)
}

/// All that the rules count of a character.
fn char_traits(char: char) -> (Script, u64, usize) {
    let text = JsString::from(char.encode_utf8(&mut [0; 4]) as &str);
    (
        Script::from_code_point(u32::from(char)),
        weighted_length(&text, NORMAL_WEIGHT).get().to_bits(),
        text.len(),
    )
}
