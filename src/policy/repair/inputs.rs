//! Removes tool calls that every provider would reject and tidies tool names (compaction 6.7).

use std::collections::HashSet;

use crate::js::{JsString, Json, Value};
use crate::policy::repair::shape::is_call;

/// Longest tool name after trimming, in chars.
const NAME_MAX_CHARS: usize = 64;

/// Tools whose calls may stay; empty allows every name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedTools(HashSet<JsString>);

impl AllowedTools {
    /// Collects names, compared trimmed and without case. Items that are blank or no strings are ignored; a list
    /// without any usable name allows every tool.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a Value>) -> Self {
        let names = names.into_iter().filter_map(Value::as_str).filter(|name| !name.is_blank());
        Self(names.map(|name| name.trim().to_lowercase()).collect())
    }

    fn allows(&self, trimmed: &JsString) -> bool {
        self.0.is_empty() || self.0.contains(&trimmed.to_lowercase())
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct RepairedInputs {
    pub messages: Vec<Value>,
    pub dropped_calls: usize,
    /// Assistant messages removed because no block was left.
    pub dropped_messages: usize,
    /// Something was removed, trimmed or redacted.
    pub changed: bool,
}

/// Removes unusable calls from assistant messages with any stop reason.
pub fn repair_inputs(messages: &[Value], allowed: &AllowedTools) -> RepairedInputs {
    let mut repaired = RepairedInputs {
        messages: Vec::with_capacity(messages.len()),
        dropped_calls: 0,
        dropped_messages: 0,
        changed: false,
    };
    for message in messages {
        if let Some(message) = repaired.repair_message(message, allowed) {
            repaired.messages.push(message);
        }
    }
    repaired
}

/// Repairs one message with every tool name allowed; `None` when no block is left.
pub fn repaired_message(message: &Value) -> Option<Value> {
    repair_inputs(std::slice::from_ref(message), &AllowedTools::default()).messages.pop()
}

/// Whether a message has a call that could be removed, trimmed or redacted.
pub fn needs_input_repair<'a>(message: impl Json<'a>) -> bool {
    let assistant = message.get("role").is_some_and(|role| role.str_is("assistant"));
    let blocks = message.get("content").filter(|_| assistant).and_then(Json::items);
    blocks.into_iter().flatten().any(|block| is_call(block) && !is_clean_call(block))
}

fn is_clean_call<'a>(call: impl Json<'a>) -> bool {
    let name = usable_name(call, &AllowedTools::default());
    name.is_some_and(|name| {
        call.get("name").and_then(Json::to_js_string) == Some(name.clone()) && !is_redacted(&name)
    })
}

impl RepairedInputs {
    fn repair_message(&mut self, message: &Value, allowed: &AllowedTools) -> Option<Value> {
        let assistant = message.get("role").is_some_and(|role| role.str_is("assistant"));
        let content = message.get("content").and_then(Value::as_array).filter(|_| assistant);
        let Some(content) = content else { return Some(message.clone()) };
        let mut changed = false;
        let mut blocks = Vec::with_capacity(content.len());
        for block in content {
            if !is_call(block) {
                blocks.push(block.clone());
            } else if let Some(name) = usable_name(block, allowed) {
                let (block, tidied) = tidy_call(block, &name);
                changed |= tidied;
                blocks.push(block);
            } else {
                self.dropped_calls += 1;
                changed = true;
            }
        }
        self.changed |= changed;
        if blocks.is_empty() && !content.is_empty() {
            self.dropped_messages += 1;
            return None;
        }
        let mut copy = message.clone();
        if let Some(object) = copy.as_object_mut().filter(|_| changed) {
            object.set("content", Value::Array(blocks));
        }
        Some(copy)
    }
}

/// Returns the trimmed tool name of a usable call.
fn usable_name<'a>(call: impl Json<'a>, allowed: &AllowedTools) -> Option<JsString> {
    let given = |key| call.get(key).is_some_and(|value| !value.is_null());
    let has_id = call.get("id").and_then(Json::to_js_string).is_some_and(|id| !id.is_blank());
    if !has_id || !(given("input") || given("arguments")) {
        return None;
    }
    let name = call.get("name")?.to_js_string()?.trim();
    let usable = !name.is_empty()
        && name.len() <= NAME_MAX_CHARS
        && name.units().iter().all(|unit| is_name_unit(*unit))
        && allowed.allows(&name);
    usable.then_some(name)
}

fn is_name_unit(unit: u16) -> bool {
    u8::try_from(unit).is_ok_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// Returns the call with a trimmed name and redacted secrets, and whether it differs.
fn tidy_call(call: &Value, name: &JsString) -> (Value, bool) {
    let mut copy = call.clone();
    let mut changed = call.get("name").and_then(Value::as_str) != Some(name);
    if changed && let Some(object) = copy.as_object_mut() {
        object.set("name", Value::from(name.clone()));
    }
    if is_redacted(name) {
        changed |= redact(&mut copy);
    }
    (copy, changed)
}

// Redacts the attachments of spawned sessions, so that no model sees them again (compaction 6.7a).

const SPAWN_TOOL: &str = "sessions_spawn";

/// Placeholder that replaces an attachment's content.
const REDACTED: &str = "__OPENCLAW_REDACTED__";

/// Whether the calls of this tool are redacted; `name` must be trimmed.
pub(super) fn is_redacted(name: &JsString) -> bool {
    name.to_lowercase().eq_str(SPAWN_TOOL)
}

/// Redacts the attachments of a call in place. Returns true whenever the call has a list of attachments, even an empty
/// or already redacted one.
pub(super) fn redact(call: &mut Value) -> bool {
    let mut listed = false;
    for key in ["arguments", "input"] {
        let arguments = call.as_object_mut().and_then(|call| call.get_mut(key));
        let attachments = arguments.and_then(Value::as_object_mut).and_then(|a| a.get_mut("attachments"));
        if let Some(Value::Array(items)) = attachments {
            items.iter_mut().for_each(redact_one);
            listed = true;
        }
    }
    listed
}

/// Replaces the content; the key moves to the end.
fn redact_one(attachment: &mut Value) {
    if let Some(object) = attachment.as_object_mut()
        && object.remove("content").is_some()
    {
        object.set("content", Value::from(REDACTED));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js;

    fn repaired(content: &str, allowed: &str) -> RepairedInputs {
        let message = js::parse(&format!(r#"{{"role":"assistant","content":{content}}}"#)).unwrap();
        let allowed = js::parse(allowed).unwrap();
        repair_inputs(&[message], &AllowedTools::new(allowed.as_array().unwrap()))
    }

    fn stays(call: &str) -> bool {
        repaired(&format!(r#"[{{"type":"text","text":"x"}},{call}]"#), "[]").dropped_calls == 0
    }

    #[test]
    fn a_call_needs_arguments_an_id_and_a_plain_name() {
        assert!(stays(r#"{"type":"toolCall","id":"a","name":"exec","arguments":""}"#));
        assert!(stays(r#"{"type":"functionCall","id":"a","name":" ex-ec_1 ","input":false}"#));
        assert!(!stays(r#"{"type":"toolUse","id":"a","name":"exec","arguments":null}"#));
        assert!(!stays(r#"{"type":"toolCall","id":" ","name":"exec","arguments":{}}"#));
        assert!(!stays(r#"{"type":"toolCall","id":"a","name":"ex ec","arguments":{}}"#));
        assert!(!stays(r#"{"type":"toolCall","id":"a","name":"é","arguments":{}}"#));
        assert!(!stays(r#"{"type":"toolCall","id":"a","name":5,"arguments":{}}"#));
        let named =
            |chars| format!(r#"{{"type":"toolCall","id":"a","name":"{}","input":{{}}}}"#, "x".repeat(chars));
        assert!(stays(&named(64)) && !stays(&named(65)));
    }

    #[test]
    fn a_list_of_allowed_tools_is_compared_trimmed_and_without_case() {
        let call = r#"[{"type":"toolCall","id":"a","name":"Exec","arguments":{}}]"#;
        assert_eq!(repaired(call, r#"[" EXEC "]"#).dropped_calls, 0);
        assert_eq!(repaired(call, r#"["read"]"#).dropped_calls, 1);
        assert_eq!(repaired(call, r#"[" ",5,null]"#).dropped_calls, 0);
    }

    #[test]
    fn a_message_emptied_by_a_removal_is_dropped_and_an_empty_one_is_kept() {
        let emptied = repaired(r#"[{"type":"toolCall"}]"#, "[]");
        assert_eq!((emptied.messages.len(), emptied.dropped_messages, emptied.changed), (0, 1, true));
        let empty = repaired("[]", "[]");
        assert_eq!((empty.messages.len(), empty.dropped_messages, empty.changed), (1, 0, false));
    }

    #[test]
    fn a_name_is_trimmed_in_place_and_other_blocks_are_unchanged() {
        let repaired =
            repaired(r#"[null,"x",{"type":"toolCall","id":" a","name":" exec\n","input":1}]"#, "[]");
        assert!(repaired.changed);
        let expected = r#"{"role":"assistant","content":[null,"x",{"type":"toolCall","id":" a","name":"exec","input":1}]}"#;
        assert_eq!(js::stringify(&repaired.messages[0]), expected);
    }
}

#[cfg(test)]
mod redact_tests {
    use super::*;
    use crate::js;

    fn redacted(json: &str) -> (bool, String) {
        let mut call = js::parse(json).unwrap();
        (redact(&mut call), js::stringify(&call))
    }

    #[test]
    fn only_attachment_contents_are_redacted_and_move_to_the_end() {
        let call = r#"{"arguments":{"attachments":[{"content":"secret","name":"a"},"text",{"name":"b"},null]},"input":5}"#;
        let expected = r#"{"arguments":{"attachments":[{"name":"a","content":"__OPENCLAW_REDACTED__"},"text",{"name":"b"},null]},"input":5}"#;
        assert_eq!(redacted(call), (true, expected.to_owned()));
    }

    #[test]
    fn an_empty_list_counts_as_a_change_and_anything_else_does_not() {
        assert!(redacted(r#"{"input":{"attachments":[]}}"#).0);
        assert!(!redacted(r#"{"input":{"attachments":{}},"arguments":[]}"#).0);
    }

    #[test]
    fn the_name_is_compared_without_case() {
        assert!(is_redacted(&"Sessions_Spawn".into()));
        assert!(!is_redacted(&"sessions_spawn2".into()));
    }
}
