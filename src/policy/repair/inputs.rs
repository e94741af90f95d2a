//! Removes tool calls that every provider would reject and tidies tool names (compaction 6.7).

use std::collections::HashSet;

use crate::js::{JsString, Json, Value};
use crate::policy::repair::redact::{is_redacted, redact};
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
