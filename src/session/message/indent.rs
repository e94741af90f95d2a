//! Indents JSON without parsing it into values, so that numbers keep their digits and objects their key order.

use crate::js::{self, Value};

/// Deepest level that is indented: deeper nesting would multiply the size of the text.
const MAX_DEPTH: usize = 40;

/// Indents a transcript line by two spaces per level. Returns text that is not JSON unchanged.
pub(super) fn indent_line(text: &str) -> String {
    js::compact(text).map_or_else(|_| text.to_owned(), |compact| indent_json(&compact))
}

/// Serialises a value, indented by two spaces per level.
pub(super) fn indent_value(value: &Value) -> String {
    indent_json(&js::stringify(value))
}

/// Breaks compact JSON into lines, and keeps empty containers on one line.
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

/// Returns the position of the closing quote of the string that starts here.
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
    fn indenting_puts_members_on_separate_lines_and_keeps_digits() {
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
    fn invalid_json_is_unchanged_and_deep_nesting_has_limited_indentation() {
        assert_eq!(indent_line("{\"a\" 1}"), "{\"a\" 1}");
        let deep = "[".repeat(4_000) + "1" + &"]".repeat(4_000);
        assert!(indent_line(&deep).len() < 8_000 * (2 * MAX_DEPTH + 2));
    }
}
