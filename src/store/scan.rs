//! One line of a transcript to the data that the index keeps. Pure: uses no file and no other lines.

use std::sync::Arc;

use crate::js::json::is_truthy;
use crate::js::{self, Json, JsonKind, Value};
use crate::store::context_tokens::ContextTokens;
use crate::store::entry::{
    AppendMode, CharCount, EntryKind, MessageSize, ParentKey, Replacement, Role, StopReason, TreeLink, Usage,
};
use crate::store::intern::{ScannedValue, ValueIx};
use crate::store::measure;
use crate::store::measure::CompactChars;
use crate::store::no_reply::{is_no_reply_message, leaks_no_reply};
use crate::units::{Moment, Tokens};

/// Provider that the gateway records for replies it writes itself (store I5).
const SYNTHETIC_PROVIDER: &str = "openclaw";
/// Models that the gateway records for such replies.
const SYNTHETIC_MODELS: [&str; 2] = ["delivery-mirror", "gateway-injected"];

/// End of the names of backends that are programs themselves, such as `claude-cli`.
const PROGRAM_BACKEND: &str = "-cli";

/// Data of one JSON line, before its ids and values are interned.
#[derive(Debug, PartialEq)]
pub struct ScannedLine {
    /// `None` for a header line.
    pub kind: Option<EntryKind>,
    pub is_null: bool,
    pub is_array: bool,
    /// Whether the line is `null`, `false`, 0 or `""`.
    pub is_falsy: bool,
    pub id: ScannedValue,
    /// `parentId`; absent when falsy.
    pub parent: ScannedValue,
    /// Tree fields besides the parent's id.
    pub link: TreeLink,
    /// `timestamp` as a date value; NaN for none.
    pub time_ms: Moment,
    /// `firstKeptEntryId`, `targetId` or `fromId`; those of a leaf row stay in its body.
    pub reference: ScannedValue,
    /// `customType`, `thinkingLevel`, `label`, `name`, `kind` or `reason`; `responseId` of an answer.
    pub payload: ScannedValue,
    pub model: Option<(ScannedValue, ScannedValue)>,
    /// `tokensBefore`, `data.timestamp`, or `message.timestamp` of an answer; NaN otherwise.
    pub payload_number: f64,
    /// `firstKeptEntryIndex` of a version 1 compaction.
    pub first_kept_index: Option<f64>,
    /// Whether a `message` entry has no message.
    pub lacks_message: bool,
    /// Whether the message has `excludeFromContext: true`.
    pub is_excluded: bool,
    pub message: Option<ScannedMessage>,
    pub projection_data: Option<ProjectionData>,
    /// Usage of model work that anchors no estimate: work outside the conversation (store-pi-1.5 B12), failed and
    /// aborted replies.
    pub unanchored_usage: Option<Usage>,
    /// The message whose sizes are not enough, a leaf row or a header.
    pub retained_body: Option<Value>,
}

/// Full data of an entry that a projection needs besides sizes.
#[derive(Debug, Clone, PartialEq)]
pub enum ProjectionData {
    /// Replacement from a `context_edit`.
    Edit(Replacement),
    /// System message, or a message without content: the runtime adds an empty content, which changes its sizes
    /// (store-pi-1.5 C7).
    Message(Arc<Value>),
    /// Prompt and tools that a compaction carries (store-pi-1.5 D4).
    Checkpoint(Arc<Value>),
}

#[derive(Debug, PartialEq)]
pub struct ScannedMessage {
    /// Sizes; `tool_name` and `call_id` are not interned yet.
    pub size: MessageSize,
    /// `toolName` of a tool result.
    pub tool_name: ScannedValue,
    /// `toolCallId` of a tool result.
    pub call_id: ScannedValue,
    pub tool_calls: Vec<ScannedToolCall>,
}

#[derive(Debug, PartialEq)]
pub struct ScannedToolCall {
    pub id: ScannedValue,
    pub name: ScannedValue,
    /// Chars of the name and of the arguments as JSON.
    pub chars: CompactChars,
}

/// Scans one line, parsed or outlined. `rename_hooks` applies the migration from version 2 to 3 (store L3).
pub fn scan<'a>(line: impl Json<'a>, rename_hooks: bool) -> ScannedLine {
    let kind = entry_kind(line);
    let mut scanned = ScannedLine {
        kind,
        is_null: line.is_null(),
        is_array: matches!(line.kind(), JsonKind::Array(_)),
        is_falsy: !line.is_truthy(),
        id: ScannedValue::from_json(line.get("id")),
        parent: ScannedValue::from_json(line.get("parentId").filter(|parent| parent.is_truthy())),
        link: scan_link(line),
        time_ms: parse_time(line.get("timestamp")),
        reference: ScannedValue::Absent,
        payload: ScannedValue::Absent,
        model: None,
        payload_number: f64::NAN,
        first_kept_index: None,
        lacks_message: false,
        is_excluded: false,
        message: None,
        projection_data: None,
        unanchored_usage: None,
        retained_body: None,
    };
    match kind {
        None | Some(EntryKind::Leaf) => scanned.retained_body = Some(line.to_value()),
        Some(EntryKind::Message) => scan_message(&mut scanned, line, rename_hooks),
        Some(kind) => scan_non_message(&mut scanned, line, kind),
    }
    scanned
}

fn scan_link<'a>(line: impl Json<'a>) -> TreeLink {
    let parent = match line.get("parentId") {
        None => ParentKey::Absent,
        Some(parent) if parent.is_null() => ParentKey::Null,
        Some(parent) if parent.is_truthy() => ParentKey::Usable,
        Some(_) => ParentKey::Falsy,
    };
    let mode = match line.get("appendMode") {
        None => AppendMode::Absent,
        Some(mode) if mode.str_is("side") => AppendMode::Side,
        Some(_) => AppendMode::Other,
    };
    TreeLink { parent, append_mode: mode }
}

fn parse_time<'a>(timestamp: Option<impl Json<'a>>) -> Moment {
    match timestamp.and_then(Json::text) {
        Some(text) => js::parse_date(&text),
        None => js::date_value(timestamp.map(Json::to_value).as_ref()),
    }
}

/// Returns the kind of a line; `None` for a header (an object of type `session`).
fn entry_kind<'a>(line: impl Json<'a>) -> Option<EntryKind> {
    if line.kind() != JsonKind::Object {
        return Some(EntryKind::Scalar);
    }
    let Some(text) = line.get("type").and_then(Json::text) else { return Some(EntryKind::Unknown) };
    (text != "session").then(|| EntryKind::from_type(&text))
}

fn scan_message<'a>(scanned: &mut ScannedLine, line: impl Json<'a>, rename_hooks: bool) {
    let Some(message) = line.get("message").filter(|message| !message.is_null()) else {
        scanned.lacks_message = true;
        return;
    };
    let hook = rename_hooks && message.get("role").is_some_and(|role| role.str_is("hookMessage"));
    let renamed = hook.then(|| rename_hook(&message.to_value())).flatten();
    let sized = renamed.as_ref().map_or_else(|| measure_message(message), measure_message);
    scanned.is_excluded =
        message.get("excludeFromContext").is_some_and(|flag| flag.to_value() == Value::Bool(true));
    if sized.size.role == Role::Assistant {
        scanned.model = Some((
            ScannedValue::from_json(message.get("provider")),
            ScannedValue::from_json(message.get("model")),
        ));
        scanned.payload = ScannedValue::from_json(message.get("responseId").filter(|id| id.is_truthy()));
        scanned.payload_number = message.get("timestamp").and_then(Json::as_f64).unwrap_or(f64::NAN);
    }
    let odd = sized.size.needs_body;
    let lacks_content = message.get("content").is_none_or(Json::is_null);
    let speaks = matches!(sized.size.role, Role::User | Role::Assistant | Role::ToolResult);
    if sized.size.role == Role::System || speaks && lacks_content {
        scanned.projection_data = Some(ProjectionData::Message(Arc::new(message.to_value())));
    }
    scanned.unanchored_usage = match sized.size.role {
        Role::ToolResult => side_usage(message.get("usage")),
        _ => billed_usage(message, &sized.size),
    };
    scanned.message = Some(sized);
    if odd {
        scanned.retained_body = Some(message.to_value());
    }
}

/// Returns the message with the empty content that a projecting runtime adds; `None` when it has content or needs none
/// (store-pi-1.5 C7).
pub fn with_empty_content(message: &Value) -> Option<Value> {
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

/// Renames a version 2 `hookMessage` to `custom`, its role since version 3 (store L3); `None` for other messages.
pub fn rename_hook(message: &Value) -> Option<Value> {
    let is_hook = message.get("role").is_some_and(|role| role.str_is("hookMessage"));
    let mut object = message.as_object().filter(|_| is_hook)?.clone();
    object.set("role", Value::from("custom"));
    Some(Value::Object(object))
}

fn scan_non_message<'a>(scanned: &mut ScannedLine, line: impl Json<'a>, kind: EntryKind) {
    let field = |name| ScannedValue::from_json(line.get(name));
    let number = |name| line.get(name).and_then(Json::as_f64);
    match kind {
        EntryKind::ThinkingLevelChange => scanned.payload = field("thinkingLevel"),
        EntryKind::ModelChange => scanned.model = Some((field("provider"), field("modelId"))),
        EntryKind::SessionInfo => scanned.payload = field("name"),
        EntryKind::Label => (scanned.payload, scanned.reference) = (field("label"), field("targetId")),
        EntryKind::Custom => {
            scanned.payload = field("customType");
            let at = line.get("data").and_then(|data| data.get("timestamp"));
            scanned.payload_number = at.and_then(Json::as_f64).unwrap_or(f64::NAN);
        }
        EntryKind::Compaction => {
            scanned.reference = field("firstKeptEntryId");
            scanned.payload_number = number("tokensBefore").unwrap_or(f64::NAN);
            scanned.first_kept_index = number("firstKeptEntryIndex");
            scanned.unanchored_usage = side_usage(line.get("usage"));
            let checkpoint = line.get("systemMessage").filter(|message| message.is_truthy());
            scanned.projection_data =
                checkpoint.map(|message| ProjectionData::Checkpoint(Arc::new(message.to_value())));
            scanned.message = Some(measure_message(&build_message(line, "compactionSummary")));
        }
        EntryKind::BranchSummary => {
            scanned.reference = field("fromId");
            scanned.unanchored_usage = side_usage(line.get("usage"));
            if is_truthy(line.get("summary")) {
                scanned.message = Some(measure_message(&build_message(line, "branchSummary")));
            }
        }
        EntryKind::CustomMessage => {
            scanned.payload = field("customType");
            let mut built = build_message(line, "custom");
            scanned.message = Some(measure_message(&built));
            let lacks_content = line.get("content").is_none_or(Json::is_null);
            if let (true, Some(object)) = (lacks_content, built.as_object_mut()) {
                object.set("content", Value::Array(Vec::new()));
                scanned.projection_data = Some(ProjectionData::Message(Arc::new(built)));
            }
        }
        EntryKind::Usage => {
            scanned.payload = field("kind");
            scanned.unanchored_usage = side_usage(line.get("usage"));
        }
        EntryKind::ContextEdit => {
            scanned.reference = field("targetId");
            scanned.projection_data = Some(ProjectionData::Edit(match line.get("replacement") {
                None => Replacement::Missing,
                Some(value) if value.is_null() => Replacement::Omitted,
                Some(value) => Replacement::Content(Arc::new(value.to_value())),
            }));
        }
        EntryKind::Reset => {
            (scanned.payload, scanned.reference) = (field("reason"), field("firstKeptEntryId"));
        }
        EntryKind::Message | EntryKind::Leaf | EntryKind::Unknown | EntryKind::Scalar => {}
    }
}

/// Builds the message of an entry, with only the fields that its sizes depend on (compaction 3.10a).
fn build_message<'a>(line: impl Json<'a>, role: &str) -> Value {
    let mut object = js::Object::default();
    object.set("role", Value::from(role));
    let field = if role == "custom" { "content" } else { "summary" };
    if let Some(value) = line.get(field) {
        object.set(field, value.to_value());
    }
    Value::Object(object)
}

/// Measures one message, recorded in an entry or built from one.
pub fn measure_message<'a>(message: impl Json<'a>) -> ScannedMessage {
    let role = measure::role_of(message);
    let parts = measure::content_sizes(message);
    let stop = message.get("stopReason").and_then(Json::text);
    let stop = stop.map_or(StopReason::Other, |text| StopReason::from_text(&text));
    let size = MessageSize {
        role,
        pi_chars: CharCount::new(measure::pi_chars(message)),
        prune_chars: CharCount::new(measure::prune_chars(message)),
        joined_chars: parts.joined_chars,
        text_blocks: parts.text_blocks,
        images: parts.images,
        text_chars: parts.text_chars,
        thinking_chars: parts.thinking_chars,
        tool_call_chars: parts.tool_call_chars,
        tool_name: ValueIx::ABSENT,
        call_id: None,
        stop_reason: stop,
        usage: (role == Role::Assistant).then(|| anchor_usage(message, stop)).flatten(),
        is_no_reply: role == Role::Assistant && is_no_reply_message(message),
        leaks_no_reply: role == Role::Assistant && leaks_no_reply(message),
        is_synthetic: role == Role::Assistant && (is_synthetic(message) || is_printed_reply(message)),
        is_uncountable: role == Role::User && !is_text_or_list(message.get("content")),
        is_error: message.get("isError").and_then(Json::as_bool).unwrap_or(false),
        needs_body: role == Role::ToolResult && parts.needs_body,
    };
    let result = role == Role::ToolResult;
    ScannedMessage {
        size,
        tool_name: ScannedValue::from_json(message.get("toolName").filter(|_| result)),
        call_id: ScannedValue::from_json(message.get("toolCallId").filter(|_| result)),
        tool_calls: if role == Role::Assistant {
            scan_tool_calls(message, parts.tool_call_chars)
        } else {
            Vec::new()
        },
    }
}

/// Scans the tool calls of a message. `all` is their total in chars, which a single call takes over.
fn scan_tool_calls<'a>(message: impl Json<'a>, all: CompactChars) -> Vec<ScannedToolCall> {
    let blocks = message.get("content").and_then(Json::items).into_iter().flatten();
    let is_call = |block: &_| measure::is_block_type(*block, "toolCall").unwrap_or(false);
    let scanned = blocks.filter(is_call).map(|block| ScannedToolCall {
        id: ScannedValue::from_json(block.get("id")),
        name: ScannedValue::from_json(block.get("name")),
        chars: measure::tool_call_chars(block),
    });
    let mut calls: Vec<ScannedToolCall> = scanned.collect();
    if let [call] = &mut calls[..] {
        call.chars = all;
    }
    calls
}

fn is_text_or_list<'a>(content: Option<impl Json<'a>>) -> bool {
    matches!(content.map(Json::kind), Some(JsonKind::String(_) | JsonKind::Array(_)))
}

/// Returns usage that is valid as an anchor: truthy, of a call that neither failed nor was aborted (compaction 1.11).
fn anchor_usage<'a>(message: impl Json<'a>, stop: StopReason) -> Option<Usage> {
    let usage = message.get("usage").filter(|usage| usage.is_truthy())?;
    if matches!(stop, StopReason::Error | StopReason::Aborted) {
        return None;
    }
    Some(parse_usage(usage))
}

/// Whether the gateway wrote a reply without a model call (store I5).
pub fn is_synthetic<'a>(message: impl Json<'a>) -> bool {
    let is = |key, text: &str| message.get(key).is_some_and(|own| own.str_is(text));
    is("provider", SYNTHETIC_PROVIDER) && SYNTHETIC_MODELS.iter().any(|model| is("model", model))
}

/// Whether the command `openclaw agent` stored the text that it printed as an answer, and no call of the run was counted
/// (releases R75). Backends that are programs themselves store their answers in the same form.
fn is_printed_reply<'a>(message: impl Json<'a>) -> bool {
    let counted = message.get("usage").map(parse_usage);
    message.get("api").is_some_and(|api| api.str_is("cli"))
        && !message.get("provider").and_then(Json::text).is_some_and(|name| name.ends_with(PROGRAM_BACKEND))
        && counted.is_some_and(|usage| usage.prompt_tokens() + usage.output == Tokens::ZERO)
}

/// Returns the usage of a failed or aborted call: it anchors no estimate, but it was billed.
fn billed_usage<'a>(message: impl Json<'a>, size: &MessageSize) -> Option<Usage> {
    let failed = matches!(size.stop_reason, StopReason::Error | StopReason::Aborted);
    let usage = side_usage(message.get("usage")).filter(|_| failed && size.role == Role::Assistant)?;
    (usage.prompt_tokens() + usage.output > Tokens::ZERO).then_some(usage)
}

/// Returns the recorded usage of work outside the conversation.
fn side_usage<'a>(usage: Option<impl Json<'a>>) -> Option<Usage> {
    usage.filter(|usage| usage.kind() == JsonKind::Object).map(parse_usage)
}

fn parse_usage<'a>(usage: impl Json<'a>) -> Usage {
    let component = |name| usage.get(name).and_then(Json::as_f64).unwrap_or(0.0);
    let cost = usage.get("cost").and_then(|cost| cost.get("total")).and_then(Json::as_f64);
    let tokens = ContextTokens::from_usage(usage);
    Usage {
        input: Tokens(component("input")),
        output: Tokens(component("output")),
        cache_read: Tokens(component("cacheRead")),
        cache_write: Tokens(component("cacheWrite")),
        context_tokens: Tokens(tokens.count),
        is_text_sum: tokens.is_text_sum,
        is_reported_total: tokens.is_reported_total,
        cost: cost.unwrap_or(f64::NAN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::PiRelease;
    use crate::units::Chars;

    fn scanned(json: &str) -> ScannedLine {
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
            Some(Tokens(10.0))
        );
        assert!(line("{}").is_some_and(Tokens::is_nan));
        assert_eq!(line("null"), None);
    }

    #[test]
    fn a_reply_that_the_command_printed_is_no_call_unless_calls_were_counted_or_a_program_answered() {
        let is_call = |api: &str, provider: &str, input: u32| {
            let usage = format!(
                r#"{{"input":{input},"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":{input}}}"#
            );
            let message = format!(
                r#"{{"role":"assistant","content":[],"api":"{api}","provider":"{provider}","model":"m","stopReason":"stop","usage":{usage}}}"#
            );
            let line = scanned(&format!(r#"{{"type":"message","message":{message}}}"#));
            !line.message.expect("a message").size.is_synthetic
        };
        assert!(!is_call("cli", "mock", 0));
        assert!(
            is_call("cli", "mock", 9)
                && is_call("cli", "claude-cli", 0)
                && is_call("openai-completions", "mock", 0)
        );
    }

    #[test]
    fn newer_releases_of_pi_throw_at_a_content_that_is_no_list() {
        let sized = |content: &str, pi: PiRelease| {
            let line = format!(r#"{{"type":"message","message":{{"role":"user","content":{content}}}}}"#);
            let size = scanned(&line).message.expect("a message").size;
            size.for_release(pi).pi_chars.value()
        };
        assert_eq!(sized(r#"{"length":2}"#, PiRelease::OLDEST), Ok(Chars(0.0)));
        assert_eq!(sized(r#"{"length":2}"#, PiRelease::NEWEST), Err(js::JsException));
        assert_eq!(sized(r#""four""#, PiRelease::NEWEST), Ok(Chars(4.0)));
    }

    #[test]
    fn the_usage_of_a_failed_call_is_ignored() {
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
            let own: Vec<CompactChars> = message.tool_calls.iter().map(|call| call.chars).collect();
            assert_eq!(own.iter().copied().sum::<CompactChars>(), message.size.tool_call_chars);
            own.iter().map(|chars| chars.get().whole()).collect::<Vec<u64>>()
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
    fn a_silent_reply_is_marked_without_a_larger_entry() {
        let silent = |role: &str| {
            let line = format!(
                r#"{{"type":"message","message":{{"role":"{role}","content":[{{"type":"text","text":"NO_REPLY"}}]}}}}"#
            );
            scanned(&line).message.map(|message| message.size.is_no_reply)
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
    fn a_falsy_parent_counts_as_absent() {
        assert!(scanned(r#"{"type":"label","parentId":""}"#).parent == ScannedValue::Absent);
        assert!(scanned(r#"{"type":"label","parentId":0}"#).parent == ScannedValue::Absent);
        assert!(scanned(r#"{"type":"label","parentId":5}"#).parent != ScannedValue::Absent);
    }
}
