//! A list of messages rebuilt from the transcript, on its way through the gateway's repairs.

use std::cmp::Reverse;
use std::sync::Arc;

use super::recording_match::compare;
use crate::ids::EntryIx;
use crate::js::{JsString, Value};
use crate::store::trajectory::RecordedList;

/// A message and the entry it is built from; the gateway invents messages too.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rebuilt {
    /// Its entry.
    pub(super) entry: Option<EntryIx>,
    /// The message; shared until a repair changes it.
    pub(super) message: Arc<Value>,
}

impl Rebuilt {
    /// A message of an entry.
    pub(super) fn new(entry: Option<EntryIx>, message: Value) -> Self {
        Self { entry, message: Arc::new(message) }
    }

    /// Whether it has this role.
    pub(super) fn has_role(&self, role: &str) -> bool {
        self.message.get("role").is_some_and(|own| own.str_is(role))
    }

    /// Its blocks; none where the content is no list.
    pub(super) fn blocks(&self) -> &[Value] {
        self.message.get("content").and_then(Value::as_array).unwrap_or_default()
    }

    /// The first of its texts.
    pub(super) fn first_text(&self) -> Option<&JsString> {
        let content = self.message.get("content")?;
        content.as_str().or_else(|| self.blocks().iter().find_map(|block| block.get("text")?.as_str()))
    }

    /// Gives a member of it a value.
    pub(super) fn set(&mut self, key: &str, value: Value) {
        if let Some(object) = Arc::make_mut(&mut self.message).as_object_mut() {
            object.set(key, value);
        }
    }

    /// Takes a member out of it; whether it was there.
    pub(super) fn remove(&mut self, key: &str) -> bool {
        if self.message.get(key).is_none() {
            return false;
        }
        Arc::make_mut(&mut self.message).as_object_mut().is_some_and(|object| object.remove(key).is_some())
    }

    /// Keeps the blocks that pass; returns how many went.
    pub(super) fn retain_blocks(&mut self, keeps: impl Fn(&Value) -> bool) -> usize {
        let kept: Vec<Value> = self.blocks().iter().filter(|block| keeps(block)).cloned().collect();
        let gone = self.blocks().len() - kept.len();
        if gone > 0 {
            self.set("content", Value::Array(kept));
        }
        gone
    }
}

/// How far a list agrees with a recorded one: the better, the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Agreement {
    /// Messages before the first that differs.
    pub(super) equal: usize,
    /// How much of that one differs, or the messages by which one list is longer.
    pub(super) missing: Reverse<u64>,
}

impl Agreement {
    /// How far a rebuilt list agrees with a recorded one.
    pub(super) fn new(recorded: &RecordedList, rebuilt: &[Rebuilt]) -> Self {
        for (at, (own, other)) in recorded.items.iter().zip(rebuilt).enumerate() {
            let weight = compare(own, &other.message, String::new()).weight;
            if weight > 0 {
                return Self { equal: at, missing: Reverse(weight as u64) };
            }
        }
        let equal = recorded.items.len().min(rebuilt.len());
        Self { equal, missing: Reverse(recorded.total.abs_diff(rebuilt.len() as u64)) }
    }

    /// Whether nothing differs.
    pub(super) fn is_perfect(self) -> bool {
        self.missing.0 == 0
    }
}
