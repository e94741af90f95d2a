//! Pairing since 2026.8.1: every use of an id has its own result (compaction 6.8). An answer with calls owns the messages
//! up to the next one; a result that no call there takes belongs to the only earlier call that still lacks it.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use crate::gateway::ruleset::FailedCalls;
use crate::js::{JsString, Value};
use crate::policy::repair::shape::{MissingResult, PairedCall, PairingShape, RepairRules, UNKNOWN_TOOL};
use crate::units::Moment;

pub(super) fn pair_by_use(shapes: &[&PairingShape], rules: RepairRules) -> Pairing {
    let mut run = UsePairing {
        shapes,
        uses: Vec::new(),
        waiting: HashMap::new(),
        has_linked: false,
        pairing: Pairing::default(),
    };
    let answers: Vec<usize> = (0..shapes.len()).filter(|at| !run.calls(*at).is_empty()).collect();
    let mut frames = Vec::with_capacity(answers.len());
    for (nth, answer) in answers.iter().enumerate() {
        let end = answers.get(nth + 1).copied().unwrap_or(shapes.len());
        frames.push(run.match_frame(*answer, end));
    }
    run.write(&frames, rules)
}

/// One use of an id by a call.
struct Use<'a> {
    call: &'a PairedCall,
    result: Option<PlacedMessage>,
}

/// An answer with calls and the messages up to the next one.
struct Frame {
    answer: usize,
    end: usize,
    uses: Range<usize>,
    /// Messages that are not results.
    rest: Vec<usize>,
}

/// The uses of an id that a later result can still match.
#[derive(Default)]
struct OpenUses {
    without_result: Vec<usize>,
    /// Their recorded result was invented.
    with_invented: Vec<usize>,
}

struct UsePairing<'a> {
    shapes: &'a [&'a PairingShape],
    uses: Vec<Use<'a>>,
    waiting: HashMap<&'a JsString, OpenUses>,
    /// A result without an id got that of a call.
    has_linked: bool,
    pairing: Pairing,
}

impl<'a> UsePairing<'a> {
    fn calls(&self, at: usize) -> &'a [PairedCall] {
        match self.shapes[at] {
            PairingShape::Assistant { calls, .. } => calls,
            _ => &[],
        }
    }

    /// Returns the id of a result; one without an id takes that of the only call of its frame.
    fn id_of(&self, at: usize, calls: &'a [PairedCall]) -> Option<&'a JsString> {
        let PairingShape::Result { id, name, .. } = self.shapes[at] else { return None };
        id.as_ref().or_else(|| only_call_of(name.as_ref(), calls).map(|call| &call.id))
    }

    fn is_invented(&self, at: usize) -> bool {
        self.shapes[at].is_invented()
    }

    /// Gives the results between an answer and the next one to its calls, and the others to earlier calls.
    fn match_frame(&mut self, answer: usize, end: usize) -> Frame {
        let calls = self.calls(answer);
        let uses = self.uses.len()..self.uses.len() + calls.len();
        self.uses.extend(calls.iter().map(|call| Use { call, result: None }));
        let mut open: HashMap<&JsString, VecDeque<usize>> = HashMap::new();
        uses.clone().for_each(|at| open.entry(&self.uses[at].call.id).or_default().push_back(at));
        let mut invented: HashMap<&JsString, VecDeque<usize>> = HashMap::new();
        let (mut rest, mut unclaimed) = (Vec::new(), Vec::new());
        for at in answer + 1..end {
            if !matches!(self.shapes[at], PairingShape::Result { .. }) {
                rest.push(at);
                continue;
            }
            let found = self.id_of(at, calls).and_then(|id| open.get_key_value(id));
            let Some((id, uses_of_id)) = found else {
                unclaimed.push(at);
                continue;
            };
            let id = *id;
            if let Some(nth) = uses_of_id.front().copied() {
                open.entry(id).or_default().pop_front();
                self.give(nth, at);
                if self.is_invented(at) {
                    invented.entry(id).or_default().push_back(nth);
                }
                continue;
            }
            self.pairing.dropped_duplicates += 1;
            if !self.is_invented(at)
                && let Some(nth) = invented.get_mut(id).and_then(VecDeque::pop_front)
            {
                self.give(nth, at);
            }
        }
        uses.clone().for_each(|nth| self.wait(nth));
        for at in unclaimed {
            self.give_to_earlier(at, calls);
        }
        Frame { answer, end, uses, rest }
    }

    /// Gives the result at an input index to a use.
    fn give(&mut self, nth: usize, at: usize) {
        let PairingShape::Result { id, name, .. } = self.shapes[at] else { return };
        self.has_linked |= id.is_none();
        let renamed = fixed_name(name.as_ref(), self.uses[nth].call.name.as_ref());
        self.uses[nth].result = Some(match renamed {
            Some(name) => PlacedMessage::Renamed(at, name),
            None => PlacedMessage::Original(at),
        });
    }

    /// Adds a use to those that wait for a result, unless it has a recorded one that no repair invented.
    fn wait(&mut self, nth: usize) {
        let Use { call, result } = &self.uses[nth];
        let recorded = result.as_ref().and_then(PlacedMessage::input_index);
        let has_invented = recorded.map(|at| self.is_invented(at));
        let call = *call;
        match has_invented {
            None => self.waiting.entry(&call.id).or_default().without_result.push(nth),
            Some(true) => self.waiting.entry(&call.id).or_default().with_invented.push(nth),
            Some(false) => {}
        }
    }

    /// Gives a result to the use of its id that waits, if there is exactly one; otherwise the result is an orphan.
    fn give_to_earlier(&mut self, at: usize, calls: &'a [PairedCall]) {
        let is_invented = self.is_invented(at);
        let waiting = self.id_of(at, calls).and_then(|id| self.waiting.get_mut(id));
        let taken = waiting.and_then(|waiting| waiting.take_only(is_invented));
        let Some((nth, had_result)) = taken else {
            self.pairing.orphans.push(at);
            return;
        };
        self.pairing.dropped_duplicates += usize::from(had_result);
        self.give(nth, at);
        self.wait(nth);
    }

    /// Builds the paired list from the matched frames.
    fn write(mut self, frames: &[Frame], rules: RepairRules) -> Pairing {
        let mut next = 0;
        for frame in frames {
            self.write_outside(next..frame.answer);
            self.write_frame(frame, rules);
            self.pairing.order.extend(frame.rest.iter().map(|at| PlacedMessage::Original(*at)));
            next = frame.end;
        }
        self.write_outside(next..self.shapes.len());
        self.pairing.orphans.sort_unstable();
        self.pairing.failed.sort_unstable();
        let is_as_written = |(at, placed): (usize, &PlacedMessage)| *placed == PlacedMessage::Original(at);
        let stays = self.pairing.order.len() == self.shapes.len()
            && self.pairing.order.iter().enumerate().all(is_as_written);
        self.pairing.is_replaced = !stays || self.has_linked;
        self.pairing
    }

    /// Writes messages before the first answer with calls.
    fn write_outside(&mut self, range: Range<usize>) {
        for at in range {
            match self.shapes[at] {
                PairingShape::Result { .. } => self.pairing.orphans.push(at),
                _ => self.pairing.order.push(PlacedMessage::Original(at)),
            }
        }
    }

    fn write_frame(&mut self, frame: &Frame, rules: RepairRules) {
        let failed = matches!(self.shapes[frame.answer], PairingShape::Assistant { failed: true, .. });
        if failed && rules.pairing().failed_calls == FailedCalls::Dropped {
            let results = self.uses[frame.uses.clone()].iter();
            let results = results.filter_map(|each| each.result.as_ref()?.input_index());
            self.pairing.failed.push(frame.answer);
            self.pairing.failed.extend(results);
            return;
        }
        self.pairing.order.push(PlacedMessage::Original(frame.answer));
        for nth in frame.uses.clone() {
            let Use { call, result } = &mut self.uses[nth];
            let result = result.take().unwrap_or_else(|| {
                let missing = MissingResult::for_call(call, rules);
                self.pairing.added.push(missing.clone());
                PlacedMessage::Synthetic(missing)
            });
            self.pairing.order.push(result);
        }
    }
}

impl OpenUses {
    /// Removes and returns the only use that a result can match, and whether it has one already. An invented result
    /// does not replace another.
    fn take_only(&mut self, is_invented: bool) -> Option<(usize, bool)> {
        let replaceable = if is_invented { 0 } else { self.with_invented.len() };
        match (self.without_result.len(), replaceable) {
            (1, 0) => self.without_result.pop().map(|nth| (nth, false)),
            (0, 1) => self.with_invented.pop().map(|nth| (nth, true)),
            _ => None,
        }
    }
}

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
