//! The pruned and cut tool results that a gateway of 2026.9 remembers, so that every call sends the same bytes and the
//! provider's cache stays valid. They are read from the session's markers and applied again (pruning 8.2).

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use crate::gateway::pruning::PruneSettings;
use crate::js::{JsString, Object, Value, number_text, stringify};
use crate::policy::prune::soft_trim::{cleared_message, soft_trimmed_message};

/// Type of the custom entry that holds a snapshot (store O1).
pub const MARKER_TYPE: &str = "openclaw.cache-ttl";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Projection {
    /// Shortened to head and tail.
    Soft,
    /// Replaced by a placeholder.
    Hard { placeholder: JsString },
    /// Cut: these texts replace the texts of its text blocks, in order.
    Cut { texts: Vec<JsString> },
}

/// The remembered changes of one marker.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProjectionSnapshot {
    /// By key of the result.
    pub projections: BTreeMap<String, Projection>,
    /// Hash of the original texts, by key; a projection whose hash does not match is not applied.
    pub sources: BTreeMap<String, String>,
    /// Keys that named two results at once.
    pub ambiguous: BTreeSet<String>,
}

impl ProjectionSnapshot {
    /// Returns the snapshot of the newest marker of a branch that holds one; the bodies come newest first. A `reset`
    /// ends the search, because it discards everything before it.
    pub fn from_branch<'a>(newest_first: impl IntoIterator<Item = &'a Value>) -> Option<Self> {
        let is =
            |entry: &Value, key: &str, text: &str| entry.get(key).is_some_and(|value| value.str_is(text));
        for entry in newest_first {
            if is(entry, "type", "reset") {
                return None;
            }
            let marker = is(entry, "type", "custom") && is(entry, "customType", MARKER_TYPE);
            if let Some(snapshot) = entry.get("data").filter(|_| marker).and_then(Self::from_marker_data) {
                return Some(snapshot);
            }
        }
        None
    }

    /// Parses the data of a marker; `None` without a valid `prunedToolResults`.
    pub fn from_marker_data(data: &Value) -> Option<Self> {
        let mut snapshot = Self::default();
        for item in data.get("prunedToolResults")?.as_array()? {
            let projection = match item.get("mode")? {
                mode if mode.str_is("soft") => Projection::Soft,
                mode if mode.str_is("hard") => {
                    Projection::Hard { placeholder: item.get("placeholder")?.as_str()?.clone() }
                }
                _ => return None,
            };
            snapshot.projections.insert(string_member(item, "key")?, projection);
        }
        let list = |key: &str| data.get(key).and_then(Value::as_array).unwrap_or_default();
        let keys = list("ambiguousToolResultBaseKeys").iter().filter_map(Value::as_str);
        snapshot.ambiguous.extend(keys.map(JsString::to_string_lossy));
        for item in list("frozenToolResults") {
            let (Some(key), Some(hash)) = (string_member(item, "key"), string_member(item, "sourceHash"))
            else {
                continue;
            };
            if let Some(texts) = item.get("texts").and_then(Value::as_array) {
                let texts = texts.iter().filter_map(Value::as_str).cloned().collect();
                snapshot.projections.entry(key.clone()).or_insert(Projection::Cut { texts });
            }
            snapshot.sources.insert(key, hash);
        }
        Some(snapshot)
    }

    pub fn is_empty(&self) -> bool {
        self.projections.is_empty()
    }

    /// Returns the tool results that change, with their positions and projections. `results` are those of the
    /// transcript: the marker stores no bodies, so they are derived again.
    pub(super) fn apply_to_results(
        &self,
        results: &[(usize, &Value)],
        settings: &PruneSettings,
    ) -> BTreeMap<usize, (Projection, Value)> {
        let mut changed = BTreeMap::new();
        if self.projections.is_empty() {
            return changed;
        }
        let keys = keys_of(results, &self.ambiguous);
        for (at, message) in results.iter().copied() {
            let Some(key) = keys.get(&at) else { continue };
            let Some(projection) = self.projections.get(key) else { continue };
            if self.sources.get(key).is_some_and(|hash| *hash != source_hash(message)) {
                continue;
            }
            let new = match projection {
                Projection::Soft => soft_trimmed_message(message, &settings.soft_trim).ok().flatten(),
                Projection::Hard { placeholder } => Some(cleared_message(message, placeholder)),
                Projection::Cut { texts } => Some(with_texts(message, texts)),
            };
            if let Some(new) = new {
                changed.insert(at, (projection.clone(), new));
            }
        }
        changed
    }
}

fn string_member(object: &Value, key: &str) -> Option<String> {
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

/// Replaces the texts of the text blocks; blocks beyond `texts` stay.
pub(in crate::policy) fn with_texts(message: &Value, texts: &[JsString]) -> Value {
    let mut texts = texts.iter();
    let blocks = message.get("content").and_then(Value::as_array).unwrap_or_default();
    let new = blocks.iter().map(|block| {
        let is_text = block.get("type").is_some_and(|kind| kind.str_is("text"));
        let new = if is_text { texts.next() } else { None };
        match (block, new) {
            (Value::Object(object), Some(text)) => {
                let mut object: Object = object.clone();
                object.set("text", Value::String(text.clone()));
                Value::Object(object)
            }
            _ => block.clone(),
        }
    });
    let mut copy = message.as_object().cloned().unwrap_or_default();
    copy.set("content", Value::Array(new.collect()));
    Value::Object(copy)
}

/// Returns the base64url SHA-256 of the JSON array of a result's texts.
pub fn source_hash(message: &Value) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(stringify(&Value::Array(texts(message)))))
}

/// Returns the key of each tool result, by position. A key that names two results, in this list or earlier, is replaced
/// by one with a counter.
fn keys_of(results: &[(usize, &Value)], known_ambiguous: &BTreeSet<String>) -> BTreeMap<usize, String> {
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
    let time = message.get("timestamp").and_then(Value::as_f64).map(number_text);
    match (string_member(message, "toolCallId").filter(|call| !call.is_empty()), time) {
        (Some(call), Some(time)) => Some(format!("tool:{call}:{time}")),
        (Some(call), None) => Some(format!("tool:{call}")),
        (None, Some(time)) => Some(format!("timestamp:{time}")),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;
    use crate::js::parse;

    fn result(members: &str, text: &str) -> Value {
        parse(&format!(r#"{{"role":"toolResult"{members},"content":[{{"type":"text","text":"{text}"}}]}}"#))
            .unwrap()
    }

    fn results(messages: &[Value]) -> Vec<(usize, &Value)> {
        let is_result = |message: &Value| message.get("role").is_some_and(|role| role.str_is("toolResult"));
        messages.iter().enumerate().filter(|(_, message)| is_result(message)).collect()
    }

    fn marker(data: &str) -> Value {
        parse(&format!(r#"{{"type":"custom","customType":"openclaw.cache-ttl","data":{data}}}"#)).unwrap()
    }

    fn settings() -> PruneSettings {
        PruneSettings::built_in(Ruleset::V2026_9_2.rules())
    }

    fn text_of(message: &Value) -> String {
        message.get("content").unwrap().as_array().unwrap()[0]
            .get("text")
            .unwrap()
            .as_str()
            .unwrap()
            .to_string_lossy()
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

    #[test]
    fn the_newest_marker_with_a_snapshot_counts_until_a_reset() {
        let old = marker(r#"{"timestamp":1,"prunedToolResults":[{"key":"tool:a","mode":"soft"}]}"#);
        let touch = marker(r#"{"timestamp":2,"provider":"anthropic"}"#);
        let broken = marker(r#"{"prunedToolResults":[{"key":"tool:a","mode":"hard"}]}"#);
        let found = ProjectionSnapshot::from_branch([&touch, &broken, &old]).unwrap();
        assert_eq!(found.projections, BTreeMap::from([("tool:a".to_owned(), Projection::Soft)]));
        let reset = parse(r#"{"type":"reset"}"#).unwrap();
        assert_eq!(ProjectionSnapshot::from_branch([&touch, &reset, &old]), None);
    }

    #[test]
    fn unchanged_results_keep_their_earlier_pruning() {
        let long = "x".repeat(5000);
        let messages = [
            result(r#","toolCallId":"a""#, &long),
            result(r#","toolCallId":"b""#, &long),
            result(r#","toolCallId":"c""#, &long),
            result(r#","toolCallId":"d""#, &long),
        ];
        let data = format!(
            r#"{{"prunedToolResults":[{{"key":"tool:a","mode":"soft"}},{{"key":"tool:b","mode":"hard","placeholder":"gone"}},
                {{"key":"tool:d","mode":"soft"}}],"frozenToolResults":[{{"key":"tool:a","sourceHash":"{0}"}},
                {{"key":"tool:c","sourceHash":"{0}","texts":["short"]}},{{"key":"tool:d","sourceHash":"other"}}]}}"#,
            source_hash(&messages[0])
        );
        let snapshot = ProjectionSnapshot::from_marker_data(&parse(&data).unwrap()).unwrap();
        let new = snapshot.apply_to_results(&results(&messages), &settings());
        assert_eq!(new.keys().copied().collect::<Vec<_>>(), [0, 1, 2]);
        assert!(text_of(&new[&0].1).contains("kept first 1500 chars and last 1500 chars of 5000 chars"));
        assert_eq!((text_of(&new[&1].1), text_of(&new[&2].1)), ("gone".to_owned(), "short".to_owned()));
    }
}
