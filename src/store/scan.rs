//! One line of a transcript → what the index keeps of it. Pure: no file, no neighbouring lines.

use crate::js::{self, Value};
use crate::store::entry::{
    AppendMode, EntryKind, Link, MessageSize, ParentKey, Role, Size, StopReason, Usage,
};
use crate::store::intern::WordIx;
use crate::store::measure;
use crate::store::silent::is_silent_message;

/// What one JSON line says, before its ids and words are interned.
#[derive(Debug)]
pub struct Scanned {
    /// Its type; none for a header line.
    pub kind: Option<EntryKind>,
    /// Its id.
    pub id: Option<Value>,
    /// Its `parentId`.
    pub parent: Option<Value>,
    /// What it says of its place beside that.
    pub link: Link,
    /// `timestamp` as a date value (ms or NaN).
    pub time: f64,
    /// `firstKeptEntryId`, `targetId` or `fromId`. Those of a leaf row stay in its body.
    pub reference: Option<Value>,
    /// `customType`, `thinkingLevel`, `label` or `name`.
    pub word: Option<Value>,
    /// Provider and model id.
    pub model: Option<(Option<Value>, Option<Value>)>,
    /// `tokensBefore` or `data.timestamp`.
    pub number: f64,
    /// `firstKeptEntryIndex` of a version 1 compaction.
    pub kept_index: Option<f64>,
    /// A `message` entry without a message.
    pub no_message: bool,
    /// The message says `excludeFromContext: true`.
    pub excluded: bool,
    /// Sizes of the message, with its tool name, call id and calls.
    pub message: Option<ScannedMessage>,
    /// The line itself, kept only where sizes do not tell enough, for a leaf row and for a header.
    pub body: Option<Value>,
}

/// A message of a scanned line.
#[derive(Debug)]
pub struct ScannedMessage {
    /// Its sizes; tool and call are not interned yet.
    pub size: MessageSize,
    /// `toolName` of a tool result.
    pub tool: Option<Value>,
    /// `toolCallId` of a tool result.
    pub call: Option<Value>,
    /// The tool calls of an assistant message.
    pub calls: Vec<ScannedCall>,
}

/// A tool call of a scanned message.
#[derive(Debug)]
pub struct ScannedCall {
    /// Its id.
    pub id: Option<Value>,
    /// Name of the tool.
    pub name: Option<Value>,
    /// Chars of the name and of the arguments as JSON.
    pub chars: u32,
}

/// Reads one parsed line. `rename_hooks` is the step from version 2 to 3 (store L3).
pub fn scan(line: Value, rename_hooks: bool) -> Scanned {
    let kind = kind_of(&line);
    let mut scanned = Scanned {
        kind,
        id: line.get("id").cloned(),
        parent: line.get("parentId").filter(|parent| js::truthy(Some(parent))).cloned(),
        link: link_of(&line),
        time: js::date_value(line.get("timestamp")),
        reference: None,
        word: None,
        model: None,
        number: f64::NAN,
        kept_index: None,
        no_message: false,
        excluded: false,
        message: None,
        body: None,
    };
    match kind {
        None | Some(EntryKind::Leaf) => scanned.body = Some(line),
        Some(EntryKind::Message) => scan_message(&mut scanned, &line, rename_hooks),
        Some(kind) => scan_other(&mut scanned, &line, kind),
    }
    scanned
}

fn link_of(line: &Value) -> Link {
    let parent = match line.get("parentId") {
        None => ParentKey::Absent,
        Some(Value::Null) => ParentKey::Null,
        Some(parent) if js::truthy(Some(parent)) => ParentKey::Named,
        Some(_) => ParentKey::Falsy,
    };
    let mode = match line.get("appendMode") {
        None => AppendMode::Absent,
        Some(mode) if mode.str_is("side") => AppendMode::Side,
        Some(_) => AppendMode::Other,
    };
    Link { parent, mode }
}

/// The kind of a line; none for a header (an object of type `session`).
fn kind_of(line: &Value) -> Option<EntryKind> {
    if line.as_object().is_none() {
        return Some(EntryKind::Scalar);
    }
    let Some(text) = line.get("type").and_then(Value::as_str) else { return Some(EntryKind::Unknown) };
    let text = text.to_string_lossy();
    (text != "session").then(|| EntryKind::from_type(&text))
}

fn scan_message(scanned: &mut Scanned, line: &Value, rename_hooks: bool) {
    let Some(message) = line.get("message").filter(|message| !message.is_null()) else {
        scanned.no_message = true;
        return;
    };
    let renamed = rename_hooks.then(|| renamed_hook(message)).flatten();
    let message = renamed.as_ref().unwrap_or(message);
    let sized = size_message(message);
    scanned.excluded = message.get("excludeFromContext") == Some(&Value::Bool(true));
    if sized.size.role == Role::Assistant {
        scanned.model = Some((message.get("provider").cloned(), message.get("model").cloned()));
    }
    let odd = sized.size.odd;
    scanned.message = Some(sized);
    if odd {
        scanned.body = Some(message.clone());
    }
}

/// A version 2 `hookMessage` as the `custom` message it is called since (store L3).
pub fn renamed_hook(message: &Value) -> Option<Value> {
    let is_hook = message.get("role").is_some_and(|role| role.str_is("hookMessage"));
    let mut object = message.as_object().filter(|_| is_hook)?.clone();
    object.set("role", Value::from("custom"));
    Some(Value::Object(object))
}

fn scan_other(scanned: &mut Scanned, line: &Value, kind: EntryKind) {
    let field = |name| line.get(name).cloned();
    let number = |value: Option<&Value>| value.and_then(Value::as_f64).unwrap_or(f64::NAN);
    match kind {
        EntryKind::ThinkingLevelChange => scanned.word = field("thinkingLevel"),
        EntryKind::ModelChange => scanned.model = Some((field("provider"), field("modelId"))),
        EntryKind::SessionInfo => scanned.word = field("name"),
        EntryKind::Label => (scanned.word, scanned.reference) = (field("label"), field("targetId")),
        EntryKind::Custom => {
            scanned.word = field("customType");
            scanned.number = number(line.get("data").and_then(|data| data.get("timestamp")));
        }
        EntryKind::Compaction => {
            scanned.reference = field("firstKeptEntryId");
            scanned.number = number(line.get("tokensBefore"));
            scanned.kept_index = line.get("firstKeptEntryIndex").and_then(Value::as_f64);
            scanned.message = Some(size_message(&built(line, "compactionSummary")));
        }
        EntryKind::BranchSummary => {
            scanned.reference = field("fromId");
            if js::truthy(line.get("summary")) {
                scanned.message = Some(size_message(&built(line, "branchSummary")));
            }
        }
        EntryKind::CustomMessage => {
            scanned.word = field("customType");
            scanned.message = Some(size_message(&built(line, "custom")));
        }
        EntryKind::Reset => (scanned.word, scanned.reference) = (field("reason"), field("firstKeptEntryId")),
        EntryKind::Message | EntryKind::Leaf | EntryKind::Unknown | EntryKind::Scalar => {}
    }
}

/// The fields that sizes depend on, of a message built from an entry (compaction 3.10a).
fn built(line: &Value, role: &str) -> Value {
    let mut object = js::Object::default();
    object.set("role", Value::from(role));
    let field = if role == "custom" { "content" } else { "summary" };
    if let Some(value) = line.get(field) {
        object.set(field, value.clone());
    }
    Value::Object(object)
}

/// Measures one message, as it stands in an entry or was built from one.
pub fn size_message(message: &Value) -> ScannedMessage {
    let role = measure::role_of(message);
    let parts = measure::parts(message);
    let stop = message.get("stopReason").and_then(Value::as_str);
    let stop = stop.map_or(StopReason::Other, |text| StopReason::from_text(&text.to_string_lossy()));
    let size = MessageSize {
        role,
        pi_chars: Size::new(measure::pi_chars(message)),
        prune_chars: Size::new(measure::prune_chars(message)),
        joined_chars: parts.joined_chars,
        text_blocks: parts.text_blocks,
        images: parts.images,
        text_chars: parts.text_chars,
        thinking_chars: parts.thinking_chars,
        call_chars: parts.call_chars,
        tool: WordIx::ABSENT,
        call: None,
        stop,
        usage: (role == Role::Assistant).then(|| usage_of(message, stop)).flatten(),
        silent: role == Role::Assistant && is_silent_message(message),
        is_error: message.get("isError").and_then(Value::as_bool).unwrap_or(false),
        odd: role == Role::ToolResult && parts.odd,
    };
    let result = role == Role::ToolResult;
    ScannedMessage {
        size,
        tool: message.get("toolName").filter(|_| result).cloned(),
        call: message.get("toolCallId").filter(|_| result).cloned(),
        calls: if role == Role::Assistant { calls_of(message, parts.call_chars) } else { Vec::new() },
    }
}

/// The calls of a message. `all` are their chars together: those of the only one, where there is one.
fn calls_of(message: &Value, all: u32) -> Vec<ScannedCall> {
    let blocks = message.get("content").and_then(Value::as_array).unwrap_or_default();
    let calls = blocks.iter().filter(|block| measure::block_is(block, "toolCall").unwrap_or(false));
    let calls: Vec<&Value> = calls.collect();
    let alone = calls.len() == 1;
    let scanned = |block: &&Value| ScannedCall {
        id: block.get("id").cloned(),
        name: block.get("name").cloned(),
        chars: if alone { all } else { measure::call_chars(block) },
    };
    calls.iter().map(scanned).collect()
}

/// Usage that is valid as an anchor: truthy, and the call neither failed nor was aborted
/// (compaction 1.11).
fn usage_of(message: &Value, stop: StopReason) -> Option<Usage> {
    let usage = message.get("usage").filter(|usage| js::truthy(Some(usage)))?;
    if matches!(stop, StopReason::Error | StopReason::Aborted) {
        return None;
    }
    let component = |name| usage.get(name).and_then(Value::as_f64).unwrap_or(0.0);
    Some(Usage {
        input: component("input"),
        output: component("output"),
        cache_read: component("cacheRead"),
        cache_write: component("cacheWrite"),
        context_tokens: context_tokens(usage),
        cost: usage
            .get("cost")
            .and_then(|cost| cost.get("total"))
            .and_then(Value::as_f64)
            .unwrap_or(f64::NAN),
    })
}

/// `totalTokens` when truthy, else the four components added; a missing one makes NaN
/// (compaction 1.10).
fn context_tokens(usage: &Value) -> f64 {
    let total = usage.get("totalTokens");
    if js::truthy(total) {
        return addend(total);
    }
    ["input", "output", "cacheRead", "cacheWrite"].iter().map(|name| addend(usage.get(name))).sum()
}

/// A value as a term of a JavaScript sum (compaction 1.10a).
fn addend(value: Option<&Value>) -> f64 {
    match value {
        Some(Value::Number(number)) => *number,
        Some(Value::Null | Value::Bool(false)) => 0.0,
        Some(Value::Bool(true)) => 1.0,
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanned(json: &str) -> Scanned {
        scan(js::parse(json).expect("test JSON"), false)
    }

    #[test]
    fn usage_without_total_adds_its_components_and_a_missing_one_is_nan() {
        let line = |usage: &str| {
            scanned(&format!(r#"{{"type":"message","message":{{"role":"assistant","content":[],"stopReason":"stop","usage":{usage}}}}}"#))
                .message.and_then(|message| message.size.usage).map(|usage| usage.context_tokens)
        };
        assert_eq!(
            line(r#"{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":0}"#),
            Some(10.0)
        );
        assert!(line("{}").is_some_and(f64::is_nan));
        assert_eq!(line("null"), None);
    }

    #[test]
    fn the_usage_of_a_failed_call_is_no_anchor() {
        let line = scanned(
            r#"{"type":"message","message":{"role":"assistant","content":[],"stopReason":"error","usage":{"totalTokens":9}}}"#,
        );
        assert_eq!(line.message.and_then(|message| message.size.usage), None);
    }

    #[test]
    fn calls_share_the_chars_of_their_message() {
        let calls = |blocks: &str| {
            let line =
                format!(r#"{{"type":"message","message":{{"role":"assistant","content":[{blocks}]}}}}"#);
            let message = scanned(&line).message.expect("a message");
            let own: Vec<u32> = message.calls.iter().map(|call| call.chars).collect();
            assert_eq!(own.iter().sum::<u32>(), message.size.call_chars);
            own
        };
        let exec = r#"{"type":"toolCall","name":"exec","arguments":{"a":1.0}}"#;
        let read = r#"{"type":"toolCall","name":"read","arguments":{}}"#;
        assert_eq!(calls(exec), [11]);
        assert_eq!(
            calls(&format!(r#"{exec},{{"type":"text","text":"so"}},{read},{{"type":"toolCall"}}"#)),
            [11, 6, 0]
        );
    }

    #[test]
    fn a_silent_reply_is_marked_and_takes_no_room() {
        let silent = |role: &str| {
            let line = format!(
                r#"{{"type":"message","message":{{"role":"{role}","content":[{{"type":"text","text":"NO_REPLY"}}]}}}}"#
            );
            scanned(&line).message.map(|message| message.size.silent)
        };
        assert_eq!((silent("assistant"), silent("user")), (Some(true), Some(false)));
        assert_eq!(size_of::<MessageSize>(), 136);
    }

    #[test]
    fn a_branch_summary_without_text_makes_no_message() {
        assert!(scanned(r#"{"type":"branch_summary","summary":""}"#).message.is_none());
        assert!(scanned(r#"{"type":"branch_summary","summary":"x"}"#).message.is_some());
    }

    #[test]
    fn a_falsy_parent_is_no_parent() {
        assert!(scanned(r#"{"type":"label","parentId":""}"#).parent.is_none());
        assert!(scanned(r#"{"type":"label","parentId":0}"#).parent.is_none());
        assert!(scanned(r#"{"type":"label","parentId":5}"#).parent.is_some());
    }
}
