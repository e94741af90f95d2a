//! The keys under which a gateway of 2026.9 remembers tool results (pruning 8.2).

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use crate::js::{Value, number_text, stringify};

/// The most chars of an id that the gateway rewrites for a provider.
const REWRITTEN_ID_CHARS: usize = 40;

/// Returns the key of each tool result, by position. A key that names two results, in this list or earlier, is replaced
/// by one with a counter.
pub(super) fn keys_of(
    results: &[(usize, &Value)],
    known_ambiguous: &BTreeSet<String>,
) -> BTreeMap<usize, String> {
    let bases: Vec<Option<String>> = results.iter().map(|(_, message)| base_key(message)).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for key in bases.iter().filter_map(|key| key.as_deref()) {
        *counts.entry(key).or_default() += 1;
    }
    let mut occurrences: BTreeMap<String, usize> = BTreeMap::new();
    let mut key_of = |message: &Value, base: Option<&str>| {
        let own = base.filter(|key| counts.get(key) == Some(&1) && !known_ambiguous.contains(*key));
        if let Some(own) = own {
            return own.to_owned();
        }
        let name = base.unwrap_or("tool");
        let id = string_member(message, "id");
        let stem = match id {
            Some(id) => format!("fallback:{name}:id:{id}"),
            None => format!("fallback:{name}:text:{}", source_hash(message)),
        };
        let count = occurrences.entry(stem.clone()).or_default();
        let key = format!("{stem}:{count}");
        *count += 1;
        key
    };
    results.iter().zip(&bases).map(|((at, message), base)| (*at, key_of(message, base.as_deref()))).collect()
}

/// Returns `tool:CALL:TIME`, `tool:CALL` or `timestamp:TIME`; `None` for a result without call id and time.
fn base_key(message: &Value) -> Option<String> {
    match (call_id(message), time_of(message)) {
        (Some(call), Some(time)) => Some(format!("tool:{call}:{time}")),
        (Some(call), None) => Some(format!("tool:{call}")),
        (None, Some(time)) => Some(format!("timestamp:{time}")),
        (None, None) => None,
    }
}

pub(super) fn call_id(result: &Value) -> Option<String> {
    string_member(result, "toolCallId").filter(|call| !call.is_empty())
}

pub(super) fn time_of(result: &Value) -> Option<String> {
    result.get("timestamp").and_then(Value::as_f64).map(number_text)
}

/// Returns the id in a key `tool:ID` or `tool:ID:TIME` of this time.
pub(super) fn id_in_key<'a>(key: &'a str, time: Option<&str>) -> Option<&'a str> {
    let id = key.strip_prefix("tool:")?;
    match time {
        Some(time) => id.strip_suffix(time)?.strip_suffix(':'),
        None => Some(id),
    }
}

/// Returns the letters and digits of an id, up to the length that the gateway keeps.
pub(super) fn letters_of(id: &str) -> String {
    id.chars().filter(char::is_ascii_alphanumeric).take(REWRITTEN_ID_CHARS).collect()
}

/// Whether most providers receive another id: the own ids of Anthropic and Kimi stay, others keep letters and digits.
pub(super) fn is_rewritten(id: &str) -> bool {
    let is_native = id.starts_with("toolu_") || (id.starts_with("functions.") && id.contains(':'));
    !is_native && letters_of(id) != id
}

pub(super) fn string_member(object: &Value, key: &str) -> Option<String> {
    Some(object.get(key)?.as_str()?.to_string_lossy())
}

fn texts(message: &Value) -> Vec<Value> {
    let blocks = message.get("content").and_then(Value::as_array).unwrap_or_default();
    let text = |block: &Value| {
        let text = block.get("text")?.as_str()?;
        block.get("type")?.str_is("text").then(|| Value::String(text.clone()))
    };
    blocks.iter().filter_map(text).collect()
}

/// Returns the base64url SHA-256 of the JSON array of a result's texts.
pub(super) fn source_hash(message: &Value) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(stringify(&Value::Array(texts(message)))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js::parse;

    fn result(members: &str, text: &str) -> Value {
        parse(&format!(r#"{{"role":"toolResult"{members},"content":[{{"type":"text","text":"{text}"}}]}}"#))
            .unwrap()
    }

    fn results(messages: &[Value]) -> Vec<(usize, &Value)> {
        let is_result = |message: &Value| message.get("role").is_some_and(|role| role.str_is("toolResult"));
        messages.iter().enumerate().filter(|(_, message)| is_result(message)).collect()
    }

    #[test]
    fn a_projection_key_has_call_and_time_or_a_fallback() {
        let messages = [
            result(r#","toolCallId":"a","timestamp":5"#, "x"),
            result(r#","toolCallId":"b""#, "x"),
            result(r#","timestamp":7"#, "x"),
            result("", "x"),
            result(r#","toolCallId":"c","id":"m1""#, "x"),
            result(r#","toolCallId":"c""#, "y"),
            parse(r#"{"role":"user","content":"x"}"#).unwrap(),
        ];
        let keys = keys_of(&results(&messages), &BTreeSet::new());
        let hash = |at: usize| source_hash(&messages[at]);
        assert_eq!(keys[&0], "tool:a:5");
        assert_eq!((keys[&1].as_str(), keys[&2].as_str()), ("tool:b", "timestamp:7"));
        assert_eq!(keys[&3], format!("fallback:tool:text:{}:0", hash(3)));
        assert_eq!(keys[&4], "fallback:tool:c:id:m1:0");
        assert_eq!(keys[&5], format!("fallback:tool:c:text:{}:0", hash(5)));
        assert!(!keys.contains_key(&6));
        let known = BTreeSet::from(["tool:b".to_owned()]);
        assert!(keys_of(&results(&messages), &known)[&1].starts_with("fallback:tool:b:text:"));
    }

    #[test]
    fn the_hash_covers_the_texts_as_a_json_array() {
        // SHA-256 of `["x"]`, computed by another program.
        assert_eq!(source_hash(&result("", "x")), "zWXqLCrZnpSoWxtt9y7--csu0K6TOmDDLOFjF_fX1qo");
    }
}
