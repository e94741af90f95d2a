//! The pruned and cut tool results that a gateway of 2026.9 remembers, so that every call sends the same bytes and the
//! provider's cache stays valid. They are read from the session's markers and applied again (pruning 8.2).

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use crate::gateway::pruning::PruneSettings;
use crate::js::{JsString, Object, Value, number_text, stringify};
use crate::policy::prune::soft_trim::{cleared_message, soft_trimmed_message};
use crate::units::Moment;

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
    /// Time of the user message whose run wrote the marker.
    pub run_started: Option<Moment>,
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
    /// transcript: the marker stores no bodies, so they are derived again. Results from `run` on belong to the run in
    /// progress.
    pub(super) fn apply_to_results(
        &self,
        results: &[(usize, &Value)],
        run: usize,
        settings: &PruneSettings,
    ) -> BTreeMap<usize, (Projection, Value)> {
        let mut changed = BTreeMap::new();
        if self.projections.is_empty() {
            return changed;
        }
        let keys = keys_of(results, &self.ambiguous);
        for (at, message) in results.iter().copied() {
            let Some(key) = keys.get(&at).and_then(|key| self.stored_key(message, key, at >= run)) else {
                continue;
            };
            let Some(projection) = self.projections.get(key) else { continue };
            // While a run goes on, the gateway holds a result as its tool returned it; the transcript's may be cut.
            let is_held = at >= run && matches!(projection, Projection::Cut { .. });
            let is_other = || self.sources.get(key).is_some_and(|hash| *hash != source_hash(message));
            if !is_held && is_other() {
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

impl ProjectionSnapshot {
    /// Returns the key under which the marker remembers a result whose key in the transcript is `own`. A result of an
    /// earlier run has the id that the provider accepts, in one of many forms; its time and text do not change.
    fn stored_key<'a>(&'a self, message: &Value, own: &'a str, is_in_run: bool) -> Option<&'a str> {
        if self.projections.contains_key(own) {
            // The next run rewrites the ids of this one and forgets what it remembered under them.
            let is_lost = !is_in_run && self.is_of_its_run(message) && is_rewritten(&call_id(message)?);
            return (!is_lost).then_some(own);
        }
        let (id, time) = (call_id(message)?, time_of(message));
        let letters = letters_of(&id);
        let fits = |key: &&String| {
            let Some(other) = id_in_key(key, time.as_deref()) else { return false };
            match self.sources.get(*key) {
                Some(hash) if time.is_some() => *hash == source_hash(message),
                _ => letters_of(other) == letters,
            }
        };
        let found: Vec<&String> = self.projections.keys().filter(fits).collect();
        let by_letters =
            |key: &&&String| id_in_key(key, time.as_deref()).map(letters_of) == Some(letters.clone());
        found.iter().find(by_letters).or(found.first()).map(|key| key.as_str())
    }

    /// Whether a result belongs to the run that wrote the marker.
    fn is_of_its_run(&self, message: &Value) -> bool {
        let time = message.get("timestamp").and_then(Value::as_f64).map(Moment);
        time.zip(self.run_started).is_some_and(|(time, started)| time >= started)
    }
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

// The keys under which a gateway of 2026.9 remembers tool results (pruning 8.2).

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
        PruneSettings::built_in(Ruleset::V2026_9_6.rules())
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
    fn the_newest_marker_with_a_snapshot_counts_until_a_reset() {
        let old = marker(r#"{"timestamp":1,"prunedToolResults":[{"key":"tool:a","mode":"soft"}]}"#);
        let touch = marker(r#"{"timestamp":2,"provider":"anthropic"}"#);
        let broken = marker(r#"{"prunedToolResults":[{"key":"tool:a","mode":"hard"}]}"#);
        let found = ProjectionSnapshot::from_branch([&touch, &broken, &old]).unwrap();
        assert_eq!(found.projections, BTreeMap::from([("tool:a".to_owned(), Projection::Soft)]));
        let reset = parse(r#"{"type":"reset"}"#).unwrap();
        assert_eq!(ProjectionSnapshot::from_branch([&touch, &reset, &old]), None);
    }

    /// Returns the positions of two results that a marker with these trimmed keys and run start changes, where results
    /// from `run` on belong to the run in progress.
    fn trimmed(keys: [&str; 2], run_started: f64, run: usize) -> Vec<usize> {
        let long = "x".repeat(5000);
        let messages = [
            result(r#","toolCallId":"call_1_0","timestamp":5"#, &long),
            result(r#","toolCallId":"call_2_0","timestamp":8"#, &format!("{long}y")),
        ];
        let mark = |key: &str| format!(r#"{{"key":"{key}","mode":"soft"}}"#);
        let frozen = |at: usize| {
            let hash = source_hash(&messages[at]);
            format!(r#"{{"key":"{}","sourceHash":"{hash}"}}"#, keys[at])
        };
        let data = format!(
            r#"{{"prunedToolResults":[{},{}],"frozenToolResults":[{},{}]}}"#,
            mark(keys[0]),
            mark(keys[1]),
            frozen(0),
            frozen(1)
        );
        let mut snapshot = ProjectionSnapshot::from_marker_data(&parse(&data).unwrap()).unwrap();
        snapshot.run_started = Some(Moment(run_started));
        snapshot.apply_to_results(&results(&messages), run, &settings()).into_keys().collect()
    }

    #[test]
    fn a_result_is_found_under_the_id_that_its_provider_received() {
        let rewritten = ["tool:call10:5", "tool:call20:8"];
        assert_eq!(trimmed(rewritten, 9.0, 2), [0, 1]);
        assert_eq!(
            trimmed(["tool:abcdef123:5", "tool:call_2_0:8"], 7.0, 1),
            [0, 1],
            "a hash, and the id itself"
        );
        assert_eq!(trimmed(["tool:call10:6", "tool:other:8"], 9.0, 2), [1], "other times are other results");
    }

    #[test]
    fn the_next_run_forgets_marks_under_ids_that_it_rewrites() {
        let recorded = ["tool:call_1_0:5", "tool:call_2_0:8"];
        assert_eq!(trimmed(recorded, 7.0, 1), [0, 1], "the run goes on");
        assert_eq!(trimmed(recorded, 7.0, 2), [0], "the provider of the first result takes its id");
        assert!(is_rewritten("call_1") && !is_rewritten("toolu_01_a") && !is_rewritten("functions.read:0"));
    }

    #[test]
    fn a_cut_of_the_run_in_progress_applies_to_the_stored_text_too() {
        let stored = [result(r#","toolCallId":"a""#, "stored")];
        let data = r#"{"prunedToolResults":[],"frozenToolResults":[{"key":"tool:a","sourceHash":"of more text","texts":["sent"]}]}"#;
        let snapshot = ProjectionSnapshot::from_marker_data(&parse(data).unwrap()).unwrap();
        let changed = |run| snapshot.apply_to_results(&results(&stored), run, &settings());
        assert_eq!(text_of(&changed(0)[&0].1), "sent");
        assert!(changed(1).is_empty(), "the next run reads the stored text");
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
        let new = snapshot.apply_to_results(&results(&messages), messages.len(), &settings());
        assert_eq!(new.keys().copied().collect::<Vec<_>>(), [0, 1, 2]);
        assert!(text_of(&new[&0].1).contains("kept first 1500 chars and last 1500 chars of 5000 chars"));
        assert_eq!((text_of(&new[&1].1), text_of(&new[&2].1)), ("gone".to_owned(), "short".to_owned()));
    }
}

#[cfg(test)]
mod projection_keys_tests {
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
