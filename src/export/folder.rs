//! Exports a session's shape as a folder that opens like its store: the transcript, its row, and the settings that
//! affect it. For bug reports: numbers stay, words are masked.

use std::path::PathBuf;

use crate::export::document::ExportRequest;
use crate::export::pi::{PiError, export_transcript};
use crate::export::runtime_words::{is_member_name, map_members, name, name_text, runtime_value};
use crate::export::shape::{self, kept};
use crate::js::{self, JsString, Object, Value};
use crate::session::LoadedSession;
use crate::store::prompt_report::{ReportSource, SystemPromptReport};
use crate::store::session_records::SessionRecord;

/// A folder in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportFolder {
    /// Relative path and text of each file.
    pub files: Vec<(PathBuf, String)>,
}

/// Builds the folder of a session and its row.
///
/// # Errors
/// Fails where [`export_transcript`] does.
pub fn shape_folder(
    wanted: &ExportRequest<'_>,
    row: Option<&SessionRecord>,
) -> Result<ExportFolder, PiError> {
    let session = wanted.session;
    let text = export_transcript(&ExportRequest { shape_only: true, plan: None, ..*wanted })?.0;
    let files = if session.ruleset.id.is_pi() {
        vec![(pi_file_name(session), text), ("settings.json".into(), json_line(&shape_pi_settings(session)))]
    } else {
        let agent = agent_of(session);
        let sessions = PathBuf::from("agents").join(&agent).join("sessions");
        let id = &session.item.id;
        let mut row = shaped_row(row, id);
        // The transcript has its own.
        let report = session.prompt_report.as_ref();
        if let Some(report) = report.filter(|report| report.source != ReportSource::Transcript) {
            row.set("systemPromptReport", shaped_report(report));
        }
        let rows = Object::from([(session_key(session, &agent), Value::Object(row))]);
        vec![
            (sessions.join(format!("{}.jsonl", safe_file_name(id))), text),
            (sessions.join("sessions.json"), json_line(&Value::Object(rows))),
            ("openclaw.json".into(), json_line(&shape_config(session))),
        ]
    };
    Ok(ExportFolder { files })
}

fn json_line(value: &Value) -> String {
    format!("{}\n", js::stringify(value))
}

/// Returns the name of pi's own file, which holds a time and the session's id.
fn pi_file_name(session: &LoadedSession) -> PathBuf {
    let name = session.source.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    let own =
        name.split_once('_').filter(|(time, id)| time.len() == 24 && id.strip_suffix(".jsonl").is_some());
    let id = safe_file_name(&session.item.id);
    let name = own.map_or_else(
        || format!("2026-01-01T00-00-00-000Z_{id}.jsonl"),
        |(time, _)| format!("{time}_{id}.jsonl"),
    );
    PathBuf::from("sessions").join("--x--").join(name)
}

/// Returns a session id as a name that cannot leave the folder.
fn safe_file_name(id: &str) -> String {
    name_text(id).chars().filter(|char| char.is_ascii_alphanumeric() || "-_".contains(*char)).collect()
}

fn agent_of(session: &LoadedSession) -> String {
    let agent = &session.item.agent;
    if agent == "main" { agent.clone() } else { shape::plain_text(agent).to_lowercase() }
}

/// Returns the key with its kind, but without its owner.
fn session_key(session: &LoadedSession, agent: &str) -> String {
    let key = &session.item.key.0;
    let own = format!("agent:{}:", session.item.agent);
    let rest = key.strip_prefix(&own).unwrap_or(key).split(" (").next().unwrap_or_default();
    let part =
        |part: &str| if kept("key").contains(&part) { part.to_owned() } else { shape::plain_text(part) };
    let parts: Vec<String> = rest.split(':').map(part).collect();
    format!("agent:{agent}:{}", parts.join(":"))
}

fn shaped_row(row: Option<&SessionRecord>, id: &str) -> Object {
    let raw = row.map_or_else(|| Value::Object(Object::default()), SessionRecord::raw);
    let mut shaped = match shape_member("", &raw) {
        Value::Object(object) => object,
        _ => Object::default(),
    };
    shaped.set("sessionId", Value::from(safe_file_name(id)));
    if let Some(at) = row.and_then(|row| row.updated_at) {
        shaped.set("updatedAt", Value::Number(at.get()));
    }
    shaped
}

/// Returns the sizes of the system prompt, so that its tokens are the same.
fn shaped_report(report: &SystemPromptReport) -> Value {
    let mut shaped = match shape_member("", &report.raw) {
        Value::Object(object) => object,
        _ => Object::default(),
    };
    shaped.set("source", Value::from(report.source.as_str()));
    shape_tool_names(&report.raw, &mut shaped);
    Value::Object(shaped)
}

/// Gives the tools of a report the names that they have in the transcript of the shape.
fn shape_tool_names(raw: &Value, shaped: &mut Object) {
    let own = raw.get("tools").and_then(|tools| tools.get("entries")).and_then(Value::as_array);
    let Some(Value::Object(tools)) = shaped.get_mut("tools") else { return };
    let (Some(own), Some(Value::Array(shaped))) = (own, tools.get_mut("entries")) else { return };
    for (own, shaped) in own.iter().zip(shaped) {
        if let (Some(Value::String(text)), Value::Object(shaped)) = (own.get("name"), shaped) {
            shaped.set("name", Value::String(name(text)));
        }
    }
}

/// Masks a value of a row or a setting: sizes, times and switches stay.
fn shape_member(key: &str, value: &Value) -> Value {
    match value {
        Value::String(text) if is_duration(text) => value.clone(),
        Value::String(text) if kept("row").contains(&key) => Value::String(name(text)),
        Value::Number(_) if kept("owner").iter().any(|end| key.to_ascii_lowercase().ends_with(end)) => {
            shape::user_value(value)
        }
        Value::String(text) => Value::from(shape::plain_text(&text.to_string_lossy())),
        Value::Array(items) => Value::Array(items.iter().map(|item| shape_member(key, item)).collect()),
        Value::Object(object) => map_members(object, row_member_name, |key, member| {
            (!kept("omitted").contains(&key)).then(|| shape_member(key, member))
        }),
        plain => plain.clone(),
    }
}

/// Returns the name of a member; any name that the gateway does not write may be a person's.
fn row_member_name(key: &JsString) -> JsString {
    if is_member_name(&key.to_string_lossy()) { key.clone() } else { name(key) }
}

/// Whether a text is a duration such as `30d` or `1h30m`.
fn is_duration(text: &JsString) -> bool {
    let text = text.to_string_lossy();
    text.len() <= 8
        && text.starts_with(|char: char| char.is_ascii_digit())
        && text.chars().all(|char| char.is_ascii_digit() || "smhd.".contains(char))
}

/// Returns the settings that affect the session, and the version of its ruleset.
fn shape_config(session: &LoadedSession) -> Value {
    let mut out = Object::default();
    for path in kept("setting") {
        copy_path(&session.config.js_root, path, &mut out);
    }
    out.set(
        "meta",
        Value::Object(Object::from([("lastTouchedVersion", Value::from(session.ruleset.id.id()))])),
    );
    Value::Object(out)
}

/// Copies the values at a path with dots; `*` is any name.
fn copy_path(from: &Value, path: &str, to: &mut Object) {
    let (key, rest) = path.split_once('.').unwrap_or((path, ""));
    for (name, value) in from.as_object().into_iter().flat_map(Object::iter) {
        let name = name.to_string_lossy();
        if key != "*" && key != name {
            continue;
        }
        let shown = name_text(&name);
        if rest.is_empty() {
            to.set(&shown, shape_setting(&name, value));
        } else {
            let mut inner = to.get(&shown).and_then(Value::as_object).cloned().unwrap_or_default();
            copy_path(value, rest, &mut inner);
            if !inner.is_empty() {
                to.set(&shown, Value::Object(inner));
            }
        }
    }
}

/// Masks a setting. `model` stays where it names a known one, because it determines the window.
fn shape_setting(name: &str, value: &Value) -> Value {
    if name == "model" { runtime_value(value) } else { shape_member(name, value) }
}

/// Returns pi's effective settings for this session.
fn shape_pi_settings(session: &LoadedSession) -> Value {
    let compaction = session.configured_settings.compaction;
    Value::Object(Object::from([(
        "compaction",
        Value::Object(Object::from([
            ("enabled", Value::Bool(compaction.enabled)),
            ("reserveTokens", Value::Number(compaction.reserve_tokens.get())),
            ("keepRecentTokens", Value::Number(compaction.keep_recent_tokens.get())),
        ])),
    )]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js::parse;

    #[test]
    fn a_shape_keeps_numbers_and_removes_identities() {
        let row = parse(
            r#"{"sessionId":"a-1","displayName":"Ingrid","totalTokens":4321,"chatType":"direct","sessionFile":"/home/ingrid/x.jsonl",
            "origin":{"to":"+4722","kind":"direct"},"participants":{"u:ingrid":1},"systemPromptReport":{"systemPrompt":{"chars":99}}}"#,
        )
        .unwrap();
        let text = js::stringify(&shape_member("", &row));
        let (before, rest) = text.split_once(r#","participants":{""#).unwrap();
        let (name, behind) = rest.split_once(r#"":1}"#).unwrap();
        let expected = r#"{"sessionId":"a-1","displayName":"Xxxxxx","totalTokens":4321,"chatType":"direct","origin":{"to":"+1111","kind":"direct"}"#;
        assert_eq!(before, expected);
        assert!(name.len() == 8 && name.as_bytes()[1] == b':' && !name.contains("ingrid"), "{name}");
        assert_eq!(behind, r#","systemPromptReport":{"systemPrompt":{"chars":99}}}"#);
    }

    #[test]
    fn only_settings_that_decide_about_sessions_are_taken() {
        let config = parse(
            r#"{"gateway":{"auth":{"token":"x"}},"channels":{"slack":{"botToken":"t","historyLimit":20}},
            "agents":{"defaults":{"contextPruning":{"mode":"cache-ttl","ttl":"9m","hardClear":{"placeholder":"gone from Oslo"}},"workspace":"/home/ingrid"}},
            "models":{"providers":{"vllm":{"apiKey":"k","baseUrl":"http://n","models":[{"id":"qwen3.5","contextWindow":9}]}}}}"#,
        )
        .unwrap();
        let mut out = Object::default();
        for path in kept("setting") {
            copy_path(&config, path, &mut out);
        }
        let expected = r#"{"agents":{"defaults":{"contextPruning":{"mode":"cache-ttl","ttl":"9m","hardClear":{"placeholder":"xxxx xxxx Xxxx"}}}},"channels":{"slack":{"historyLimit":20}},"models":{"providers":{"vllm":{"models":[{"id":"qwen3.5","contextWindow":9}]}}}}"#;
        assert_eq!(js::stringify(&Value::Object(out)), expected);
    }
}
