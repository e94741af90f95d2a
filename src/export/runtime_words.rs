//! Tells the words of gateways and pi from the words of people. Types, roles, tools, models, ids and names of members
//! come from the runtime, but a plugin, a person or another program may have put any text there. A shape keeps only
//! known words, and ids that a program generated; every other text gets a stand-in of the same length and kind.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::LazyLock;

use crate::context::tokens::script::Script;
use crate::context::tokens::weighted::{NORMAL_WEIGHT, weighted_length};
use crate::js::{JsString, Object, Value};

/// Longer texts are never words of the runtime.
const MAX_WORD_CHARS: usize = 128;

static WORDS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| words(include_str!("../../assets/export/runtime-words.txt")));
static MODEL_WORDS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| words(include_str!("../../assets/export/model-words.txt")));
/// Random for each run, so that a name cannot be found by trying names.
static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// Prefixes of ids that providers generate.
const ID_PREFIXES: [&str; 16] = [
    "toolu", "call", "fc", "msg", "resp", "rs", "chatcmpl", "gen", "run", "req", "tool", "entry", "ses",
    "id", "ev", "srvtoolu",
];

fn words(text: &'static str) -> HashSet<&'static str> {
    text.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace).collect()
}

/// Returns a text of the runtime unchanged, or the stand-in of any other text. The same text has the same stand-in in all
/// documents of one run, and different texts have different ones.
pub(super) fn name(text: &JsString) -> JsString {
    if is_runtime_text(&text.to_string_lossy()) { text.clone() } else { stand_in_name(text) }
}

pub(super) fn name_text(text: &str) -> String {
    name(&JsString::from(text)).to_string_lossy()
}

/// Whether a text is the name of a member that the runtime writes; names of settings have dots.
pub(super) fn is_member_name(text: &str) -> bool {
    WORDS.contains(text) || text.contains('.') && text.split('.').all(|part| WORDS.contains(part))
}

/// Masks a value at a place of the runtime: its texts and the names of its members. Numbers and switches stay.
pub(super) fn runtime_value(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(name(text)),
        Value::Array(items) => Value::Array(items.iter().map(runtime_value).collect()),
        Value::Object(object) => map_members(object, member_name, |_, member| Some(runtime_value(member))),
        plain => plain.clone(),
    }
}

pub(super) fn member_name(key: &JsString) -> JsString {
    if is_member_name(&key.to_string_lossy()) { key.clone() } else { stand_in_name(key) }
}

fn is_runtime_text(text: &str) -> bool {
    text.len() <= MAX_WORD_CHARS
        && (WORDS.contains(text)
            || WORDS.contains(text.trim().to_ascii_lowercase().as_str())
            || is_time(text)
            || is_version(text)
            || text.split('|').all(is_generated_id)
            || is_model(text))
}

/// Whether a text begins as a date does and has nothing but a time after it.
fn is_time(text: &str) -> bool {
    let date = text.as_bytes().get(..10);
    date.is_some_and(|date| {
        date.iter()
            .enumerate()
            .all(|(at, byte)| if matches!(at, 4 | 7) { *byte == b'-' } else { byte.is_ascii_digit() })
    }) && text.len() <= 35
        && text[10..].bytes().all(|byte| byte.is_ascii_digit() || b"-+:.TZ ".contains(&byte))
}

/// Whether a text is the number of a release.
fn is_version(text: &str) -> bool {
    let text = text.strip_prefix("clawscope ").unwrap_or(text);
    text.len() <= 20
        && text
            .split(['.', '-'])
            .all(|part| (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a text has no room for a word: hexadecimal, a few letters and a number, or random characters after a prefix.
fn is_generated_id(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    // A single letter has no room for a word.
    if text.len() <= 1 || is_hex(text) {
        return true;
    }
    let prefix = ID_PREFIXES.iter().find_map(|prefix| text.strip_prefix(prefix)?.strip_prefix(['_', '-']));
    let rest = prefix.unwrap_or(text);
    let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
    let number = rest[letters..].trim_start_matches(['_', '-']);
    if letters <= 2 && (1..=6).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit()) {
        return true;
    }
    let digits = rest.bytes().filter(u8::is_ascii_digit).count();
    let longest_word =
        rest.split(|char: char| !char.is_ascii_lowercase()).map(str::len).max().unwrap_or_default();
    prefix.is_some() && rest.bytes().all(plain) && digits >= 3 && longest_word <= 4
}

/// Whether a text is hexadecimal, perhaps with dashes: with digits, or as long as pi's ids.
fn is_hex(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    // A bare number may be a telephone number.
    let is_number = digits > 6 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
        && (text.len() == 8 || digits > 0 && !is_number || is_uuid(text))
}

fn is_uuid(text: &str) -> bool {
    text.split('-').map(str::len).eq([8, 4, 4, 4, 12])
}

/// Whether a text consists of parts of the names of models, single letters and numbers.
fn is_model(text: &str) -> bool {
    let mut parts = 0;
    let is_known = |part: &str| part.len() <= 1 || MODEL_WORDS.contains(part.to_ascii_lowercase().as_str());
    text.split(['-', '.', '/', '_', ':', '@', ' ']).all(|part| {
        let digits = part.bytes().filter(u8::is_ascii_digit).count();
        if is_known(part) || digits == part.len() && digits <= 8 {
            parts += usize::from(part.len() > 1 && digits < part.len());
            return true;
        }
        // `k2`, `128k`, `4o`, `v3.2`, `qwen3`
        let (letters, numbers): (String, String) = part.chars().partition(char::is_ascii_alphabetic);
        parts += usize::from(letters.len() > 1);
        is_known(&letters) && numbers.len() <= 5 && letters.len() + numbers.len() == part.len()
    }) && parts > 0
}

/// Shifts every letter and digit by a number that follows from the characters before it, so that different texts get
/// different names.
fn stand_in_name(text: &JsString) -> JsString {
    let mut units = Vec::with_capacity(text.len());
    for (at, char) in char::decode_utf16(text.units().iter().copied()).enumerate() {
        let Ok(char) = char else {
            units.push(0x78);
            continue;
        };
        let shift = KEY.hash_one((at, &text.units()[..units.len()]));
        let shown = match char {
            'a'..='z' => shifted(char, b'a', 26, shift),
            'A'..='Z' => shifted(char, b'A', 26, shift),
            '0'..='9' => shifted(char, b'0', 10, shift),
            other => stand_in(other),
        };
        units.extend_from_slice(shown.encode_utf16(&mut [0; 2]));
    }
    JsString::from(units)
}

/// Another character of the same kind: never the same one.
fn shifted(char: char, first: u8, count: u8, shift: u64) -> char {
    let step = 1 + (shift % (u64::from(count) - 1)) as u8;
    char::from(first + (char as u8 - first + step) % count)
}

// Replaces a character by another of the same kind, so that every size that the rules count stays, and the names of an
// object by names that stay distinct.

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

/// Replaces the names and values of an object; a member without a new value goes. Names with the same stand-in get different
/// ones, so that the object keeps all members.
pub(super) fn map_members(
    object: &Object,
    name: impl Fn(&JsString) -> JsString,
    of: impl Fn(&str, &Value) -> Option<Value>,
) -> Value {
    let mut taken: HashSet<JsString> = object.iter().map(|(key, _)| key.clone()).collect();
    let mut turns = HashMap::new();
    let members = object.iter().filter_map(|(key, value)| {
        let value = of(&key.to_string_lossy(), value)?;
        let shown = name(key);
        if shown == *key {
            return Some((shown, value));
        }
        let turn = turns.entry(shown.clone()).or_insert(0);
        loop {
            match varied(&shown, *turn) {
                Some(other) if taken.insert(other.clone()) => return Some((other, value)),
                Some(_) => *turn += 1,
                None => return Some((shown, value)),
            }
        }
    });
    Value::Object(members.collect())
}

/// Returns the `turn`th name of the same length and kinds: its letters and digits counted up from the end.
fn varied(name: &JsString, mut turn: u32) -> Option<JsString> {
    if turn == 0 {
        return Some(name.clone());
    }
    let mut chars: Vec<char> = name.to_string_lossy().chars().collect();
    for char in chars.iter_mut().rev() {
        let (first, count) = match *char {
            'a'..='z' => ('a', 26),
            'A'..='Z' => ('A', 26),
            '0'..='9' => ('0', 10),
            other if other.is_alphanumeric() => (other, 4),
            _ => continue,
        };
        let step = (u32::from(*char) - u32::from(first) + turn) % count;
        let next = char::from_u32(u32::from(first) + step).filter(|next| next.is_alphanumeric());
        *char = next.filter(|next| char_traits(*next) == char_traits(*char)).unwrap_or(*char);
        turn /= count;
        if turn == 0 {
            break;
        }
    }
    (turn == 0).then(|| JsString::from(chars.into_iter().collect::<String>()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn runtime_words_are_kept() {
        for text in [
            "toolResult",
            " Read ",
            "claude-opus-4-6",
            "anthropic/claude-opus-4.5",
            "claude-3-7-sonnet-20250219",
            "gpt-5.3-codex",
            "gpt-4o-mini",
            "kimi-k2-thinking",
            "glm-4.7",
            "qwen3.5",
            "meta-llama/llama-3.3-70b-instruct",
            "us.anthropic.claude-sonnet-4-20250514-v1:0",
            "2026-03-05T07:58:00.000Z",
            "2026.3.2",
            "c7190160-2dee-4784-afa7-195b2cd1d7a0",
            "7f3a9c01",
            "deadbeef",
            "a1",
            "e0042",
            "toolu_1",
            "toolu_01A09q90qw90lq917835lq9",
            "call_1|fc_2",
            "call_Yk3mQ8zR2vT5wX1p",
            "",
        ] {
            assert_eq!(name_text(text), text);
        }
    }

    #[test]
    fn words_of_people_are_replaced() {
        for text in [
            "divorce-lawyer",
            "book_trip",
            "mei.lin",
            "call_mei_lin_1",
            "toolu_secretplan123",
            "4915112345678",
            "0171-2345678",
            "+49 30 901820",
            "acme/merger-model-7b",
            "claude-for-mei",
            "Ingrid",
            "2026-03-05 with Mei",
            "text; and more",
            "日本語",
        ] {
            let shown = name_text(text);
            assert_ne!(shown, text);
            assert_eq!(shown.encode_utf16().count(), text.encode_utf16().count());
            assert_eq!(shown, name_text(text), "the same text has the same stand-in");
        }
    }

    #[test]
    fn members_of_a_runtime_object_keep_numbers_only() {
        let value = crate::js::parse(r#"{"input":5,"Ingrid":{"cost":2},"note":["Mei"]}"#).unwrap();
        let text = crate::js::stringify(&runtime_value(&value));
        assert!(text.starts_with(r#"{"input":5,""#) && text.contains(r#":{"cost":2},""#), "{text}");
        assert!(!text.contains("Ingrid") && !text.contains("Mei") && !text.contains("note"), "{text}");
    }

    proptest! {
        #[test]
        fn different_names_get_different_stand_ins(one in "[a-zA-Z0-9_ -]{0,12}", other in "[a-zA-Z0-9_ -]{0,12}") {
            let stand_in = |text: &str| stand_in_name(&JsString::from(text));
            prop_assert_eq!(one == other, stand_in(&one) == stand_in(&other));
        }

        #[test]
        fn only_known_words_of_five_letters_are_kept(text in "[a-z]{2,5}[_-][a-z]{5,9}") {
            let shown = name_text(&text);
            prop_assert!(shown != text || is_model(&text) || WORDS.contains(text.as_str()), "{}", text);
        }
    }
}

#[cfg(test)]
mod stand_in_tests {
    use super::*;
    use crate::js::{parse, stringify};

    #[test]
    fn an_object_keeps_all_members_and_none_of_their_names() {
        let numbers = (1_000..2_500).map(|at| format!("\"+49 {at}\":1")).collect::<Vec<_>>().join(",");
        let text = format!(r#"{{"мама":1,"папа":2,"Анна":3,"北京":4,"上海":5,"mei":6,"leo":7,{numbers}}}"#);
        let object = parse(&text).unwrap();
        let masked =
            |key: &JsString| JsString::from(key.to_string_lossy().chars().map(stand_in).collect::<String>());
        let out = map_members(object.as_object().unwrap(), masked, |_, value| Some(value.clone()));
        assert_eq!(out.as_object().unwrap().len(), 1_507);
        assert_eq!(stringify(&out).chars().count(), text.chars().count());
        for name in ["мама", "папа", "Анна", "北京", "上海", "mei", "leo", "+49 2222"] {
            assert!(!out.as_object().unwrap().contains(name), "{name}");
        }
    }
}
