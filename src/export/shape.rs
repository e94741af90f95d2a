//! A transcript's shape without its words, for bug reports: every letter and digit that people, models and tools wrote
//! is replaced by another of the same kind. Lengths, line ends, white space and punctuation stay, and with them every
//! size that the rules count: chars, script weights, lengths as JSON. `Dear Mei, 42 €` becomes `Xxxx Xxx, 11 €`.
//!
//! Text by the runtime itself stays: generated ids, types, roles, names of its tools and of models, times, usage, the
//! marks of its trimming, and the words that classify its errors. At the same places any other text gets a stand-in
//! (`runtime_words`), and so do unknown names of members.

use std::collections::HashSet;

use crate::export::runtime_words::{member_name, runtime_value};
use crate::export::stand_in::stand_in;
use crate::js::{self, JsString, Object, Value};
use crate::policy::edit::IMAGE_REMOVED;
use crate::policy::guard::COMPACTED;
use crate::store::no_reply::NO_REPLY_TOKEN;

/// Members of an entry, a message or a block that the runtime writes.
const KEPT_MEMBERS: [&str; 33] = [
    "type",
    "id",
    "parentId",
    "timestamp",
    "version",
    "firstKeptEntryId",
    "firstKeptEntryIndex",
    "targetId",
    "fromId",
    "provider",
    "modelId",
    "model",
    "api",
    "thinkingLevel",
    "customType",
    "role",
    "toolCallId",
    "toolName",
    "stopReason",
    "usage",
    "isError",
    "mimeType",
    "tokensBefore",
    "display",
    "fromHook",
    "exitCode",
    "appendParentId",
    "appendMode",
    "kind",
    "responseModel",
    "rawStopReason",
    "providerThinkingLevel",
    "durationMs",
];

/// The gateway's reasons for a new session (sqlite G1).
const RESET_REASONS: [&str; 5] = ["new", "reset", "idle", "daily", "cron-stale"];

/// Custom entries of the gateway and of clawscope: times, models, ids and numbers.
const KEPT_CUSTOM_TYPES: [&str; 5] = [
    "openclaw.cache-ttl",
    "model-snapshot",
    "google-turn-ordering-bootstrap",
    "clawscope.commit",
    "clawscope.undo",
];

/// Members that name something: a number there may be a person's.
const ID_MEMBERS: [&str; 8] =
    ["id", "parentId", "firstKeptEntryId", "targetId", "fromId", "toolCallId", "appendParentId", "toolName"];

/// Common argument names of tools; rules and readers look for them.
const ARGUMENTS: [&str; 30] = [
    "path",
    "file_path",
    "command",
    "cmd",
    "content",
    "text",
    "query",
    "pattern",
    "url",
    "action",
    "limit",
    "offset",
    "timeout",
    "oldText",
    "newText",
    "old_string",
    "new_string",
    "edits",
    "cwd",
    "args",
    "name",
    "description",
    "prompt",
    "message",
    "type",
    "readFiles",
    "modifiedFiles",
    "truncation",
    "exitCode",
    "truncated",
];

/// Words that classify an error (compaction 9; overflow).
const ERROR_WORDS: [&str; 62] = [
    "prompt",
    "is",
    "too",
    "long",
    "large",
    "tokens",
    "token",
    "maximum",
    "max",
    "context",
    "length",
    "window",
    "exceed",
    "exceeds",
    "exceeded",
    "limit",
    "limits",
    "input",
    "output",
    "request",
    "size",
    "model",
    "overflow",
    "rate",
    "overloaded",
    "timeout",
    "timed",
    "out",
    "error",
    "invalid",
    "status",
    "code",
    "http",
    "of",
    "for",
    "the",
    "than",
    "over",
    "with",
    "and",
    "this",
    "your",
    "has",
    "have",
    "you",
    "requested",
    "reduce",
    "messages",
    "in",
    "to",
    "total",
    "count",
    "body",
    "payload",
    "bad",
    "gateway",
    "service",
    "unavailable",
    "api",
    "billing",
    "quota",
    "credit",
];

/// Marks that the rules leave in texts or search for.
const RULE_MARKS: [&str; 5] =
    [IMAGE_REMOVED, COMPACTED, NO_REPLY_TOKEN, "HEARTBEAT_OK", "[Old tool result content cleared]"];

/// Masks the line of a transcript; of a line that is not JSON only the punctuation stays.
pub(super) fn line(text: &str) -> String {
    match js::parse(text) {
        Ok(value) => js::stringify(&entry(&value)),
        Err(_) => masked_words(&JsString::from(text)).to_string_lossy(),
    }
}

/// Masks a text.
pub(super) fn plain_text(text: &str) -> String {
    masked_words(&JsString::from(text)).to_string_lossy()
}

/// Masks an entry or a header.
pub(super) fn entry(value: &Value) -> Value {
    let custom = |kind: &str| value.get("customType").is_some_and(|custom| custom.str_is(kind));
    let own = KEPT_CUSTOM_TYPES.into_iter().any(custom);
    map_members(value, |key, member| match key {
        "message" | "systemMessage" => message(member),
        "replacement" => {
            map_members(
                member,
                |key, member| if key == "content" { content(member) } else { user_value(member) },
            )
        }
        "reason" if RESET_REASONS.iter().any(|reason| member.str_is(reason)) => member.clone(),
        "data" if own => recorded_data(member),
        "data" => {
            map_members(
                member,
                |key, member| if key == "error" { error_text(member) } else { known_member(key, member) },
            )
        }
        "content" => content(member),
        _ => known_member(key, member),
    })
}

/// Keeps the gateway's records of its actions, except the texts of frozen results (sqlite G5).
fn recorded_data(data: &Value) -> Value {
    map_members(data, |key, member| match (key, member) {
        ("frozenToolResults", Value::Array(results)) => {
            let texts = |result: &Value| {
                map_members(
                    result,
                    |key, member| if key == "texts" { user_value(member) } else { runtime_value(member) },
                )
            };
            Value::Array(results.iter().map(texts).collect())
        }
        _ => runtime_value(member),
    })
}

/// Masks a message.
pub(super) fn message(value: &Value) -> Value {
    map_members(value, |key, member| match key {
        "content" => content(member),
        "errorMessage" => error_text(member),
        "toolsAdded" | "toolsRemoved" => map_array(member, |tool| runtime_object(tool, &["name"])),
        "nestedCalls" => map_members(member, |key, member| match key {
            "calls" => map_array(member, |call| runtime_object(call, &["id", "name", "status"])),
            _ => known_member(key, member),
        }),
        _ => known_member(key, member),
    })
}

fn map_array(value: &Value, of: impl Fn(&Value) -> Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(of).collect()),
        other => user_value(other),
    }
}

/// Masks an object of the runtime; its `kept` members hold names.
fn runtime_object(value: &Value, kept: &[&str]) -> Value {
    map_members(
        value,
        |key, member| if kept.contains(&key) { runtime_value(member) } else { known_member(key, member) },
    )
}

fn content(value: &Value) -> Value {
    match value {
        Value::Array(blocks) => Value::Array(blocks.iter().map(block).collect()),
        other => user_value(other),
    }
}

fn block(value: &Value) -> Value {
    let is = |kind: &str| value.get("type").is_some_and(|own| own.str_is(kind));
    let calls = ["toolCall", "toolUse", "tool_use", "functionCall"].into_iter().any(is);
    map_members(value, |key, member| match key {
        "name" if calls => runtime_value(member),
        "data" if is("image") => blank_image(member),
        _ => known_member(key, member),
    })
}

/// Replaces the data of an image with blank data of the same length.
fn blank_image(value: &Value) -> Value {
    value.as_str().map_or_else(|| user_value(value), |text| Value::from("A".repeat(text.len())))
}

fn known_member(key: &str, value: &Value) -> Value {
    let names_with_number = ID_MEMBERS.contains(&key) && matches!(value, Value::Number(_));
    if KEPT_MEMBERS.contains(&key) && !names_with_number { runtime_value(value) } else { user_value(value) }
}

fn map_members(value: &Value, of: impl Fn(&str, &Value) -> Value) -> Value {
    let Value::Object(object) = value else { return user_value(value) };
    let mut out = Object::default();
    for (key, member) in object.iter() {
        out.insert(member_name(key), of(&key.to_string_lossy(), member));
    }
    Value::Object(out)
}

/// Masks a value that a person, a model or a tool made: its texts, numbers and member names.
pub(super) fn user_value(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(shape_text(text)),
        Value::Number(number) => Value::Number(same_digits(*number)),
        Value::Array(items) => Value::Array(items.iter().map(user_value).collect()),
        Value::Object(object) => {
            let mut names = MemberNames::default();
            let mut out = Object::default();
            for (key, member) in object.iter() {
                out.insert(names.name(key), user_value(member));
            }
            Value::Object(out)
        }
        plain => plain.clone(),
    }
}

/// Masked member names of one object. They stay distinct, so that the object keeps all members.
#[derive(Default)]
struct MemberNames {
    taken: HashSet<JsString>,
}

impl MemberNames {
    fn name(&mut self, key: &JsString) -> JsString {
        let mut name =
            if ARGUMENTS.iter().any(|known| key.eq_str(known)) { key.clone() } else { masked_words(key) };
        let mut turn = 0;
        while !self.taken.insert(name.clone()) {
            turn += 1;
            let Some(other) = varied_name(key, turn) else {
                name = key.clone();
                self.taken.insert(name.clone());
                break;
            };
            name = other;
        }
        name
    }
}

/// Returns the `turn`th name of the same length and kinds: its letters counted up from the end.
fn varied_name(key: &JsString, mut turn: usize) -> Option<JsString> {
    let mut units = masked_words(key).units().to_vec();
    for unit in units.iter_mut().rev() {
        let base = match *unit {
            0x78 => u16::from(b'a'),
            0x58 => u16::from(b'A'),
            _ => continue,
        };
        *unit = base + (turn % 26) as u16;
        turn /= 26;
        if turn == 0 {
            return Some(JsString::from(units));
        }
    }
    None
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
fn error_text(value: &Value) -> Value {
    let Some(text) = value.as_str() else { return user_value(value) };
    let plain = text.to_string_lossy();
    let mut out = JsString::new();
    let mut word = String::new();
    let finish = |word: &mut String, out: &mut JsString| {
        if ERROR_WORDS.iter().any(|known| known.eq_ignore_ascii_case(word)) {
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
        assert!(out.contains(r#""xx":"Xxxx","xb":1111,"xc":true,"path":"/x""#), "{out}");
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
