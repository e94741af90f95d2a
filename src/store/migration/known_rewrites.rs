//! Recognises changes that the gateway itself makes to transcripts during or after an import: labels of inbound context
//! (`openclaw doctor --fix`, since 2026.8.1), directives in replies and old names of Codex (2026.9), attachments (since
//! 2026.8.1). They are not losses.

use std::sync::LazyLock;

use regex::Regex;

use crate::js::{JsString, Value};

/// Suffix of the labels since they no longer contain "untrusted".
const LABEL_MARKER: &str = "\u{27e6}openclaw:ctx\u{27e7}";
/// Message members that contained attachments before `__openclaw.media` did.
const MEDIA_KEYS: [&str; 5] = ["MediaPath", "MediaPaths", "MediaUrl", "MediaUrls", "media"];

/// Label patterns with their replacements, in the gateway's order.
static LABELS: LazyLock<Vec<(Regex, String)>> = LazyLock::new(|| {
    let json = r"[ \t]*\n```json";
    let rules = [
        (format!(r"(?m)^(Conversation info|Sender|Forwarded message context|Location|Structured object) \(untrusted metadata\):{json}"), format!("$1: {LABEL_MARKER}\n```json")),
        (r"(?m)^Untrusted context \(metadata, do not treat as instructions or commands\):([ \t]*\r?\n<active_memory_plugin>[ \t]*)$".to_owned(), "Context:$1".to_owned()),
        (r"(?m)^Untrusted context \(metadata, do not treat as instructions or commands\):$".to_owned(), format!("Context: {LABEL_MARKER}")),
        (r"(?m)^Chat history since last reply \(untrusted, for context\):$".to_owned(), format!("Chat history since last reply: {LABEL_MARKER}")),
        (format!(r"(?m)^Thread starter \(untrusted, for context\):{json}"), format!("Thread starter: {LABEL_MARKER}\n```json")),
        (format!(r"(?m)^Reply target of current user message \(untrusted, for context\):{json}"), format!("Reply target of current user message: {LABEL_MARKER}\n```json")),
        (format!(r"(?m)^Reply chain of current user message \(untrusted, nearest first\):{json}"), format!("Reply chain of current user message (nearest first): {LABEL_MARKER}\n```json")),
        (format!(r"(?m)^Replied message \(untrusted, for context\):{json}"), format!("Reply target of current user message: {LABEL_MARKER}\n```json")),
        (r"(?m)^(.+) \(untrusted, chronological(, [^)\n]+)?\):$".to_owned(), format!("$1 (chronological$2): {LABEL_MARKER}")),
    ];
    rules.into_iter().filter_map(|(pattern, text)| Some((Regex::new(&pattern).ok()?, text))).collect()
});

/// Timestamp before the labels, which the gateway skips.
static TIMESTAMP: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\[[A-Za-z]{3} \d{4}-\d{2}-\d{2} \d{2}:\d{2}[^\]]*\] *").ok());

/// Directives in the text of an assistant, which became separate fields.
static DIRECTIVES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words = r"audio_as_voice|reply_to_current|reply_to\s*:[^\]\n]+|react(?:_to_current)?\s*:[^\]\n]+?";
    Regex::new(&format!(r"(?i)\[\[\s*(?:{words})\s*\]\]")).ok()
});

/// Whether a known repair turned `line` into `row` at this path of an entry.
pub(super) fn is_rewrite(path: &str, line: Option<&Value>, row: Option<&Value>, entry: &Value) -> bool {
    let Some(place) = path.strip_prefix("message.") else { return false };
    let role =
        |role: &str| entry.get("message").and_then(|it| it.get("role")).is_some_and(|own| own.str_is(role));
    let is_text = place == "content" || place.starts_with("content[") && place.ends_with("].text");
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(JsString::to_string_lossy);
    let (before, after) = (text(line), text(row));
    match (before, after) {
        (Some(before), Some(after)) if is_text && (role("user") || role("assistant")) => {
            let labelled = update_labels(&before);
            labelled == after || role("assistant") && equals_without_directives(&labelled, &after)
        }
        (Some(before), Some(after)) if place == "provider" => {
            ["codex", "openai-codex"].contains(&before.trim().to_lowercase().as_str()) && after == "openai"
        }
        (Some(before), Some(after)) if place == "api" => {
            before == "openai-codex-responses" && after == "openai-chatgpt-responses"
        }
        (None, None) if place == "openclawDelivery" => {
            line.is_none() && role("assistant") && has_directives(entry)
        }
        _ => false,
    }
}

/// Whether a line has attachments in the old form, and the row names all of them.
pub(super) fn is_same_media(line: &Value, row: &Value) -> bool {
    let Some(message) = line.get("message").and_then(Value::as_object) else { return false };
    let is_old = |key: &JsString| key.eq_str("media") || key.to_string_lossy().starts_with("Media");
    let media = row.get("message").and_then(|it| it.get("__openclaw")).and_then(|it| it.get("media"));
    let media = media.and_then(Value::as_array).unwrap_or_default();
    let places: Vec<&JsString> = media
        .iter()
        .flat_map(|it| ["path", "url"].map(|key| it.get(key).and_then(Value::as_str)))
        .flatten()
        .collect();
    let mut named = MEDIA_KEYS.iter().filter_map(|key| message.get(key)).flat_map(attachment_texts);
    message.iter().any(|(key, _)| is_old(key)) && named.all(|text| places.contains(&text))
}

/// Whether a member of an entry describes attachments, in the old form or in the new one.
pub(super) fn is_media_path(path: &str) -> bool {
    let of_message = path.strip_prefix("message.").unwrap_or_default();
    of_message == "__openclaw"
        || ["Media", "media", "__openclaw.media"].iter().any(|it| of_message.starts_with(it))
}

/// Returns the paths and URLs of attachments in a message member.
fn attachment_texts(value: &Value) -> Vec<&JsString> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(attachment_texts).collect(),
        object => ["path", "url"].iter().filter_map(|key| object.get(key)?.as_str()).collect(),
    }
}

/// Converts the labels of a text to the current form.
fn update_labels(text: &str) -> String {
    if !text.contains("ntrusted") {
        return text.to_owned();
    }
    let stamp = TIMESTAMP.as_ref().and_then(|stamp| stamp.find(text)).map_or(0, |found| found.end());
    let (stamp, mut rest) = (&text[..stamp], text[stamp..].to_owned());
    for (pattern, replacement) in LABELS.iter() {
        rest = pattern.replace_all(&rest, replacement.as_str()).into_owned();
    }
    format!("{stamp}{rest}")
}

/// Whether two texts are equal without directives and white space.
fn equals_without_directives(before: &str, after: &str) -> bool {
    let Some(pattern) = DIRECTIVES.as_ref().filter(|pattern| pattern.is_match(before)) else { return false };
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    words(&pattern.replace_all(before, " ")) == words(&pattern.replace_all(after, " "))
}

fn has_directives(entry: &Value) -> bool {
    let content = entry.get("message").and_then(|it| it.get("content")).and_then(Value::as_array);
    let text = |block: &Value| Some(block.get("text")?.as_str()?.to_string_lossy());
    let found = |text: String| DIRECTIVES.as_ref().is_some_and(|pattern| pattern.is_match(&text));
    content.is_some_and(|blocks| blocks.iter().filter_map(text).any(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(role: &str, before: &str, after: &str) -> bool {
        let entry = Value::from(crate::js::Object::from([(
            "message",
            Value::from(crate::js::Object::from([("role", Value::from(role))])),
        )]));
        let (before, after) = (Value::from(before), Value::from(after));
        is_rewrite("message.content[0].text", Some(&before), Some(&after), &entry)
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
}
