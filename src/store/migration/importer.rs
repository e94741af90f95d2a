//! Converts a line of a transcript to the form in which the gateway's importer stores it: `openclaw doctor
//! --session-sqlite import` of 2026.8.1 and 2026.9.6. It repeats every intended change, so that anything that still
//! differs is a fault.

use std::collections::HashMap;

use crate::js::{self, Object, Value};

/// Entry types that the importer knows; it stores every other line unchanged.
const KNOWN_TYPES: [&str; 10] = [
    "message",
    "thinking_level_change",
    "model_change",
    "compaction",
    "reset",
    "branch_summary",
    "custom",
    "custom_message",
    "label",
    "session_info",
];
/// State of the importer between the lines of one transcript.
#[derive(Debug)]
pub(super) struct Importer {
    session: String,
    /// Version in the header; 1 without a header.
    version: f64,
    has_header: bool,
    /// Index of the next line among those with content.
    index: usize,
    /// Prefix of the ids that version 1 entries get: a hash over a path that is unknown here.
    id_prefix: String,
    /// Id of the previous entry, in version 1.
    previous_id: Option<String>,
    /// Ids assigned so far by line index, in version 1.
    ids_by_line: HashMap<usize, String>,
}

impl Importer {
    /// Starts a transcript of this version; `prefix` begins the ids that version 1 lacks.
    pub(super) fn new(session: &str, version: f64, prefix: &str) -> Self {
        Self {
            session: session.to_owned(),
            version,
            has_header: false,
            index: 0,
            id_prefix: prefix.to_owned(),
            previous_id: None,
            ids_by_line: HashMap::new(),
        }
    }

    /// Returns the next line as the database should hold it; `None` for a line that the importer skips.
    pub(super) fn import_line(&mut self, mut value: Value) -> Option<Value> {
        if !js::is_truthy(Some(&value)) {
            return None;
        }
        let index = self.index;
        self.index += 1;
        normalize_message(&mut value);
        let is_header = value.get("type").is_some_and(|kind| kind.str_is("session"));
        if is_header && !self.has_header {
            self.has_header = true;
            self.import_header(&mut value);
        } else if is_known_entry(&value, self.version) {
            self.import_entry(&mut value, index);
        }
        Some(value)
    }

    /// Completes the header: the session id of the row, all fields, and version 3 or later.
    fn import_header(&self, header: &mut Value) {
        let version = self.version;
        let Some(header) = header.as_object_mut() else { return };
        header.set("id", Value::from(self.session.as_str()));
        for key in ["timestamp", "cwd"] {
            if header.get(key).and_then(Value::as_str).is_none() {
                header.set(key, Value::from(""));
            }
        }
        header.remove("sessionId");
        if version < 3.0 {
            header.set("version", Value::from(3));
        }
    }

    fn import_entry(&mut self, entry: &mut Value, index: usize) {
        let Some(entry) = entry.as_object_mut() else { return };
        if self.version < 2.0 {
            self.assign_id(entry, index);
        }
        rename_hook(entry, self.version < 3.0);
    }

    /// Assigns ids in version 1, a list without ids: each entry follows the one before (store L2).
    fn assign_id(&mut self, entry: &mut Object, index: usize) {
        let id = format!("{}-{}", self.id_prefix, base36(index));
        let parent = self.previous_id.replace(id.clone());
        entry.set("id", Value::from(id.as_str()));
        entry.set("parentId", Value::from(parent));
        self.ids_by_line.insert(index, id);
        let first_kept = entry.get("firstKeptEntryIndex").and_then(Value::as_f64);
        if let Some(first) =
            first_kept.filter(|_| entry.get("type").is_some_and(|it| it.str_is("compaction")))
        {
            entry.remove("firstKeptEntryIndex");
            if let Some(id) =
                self.ids_by_line.get(&(first as usize)).filter(|_| first >= 0.0 && first.fract() == 0.0)
            {
                entry.set("firstKeptEntryId", Value::from(id.as_str()));
            }
        }
    }
}

/// Wraps content of assistants and tools that is not a list of blocks in one.
fn normalize_message(entry: &mut Value) {
    if !entry.get("type").is_some_and(|kind| kind.str_is("message")) {
        return;
    }
    let message = entry.as_object_mut().and_then(|entry| entry.get_mut("message"));
    let Some(message) = message.and_then(Value::as_object_mut) else { return };
    let is = |role: &str| message.get("role").is_some_and(|own| own.str_is(role));
    let is_result = is("toolResult");
    if !is_result && !is("assistant") {
        return;
    }
    let blocks = match message.get("content") {
        Some(Value::String(text)) => {
            Object::from([("type", Value::from("text")), ("text", Value::from(text.clone()))]).into()
        }
        Some(object @ Value::Object(_)) if is_result => object.clone(),
        _ => return,
    };
    message.set("content", Value::from(vec![blocks]));
}

/// Renames hook messages to custom messages, as since version 3; a custom message without a type becomes a hook's.
fn rename_hook(entry: &mut Object, is_old: bool) {
    let Some(message) = entry.get_mut("message").and_then(Value::as_object_mut) else { return };
    let role = |role: &str| message.get("role").is_some_and(|own| own.str_is(role));
    let is_hook = is_old && role("hookMessage");
    let is_unnamed = role("custom") && !message.contains("customType");
    if is_hook {
        message.set("role", Value::from("custom"));
    }
    if is_unnamed || is_hook && !js::is_truthy(message.get("customType")) {
        message.set("customType", Value::from("hook"));
    }
}

/// Whether the importer reads a line as an entry; it stores any other line unchanged. Since version 3 an entry needs
/// its ids.
fn is_known_entry(entry: &Value, version: f64) -> bool {
    let is_type = entry.get("type").is_some_and(|kind| KNOWN_TYPES.iter().any(|name| kind.str_is(name)));
    let is_message = entry.get("type").is_some_and(|kind| kind.str_is("message"));
    let message = entry.get("message").filter(|_| is_message);
    let is_readable = !is_message || message.is_some_and(|message| is_readable(message, version < 3.0));
    is_type && is_readable && (version < 3.0 || has_ids(entry))
}

fn has_ids(entry: &Value) -> bool {
    let is_text = |value: &Value| value.as_str().is_some();
    entry.get("id").and_then(Value::as_str).is_some_and(|id| !id.is_empty())
        && entry.get("parentId").is_none_or(|parent| parent.is_null() || is_text(parent))
        && entry.get("timestamp").is_none_or(is_text)
}

/// Whether a message has the fields that its role requires; `is_old` allows the old role of hooks.
fn is_readable(message: &Value, is_old: bool) -> bool {
    let role = |name: &str| message.get("role").is_some_and(|own| own.str_is(name));
    let has_text = |key: &str| message.get(key).and_then(Value::as_str).is_some();
    let is_block = |block: &Value| block.get("type").and_then(Value::as_str).is_some();
    let has_content = || match message.get("content") {
        Some(Value::String(_)) => true,
        Some(Value::Array(blocks)) => blocks.iter().all(is_block),
        _ => false,
    };
    match () {
        () if role("user") || role("assistant") => has_content(),
        // A missing type counts as a hook's.
        () if role("custom") => {
            has_content() && message.get("customType").is_none_or(|kind| kind.as_str().is_some())
        }
        () if role("hookMessage") => is_old && has_content(),
        () if role("bashExecution") => has_text("command") && has_text("output"),
        () if role("toolResult") => {
            has_text("toolCallId")
                && has_text("toolName")
                && message.get("isError").and_then(Value::as_bool).is_some()
                && message.get("content").and_then(Value::as_array).is_some()
        }
        () => false,
    }
}

/// Formats a line index as JavaScript's `toString(36)` does.
fn base36(mut number: usize) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit((number % 36) as u32, 36).unwrap_or('0'));
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

/// Returns the prefix of an id that the importer generated for a version 1 entry; `None` for any other id.
pub(super) fn generated_id_prefix(id: &str) -> Option<&str> {
    let (prefix, number) = id.split_once('-')?;
    let is_hash = prefix.len() == 16 && prefix.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_hash && is_number).then_some(prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imported(version: f64, lines: &[&str]) -> Vec<String> {
        let mut importer = Importer::new("s1", version, "00112233445566aa");
        let taken = lines.iter().filter_map(|line| importer.import_line(js::parse(line).unwrap()));
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
        for (version, before, after) in [
            (
                2.0,
                r#"{"role":"hookMessage","content":"x"}"#,
                r#"{"role":"custom","content":"x","customType":"hook"}"#,
            ),
            (3.0, r#"{"role":"hookMessage","content":"x"}"#, r#"{"role":"hookMessage","content":"x"}"#),
            (
                3.0,
                r#"{"role":"assistant","content":"x"}"#,
                r#"{"role":"assistant","content":[{"type":"text","text":"x"}]}"#,
            ),
            (
                3.0,
                r#"{"role":"toolResult","content":{"a":1}}"#,
                r#"{"role":"toolResult","content":[{"a":1}]}"#,
            ),
            (3.0, r#"{"role":"user","content":"x"}"#, r#"{"role":"user","content":"x"}"#),
        ] {
            assert_eq!(imported(version, &[&entry(before)]), [entry(after)]);
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
