//! A message rebuilt from the transcript, between the gateway's repairs.

use std::cmp::Reverse;
use std::sync::Arc;

use super::recording_match::compare;
use crate::js::Value;
use crate::store::trajectory::RecordedList;

/// A message and the id of its entry.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RebuiltMessage {
    pub(super) entry: Option<String>,
    /// The message; shared until a repair changes it.
    pub(super) message: Arc<Value>,
}

impl RebuiltMessage {
    pub(super) fn new(entry: Option<String>, message: Value) -> Self {
        Self { entry, message: Arc::new(message) }
    }

    pub(super) fn has_role(&self, role: &str) -> bool {
        self.message.get("role").is_some_and(|own| own.str_is(role))
    }

    /// Returns the blocks; empty if the content is not a list.
    pub(super) fn blocks(&self) -> &[Value] {
        self.message.get("content").and_then(Value::as_array).unwrap_or_default()
    }

    pub(super) fn set(&mut self, key: &str, value: Value) {
        if let Some(object) = Arc::make_mut(&mut self.message).as_object_mut() {
            object.set(key, value);
        }
    }

    /// Removes a member; returns whether it existed.
    pub(super) fn remove(&mut self, key: &str) -> bool {
        if self.message.get(key).is_none() {
            return false;
        }
        Arc::make_mut(&mut self.message).as_object_mut().is_some_and(|object| object.remove(key).is_some())
    }

    /// Keeps the blocks for which `keeps` is true; returns the number removed.
    pub(super) fn retain_blocks(&mut self, keeps: impl Fn(&Value) -> bool) -> usize {
        let kept: Vec<Value> = self.blocks().iter().filter(|block| keeps(block)).cloned().collect();
        let gone = self.blocks().len() - kept.len();
        if gone > 0 {
            self.set("content", Value::Array(kept));
        }
        gone
    }
}

/// Agreement between a rebuilt and a recorded list; greater is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Agreement {
    /// Number of messages before the first difference.
    pub(super) equal: usize,
    /// Weight of the differences in that message, or the difference in length of the lists.
    pub(super) missing: Reverse<u64>,
}

impl Agreement {
    /// Measures the agreement of a rebuilt list with a recorded one.
    pub(super) fn new(recorded: &RecordedList, rebuilt: &[RebuiltMessage]) -> Self {
        for (at, (own, other)) in recorded.items.iter().zip(rebuilt).enumerate() {
            let weight = compare(own, &other.message, String::new()).weight;
            if weight > 0 {
                return Self { equal: at, missing: Reverse(weight as u64) };
            }
        }
        let equal = recorded.items.len().min(rebuilt.len());
        Self { equal, missing: Reverse(recorded.total.abs_diff(rebuilt.len() as u64)) }
    }

    /// Whether the lists agree, cuts and redactions aside.
    pub(super) fn is_perfect(self) -> bool {
        self.missing.0 == 0
    }
}
