//! JSON spread over lines without turning it into values: numbers keep their digits, keys their order.

use crate::js::{self, Value};

/// Levels that are indented; deeper ones stay at this depth, so that nesting cannot blow the text up.
const MAX_DEPTH: usize = 40;

/// A line of a transcript, two spaces a level; text that is no JSON comes back as it is.
pub(super) fn indent_line(text: &str) -> String {
    js::compact(text).map_or_else(|_| text.to_owned(), |compact| indent_json(&compact))
}

/// A value, two spaces a level.
pub(super) fn indent_value(value: &Value) -> String {
    indent_json(&js::stringify(value))
}

/// Breaks compact JSON into lines. Empty containers stay on one.
fn indent_json(compact: &str) -> String {
    let bytes = compact.as_bytes();
    let mut out = String::with_capacity(compact.len() * 5 / 4);
    let (mut level, mut from, mut at) = (0_usize, 0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = string_end(bytes, at),
            b'{' | b'[' if !matches!(bytes.get(at + 1), Some(b'}' | b']')) => {
                level += 1;
                push_indented(&mut out, &compact[from..=at], level);
                from = at + 1;
            }
            b'{' | b'[' => at += 1,
            b'}' | b']' => {
                level = level.saturating_sub(1);
                push_indented(&mut out, &compact[from..at], level);
                from = at;
            }
            b',' => {
                push_indented(&mut out, &compact[from..=at], level);
                from = at + 1;
            }
            b':' => {
                out.push_str(&compact[from..=at]);
                out.push(' ');
                from = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    out.push_str(&compact[from..]);
    out
}

/// The closing quote of the string that starts here.
fn string_end(bytes: &[u8], from: usize) -> usize {
    let mut at = from + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at
}

fn push_indented(out: &mut String, piece: &str, level: usize) {
    out.push_str(piece);
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', 2 * level.min(MAX_DEPTH)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_on_lines_of_their_own_and_digits_stay() {
        let text = r#" {"a":1.50,"b":[12345678901234567890,-0],"c":{},"d":[],"e":"x,{\"}\\" }"#;
        let expected = "{\n  \"a\": 1.50,\n  \"b\": [\n    12345678901234567890,\n    -0\n  ],\n  \"c\": {},\n  \"d\": [],\n  \"e\": \"x,{\\\"}\\\\\"\n}";
        assert_eq!(indent_line(text), expected);
    }

    #[test]
    fn spread_text_is_the_same_json() {
        for text in [r#"{"a":[[],[{}],{"b":"\u001b[31m"}],"":null}"#, "[]", "5", r#""x\"y""#, "[[[1]]]"] {
            assert_eq!(js::compact(&indent_line(text)).unwrap(), js::compact(text).unwrap(), "{text}");
        }
    }

    #[test]
    fn what_is_no_json_stays_as_it_is_and_depth_does_not_blow_up() {
        assert_eq!(indent_line("{\"a\" 1}"), "{\"a\" 1}");
        let deep = "[".repeat(4_000) + "1" + &"]".repeat(4_000);
        assert!(indent_line(&deep).len() < 8_000 * (2 * MAX_DEPTH + 2));
    }
}
