//! Gives each assistant message with calls exactly one result per call: existing results move up, missing ones are
//! invented, orphans and duplicates are dropped (compaction 6.2–6.6).

use std::collections::{HashMap, HashSet};

use crate::js::{JsString, Value};
use crate::policy::repair::shape::{MissingResult, PairedCall, PairingShape, UNKNOWN_TOOL};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlacedMessage {
    /// The unchanged message at this input index.
    Original(usize),
    /// The result at this input index with a new `toolName` (compaction 6.4).
    Renamed(usize, JsString),
    /// An invented result.
    Synthetic(MissingResult),
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
    /// The list was replaced (compaction 6.5b).
    pub is_replaced: bool,
}

/// Pairs results with calls.
pub fn pair(shapes: &[&PairingShape]) -> Pairing {
    let mut run = PairingRun::default();
    let mut at = 0;
    while let Some(shape) = shapes.get(at) {
        match shape {
            PairingShape::Assistant(calls) if !calls.is_empty() => {
                let span = &shapes[at + 1..];
                let length =
                    span.iter().position(|s| matches!(s, PairingShape::Assistant(_))).unwrap_or(span.len());
                run.pair_span(at, calls, &span[..length]);
                at += length;
            }
            PairingShape::Result { .. } => run.drop_orphan(at),
            PairingShape::Assistant(_) | PairingShape::Other => {
                run.pairing.order.push(PlacedMessage::Original(at));
            }
        }
        at += 1;
    }
    if !run.pairing.is_replaced {
        // A duplicate result in one span disappears only when something else changes (compaction 6.5a).
        run.pairing.order = (0..shapes.len()).map(PlacedMessage::Original).collect();
    }
    run.pairing
}

#[derive(Default)]
struct PairingRun {
    /// Ids of the results in the new list.
    placed: HashSet<JsString>,
    pairing: Pairing,
}

impl PairingRun {
    /// Pairs one assistant message with the messages up to the next one.
    fn pair_span(&mut self, assistant: usize, calls: &[PairedCall], span: &[&PairingShape]) {
        // When several calls share an id, the last one names the tool (compaction 6.4).
        let names: HashMap<&JsString, Option<&JsString>> =
            calls.iter().map(|call| (&call.id, call.name.as_ref())).collect();
        let mut results: HashMap<&JsString, PlacedMessage> = HashMap::new();
        let mut rest = Vec::new();
        for (at, shape) in (assistant + 1..).zip(span) {
            let PairingShape::Result { id, name } = shape else {
                rest.push(PlacedMessage::Original(at));
                continue;
            };
            match id.as_ref().and_then(|id| names.get_key_value(id)) {
                None => self.drop_orphan(at),
                Some((id, _)) if self.placed.contains(*id) => self.drop_duplicate(),
                Some((id, call_name)) => {
                    let result = self.with_fixed_name(at, name.as_ref(), *call_name);
                    results.entry(id).or_insert(result);
                }
            }
        }
        self.pairing.is_replaced |= !results.is_empty() && !rest.is_empty();
        self.pairing.order.push(PlacedMessage::Original(assistant));
        for call in calls {
            let result = results.get(&call.id).cloned().unwrap_or_else(|| self.add_missing(call));
            self.place(call, result);
        }
        self.pairing.order.append(&mut rest);
    }

    fn drop_orphan(&mut self, at: usize) {
        self.pairing.orphans.push(at);
        self.pairing.is_replaced = true;
    }

    fn drop_duplicate(&mut self) {
        self.pairing.dropped_duplicates += 1;
        self.pairing.is_replaced = true;
    }

    fn with_fixed_name(
        &mut self,
        at: usize,
        name: Option<&JsString>,
        call_name: Option<&JsString>,
    ) -> PlacedMessage {
        match fixed_name(name, call_name) {
            None => PlacedMessage::Original(at),
            Some(name) => {
                self.pairing.is_replaced = true;
                PlacedMessage::Renamed(at, name)
            }
        }
    }

    fn add_missing(&mut self, call: &PairedCall) -> PlacedMessage {
        let missing = MissingResult::for_call(call);
        self.pairing.added.push(missing.clone());
        self.pairing.is_replaced = true;
        PlacedMessage::Synthetic(missing)
    }

    fn place(&mut self, call: &PairedCall, result: PlacedMessage) {
        if self.placed.insert(call.id.clone()) {
            self.pairing.order.push(result);
        } else {
            self.drop_duplicate();
        }
    }
}

/// Returns the corrected tool name of a result; `None` when it keeps its own (compaction 6.4).
fn fixed_name(name: Option<&JsString>, call_name: Option<&JsString>) -> Option<JsString> {
    let trimmed = |name: Option<&JsString>| name.map(JsString::trim).filter(|name| !name.is_empty());
    let fixed = trimmed(name)
        .or_else(|| trimmed(call_name))
        .or_else(|| name.is_some().then(|| JsString::from(UNKNOWN_TOOL)))?;
    (Some(&fixed) != name).then_some(fixed)
}

/// Builds the messages of a paired list; invented results get the time `now_ms`.
pub fn apply_pairing(messages: &[Value], order: &[PlacedMessage], now_ms: f64) -> Vec<Value> {
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

    /// Parses `a:x,y` as an assistant with calls x and y, `r:x` or `r:x=name` as a result, the rest as other messages.
    fn shape(word: &str) -> PairingShape {
        if let Some(calls) = word.strip_prefix("a:") {
            let call = |id: &str| PairedCall { id: id.into(), name: Some("exec".into()) };
            return PairingShape::Assistant(calls.split(',').filter(|id| !id.is_empty()).map(call).collect());
        }
        let Some(result) = word.strip_prefix("r:") else { return PairingShape::Other };
        let (id, name) = result.split_once('=').unwrap_or((result, "exec"));
        PairingShape::Result { id: Some(id.into()), name: Some(name.replace('_', " ").as_str().into()) }
    }

    fn paired(list: &str) -> Pairing {
        let shapes: Vec<PairingShape> = list.split_whitespace().map(shape).collect();
        pair(&shapes.iter().collect::<Vec<_>>())
    }

    /// Formats the new list: indexes, `+x` for an invented result, `3=name` for a renamed one.
    fn order(pairing: &Pairing) -> String {
        let word = |placed: &PlacedMessage| match placed {
            PlacedMessage::Original(at) => at.to_string(),
            PlacedMessage::Renamed(at, name) => format!("{at}={}", name.to_string_lossy()),
            PlacedMessage::Synthetic(missing) => format!("+{}", missing.id.to_string_lossy()),
        };
        pairing.order.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    fn counts(pairing: &Pairing) -> (usize, usize, usize, bool) {
        (pairing.added.len(), pairing.dropped_duplicates, pairing.orphans.len(), pairing.is_replaced)
    }

    #[test]
    fn a_result_moves_up_to_its_call_and_a_missing_one_is_invented() {
        let pairing = paired("u a:x,y u r:y u");
        assert_eq!(order(&pairing), "0 1 +x 3 2 4");
        assert_eq!(counts(&pairing), (1, 0, 0, true));
    }

    #[test]
    fn a_result_without_a_call_is_an_orphan_and_one_after_the_next_assistant_too() {
        let pairing = paired("r:x a:x a: r:x");
        assert_eq!(order(&pairing), "1 +x 2");
        assert_eq!(counts(&pairing), (1, 0, 2, true));
    }

    #[test]
    fn a_second_result_in_one_span_stays_unless_something_else_changes() {
        let alone = paired("a:x r:x r:x");
        assert_eq!((order(&alone).as_str(), counts(&alone)), ("0 1 2", (0, 0, 0, false)));
        let beside = paired("a:x r:x r:x r:z");
        assert_eq!((order(&beside).as_str(), counts(&beside)), ("0 1", (0, 0, 1, true)));
    }

    #[test]
    fn an_ordinary_turn_counts_as_moved_although_it_stays() {
        let pairing = paired("a:x r:x u");
        assert_eq!((order(&pairing).as_str(), counts(&pairing)), ("0 1 2", (0, 0, 0, true)));
    }

    #[test]
    fn a_reused_id_leaves_the_later_call_without_a_result() {
        let pairing = paired("a:x r:x a:x r:x");
        assert_eq!((order(&pairing).as_str(), counts(&pairing)), ("0 1 2", (1, 2, 0, true)));
    }

    #[test]
    fn one_message_with_the_same_id_twice_has_one_result() {
        let there = paired("a:x,x r:x");
        assert_eq!((order(&there).as_str(), counts(&there)), ("0 1", (0, 1, 0, true)));
        let missing = paired("a:x,x");
        assert_eq!((order(&missing).as_str(), counts(&missing)), ("0 +x", (2, 1, 0, true)));
    }

    #[test]
    fn names_are_trimmed_filled_from_the_call_or_unknown() {
        assert_eq!(order(&paired("a:x r:x=_read_")), "0 1=read");
        assert_eq!(order(&paired("a:x r:x=_")), "0 1=exec");
        let text = JsString::from;
        assert_eq!(fixed_name(Some(&text(" ")), None), Some(text("unknown")));
        assert_eq!(fixed_name(None, Some(&text(" "))), None);
        assert_eq!(fixed_name(None, Some(&text(" a "))), Some(text("a")));
        assert_eq!(fixed_name(Some(&text("a")), Some(&text("b"))), None);
    }

    #[test]
    fn a_renamed_result_changes_its_name_in_place() {
        let result = crate::js::parse(r#"{"role":"toolResult","toolName":" a ","content":[]}"#).unwrap();
        let new = apply_pairing(&[result], &[PlacedMessage::Renamed(0, "a".into())], 0.0);
        assert_eq!(crate::js::stringify(&new[0]), r#"{"role":"toolResult","toolName":"a","content":[]}"#);
    }
}
