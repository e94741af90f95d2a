//! Finds tool calls and results without their counterpart, which providers refuse (store P5).

use std::collections::BTreeSet;

use crate::context::{ContentSource, Context, ContextMessage};
use crate::js::Value;
use crate::store::entry::{Replacement, Role, StopReason};
use crate::store::index::Index;
use crate::store::intern::IdIx;

/// Describes the unpaired calls and results of a context. Calls of failed and aborted messages are ignored: the runtime
/// drops or answers them itself.
pub(super) fn find_unpaired(index: &Index, context: &Context) -> BTreeSet<String> {
    let mut open: Vec<IdIx> = Vec::new();
    let mut called: BTreeSet<IdIx> = BTreeSet::new();
    let mut alone = BTreeSet::new();
    for message in &context.messages {
        let calls = call_ids(index, message);
        called.extend(calls.iter().copied());
        if !matches!(message.size.stop_reason, StopReason::Error | StopReason::Aborted) {
            open.extend(calls);
        }
        if message.size.role == Role::ToolResult {
            let call = message.size.call_id;
            open.retain(|id| Some(*id) != call);
            alone.extend(unpaired_result(index, call.filter(|id| called.contains(id)), call));
        }
    }
    alone.extend(open.iter().map(|id| format!("call {} without a result", index.ids.text(*id))));
    alone
}

/// Returns the ids of a message's calls; of an edited message, those in its new content.
fn call_ids(index: &Index, message: &ContextMessage) -> Vec<IdIx> {
    let ContentSource::Edited(edit) = message.content_source else {
        return index.tool_calls_of(message.entry).iter().filter_map(|call| call.id).collect();
    };
    let Some(Replacement::Content(new)) = index.replacement(edit) else { return Vec::new() };
    let blocks = new.get("content").and_then(Value::as_array).unwrap_or_default();
    let calls = blocks.iter().filter(|block| block.get("type").is_some_and(|kind| kind.str_is("toolCall")));
    calls.filter_map(|call| index.ids.find(&call.get("id")?.as_str()?.to_string_lossy())).collect()
}

fn unpaired_result(index: &Index, call: Option<IdIx>, named: Option<IdIx>) -> Option<String> {
    match (call, named) {
        (Some(_), _) => None,
        (None, Some(id)) => Some(format!("a result of call {} without the call", index.ids.text(id))),
        (None, None) => Some("a tool result without a call id".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::context::build_context;
    use crate::ids::LineIds;
    use crate::store::load::load_bytes;
    use crate::transcript::{Leaf, Tree};

    fn alone(messages: &[&str]) -> Vec<String> {
        let mut text = String::from("{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n");
        for (at, message) in messages.iter().enumerate() {
            let parent = at.checked_sub(1).map_or("null".to_owned(), |at| format!("\"e{at}\""));
            let ids = format!("\"id\":\"e{at}\",\"parentId\":{parent}");
            writeln!(text, "{{\"type\":\"message\",{ids},\"message\":{message}}}").unwrap();
        }
        let index = load_bytes("t.jsonl", text.as_bytes(), &mut LineIds);
        let context = build_context(&index, &Tree::new(&index), &Leaf::Own).unwrap();
        find_unpaired(&index, &context).into_iter().collect()
    }

    const CALL: &str = r#"{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{}}],"stopReason":"toolUse"}"#;
    const FAILED: &str = r#"{"role":"assistant","content":[{"type":"toolCall","id":"c2","name":"read","arguments":{}}],"stopReason":"error"}"#;
    const RESULT: &str = r#"{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[]}"#;

    #[test]
    fn a_call_and_its_result_are_a_pair_in_this_order_only() {
        assert_eq!(alone(&[CALL, RESULT]), [""; 0]);
        assert_eq!(
            alone(&[RESULT, CALL]),
            ["a result of call c1 without the call", "call c1 without a result"]
        );
    }

    #[test]
    fn a_call_of_a_failed_message_needs_no_result() {
        assert_eq!(alone(&[FAILED]), [""; 0]);
        assert_eq!(alone(&[CALL]), ["call c1 without a result"]);
    }
}
