//! Compares a recorded value with its original. A cut mark matches any value that it may replace, a redaction mark any
//! text (trajectory 4, 7).

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::js::{JsString, Object, Value};
use crate::store::trajectory::{ARRAY_CUT, RecordedList, cut_reason};

/// The member that lists the keys an object lost.
const TRUNCATED_KEY: &str = "_truncated";

/// A place at which the recorder left something out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RecordingCut {
    /// JSON pointer into the recorded list.
    pub path: String,
    /// The reason, as the recorder wrote it.
    pub reason: String,
}

/// Differences of a recorded value from its original. Paths are JSON pointers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Match {
    /// Places that the recorder cut.
    pub(super) cuts: Vec<RecordingCut>,
    /// Places that the recorder masked or removed as secrets.
    pub(super) redacted: Vec<String>,
    /// Places that differ.
    pub(super) differences: Vec<String>,
}

/// A message that was rebuilt from the transcript, and the id of its entry.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RebuiltMessage {
    pub(super) entry: String,
    pub(super) message: Value,
}

impl RebuiltMessage {
    pub(super) fn has_role(&self, role: &str) -> bool {
        self.message.get("role").is_some_and(|own| own.str_is(role))
    }
}

/// Returns the number of messages before the first difference, and whether the lists agree, cuts and redactions aside:
/// greater is better.
pub(super) fn agreement(recorded: &RecordedList, list: &[RebuiltMessage]) -> (usize, bool) {
    match_prefix(recorded, list).0
}

/// Measures the agreement, and collects cuts and redactions in the messages before the first difference.
pub(super) fn match_prefix(recorded: &RecordedList, list: &[RebuiltMessage]) -> ((usize, bool), Match) {
    let mut all = Match::default();
    for (at, (own, other)) in recorded.items.iter().zip(list).enumerate() {
        let found = compare(own, &other.message, format!("/{at}"));
        if !found.differences.is_empty() {
            return ((at, false), all);
        }
        all.cuts.extend(found.cuts);
        all.redacted.extend(found.redacted);
    }
    let items = recorded.items.len();
    if recorded.total > items as u64 {
        all.cuts.push(RecordingCut { path: format!("/{items}"), reason: ARRAY_CUT.to_owned() });
    }
    ((items.min(list.len()), recorded.total == list.len() as u64), all)
}

/// Compares the recorded value at `path` with its original.
pub(super) fn compare(recorded: &Value, original: &Value, path: String) -> Match {
    let mut walk = Matcher { path, result: Match::default() };
    walk.match_value(recorded, original);
    walk.result
}

struct Matcher {
    path: String,
    result: Match,
}

impl Matcher {
    fn match_value(&mut self, recorded: &Value, original: &Value) {
        if recorded == original {
            return;
        }
        if let Some(reason) = cut_reason(recorded) {
            return self.match_cut_mark(recorded, original, reason);
        }
        match (recorded, original) {
            (Value::Array(recorded), Value::Array(original)) => self.match_items(recorded, original),
            (Value::Object(recorded), Value::Object(original)) => self.match_members(recorded, original),
            (Value::String(recorded), Value::String(original)) if matches_redacted(recorded, original) => {
                self.record_redaction();
            }
            _ => self.record_difference(),
        }
    }

    fn match_cut_mark(&mut self, mark: &Value, original: &Value, reason: String) {
        let chars = mark.get("originalChars").and_then(Value::as_f64);
        let fits = match reason.as_str() {
            "trajectory-depth-limit" => matches!(original, Value::Array(_) | Value::Object(_)),
            "trajectory-field-size-limit" => {
                original.as_str().is_some_and(|text| chars.is_none_or(|chars| chars == text.len() as f64))
            }
            _ => true,
        };
        if fits { self.record_cut(reason) } else { self.record_difference() }
    }

    fn match_items(&mut self, recorded: &[Value], original: &[Value]) {
        let mark = recorded.last().filter(|item| cut_reason(item).as_deref() == Some(ARRAY_CUT));
        let total = mark.and_then(|mark| mark.get("originalLength")).and_then(Value::as_f64);
        let kept = &recorded[..recorded.len() - usize::from(mark.is_some())];
        if (total.unwrap_or(kept.len() as f64) - original.len() as f64).abs() > 0.0 {
            self.record_difference();
        }
        for (at, (recorded, original)) in kept.iter().zip(original).enumerate() {
            self.descend(&at.to_string(), |walk| walk.match_value(recorded, original));
        }
        if mark.is_some() {
            self.descend(&kept.len().to_string(), |walk| walk.record_cut(ARRAY_CUT.to_owned()));
        }
    }

    fn match_members(&mut self, recorded: &Object, original: &Object) {
        let by_name: HashMap<&JsString, &Value> = original.iter().collect();
        let mark = recorded.get(TRUNCATED_KEY).and_then(cut_reason);
        let is_masked_image = recorded.get("data").is_some_and(|data| data.str_is(REDACTED));
        for (name, value) in recorded.iter() {
            let key = name.to_string_lossy();
            match by_name.get(name) {
                Some(own) if is_masked_pair(recorded, &key, value) => {
                    self.descend(&key, |walk| {
                        if value != *own {
                            walk.record_redaction();
                        }
                    });
                }
                Some(own) => self.descend(&key, |walk| walk.match_value(value, own)),
                None if mark.is_some() && key == TRUNCATED_KEY => {}
                None if is_masked_image && IMAGE_EXTRAS.contains(&key.as_str()) => {}
                None => self.descend(&key, Self::record_difference),
            }
        }
        self.record_missing_members(recorded, original, mark.is_some());
        if let Some(reason) = mark.filter(|_| !original.contains(TRUNCATED_KEY)) {
            self.descend(TRUNCATED_KEY, |walk| walk.record_cut(reason));
        }
    }

    /// Records members that only the original has.
    fn record_missing_members(&mut self, recorded: &Object, original: &Object, is_cut: bool) {
        let by_name: HashMap<&JsString, &Value> = recorded.iter().collect();
        for (name, _) in original.iter().filter(|(name, _)| !by_name.contains_key(name)) {
            let key = name.to_string_lossy();
            if is_secret_name(&key) {
                self.descend(&key, Self::record_redaction);
            } else if !is_cut {
                self.descend(&key, Self::record_difference);
            }
        }
    }

    /// Calls `act` with the path extended by a member or an item.
    fn descend(&mut self, key: &str, act: impl FnOnce(&mut Self)) {
        let above = self.path.len();
        self.path.push('/');
        self.path.push_str(&key.replace('~', "~0").replace('/', "~1"));
        act(self);
        self.path.truncate(above);
    }

    fn record_cut(&mut self, reason: String) {
        self.result.cuts.push(RecordingCut { path: self.path.clone(), reason });
    }

    fn record_redaction(&mut self) {
        self.result.redacted.push(self.path.clone());
    }

    fn record_difference(&mut self) {
        self.result.differences.push(self.path.clone());
    }
}

/// Whether a member is the masked `value` next to the name of a secret (trajectory 7.1).
fn is_masked_pair(object: &Object, key: &str, value: &Value) -> bool {
    let names = ["name", "key"].into_iter().filter_map(|key| object.get(key).and_then(Value::as_str));
    let mut names = names.map(JsString::to_string_lossy);
    key == "value" && value.str_is(REDACTED) && names.any(|name| is_secret_name(&name))
}

// Marks that the recorder's redaction leaves in texts, and names of members that it removes (trajectory 7).

pub(super) const REDACTED: &str = "<redacted>";

/// Members that the recorder adds to an image whose data it masks (trajectory 7.3).
pub(super) const IMAGE_EXTRAS: [&str; 2] = ["bytes", "sha256"];

/// Marks within texts (trajectory 7.2, 7.4); a longer mark precedes its parts, so that it matches first.
const REDACTION_MARKS: [&str; 5] = ["<redacted-jwt>", REDACTED, "…redacted…", "***", "…"];

/// Suffixes of secret names, in letters and digits.
const SECRET_SUFFIXES: [&str; 7] =
    ["apikey", "password", "passwd", "passphrase", "secret", "secretkey", "token"];

/// Secret names that match as a whole.
const SECRET_NAMES: [&str; 2] = ["authorization", "proxyauthorization"];

/// Names with such a suffix that hold a count or a path, and are kept.
const HARMLESS_NAMES: [&str; 6] =
    ["passwordfile", "tokenbudget", "tokencount", "tokenfield", "tokenlimit", "tokens"];

/// Whether the recorder removes members with this name (trajectory 7.1).
pub(super) fn is_secret_name(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let plain = plain.to_ascii_lowercase();
    !HARMLESS_NAMES.contains(&plain.as_str())
        && (SECRET_NAMES.contains(&plain.as_str()) || SECRET_SUFFIXES.iter().any(|end| plain.ends_with(end)))
}

/// Whether this text, redacted, can give the recorded one: it contains all parts between the marks, in order.
pub(super) fn matches_redacted(recorded: &JsString, original: &JsString) -> bool {
    let (recorded, original) = (recorded.to_string_lossy(), original.to_string_lossy());
    let pieces = between_marks(&recorded);
    let [first, middle @ .., last] = pieces.as_slice() else { return false };
    let Some(mut rest) = original.strip_prefix(first) else { return false };
    for piece in middle {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

/// Splits a text at its marks; a text without marks is one part.
fn between_marks(text: &str) -> Vec<&str> {
    let (mut pieces, mut from, mut at) = (Vec::new(), 0, 0);
    while let Some(rest) = text.get(at..) {
        if let Some(mark) = REDACTION_MARKS.iter().find(|mark| rest.starts_with(**mark)) {
            pieces.push(&text[from..at]);
            at += mark.len();
            from = at;
        } else {
            let Some(char) = rest.chars().next() else { break };
            at += char.len_utf8();
        }
    }
    pieces.push(&text[from..]);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js::parse;

    fn compared(recorded: &str, original: &str) -> (Vec<String>, Vec<String>, Vec<String>) {
        let found = compare(&parse(recorded).unwrap(), &parse(original).unwrap(), String::new());
        (found.cuts.into_iter().map(|cut| cut.path).collect(), found.redacted, found.differences)
    }

    fn paths(paths: &[&str]) -> Vec<String> {
        paths.iter().map(|path| (*path).to_owned()).collect()
    }

    #[test]
    fn a_truncation_mark_matches_only_values_it_can_replace() {
        let mark = |rest: &str| format!(r#"{{"a":{{"truncated":true,"reason":"trajectory-{rest}}}}}"#);
        let text = mark(r#"field-size-limit","originalChars":3"#);
        assert_eq!(compared(&text, r#"{"a":"abc"}"#), (paths(&["/a"]), vec![], vec![]));
        assert_eq!(compared(&text, r#"{"a":"abcd"}"#), (vec![], vec![], paths(&["/a"])));
        let depth = mark(r#"depth-limit","limitDepth":6"#);
        assert_eq!(compared(&depth, r#"{"a":[1]}"#), (paths(&["/a"]), vec![], vec![]));
        assert_eq!(compared(&depth, r#"{"a":1}"#), (vec![], vec![], paths(&["/a"])));
        assert_eq!(compared(&depth, &depth), (vec![], vec![], vec![]), "a transcript may quote a mark");
    }

    #[test]
    fn a_cut_list_still_says_how_long_it_was() {
        let list = r#"[1,{"truncated":true,"reason":"trajectory-array-size-limit","originalLength":3}]"#;
        assert_eq!(compared(list, "[1,2,3]"), (paths(&["/1"]), vec![], vec![]));
        assert_eq!(compared(list, "[1,2]"), (paths(&["/1"]), vec![], paths(&[""])));
        let object = r#"{"a":1,"_truncated":{"truncated":true,"reason":"trajectory-object-size-limit"}}"#;
        assert_eq!(compared(object, r#"{"a":1,"b":2}"#), (paths(&["/_truncated"]), vec![], vec![]));
    }

    #[test]
    fn removed_secrets_and_masked_texts_are_redaction_and_other_changes_are_not() {
        assert_eq!(compared(r#"{"a":1}"#, r#"{"a":1,"apiKey":"x"}"#), (vec![], paths(&["/apiKey"]), vec![]));
        assert_eq!(compared(r#"{"a":1}"#, r#"{"a":1,"tokens":5}"#), (vec![], vec![], paths(&["/tokens"])));
        assert_eq!(
            compared(r#"{"x/y":"A=<redacted> go"}"#, r#"{"x/y":"A=1 go"}"#).1,
            paths(&["/x~1y"]),
            "a slash in a key is escaped"
        );
        assert_eq!(compared(r#"["A=<redacted> go"]"#, r#"["A=1 stop"]"#).2, paths(&["/0"]));
        let image = r#"{"type":"image","data":"<redacted>","bytes":3,"sha256":"00"}"#;
        assert_eq!(compared(image, r#"{"type":"image","data":"AAAA"}"#), (vec![], paths(&["/data"]), vec![]));
        let pair = r#"{"name":"X-Api-Key","value":"<redacted>"}"#;
        assert_eq!(compared(pair, r#"{"name":"X-Api-Key","value":5}"#), (vec![], paths(&["/value"]), vec![]));
        assert_eq!(compared(r#"{"b":1}"#, r#"{"a":1}"#), (vec![], vec![], paths(&["/b", "/a"])));
    }
}

#[cfg(test)]
mod redaction_tests {
    use super::*;

    fn matches(recorded: &str, original: &str) -> bool {
        matches_redacted(&recorded.into(), &original.into())
    }

    #[test]
    fn a_mark_replaces_any_text_and_the_rest_must_agree() {
        assert!(matches("DIR=<redacted> du -sh .", "DIR=/srv/orchard/ledger du -sh ."));
        assert!(!matches("DIR=<redacted> du -sh .", "DIR=/srv/orchard/ledger du -sh /"));
        assert!(matches("Bearer <redacted> and <redacted-jwt>!", "Bearer abc and eyJ.x.y!"));
        assert!(matches("key sk-abc…wxyz, pin ***", "key sk-abcdefghijklmnopqrstuvwxyz, pin 1234"));
        assert!(matches("-----BEGIN KEY-----\n…redacted…\n-----END", "-----BEGIN KEY-----\nAAA\n-----END"));
        assert!(!matches("a<redacted>a", "a"), "text before a mark does not match again after it");
        assert!(!matches("plain", "other"), "a text without a mark is compared as it is");
    }

    #[test]
    fn names_of_secrets_are_distinguished_from_names_that_count() {
        for name in ["apiKey", "bot_token", "X-Secret", "Authorization", "userPassword"] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["tokens", "tokenCount", "password_file", "path", "tokenizer"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
