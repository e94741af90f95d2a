//! One line of a transcript → what the index keeps of it. Pure: no file, no neighbouring lines.

use std::sync::Arc;

use crate::js::json::holds;
use crate::js::{self, Json, Kind, Value};
use crate::store::context_tokens::ContextTokens;
use crate::store::entry::{
    AppendMode, EntryKind, Link, MessageSize, ParentKey, Replacement, Role, Size, StopReason, Usage,
};
use crate::store::intern::{Name, WordIx};
use crate::store::measure;
use crate::store::silent::is_silent_message;

/// The provider that the gateway names in answers it writes itself (store I5).
const SYNTHETIC_PROVIDER: &str = "openclaw";
/// The models that it names there.
const SYNTHETIC_MODELS: [&str; 2] = ["delivery-mirror", "gateway-injected"];

/// What one JSON line says, before its ids and words are interned.
#[derive(Debug, PartialEq)]
pub struct Scanned {
    /// Its type; none for a header line.
    pub kind: Option<EntryKind>,
    /// The line is `null`.
    pub null: bool,
    /// The line is an array.
    pub array: bool,
    /// The line is `null`, `false`, 0 or `""`.
    pub falsy: bool,
    /// Its id.
    pub id: Name,
    /// Its `parentId`.
    pub parent: Name,
    /// What it says of its place beside that.
    pub link: Link,
    /// `timestamp` as a date value (ms or NaN).
    pub time: f64,
    /// `firstKeptEntryId`, `targetId` or `fromId`. Those of a leaf row stay in its body.
    pub reference: Name,
    /// `customType`, `thinkingLevel`, `label` or `name`.
    pub word: Name,
    /// Provider and model id.
    pub model: Option<(Name, Name)>,
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
    /// What a projection asks for beside sizes.
    pub kept: Option<Kept>,
    /// The usage of model work that anchors no estimate: beside the conversation (store-pi-1.5 B12), and of failed and
    /// aborted answers.
    pub beside: Option<Usage>,
    /// The line itself, kept only where sizes do not tell enough, for a leaf row and for a header.
    pub body: Option<Value>,
}

/// What is kept of an entry beside its sizes, because a projection asks for it.
#[derive(Debug, Clone, PartialEq)]
pub enum Kept {
    /// What a `context_edit` puts in the place of its target.
    Edit(Replacement),
    /// A system message, or a message without a content: the runtime gives it one, and then it has other sizes
    /// (store-pi-1.5 C7).
    Message(Arc<Value>),
    /// Prompt and tools that a compaction carries (store-pi-1.5 D4).
    Checkpoint(Arc<Value>),
}

/// A message of a scanned line.
#[derive(Debug, PartialEq)]
pub struct ScannedMessage {
    /// Its sizes; tool and call are not interned yet.
    pub size: MessageSize,
    /// `toolName` of a tool result.
    pub tool: Name,
    /// `toolCallId` of a tool result.
    pub call: Name,
    /// The tool calls of an assistant message.
    pub calls: Vec<ScannedCall>,
}

/// A tool call of a scanned message.
#[derive(Debug, PartialEq)]
pub struct ScannedCall {
    /// Its id.
    pub id: Name,
    /// Name of the tool.
    pub name: Name,
    /// Chars of the name and of the arguments as JSON.
    pub chars: u32,
}

/// Reads one line, parsed or outlined. `rename_hooks` is the step from version 2 to 3 (store L3).
pub fn scan<'a>(line: impl Json<'a>, rename_hooks: bool) -> Scanned {
    let kind = kind_of(line);
    let mut scanned = Scanned {
        kind,
        null: line.is_null(),
        array: matches!(line.kind(), Kind::Array(_)),
        falsy: !line.is_truthy(),
        id: Name::of(line.get("id")),
        parent: Name::of(line.get("parentId").filter(|parent| parent.is_truthy())),
        link: link_of(line),
        time: time_of(line.get("timestamp")),
        reference: Name::Absent,
        word: Name::Absent,
        model: None,
        number: f64::NAN,
        kept_index: None,
        no_message: false,
        excluded: false,
        message: None,
        kept: None,
        beside: None,
        body: None,
    };
    match kind {
        None | Some(EntryKind::Leaf) => scanned.body = Some(line.value()),
        Some(EntryKind::Message) => scan_message(&mut scanned, line, rename_hooks),
        Some(kind) => scan_other(&mut scanned, line, kind),
    }
    scanned
}

fn link_of<'a>(line: impl Json<'a>) -> Link {
    let parent = match line.get("parentId") {
        None => ParentKey::Absent,
        Some(parent) if parent.is_null() => ParentKey::Null,
        Some(parent) if parent.is_truthy() => ParentKey::Named,
        Some(_) => ParentKey::Falsy,
    };
    let mode = match line.get("appendMode") {
        None => AppendMode::Absent,
        Some(mode) if mode.str_is("side") => AppendMode::Side,
        Some(_) => AppendMode::Other,
    };
    Link { parent, mode }
}

fn time_of<'a>(timestamp: Option<impl Json<'a>>) -> f64 {
    match timestamp.and_then(Json::text) {
        Some(text) => js::date_of_text(&text),
        None => js::date_value(timestamp.map(Json::value).as_ref()),
    }
}

/// The kind of a line; none for a header (an object of type `session`).
fn kind_of<'a>(line: impl Json<'a>) -> Option<EntryKind> {
    if line.kind() != Kind::Object {
        return Some(EntryKind::Scalar);
    }
    let Some(text) = line.get("type").and_then(Json::text) else { return Some(EntryKind::Unknown) };
    (text != "session").then(|| EntryKind::from_type(&text))
}

fn scan_message<'a>(scanned: &mut Scanned, line: impl Json<'a>, rename_hooks: bool) {
    let Some(message) = line.get("message").filter(|message| !message.is_null()) else {
        scanned.no_message = true;
        return;
    };
    let hook = rename_hooks && message.get("role").is_some_and(|role| role.str_is("hookMessage"));
    let renamed = hook.then(|| renamed_hook(&message.value())).flatten();
    let sized = renamed.as_ref().map_or_else(|| size_message(message), size_message);
    scanned.excluded =
        message.get("excludeFromContext").is_some_and(|flag| flag.value() == Value::Bool(true));
    if sized.size.role == Role::Assistant {
        scanned.model = Some((Name::of(message.get("provider")), Name::of(message.get("model"))));
    }
    let odd = sized.size.odd;
    let lacks_content = message.get("content").is_none_or(Json::is_null);
    let speaks = matches!(sized.size.role, Role::User | Role::Assistant | Role::ToolResult);
    if sized.size.role == Role::System || speaks && lacks_content {
        scanned.kept = Some(Kept::Message(Arc::new(message.value())));
    }
    scanned.beside = match sized.size.role {
        Role::ToolResult => spent(message.get("usage")),
        _ => billed(message, &sized.size),
    };
    scanned.message = Some(sized);
    if odd {
        scanned.body = Some(message.value());
    }
}

/// The content that a runtime which projects gives to a message without one (store-pi-1.5 C7).
pub fn with_content(message: &Value) -> Option<Value> {
    if !message.get("content").is_none_or(Value::is_null) {
        return None;
    }
    let content = match measure::role_of(message) {
        Role::System => Value::from(""),
        Role::User | Role::Assistant | Role::ToolResult => Value::Array(Vec::new()),
        _ => return None,
    };
    let mut object = message.as_object()?.clone();
    object.set("content", content);
    Some(Value::Object(object))
}

/// A version 2 `hookMessage` as the `custom` message it is called since (store L3).
pub fn renamed_hook(message: &Value) -> Option<Value> {
    let is_hook = message.get("role").is_some_and(|role| role.str_is("hookMessage"));
    let mut object = message.as_object().filter(|_| is_hook)?.clone();
    object.set("role", Value::from("custom"));
    Some(Value::Object(object))
}

fn scan_other<'a>(scanned: &mut Scanned, line: impl Json<'a>, kind: EntryKind) {
    let field = |name| Name::of(line.get(name));
    let number = |name| line.get(name).and_then(Json::as_f64);
    match kind {
        EntryKind::ThinkingLevelChange => scanned.word = field("thinkingLevel"),
        EntryKind::ModelChange => scanned.model = Some((field("provider"), field("modelId"))),
        EntryKind::SessionInfo => scanned.word = field("name"),
        EntryKind::Label => (scanned.word, scanned.reference) = (field("label"), field("targetId")),
        EntryKind::Custom => {
            scanned.word = field("customType");
            let at = line.get("data").and_then(|data| data.get("timestamp"));
            scanned.number = at.and_then(Json::as_f64).unwrap_or(f64::NAN);
        }
        EntryKind::Compaction => {
            scanned.reference = field("firstKeptEntryId");
            scanned.number = number("tokensBefore").unwrap_or(f64::NAN);
            scanned.kept_index = number("firstKeptEntryIndex");
            scanned.beside = spent(line.get("usage"));
            let checkpoint = line.get("systemMessage").filter(|message| message.is_truthy());
            scanned.kept = checkpoint.map(|message| Kept::Checkpoint(Arc::new(message.value())));
            scanned.message = Some(size_message(&built(line, "compactionSummary")));
        }
        EntryKind::BranchSummary => {
            scanned.reference = field("fromId");
            scanned.beside = spent(line.get("usage"));
            if holds(line.get("summary")) {
                scanned.message = Some(size_message(&built(line, "branchSummary")));
            }
        }
        EntryKind::CustomMessage => {
            scanned.word = field("customType");
            let mut built = built(line, "custom");
            scanned.message = Some(size_message(&built));
            let lacks_content = line.get("content").is_none_or(Json::is_null);
            if let (true, Some(object)) = (lacks_content, built.as_object_mut()) {
                object.set("content", Value::Array(Vec::new()));
                scanned.kept = Some(Kept::Message(Arc::new(built)));
            }
        }
        EntryKind::Usage => {
            scanned.word = field("kind");
            scanned.beside = spent(line.get("usage"));
        }
        EntryKind::ContextEdit => {
            scanned.reference = field("targetId");
            scanned.kept = Some(Kept::Edit(match line.get("replacement") {
                None => Replacement::Missing,
                Some(value) if value.is_null() => Replacement::Omitted,
                Some(value) => Replacement::Content(Arc::new(value.value())),
            }));
        }
        EntryKind::Reset => (scanned.word, scanned.reference) = (field("reason"), field("firstKeptEntryId")),
        EntryKind::Message | EntryKind::Leaf | EntryKind::Unknown | EntryKind::Scalar => {}
    }
}

/// The fields that sizes depend on, of a message built from an entry (compaction 3.10a).
fn built<'a>(line: impl Json<'a>, role: &str) -> Value {
    let mut object = js::Object::default();
    object.set("role", Value::from(role));
    let field = if role == "custom" { "content" } else { "summary" };
    if let Some(value) = line.get(field) {
        object.set(field, value.value());
    }
    Value::Object(object)
}

/// Measures one message, as it stands in an entry or was built from one.
pub fn size_message<'a>(message: impl Json<'a>) -> ScannedMessage {
    let role = measure::role_of(message);
    let parts = measure::parts(message);
    let stop = message.get("stopReason").and_then(Json::text);
    let stop = stop.map_or(StopReason::Other, |text| StopReason::from_text(&text));
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
        synthetic: role == Role::Assistant && is_synthetic(message),
        is_error: message.get("isError").and_then(Json::as_bool).unwrap_or(false),
        odd: role == Role::ToolResult && parts.odd,
    };
    let result = role == Role::ToolResult;
    ScannedMessage {
        size,
        tool: Name::of(message.get("toolName").filter(|_| result)),
        call: Name::of(message.get("toolCallId").filter(|_| result)),
        calls: if role == Role::Assistant { calls_of(message, parts.call_chars) } else { Vec::new() },
    }
}

/// The calls of a message. `all` are their chars together: those of the only one, where there is one.
fn calls_of<'a>(message: impl Json<'a>, all: u32) -> Vec<ScannedCall> {
    let blocks = message.get("content").and_then(Json::items).into_iter().flatten();
    let is_call = |block: &_| measure::block_is(*block, "toolCall").unwrap_or(false);
    let scanned = blocks.filter(is_call).map(|block| ScannedCall {
        id: Name::of(block.get("id")),
        name: Name::of(block.get("name")),
        chars: measure::call_chars(block),
    });
    let mut calls: Vec<ScannedCall> = scanned.collect();
    if let [call] = &mut calls[..] {
        call.chars = all;
    }
    calls
}

/// Usage that is valid as an anchor: truthy, and the call neither failed nor was aborted
/// (compaction 1.11).
fn usage_of<'a>(message: impl Json<'a>, stop: StopReason) -> Option<Usage> {
    let usage = message.get("usage").filter(|usage| usage.is_truthy())?;
    if matches!(stop, StopReason::Error | StopReason::Aborted) {
        return None;
    }
    Some(usage_from(usage))
}

/// Whether the gateway wrote an answer without asking a model (store I5).
pub fn is_synthetic<'a>(message: impl Json<'a>) -> bool {
    let is = |key, text: &str| message.get(key).is_some_and(|own| own.str_is(text));
    is("provider", SYNTHETIC_PROVIDER) && SYNTHETIC_MODELS.iter().any(|model| is("model", model))
}

/// The usage of a call that failed or was aborted: it anchors no estimate, but it was billed.
fn billed<'a>(message: impl Json<'a>, size: &MessageSize) -> Option<Usage> {
    let failed = matches!(size.stop, StopReason::Error | StopReason::Aborted);
    let usage = spent(message.get("usage")).filter(|_| failed && size.role == Role::Assistant)?;
    (usage.prompt_tokens() + usage.output > 0.0).then_some(usage)
}

/// The usage of work beside the conversation, where it is recorded.
fn spent<'a>(usage: Option<impl Json<'a>>) -> Option<Usage> {
    usage.filter(|usage| usage.kind() == Kind::Object).map(usage_from)
}

fn usage_from<'a>(usage: impl Json<'a>) -> Usage {
    let component = |name| usage.get(name).and_then(Json::as_f64).unwrap_or(0.0);
    let cost = usage.get("cost").and_then(|cost| cost.get("total")).and_then(Json::as_f64);
    let tokens = ContextTokens::of(usage);
    Usage {
        input: component("input"),
        output: component("output"),
        cache_read: component("cacheRead"),
        cache_write: component("cacheWrite"),
        context_tokens: tokens.number,
        is_text: tokens.is_text,
        is_told: tokens.is_told,
        cost: cost.unwrap_or(f64::NAN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanned(json: &str) -> Scanned {
        scan(&js::parse(json).expect("test JSON"), false)
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
        assert_eq!(size_of::<MessageSize>(), 120);
    }

    #[test]
    fn a_branch_summary_without_text_makes_no_message() {
        assert!(scanned(r#"{"type":"branch_summary","summary":""}"#).message.is_none());
        assert!(scanned(r#"{"type":"branch_summary","summary":"x"}"#).message.is_some());
    }

    #[test]
    fn a_falsy_parent_is_no_parent() {
        assert!(scanned(r#"{"type":"label","parentId":""}"#).parent == Name::Absent);
        assert!(scanned(r#"{"type":"label","parentId":0}"#).parent == Name::Absent);
        assert!(scanned(r#"{"type":"label","parentId":5}"#).parent != Name::Absent);
    }
}
