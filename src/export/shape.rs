//! A transcript's shape without its words, for bug reports: every letter and digit that people, models and tools wrote
//! is replaced by another of the same kind. Lengths, line ends, white space and punctuation stay, and with them every
//! size that the rules count: chars, script weights, lengths as JSON. `Dear Mei, 42 €` becomes `Xxxx Xxx, 11 €`.
//!
//! `assets/export/shape.txt` is the whitelist of what stays: places where the runtime itself writes, and there only its
//! own words (`runtime_words`), ids, numbers and switches.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::export::runtime_words::{map_members, member_name, runtime_value, stand_in};
use crate::js::{self, JsString, Value};
use crate::policy::edit::IMAGE_REMOVED;
use crate::policy::guard::COMPACTED;
use crate::store::no_reply::NO_REPLY_TOKEN;

type Lists = HashMap<&'static str, Vec<&'static str>>;

static KEPT: LazyLock<Lists> = LazyLock::new(|| {
    let (mut lists, mut names) = (Lists::new(), "");
    let lines = include_str!("../../assets/export/shape.txt").lines();
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (head, words) = line.split_once(": ").unwrap_or((names, line));
        names = head;
        for name in names.split(' ') {
            lists.entry(name).or_default().extend(words.split_whitespace());
        }
    }
    lists
});

/// Marks that the rules leave in texts or search for.
const RULE_MARKS: [&str; 5] =
    [IMAGE_REMOVED, COMPACTED, NO_REPLY_TOKEN, "HEARTBEAT_OK", "[Old tool result content cleared]"];

/// Returns a list of the whitelist.
pub(super) fn kept(list: &str) -> &'static [&'static str] {
    KEPT.get(list).map_or(&[], Vec::as_slice)
}

/// Masks the line of a transcript; of a line that is not JSON only the punctuation stays.
pub(super) fn line(text: &str) -> String {
    js::parse(text).map_or_else(|_| plain_text(text), |value| js::stringify(&entry(&value)))
}

/// Masks a text.
pub(super) fn plain_text(text: &str) -> String {
    masked_words(&JsString::from(text)).to_string_lossy()
}

/// Masks an entry or a header.
pub(super) fn entry(value: &Value) -> Value {
    masked("entry", value)
}

/// Masks a message.
pub(super) fn message(value: &Value) -> Value {
    masked("message", value)
}

/// Masks a value at a place of the whitelist; at an unknown place all of it.
fn masked(place: &str, value: &Value) -> Value {
    match (place, value) {
        // A number there may be a person's.
        ("id", Value::Number(_)) => user_value(value),
        ("id" | "runtime", _) => runtime_value(value),
        ("error", Value::String(text)) => error_text(text),
        ("image", Value::String(text)) => Value::from("A".repeat(text.len())),
        (_, Value::Array(items)) if KEPT.contains_key(place) => {
            Value::Array(items.iter().map(|item| masked(place, item)).collect())
        }
        (_, Value::Object(object)) if KEPT.contains_key(place) => {
            let kind = value.get("customType").or_else(|| value.get("type")).and_then(Value::as_str);
            let narrow = kind.map(|kind| format!("{place}.{}", kind.to_string_lossy())).unwrap_or_default();
            map_members(object, member_name, |key, member| {
                let lists = [narrow.as_str(), place, "every"];
                let place = lists.into_iter().find_map(|list| place_of(list, key));
                Some(masked(place.unwrap_or("user"), member))
            })
        }
        _ => user_value(value),
    }
}

/// Returns the place of a member's value if the list of its object has it.
fn place_of(list: &str, key: &str) -> Option<&'static str> {
    kept(list).iter().find_map(|item| {
        let (name, place) = item.split_once('>').unwrap_or((item, "runtime"));
        (name == key || name == "*").then_some(place)
    })
}

/// Masks a value that a person, a model or a tool made: its texts, numbers and member names.
pub(super) fn user_value(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(shape_text(text)),
        Value::Number(number) => Value::Number(same_digits(*number)),
        Value::Array(items) => Value::Array(items.iter().map(user_value).collect()),
        Value::Object(object) => map_members(object, argument_name, |_, member| Some(user_value(member))),
        plain => plain.clone(),
    }
}

fn argument_name(key: &JsString) -> JsString {
    if kept("argument").iter().any(|known| key.eq_str(known)) { key.clone() } else { masked_words(key) }
}

/// Returns a number with the same number of digits as JSON; a number without such a replacement stays.
fn same_digits(number: f64) -> f64 {
    let text = js::number_text(number);
    let other: String = text.chars().map(|char| if char.is_ascii_digit() { '1' } else { char }).collect();
    match other.parse::<f64>() {
        Ok(same) if number.abs() >= 2.0 && js::number_text(same).len() == text.len() => same,
        _ => number,
    }
}

/// Masks a text except for the runtime's own marks.
fn shape_text(text: &JsString) -> JsString {
    let plain = text.to_string_lossy();
    let Some((at, mark)) = RULE_MARKS.iter().filter_map(|mark| Some((plain.find(mark)?, mark))).min() else {
        return masked_words(text);
    };
    let from = plain[..at].encode_utf16().count();
    let to = from + mark.encode_utf16().count();
    let mut out = masked_words(&text.slice(0, from));
    out.push_str(mark);
    out.push(&shape_text(&text.slice(to, text.len())));
    out
}

/// Masks an error except for its numbers and the words that classify it.
fn error_text(text: &JsString) -> Value {
    let plain = text.to_string_lossy();
    let mut out = JsString::new();
    let mut word = String::new();
    let finish = |word: &mut String, out: &mut JsString| {
        if kept("error-word").iter().any(|known| known.eq_ignore_ascii_case(word)) {
            out.push_str(word);
        } else {
            out.push(&masked_words(&JsString::from(word.as_str())));
        }
        word.clear();
    };
    for char in plain.chars() {
        if char.is_alphabetic() {
            word.push(char);
            continue;
        }
        finish(&mut word, &mut out);
        out.push_str(char.encode_utf8(&mut [0; 4]));
    }
    finish(&mut word, &mut out);
    Value::String(out)
}

/// Replaces every letter and digit, and keeps everything else.
fn masked_words(text: &JsString) -> JsString {
    let mut units = Vec::with_capacity(text.len());
    for char in char::decode_utf16(text.units().iter().copied()) {
        match char {
            Ok(char) => units.extend_from_slice(stand_in(char).encode_utf16(&mut [0; 2])),
            Err(lone) => units.push(lone.unpaired_surrogate()),
        }
    }
    JsString::from(units)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::context::tokens::weighted::{NORMAL_WEIGHT, weighted_length};

    fn shaped(json: &str) -> String {
        line(json)
    }

    #[test]
    fn a_shape_masks_words_and_keeps_the_runtimes_text() {
        let line = r#"{"type":"message","id":"a1","parentId":null,"timestamp":"2026-03-05T15:00:00.000Z","message":{"role":"toolResult","toolCallId":"toolu_1","toolName":"exec","content":[{"type":"text","text":"Dear Mei,\n\tsee /home/mei/x.txt: 42 €"}],"details":{"exitCode":0,"host":"n-ams-01"},"isError":false,"timestamp":1772722800000}}"#;
        let expected = r#"{"type":"message","id":"a1","parentId":null,"timestamp":"2026-03-05T15:00:00.000Z","message":{"role":"toolResult","toolCallId":"toolu_1","toolName":"exec","content":[{"type":"text","text":"Xxxx Xxx,\n\txxx /xxxx/xxx/x.xxx: 11 €"}],"details":{"exitCode":0,"xxxx":"x-xxx-11"},"isError":false,"timestamp":1772722800000}}"#;
        assert_eq!(shaped(line), expected);
    }

    #[test]
    fn calls_keep_their_tool_and_as_many_members_of_the_same_length() {
        let line = r#"{"type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"web_fetch","arguments":{"to":"Oslo","at":1530,"on":true,"path":"/x"}}],"usage":{"input":5},"model":"m"}}"#;
        let out = shaped(line);
        assert_eq!(out.len(), line.len());
        assert!(out.contains(r#""name":"web_fetch""#) && out.contains(r#""usage":{"input":5}"#), "{out}");
        assert!(out.contains(r#""xx":"Xxxx","xy":1111,"xz":true,"path":"/x""#), "{out}");
    }

    #[test]
    fn entries_of_both_eras_keep_their_structure() {
        for (line, expected) in [
            (
                r#"{"type":"context_edit","targetId":"a","replacement":{"content":[{"type":"text","text":"Oslo"}]}}"#,
                r#"{"type":"context_edit","targetId":"a","replacement":{"content":[{"type":"text","text":"Xxxx"}]}}"#,
            ),
            (
                r#"{"type":"context_edit","replacement":null}"#,
                r#"{"type":"context_edit","replacement":null}"#,
            ),
            (
                r#"{"type":"message","message":{"role":"system","content":"","sections":{"rules":"Be kind"},"toolsAdded":[{"name":"exec","description":"runs"}]}}"#,
                r#"{"type":"message","message":{"role":"system","content":"","sections":{"xxxxx":"Xx xxxx"},"toolsAdded":[{"name":"exec","description":"xxxx"}]}}"#,
            ),
            (
                r#"{"type":"leaf","targetId":"a","appendParentId":"b","appendMode":"side"}"#,
                r#"{"type":"leaf","targetId":"a","appendParentId":"b","appendMode":"side"}"#,
            ),
            (r#"{"type":"reset","reason":"daily"}"#, r#"{"type":"reset","reason":"daily"}"#),
            (
                r#"{"type":"custom","customType":"openclaw.cache-ttl","data":{"timestamp":5,"frozenToolResults":[{"key":"k","sourceHash":"h","texts":["Oslo"]}]}}"#,
                r#"{"type":"custom","customType":"openclaw.cache-ttl","data":{"timestamp":5,"frozenToolResults":[{"key":"k","sourceHash":"h","texts":["Xxxx"]}]}}"#,
            ),
        ] {
            assert_eq!(shaped(line), expected);
        }
    }

    #[test]
    fn error_texts_keep_known_words_and_numbers() {
        let line = r#"{"type":"message","message":{"role":"assistant","content":[],"errorMessage":"prompt is too long: 210012 tokens > 200000 maximum (mei@example.org)"}}"#;
        assert!(
            shaped(line).contains("prompt is too long: 210012 tokens > 200000 maximum (xxx@xxxxxxx.xxx)")
        );
    }

    #[test]
    fn runtime_marks_are_kept() {
        let text = shape_text(&JsString::from("was it? NO_REPLY"));
        assert_eq!(text.to_string_lossy(), "xxx xx? NO_REPLY");
    }

    #[test]
    fn a_line_that_is_not_json_is_masked_and_still_not_json() {
        assert_eq!(shaped(r#"{"type":"message","id":"ab"#), r#"{"xxxx":"xxxxxxx","xx":"xx"#);
        assert!(js::parse(&shaped("nonsense 12")).is_err());
    }

    proptest! {
        #[test]
        fn masking_changes_no_count_that_rules_use(text in "\\PC{0,80}|[\\u{3000}-\\u{ffff}\\n\"\\\\]{0,30}") {
            let text = JsString::from(text.as_str());
            let out = masked_words(&text);
            prop_assert_eq!(out.len(), text.len());
            prop_assert_eq!(weighted_length(&out, NORMAL_WEIGHT), weighted_length(&text, NORMAL_WEIGHT));
            let lines = |text: &JsString| text.units().iter().filter(|unit| **unit == 10).count();
            prop_assert_eq!(lines(&out), lines(&text));
            let utf16 = |text: &JsString| js::stringify_str(text).encode_utf16().count();
            prop_assert_eq!(utf16(&out), utf16(&text));
        }
    }
}
