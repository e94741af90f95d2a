//! Checks a finished draft: reads it as the runtime will, compares it with the plan, and adds warnings (store P5, P9).

use std::collections::BTreeSet;

use crate::commit::compaction::{CommitDraft, next_entry_ix};
use crate::commit::expected;
use crate::commit::expected::{ExpectedMessage, first_difference};
use crate::commit::refusal::{Refusal, unreadable_body};
use crate::context::{ContentSource, Context, ContextMessage};
use crate::format::{format_count, format_number};
use crate::ids::EntryIx;
use crate::js::Value;
use crate::policy::compact::context_after;
use crate::store::entry::{EntryKind, Replacement, Role, StopReason};
use crate::store::index::Index;
use crate::store::intern::IdIx;

impl CommitDraft<'_> {
    /// Reads the new lines as the runtime will; compares the context with the plan and the pairing with the old one.
    pub(super) fn verify(&mut self, context: &Context) -> Result<Vec<ExpectedMessage>, Refusal> {
        let index = self.index();
        let path = || index.path.to_path_buf();
        let compacted = self.compacted_context(context)?;
        let source = self.request.transcript.source;
        let context_then = compacted.as_ref().unwrap_or(context);
        let expected = expected::expected_messages((source, index), context_then, &self.expected);
        let expected = expected.map_err(|error| unreadable_body(&index.path, error))?;
        let grown = expected::index_with_lines(index, &self.lines);
        let read = expected::messages_from_lines(source, &grown, index.entries.len(), &self.lines);
        let (after, read) = read.ok_or_else(|| Refusal::NotAsPlanned { path: path(), at: 1 })?;
        if let Some(at) = first_difference(&expected, &read) {
            return Err(Refusal::NotAsPlanned { path: path(), at });
        }
        let (old, new) = (find_unpaired(index, context), find_unpaired(&grown, &after));
        if let Some(what) = new.difference(&old).next() {
            return Err(Refusal::Unpaired { path: path(), what: what.clone() });
        }
        let reported = |what: String| format!("The branch contains {what}, like the old one.");
        self.warnings.extend(new.into_iter().map(reported));
        Ok(read)
    }

    /// Returns the old context after the planned compaction; `None` without one. It follows from the rule, not from the
    /// new lines.
    fn compacted_context(&self, context: &Context) -> Result<Option<Context>, Refusal> {
        let index = self.index();
        let Some(planned) = &self.request.compaction else { return Ok(None) };
        let Some(value) = self.expected.copied.get(&next_entry_ix(index)) else { return Ok(None) };
        let after = context_after(index, context, planned.first_kept, value);
        let after = after.map_err(|_| Refusal::CannotAppend { path: index.path.to_path_buf() })?;
        Ok(Some(after.context))
    }

    /// Adds warnings about the copied part.
    pub(super) fn warn_about_copies(&mut self, part: &[EntryIx]) {
        let index = self.index();
        let left_out = part.iter().filter(|ix| index.entry(**ix).kind == EntryKind::Usage).count();
        if left_out > 0 {
            let text =
                format!("{left_out} usage entries are not copied, so that totals over the file stay right.");
            self.warnings.push(text);
        }
        self.warnings.extend(part.first().and_then(|first| unknown_parent(index, *first)));
        self.warnings.extend(copied_usage(index, part));
    }
}

fn unknown_parent(index: &Index, first: EntryIx) -> Option<String> {
    let parent = index.entry(first).parent?;
    let known = index.entries.iter().any(|entry| entry.id == Some(parent));
    let parent = index.ids.text(parent);
    (!known)
        .then(|| format!("The branch starts after {parent}, which is not in the file; so does the old one."))
}

/// Usage is counted per entry, and the runtime takes the context's fill level from the last answer (compaction 2.11).
fn copied_usage(index: &Index, part: &[EntryIx]) -> Option<String> {
    let usage = |ix: &EntryIx| index.entry(*ix).message.filter(|size| size.role == Role::Assistant)?.usage;
    let usages: Vec<_> = part.iter().filter_map(usage).collect();
    let tokens = format_number(usages.last()?.context_tokens);
    Some(format!(
        "{}: the gateway's totals over all branches count it twice, and until the next answer the runtime uses \
         the last count, {tokens} tokens.",
        format_count(
            usages.len() as u64,
            "copied answer keeps its recorded usage",
            "copied answers keep their recorded usage"
        )
    ))
}

// Finds tool calls and results without their counterpart, which providers refuse (store P5).

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
