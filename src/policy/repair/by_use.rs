//! Pairing since 2026.8.1: every use of an id has its own result (compaction 6.8). An answer with calls owns the messages
//! up to the next one; a result that no call there takes belongs to the only earlier call that still lacks it.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use crate::gateway::ruleset::FailedCalls;
use crate::js::JsString;
use crate::policy::repair::shape::{
    MissingResult, PairedCall, Pairing, PairingShape, PlacedMessage, RepairRules, fixed_name, only_call_of,
};

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
