//! Pairing of the releases before 2026.8.1: an id gets one result for any number of uses (compaction 6.2–6.8).

use std::collections::HashMap;
use std::ops::Range;

use crate::gateway::ruleset::{FailedCalls, PairingRule, ResultMatching};
use crate::js::JsString;
use crate::policy::repair::by_use::{Pairing, PlacedMessage, fixed_name, only_call_of, usable_name};
use crate::policy::repair::shape::{MissingResult, PairedCall, PairingShape, RepairRules};

pub(super) fn pair_by_id(shapes: &[&PairingShape], rules: RepairRules) -> Pairing {
    let mut run = PairingRun {
        shapes,
        rules,
        rule: rules.pairing(),
        placed: HashMap::new(),
        added: HashMap::new(),
        late: None,
        pairing: Pairing::default(),
    };
    let mut at = 0;
    while let Some(shape) = shapes.get(at) {
        match shape {
            PairingShape::Assistant { calls, failed } if run.has_calls(shape) => {
                let end = run.span_end(at);
                run.pair_span(Answer { at, calls, failed: *failed }, at + 1..end);
                at = end;
                continue;
            }
            PairingShape::Result { .. } => run.drop_orphan(at),
            PairingShape::Assistant { .. } | PairingShape::Other => {
                run.pairing.order.push(PlacedMessage::Original(at));
            }
        }
        at += 1;
    }
    let (mut pairing, mut added) = (run.pairing, run.added);
    pairing.added.retain(|missing| {
        let own = added.get_mut(&missing.id.trim()).filter(|own| own.forgotten > 0);
        own.map(|own| own.forgotten -= 1).is_none()
    });
    if !pairing.is_replaced {
        // What a span leaves out disappears only when something else changes (compaction 6.5a).
        pairing.order = (0..shapes.len()).map(PlacedMessage::Original).collect();
    }
    pairing
}

#[derive(Clone, Copy)]
struct Answer<'a> {
    at: usize,
    calls: &'a [PairedCall],
    failed: bool,
}

struct PairingRun<'a> {
    shapes: &'a [&'a PairingShape],
    rules: RepairRules,
    rule: &'static PairingRule,
    /// Ids of the results in the new list, with their positions.
    placed: HashMap<JsString, usize>,
    /// The results invented for each id.
    added: HashMap<JsString, AddedResults>,
    /// Built when a call first has no result in its span.
    late: Option<LateResults<'a>>,
    pairing: Pairing,
}

#[derive(Default)]
struct AddedResults {
    count: usize,
    forgotten: usize,
}

/// The results of a span by id.
#[derive(Default)]
struct SpanResults<'a> {
    /// Tool names of the calls by id.
    names: HashMap<&'a JsString, Option<&'a JsString>>,
    first: HashMap<&'a JsString, PlacedMessage>,
    /// Input indexes of all of them, ascending.
    all: Vec<usize>,
    /// Messages of other roles.
    rest: Vec<PlacedMessage>,
}

impl<'a> PairingRun<'a> {
    fn has_calls(&self, shape: &PairingShape) -> bool {
        let PairingShape::Assistant { calls, failed } = shape else { return false };
        !(calls.is_empty() || *failed && self.rule.failed_calls == FailedCalls::Ignored)
    }

    fn moves_late_results(&self) -> bool {
        self.rule.matching == ResultMatching::Anywhere
    }

    /// Returns the end of the messages in which the results of an answer are looked for.
    fn span_end(&self, answer: usize) -> usize {
        let ends = |shape: &&PairingShape| match shape {
            PairingShape::Assistant { calls, .. } => {
                self.rule.matching == ResultMatching::BeforeAnswer || !calls.is_empty()
            }
            _ => false,
        };
        let length = self.shapes[answer + 1..].iter().position(ends);
        length.map_or(self.shapes.len(), |length| answer + 1 + length)
    }

    fn pair_span(&mut self, answer: Answer<'a>, span: Range<usize>) {
        let end = span.end;
        let mut results = self.results_of(answer.calls, span);
        if answer.failed && self.rule.failed_calls != FailedCalls::Paired {
            self.drop_failed(answer.at, &mut results);
            return;
        }
        self.pairing.is_replaced |= !results.first.is_empty() && !results.rest.is_empty();
        self.pairing.order.push(PlacedMessage::Original(answer.at));
        for call in answer.calls {
            let result = results.first.get(&call.id).cloned();
            let call_name = results.names.get(&call.id).copied().flatten();
            let result = result.or_else(|| self.late_result(answer.calls, call, call_name, end));
            let result = result.unwrap_or_else(|| self.add_missing(call));
            self.place(&call.id, result);
        }
        self.pairing.order.append(&mut results.rest);
    }

    fn results_of(&mut self, calls: &'a [PairedCall], span: Range<usize>) -> SpanResults<'a> {
        let mut results = SpanResults { names: self.names_of(calls), ..SpanResults::default() };
        let shapes = self.shapes;
        for at in span {
            let PairingShape::Result { id, name, .. } = shapes[at] else {
                results.rest.push(PlacedMessage::Original(at));
                continue;
            };
            let only_call = || only_call_of(name.as_ref(), calls).map(|call| &call.id);
            let is_linked = id.is_none() && self.rule.reads_loose_ids;
            let id = if is_linked { only_call() } else { id.as_ref() };
            if self.moves_late_results()
                && let Some(id) = id.filter(|id| self.placed.contains_key(*id))
            {
                let call_name = results.names.get(id).copied().flatten();
                let result = self.with_fixed_name(at, name.as_ref(), call_name);
                self.place(id, result);
                continue;
            }
            match id.and_then(|id| results.names.get_key_value(id)) {
                None => self.drop_orphan(at),
                Some((id, _)) if self.placed.contains_key(*id) => self.drop_duplicate(),
                Some((id, call_name)) => {
                    let (id, call_name) = (*id, *call_name);
                    self.pairing.is_replaced |= is_linked;
                    let result = self.with_fixed_name(at, name.as_ref(), call_name);
                    results.all.push(at);
                    self.add_result(&mut results, id, result);
                }
            }
        }
        results
    }

    /// Returns the tool names of calls. When several share an id, the last one names the tool (compaction 6.4), later
    /// the last one with a name.
    fn names_of(&self, calls: &'a [PairedCall]) -> HashMap<&'a JsString, Option<&'a JsString>> {
        let mut names = HashMap::new();
        for PairedCall { id, name } in calls {
            if name.is_some() || self.rule.matching == ResultMatching::BeforeAnswer {
                names.insert(id, name.as_ref());
            } else {
                names.entry(id).or_insert(None);
            }
        }
        names
    }

    /// Adds a result of a call in its span; the first of an id counts, unless it was invented and the other was not.
    fn add_result(&mut self, results: &mut SpanResults<'a>, id: &'a JsString, result: PlacedMessage) {
        let Some(first) = results.first.get_mut(id) else {
            results.first.insert(id, result);
            return;
        };
        if self.moves_late_results() {
            if is_invented(self.shapes, first) && !is_invented(self.shapes, &result) {
                *first = result;
            }
            self.drop_duplicate();
        }
    }

    fn drop_failed(&mut self, answer: usize, results: &mut SpanResults<'a>) {
        match self.rule.failed_calls {
            FailedCalls::Dropped => {
                self.pairing.failed.push(answer);
                self.pairing.is_replaced = true;
            }
            FailedCalls::WithoutResults { replaces } => {
                self.pairing.order.push(PlacedMessage::Original(answer));
                self.pairing.is_replaced |= replaces && !results.all.is_empty();
            }
            FailedCalls::Paired | FailedCalls::Ignored => {}
        }
        self.pairing.failed.append(&mut results.all);
        self.pairing.order.append(&mut results.rest);
    }

    /// Returns the first result of a call after its span, if the version moves such results up.
    fn late_result(
        &mut self,
        calls: &[PairedCall],
        call: &PairedCall,
        call_name: Option<&JsString>,
        from: usize,
    ) -> Option<PlacedMessage> {
        if !self.moves_late_results() || self.placed.contains_key(&call.id) {
            return None;
        }
        let shapes = self.shapes;
        let late = self.late.get_or_insert_with(|| LateResults::new(shapes));
        let at = late.first(calls, call, from)?;
        let PairingShape::Result { name, .. } = shapes[at] else { return None };
        self.pairing.is_replaced = true;
        Some(self.with_fixed_name(at, name.as_ref(), call_name))
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
        match fixed_name(name, call_name).filter(|_| self.rule.names_results) {
            None => PlacedMessage::Original(at),
            Some(name) => {
                self.pairing.is_replaced = true;
                PlacedMessage::Renamed(at, name)
            }
        }
    }

    fn add_missing(&mut self, call: &PairedCall) -> PlacedMessage {
        let missing = MissingResult::for_call(call, self.rules);
        self.added.entry(missing.id.trim()).or_default().count += 1;
        self.pairing.added.push(missing.clone());
        self.pairing.is_replaced = true;
        PlacedMessage::Synthetic(missing)
    }

    /// Places a result; one whose id is placed already is dropped, or replaces an invented one.
    fn place(&mut self, id: &JsString, result: PlacedMessage) {
        let key = if self.rule.reads_loose_ids { id.trim() } else { id.clone() };
        let Some(before) = self.placed.get(&key).copied() else {
            self.placed.insert(key, self.pairing.order.len());
            self.pairing.order.push(result);
            return;
        };
        let placed = &self.pairing.order[before];
        if self.moves_late_results() && is_invented(self.shapes, placed) && !is_invented(self.shapes, &result)
        {
            self.pairing.order[before] = result;
            // The runtime forgets the first result that it invented for the id, whichever is replaced.
            if let Some(added) = self.added.get_mut(&key).filter(|added| added.count > added.forgotten) {
                added.forgotten += 1;
            }
        }
        self.drop_duplicate();
    }
}

fn is_invented(shapes: &[&PairingShape], placed: &PlacedMessage) -> bool {
    match placed {
        PlacedMessage::Synthetic(_) => true,
        PlacedMessage::Original(at) | PlacedMessage::Renamed(at, _) => shapes[*at].is_invented(),
    }
}

// The results of a list by id, for the releases that move a result up to its call from anywhere (compaction 6.8).

pub(super) struct LateResults<'a> {
    /// Positions of the results with an id, ascending.
    by_id: HashMap<&'a JsString, Vec<usize>>,
    /// Positions of the results without one, ascending; all of them, and by their tool.
    without_id: Vec<usize>,
    without_id_by_tool: HashMap<Option<JsString>, Vec<usize>>,
}

impl<'a> LateResults<'a> {
    pub(super) fn new(shapes: &[&'a PairingShape]) -> Self {
        let mut results =
            Self { by_id: HashMap::new(), without_id: Vec::new(), without_id_by_tool: HashMap::new() };
        for (at, shape) in shapes.iter().enumerate() {
            match shape {
                PairingShape::Result { id: Some(id), .. } => results.by_id.entry(id).or_default().push(at),
                PairingShape::Result { id: None, name, .. } => {
                    results.without_id.push(at);
                    results.without_id_by_tool.entry(usable_name(name.as_ref())).or_default().push(at);
                }
                _ => {}
            }
        }
        results
    }

    /// Returns the first result of a call at or after `from`; `calls` are all calls of its answer.
    pub(super) fn first(&self, calls: &[PairedCall], call: &PairedCall, from: usize) -> Option<usize> {
        let after =
            |positions: &Vec<usize>| positions.get(positions.partition_point(|at| *at < from)).copied();
        let own = self.by_id.get(&call.id).and_then(after);
        let of_tool = |tool: &Option<JsString>| self.without_id_by_tool.get(tool).and_then(after);
        // As `only_call_of` decides, without looking at every result.
        let linked = match (calls, usable_name(call.name.as_ref())) {
            ([_], None) => after(&self.without_id),
            ([_], tool) => of_tool(&tool).into_iter().chain(of_tool(&None)).min(),
            _ => None,
        };
        own.into_iter().chain(linked).min()
    }
}
