//! A finished demo session: its transcript and its rows in `sessions.json`.
use super::transcript_writer::TranscriptWriter;
use serde_json::{Map, Value, json};

/// A transcript, if one exists yet, with the rows that name it.
#[derive(Debug)]
pub(super) struct DemoSession {
    pub(super) agent: &'static str,
    /// File name in the sessions folder; `None` when nothing was flushed yet (store E7).
    pub(super) file: Option<String>,
    pub(super) bytes: Vec<u8>,
    pub(super) rows: Vec<(String, Value)>,
}

impl DemoSession {
    /// Builds the session of `scribe` under `key`; `chat` holds the row fields of its chat.
    pub(super) fn new(agent: &'static str, key: &str, scribe: &TranscriptWriter, chat: &Value) -> Self {
        let row = row(scribe, key, chat);
        let file = Some(format!("{}.jsonl", scribe.id));
        Self { agent, file, bytes: scribe.bytes(), rows: vec![(key.to_owned(), row)] }
    }

    /// Builds a transcript without a row, under this file name.
    pub(super) fn unlisted(agent: &'static str, file: String, scribe: &TranscriptWriter) -> Self {
        Self { agent, file: Some(file), bytes: scribe.bytes(), rows: Vec::new() }
    }
}

/// Builds a row as the gateway leaves it after a run (store C5): counters of the last run, the last prompt as the
/// total.
fn row(scribe: &TranscriptWriter, key: &str, chat: &Value) -> Value {
    let mut row = Map::new();
    row.insert("sessionId".to_owned(), json!(scribe.id));
    row.insert("updatedAt".to_owned(), json!(scribe.updated_ms));
    row.insert("systemSent".to_owned(), json!(true));
    row.insert("abortedLastRun".to_owned(), json!(false));
    row.extend(chat.as_object().cloned().unwrap_or_default());
    let counters = json!({
        "sessionFile": format!("{}.jsonl", scribe.id),
        "compactionCount": scribe.compactions,
        "modelProvider": scribe.model.provider, "model": scribe.model.id, "contextTokens": scribe.model.window,
        "inputTokens": scribe.run_usage.input, "outputTokens": scribe.run_usage.output,
        "cacheRead": scribe.last_usage.cache_read, "cacheWrite": scribe.last_usage.cache_write,
        "totalTokens": scribe.last_usage.prompt(), "totalTokensFresh": true,
        "systemPromptReport": scribe.prompt.report(scribe, key),
    });
    row.extend(counters.as_object().cloned().unwrap_or_default());
    Value::Object(row)
}

/// Returns the row fields of a chat with one person.
pub(super) fn direct_chat_fields(channel: &str, peer: &str, name: &str) -> Value {
    let to = format!("{channel}:{peer}");
    json!({"chatType": "direct",
        "deliveryContext": {"channel": channel, "to": to, "accountId": "default"},
        "lastChannel": channel, "lastTo": to, "lastAccountId": "default",
        "origin": {"label": format!("{name} id:{peer}"), "provider": channel, "surface": channel,
            "chatType": "direct", "from": to, "to": to, "accountId": "default"}})
}

/// Returns the row fields of a group or a channel; `kind` is `group` or `channel`.
pub(super) fn shared_chat_fields(channel: &str, kind: &str, id: &str, title: &str) -> Value {
    let to = format!("{kind}:{id}");
    json!({"chatType": kind, "channel": channel, "groupId": id, "subject": title,
        "groupChannel": title, "displayName": format!("{channel}:{title}"),
        "deliveryContext": {"channel": channel, "to": to, "accountId": "default"},
        "lastChannel": channel, "lastTo": to, "lastAccountId": "default",
        "origin": {"label": title, "provider": channel, "surface": channel, "chatType": kind,
            "from": format!("{channel}:{to}"), "to": to, "accountId": "default"}})
}

/// Builds a message of a shared chat as the model receives it: chat and sender, then the text.
pub(super) fn shared_chat_message(
    scribe: &mut TranscriptWriter,
    title: &str,
    sender: &str,
    text: &str,
) -> String {
    let number = scribe.rng.range(1_000_000, 9_999_999);
    let info = json!({"message_id": number.to_string(), "conversation_label": title, "sender": sender,
        "group_subject": title, "is_group_chat": true, "was_mentioned": true});
    let who = json!({"label": sender, "name": sender});
    let pretty = super::json::pretty;
    format!(
        "Conversation info (untrusted metadata):\n```json\n{}\n```\n\nSender (untrusted metadata):\n```json\n{}\n```\n\n{text}",
        pretty(&info),
        pretty(&who)
    )
}
