//! The outcome of pairing calls with results, and the messages that follow from it (compaction 6.2–6.6).

use crate::js::{JsString, Value};
use crate::policy::repair::shape::{MissingResult, PairedCall, UNKNOWN_TOOL};
use crate::units::Moment;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlacedMessage {
    /// The unchanged message at this input index.
    Original(usize),
    /// The result at this input index with a new `toolName` (compaction 6.4).
    Renamed(usize, JsString),
    /// An invented result.
    Synthetic(MissingResult),
}

impl PlacedMessage {
    /// Returns the input index; `None` for an invented result.
    pub(super) fn input_index(&self) -> Option<usize> {
        match self {
            Self::Original(at) | Self::Renamed(at, _) => Some(*at),
            Self::Synthetic(_) => None,
        }
    }
}

/// The paired list and its counters. The counters reproduce the runtime's, which are not always exact (compaction 6.5).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pairing {
    /// The new list; equal to the input unless `is_replaced`.
    pub order: Vec<PlacedMessage>,
    /// Every invented result, including those that were dropped again (compaction 6.6).
    pub added: Vec<MissingResult>,
    /// Results dropped because their id was already placed.
    pub dropped_duplicates: usize,
    /// Input indexes of dropped results without an earlier call of their id, ascending.
    pub orphans: Vec<usize>,
    /// Input indexes of dropped answers that failed, and of their results, ascending.
    pub failed: Vec<usize>,
    /// The list was replaced (compaction 6.5b).
    pub is_replaced: bool,
}

/// Returns the corrected tool name of a result; `None` when it keeps its own (compaction 6.4).
pub(super) fn fixed_name(name: Option<&JsString>, call_name: Option<&JsString>) -> Option<JsString> {
    let fixed = usable_name(name)
        .or_else(|| usable_name(call_name))
        .or_else(|| name.is_some().then(|| JsString::from(UNKNOWN_TOOL)))?;
    (Some(&fixed) != name).then_some(fixed)
}

/// Returns a trimmed tool name that is not blank.
pub(super) fn usable_name(name: Option<&JsString>) -> Option<JsString> {
    name.map(JsString::trim).filter(|name| !name.is_empty())
}

/// Returns the call that a result without an id belongs to: the only one of its answer, if names agree where both have
/// one (compaction 6.8).
pub(super) fn only_call_of<'a>(name: Option<&JsString>, calls: &'a [PairedCall]) -> Option<&'a PairedCall> {
    let [call] = calls else { return None };
    match (usable_name(name), usable_name(call.name.as_ref())) {
        (Some(own), Some(called)) if own != called => None,
        _ => Some(call),
    }
}

/// Builds the messages of a paired list; invented results get the time `now_ms`.
pub fn apply_pairing(messages: &[Value], order: &[PlacedMessage], now_ms: Moment) -> Vec<Value> {
    let placed = order.iter().map(|placed| match placed {
        PlacedMessage::Original(at) => messages[*at].clone(),
        PlacedMessage::Renamed(at, name) => rename_result(&messages[*at], name),
        PlacedMessage::Synthetic(missing) => missing.message(now_ms),
    });
    placed.collect()
}

pub fn rename_result(message: &Value, name: &JsString) -> Value {
    let mut copy = message.clone();
    if let Some(object) = copy.as_object_mut() {
        object.set("toolName", Value::from(name.clone()));
    }
    copy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_trimmed_taken_from_the_call_or_unknown() {
        let text = JsString::from;
        assert_eq!(fixed_name(Some(&text(" ")), None), Some(text("unknown")));
        assert_eq!(fixed_name(None, Some(&text(" "))), None);
        assert_eq!(fixed_name(None, Some(&text(" a "))), Some(text("a")));
        assert_eq!(fixed_name(Some(&text("a")), Some(&text("b"))), None);
    }

    #[test]
    fn a_renamed_result_changes_its_name_in_place() {
        let result = crate::js::parse(r#"{"role":"toolResult","toolName":" a ","content":[]}"#).unwrap();
        let new = apply_pairing(&[result], &[PlacedMessage::Renamed(0, "a".into())], Moment::ZERO);
        assert_eq!(crate::js::stringify(&new[0]), r#"{"role":"toolResult","toolName":"a","content":[]}"#);
    }
}
