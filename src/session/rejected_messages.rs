//! Finds the messages of a context that a provider rejects for their form: images, and tool calls and results that do
//! not pair.

use std::collections::HashMap;

use crate::context::ContextMessage;
use crate::ids::EntryIx;
use crate::js::Value;
use crate::session::LoadedSession;
use crate::store::body;
use crate::store::entry::{Role, StopReason};
use crate::store::index::Index;
use crate::store::intern::IdIx;
use crate::units::Bytes;

/// What is wrong with a tool call or a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PairFault {
    /// No earlier answer has the call of the result.
    ResultWithoutCall,
    /// The answer with the call failed or was aborted, so it is not sent again; its result is.
    ResultOfFailedAnswer,
    /// A second result of one call.
    SecondResult,
    /// The next message came before a result.
    CallWithoutResult,
    /// The id is empty or missing.
    EmptyId,
}

/// A message with a tool call or result that does not pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenPair {
    pub entry: EntryIx,
    pub fault: PairFault,
    /// The id of the call; empty if it has none.
    pub id: String,
}

/// Returns the calls and results of a context that do not pair, in its order.
pub fn broken_pairs(index: &Index, messages: &[ContextMessage]) -> Vec<BrokenPair> {
    let mut pairs = PairScan { index, calls: HashMap::new(), found: Vec::new() };
    for message in messages {
        match message.size.role {
            Role::Assistant => pairs.open_calls(message),
            Role::ToolResult => pairs.close_call(message),
            _ => {}
        }
    }
    let open = pairs.calls.iter().filter(|(_, call)| !call.is_answered && !call.failed);
    let open: Vec<BrokenPair> =
        open.map(|(id, call)| pairs.broken(call.entry, PairFault::CallWithoutResult, Some(*id))).collect();
    pairs.found.extend(open);
    pairs.found.sort_by_key(|pair| pair.entry);
    pairs.found
}

struct OpenCall {
    entry: EntryIx,
    failed: bool,
    is_answered: bool,
}

struct PairScan<'a> {
    index: &'a Index,
    calls: HashMap<IdIx, OpenCall>,
    found: Vec<BrokenPair>,
}

impl PairScan<'_> {
    fn open_calls(&mut self, message: &ContextMessage) {
        let entry = message.entry;
        let failed = matches!(message.size.stop_reason, StopReason::Error | StopReason::Aborted);
        for call in self.index.tool_calls_of(entry) {
            match call.id.filter(|id| !self.index.ids.text(*id).trim().is_empty()) {
                Some(id) => drop(self.calls.insert(id, OpenCall { entry, failed, is_answered: false })),
                None if failed => {}
                None => self.found.push(self.broken(entry, PairFault::EmptyId, None)),
            }
        }
    }

    fn close_call(&mut self, message: &ContextMessage) {
        let id = message.size.call_id.filter(|id| !self.index.ids.text(*id).trim().is_empty());
        let fault = match id {
            None => Some(PairFault::EmptyId),
            Some(id) => match self.calls.get_mut(&id) {
                None => Some(PairFault::ResultWithoutCall),
                Some(call) if call.failed => Some(PairFault::ResultOfFailedAnswer),
                Some(call) => {
                    std::mem::replace(&mut call.is_answered, true).then_some(PairFault::SecondResult)
                }
            },
        };
        if let Some(fault) = fault {
            self.found.push(self.broken(message.entry, fault, id));
        }
    }

    fn broken(&self, entry: EntryIx, fault: PairFault, id: Option<IdIx>) -> BrokenPair {
        BrokenPair { entry, fault, id: id.map(|id| self.index.ids.text(id).to_owned()).unwrap_or_default() }
    }
}

/// A message with images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentImages {
    pub entry: EntryIx,
    pub count: u32,
    /// The largest one, as it is sent in base64.
    pub largest: Bytes,
}

/// Returns the messages of the context that hold images. Reads their bodies; one that cannot be read has 0 bytes.
pub fn sent_images(session: &LoadedSession) -> Vec<SentImages> {
    let with_images = session.context.messages.iter().filter(|message| message.size.images > 0);
    with_images
        .map(|message| SentImages {
            entry: message.entry,
            count: message.size.images,
            largest: largest_image(session, message.entry),
        })
        .collect()
}

fn largest_image(session: &LoadedSession, entry: EntryIx) -> Bytes {
    let message = body::read_message(&session.source, &session.index, entry).ok().flatten();
    let blocks = message.as_ref().and_then(|message| message.get("content")).and_then(Value::as_array);
    let data = |block: &Value| {
        let own = block.get("data").or_else(|| block.get("source").and_then(|source| source.get("data")));
        own.and_then(Value::as_str).map_or(0, |text| text.len() as u64)
    };
    Bytes(blocks.into_iter().flatten().map(data).max().unwrap_or(0))
}

/// Returns the entry that a provider calls `messages.N`: it is sent failed answers no more, and joins results that
/// follow each other.
pub fn entry_of_request_message(session: &LoadedSession, number: usize) -> Option<EntryIx> {
    let mut at = None;
    let mut before = None;
    for message in &session.context.messages {
        let size = &message.size;
        if matches!(size.stop_reason, StopReason::Error | StopReason::Aborted) && size.role == Role::Assistant
        {
            continue;
        }
        let joins = size.role == Role::ToolResult && before == Some(Role::ToolResult);
        before = Some(size.role);
        at = if joins { at } else { Some(at.map_or(0, |at: usize| at + 1)) };
        if at == Some(number) {
            return Some(message.entry);
        }
    }
    None
}
