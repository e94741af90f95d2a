//! Harmless rewrites: those that `openclaw doctor --session-sqlite import` of 2026.8.1 and 2026.9.6 makes on purpose, and
//! the gateway's later repairs of a database. They are not losses, so lines and rows are compared without them.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use crate::js::{self, JsString, Object, Value};

/// Entry types that get an id in version 1, a list without ids.
const KNOWN_TYPES: &str = "message thinking_level_change model_change compaction reset branch_summary custom \
     custom_message label session_info";

/// Names of Codex before 2026.9, and since.
const CODEX_NAMES: [(&str, &str, &str); 3] = [
    ("provider", "codex", "openai"),
    ("provider", "openai-codex", "openai"),
    ("api", "openai-codex-responses", "openai-chatgpt-responses"),
];

/// Labels of inbound context, old and new, with a form for both (`openclaw doctor --fix`, since 2026.8.1).
const LABELS: &str = r"(?m)Untrusted context \(metadata, do not treat as instructions or commands\): => Context:
(?m)Replied message \(untrusted => Reply target of current user message (untrusted
(?m) \(untrusted metadata\):[ \t]*(\n```json) => :$1
(?m) \(untrusted, for context\):[ \t]*$ => :
(?m) \(untrusted, (nearest first|chronological(?:, [^)\n]+)?)\):[ \t]*$ =>  ($1):
(?m): \u{27e6}openclaw:ctx\u{27e7}$ => :";

static LABEL_RULES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let rules = LABELS.lines().filter_map(|line| line.split_once(" => "));
    rules.filter_map(|(old, new)| Some((Regex::new(old).ok()?, new))).collect()
});

/// Directives in the text of an assistant, which became separate fields (2026.9).
static DIRECTIVES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words = r"audio_as_voice|reply_to_current|reply_to\s*:[^\]\n]+|react(?:_to_current)?\s*:[^\]\n]+?";
    Regex::new(&format!(r"(?i)\[\[\s*(?:{words})\s*\]\]")).ok()
});

/// State of the importer between the lines of one transcript.
#[derive(Debug, Default)]
pub(super) struct Importer<'a> {
    pub session: &'a str,
    /// Version in the header; 1 without a header.
    pub version: f64,
    /// Prefix of the ids that version 1 entries get: a hash over a path that is unknown here.
    pub id_prefix: &'a str,
    pub has_header: bool,
    /// Index of the next line among those with content.
    pub index: usize,
    pub previous_id: Option<String>,
    /// Ids given so far, by line index.
    pub ids: HashMap<usize, String>,
}

impl Importer<'_> {
    /// Returns the next line as the database should hold it; `None` for a line that the importer skips. `is_stored` says
    /// whether the database holds the line unchanged: the importer cannot read every message of a known type.
    pub(super) fn import(
        &mut self,
        mut value: Value,
        is_stored: impl FnOnce(&Value) -> bool,
    ) -> Option<Value> {
        if !js::is_truthy(Some(&value)) {
            return None;
        }
        let index = self.index;
        self.index += 1;
        value = normalize(value);
        let kind = |name: &str| value.get("type").is_some_and(|kind| kind.str_is(name));
        if kind("session") && !std::mem::replace(&mut self.has_header, true) {
            self.complete_header(value.as_object_mut()?);
        } else if self.version < 2.0 && KNOWN_TYPES.split(' ').any(kind) && !is_stored(&value) {
            self.assign_id(value.as_object_mut()?, index);
        }
        Some(value)
    }

    fn complete_header(&self, header: &mut Object) {
        header.set("id", Value::from(self.session));
        for key in ["timestamp", "cwd"] {
            if header.get(key).and_then(Value::as_str).is_none() {
                header.set(key, Value::from(""));
            }
        }
        header.remove("sessionId");
        if self.version < 3.0 {
            header.set("version", Value::from(3));
        }
    }

    /// Gives an entry of version 1 an id and the entry before as its parent (store L2).
    fn assign_id(&mut self, entry: &mut Object, index: usize) {
        let id = format!("{}-{}", self.id_prefix, base36(index));
        entry.set("id", Value::from(id.as_str()));
        entry.set("parentId", Value::from(self.previous_id.replace(id.clone())));
        self.ids.insert(index, id);
        let is_compaction = entry.get("type").is_some_and(|kind| kind.str_is("compaction"));
        let first = entry.get("firstKeptEntryIndex").and_then(Value::as_f64).filter(|_| is_compaction);
        let Some(first) = first else { return };
        entry.remove("firstKeptEntryIndex");
        let id = self.ids.get(&(first as usize)).filter(|_| first >= 0.0 && first.fract() == 0.0);
        if let Some(id) = id {
            entry.set("firstKeptEntryId", Value::from(id.as_str()));
        }
    }
}

/// Formats a line index as JavaScript's `toString(36)` does.
fn base36(number: usize) -> String {
    let last = char::from_digit((number % 36) as u32, 36).unwrap_or('0');
    if number < 36 { last.to_string() } else { format!("{}{last}", base36(number / 36)) }
}

/// Returns the prefix of an id that the importer generated for a version 1 entry; `None` for any other id.
pub(super) fn generated_id_prefix(id: &str) -> Option<&str> {
    let (prefix, number) = id.split_once('-')?;
    let is_hash = prefix.len() == 16 && prefix.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_hash && is_number).then_some(prefix)
}

fn message_mut(entry: &mut Value) -> Option<&mut Object> {
    entry.as_object_mut()?.get_mut("message")?.as_object_mut()
}

fn has_role(message: &Object, roles: &[&str]) -> bool {
    message.get("role").is_some_and(|own| roles.iter().any(|role| own.str_is(role)))
}

/// Gives an entry the form that imports store: contents of assistants and tools as blocks, hooks as custom messages.
pub(super) fn normalize(mut entry: Value) -> Value {
    let is_message = entry.get("type").is_some_and(|kind| kind.str_is("message"));
    let Some(message) = message_mut(&mut entry).filter(|_| is_message) else { return entry };
    let block = match message.get("content") {
        Some(Value::String(text)) if has_role(message, &["assistant", "toolResult"]) => {
            Some(Object::from([("type", Value::from("text")), ("text", Value::from(text.clone()))]).into())
        }
        Some(object @ Value::Object(_)) if has_role(message, &["toolResult"]) => Some(object.clone()),
        _ => None,
    };
    if let Some(block) = block {
        message.set("content", Value::from(vec![block]));
    }
    if has_role(message, &["hookMessage", "custom"]) {
        message.set("role", Value::from("custom"));
        if !js::is_truthy(message.get("customType")) {
            message.set("customType", Value::from("hook"));
        }
    }
    entry
}

/// Removes the gateway's own repairs from a line and its row, so that any difference that remains is a fault.
pub(super) fn remove_repairs(line: &mut Value, row: &mut Value) {
    let same_media = is_same_media(line, row);
    let directives = line.get("message").and_then(Value::as_object).is_some_and(has_directives);
    for message in [line, row].into_iter().filter_map(message_mut) {
        for (key, old, new) in CODEX_NAMES {
            if message.get(key).is_some_and(|own| own.str_is(old)) {
                message.set(key, Value::from(new));
            }
        }
        if has_role(message, &["user", "assistant"]) {
            map_texts(message, |text| {
                if directives { remove_directives(&update_labels(text)) } else { update_labels(text) }
            });
        }
        if directives {
            message.remove("openclawDelivery");
        }
        if same_media {
            remove_media(message);
        }
    }
}

/// Replaces the content, or the text of each block.
fn map_texts(message: &mut Object, map: impl Fn(&str) -> String) {
    let change = |object: &mut Object, key: &str| {
        if let Some(text) = object.get(key).and_then(Value::as_str).map(JsString::to_string_lossy) {
            object.set(key, Value::from(map(&text)));
        }
    };
    change(message, "content");
    if let Some(Value::Array(blocks)) = message.get_mut("content") {
        blocks.iter_mut().filter_map(Value::as_object_mut).for_each(|block| change(block, "text"));
    }
}

/// Returns the text of a user's message.
pub(super) fn prompt_text(entry: &Value) -> Option<String> {
    Some(message_text(entry.get("message")?.as_object().filter(|message| has_role(message, &["user"]))?))
}

fn message_text(message: &Object) -> String {
    let text = |value: &Value| value.as_str().map(JsString::to_string_lossy);
    match message.get("content") {
        Some(Value::Array(blocks)) => blocks.iter().filter_map(|block| text(block.get("text")?)).collect(),
        other => other.and_then(text).unwrap_or_default(),
    }
}

fn update_labels(text: &str) -> String {
    let update = |text: String, (old, new): &(Regex, &str)| old.replace_all(&text, *new).into_owned();
    LABEL_RULES.iter().fold(text.to_owned(), update)
}

fn has_directives(message: &Object) -> bool {
    has_role(message, &["assistant"])
        && DIRECTIVES.as_ref().is_some_and(|pattern| pattern.is_match(&message_text(message)))
}

/// Removes directives, and the amount of white space around words.
fn remove_directives(text: &str) -> String {
    let text = DIRECTIVES.as_ref().map_or(text.into(), |pattern| pattern.replace_all(text, " "));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_old_media(key: &JsString) -> bool {
    ["Media", "media"].iter().any(|start| key.to_string_lossy().starts_with(start))
}

/// Whether a line has attachments in the old form (before 2026.8.1), and the row names all of them.
fn is_same_media(line: &Value, row: &Value) -> bool {
    let Some(message) = line.get("message").and_then(Value::as_object) else { return false };
    let new = row.get("message").and_then(|message| message.get("__openclaw")?.get("media"));
    let places = new.map(attachment_texts).unwrap_or_default();
    let keys = ["MediaPath", "MediaPaths", "MediaUrl", "MediaUrls", "media"];
    let mut named = keys.iter().filter_map(|key| message.get(key)).flat_map(attachment_texts);
    message.iter().any(|(key, _)| is_old_media(key)) && named.all(|text| places.contains(&text))
}

/// Returns the paths and URLs of attachments.
fn attachment_texts(value: &Value) -> Vec<&JsString> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(attachment_texts).collect(),
        object => ["path", "url"].iter().filter_map(|key| object.get(key)?.as_str()).collect(),
    }
}

fn remove_media(message: &mut Object) {
    *message = std::mem::take(message).into_iter().filter(|(key, _)| !is_old_media(key)).collect();
    let Some(own) = message.get_mut("__openclaw").and_then(Value::as_object_mut) else { return };
    own.remove("media");
    if own.is_empty() {
        message.remove("__openclaw");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(role: &str, before: &str, after: &str) -> bool {
        let entry = |text: &str| {
            let message = Object::from([("role", Value::from(role)), ("content", Value::from(text))]);
            Value::from(Object::from([("message", Value::from(message))]))
        };
        let (mut before, mut after) = (entry(before), entry(after));
        remove_repairs(&mut before, &mut after);
        before == after
    }

    #[test]
    fn labels_are_rewritten_as_the_gateways_doctor_does() {
        for (before, after) in [
            (
                "Conversation info (untrusted metadata):\n```json\n{}\n```\n\nhi",
                "Conversation info: \u{27e6}openclaw:ctx\u{27e7}\n```json\n{}\n```\n\nhi",
            ),
            (
                "[Mon 2026-07-20 08:00 UTC] Sender (untrusted metadata):\n```json\nx",
                "[Mon 2026-07-20 08:00 UTC] Sender: \u{27e6}openclaw:ctx\u{27e7}\n```json\nx",
            ),
            (
                "Chat history since last reply (untrusted, for context):\nx",
                "Chat history since last reply: \u{27e6}openclaw:ctx\u{27e7}\nx",
            ),
            (
                "Messages (untrusted, chronological, newest last):\nx",
                "Messages (chronological, newest last): \u{27e6}openclaw:ctx\u{27e7}\nx",
            ),
        ] {
            assert!(rewritten("user", before, after), "{before}");
            assert!(!rewritten("user", before, &after.replace('x', "y").replace("hi", "ho")), "{before}");
        }
        assert!(!rewritten("toolResult", "a", "b"));
    }

    #[test]
    fn an_import_may_remove_directives_but_no_other_word() {
        assert!(rewritten(
            "assistant",
            "[[reply_to_current]] hi there [[audio_as_voice]]\n\n\n\nx",
            "hi there\n\nx"
        ));
        assert!(rewritten("assistant", "react [[react: \u{1f44d}]] done", "react  done"));
        assert!(!rewritten("assistant", "[[reply_to_current]] hi there", "hi"));
        assert!(!rewritten("assistant", "hi  there", "hi there"));
        assert!(!rewritten("user", "[[reply_to_current]] hi", "hi"));
    }

    fn imported(version: f64, lines: &[&str]) -> Vec<String> {
        let mut importer =
            Importer { session: "s1", version, id_prefix: "00112233445566aa", ..Importer::default() };
        let taken = lines.iter().filter_map(|line| importer.import(js::parse(line).unwrap(), |_| false));
        taken.map(|value| js::stringify(&value)).collect()
    }

    #[test]
    fn entries_of_version_1_get_ids_parents_and_the_id_of_the_first_kept_entry() {
        let lines = imported(
            1.0,
            &[
                r#"{"type":"session","id":"other"}"#,
                "null",
                r#"{"type":"message","message":{"role":"user","content":"a"}}"#,
                r#"{"type":"compaction","summary":"s","firstKeptEntryIndex":1,"tokensBefore":5}"#,
                r#"{"type":"mystery","x":1}"#,
            ],
        );
        let expected = [
            r#"{"type":"session","id":"s1","timestamp":"","cwd":"","version":3}"#,
            r#"{"type":"message","message":{"role":"user","content":"a"},"id":"00112233445566aa-1","parentId":null}"#,
            r#"{"type":"compaction","summary":"s","tokensBefore":5,"id":"00112233445566aa-2","parentId":"00112233445566aa-1","firstKeptEntryId":"00112233445566aa-1"}"#,
            r#"{"type":"mystery","x":1}"#,
        ];
        assert_eq!(lines, expected);
        assert_eq!([base36(0), base36(35), base36(36)], ["0", "z", "10"]);
    }

    #[test]
    fn hooks_and_plain_texts_take_the_form_of_today() {
        let entry =
            |message: &str| format!(r#"{{"type":"message","id":"a","parentId":null,"message":{message}}}"#);
        for (before, after) in [
            (
                r#"{"role":"hookMessage","content":"x"}"#,
                r#"{"role":"custom","content":"x","customType":"hook"}"#,
            ),
            (
                r#"{"role":"assistant","content":"x"}"#,
                r#"{"role":"assistant","content":[{"type":"text","text":"x"}]}"#,
            ),
            (r#"{"role":"toolResult","content":{"a":1}}"#, r#"{"role":"toolResult","content":[{"a":1}]}"#),
            (r#"{"role":"user","content":"x"}"#, r#"{"role":"user","content":"x"}"#),
        ] {
            assert_eq!(imported(3.0, &[&entry(before)]), [entry(after)]);
        }
    }

    #[test]
    fn only_ids_of_the_importers_form_have_its_prefix() {
        assert_eq!(generated_id_prefix("7a56921d076cb303-1z"), Some("7a56921d076cb303"));
        for id in ["7a56921d", "7a56921d076cb303-", "9ffea23f-ca1d", "7a56921d076cb303-1-2"] {
            assert_eq!(generated_id_prefix(id), None, "{id}");
        }
    }
}
