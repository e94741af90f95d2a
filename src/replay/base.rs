//! State that all traces of a session share: the messages of the path as the transcript has them, the positions of
//! replies, results and user messages, and the changes that repair makes when a run first loads them. Built once,
//! because a sweep runs thousands of traces over the same path.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::context::projection::projected_size;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::context::{Context, ContextMessage, first_kept};
use crate::gateway::ruleset::{FailedCalls, PiChange};
use crate::ids::EntryIx;
use crate::policy::edit::Edit;
use crate::policy::features::ContentFeatures;
use crate::policy::message_list::{FeatureLookup, MessageList, PlannedMessage};
use crate::policy::planned_message::EditCache;
use crate::policy::repair::{
    MissingResult, PairingShape, PlacedMessage, RepairRules, StubMark, pair, pair_list, repair_list,
};
use crate::replay::ReplaySession;
use crate::replay::fixed_point::fixed_point;
use crate::store::entry::{EntryKind, MessageSize, ReadMode, Role};
use crate::store::index::Index;
use crate::units::Tokens;

/// The messages of the path, with the results that repair invents between them. An invented result counts as nothing
/// until a run has loaded the messages before it.
#[derive(Debug, Default)]
pub(super) struct ReplayBase {
    /// Sizes, in the form that a message list needs.
    pub(super) context: Context,
    /// Position of each message's entry on the path; `usize::MAX` for an invented result.
    path_indices: Vec<usize>,
    /// Messages that repair adds or drops, ascending.
    pub(super) repair_changes: Vec<usize>,
    pub(super) missing: HashMap<usize, PlannedMessage>,
    /// A repair of any range of the path adds and drops exactly these messages and changes nothing else that is sent.
    pub(super) has_local_repairs: bool,
    /// Tokens of each message by this session's fitted factors, if there are any.
    pub(super) weights: Option<Vec<Tokens>>,
    /// Tokens of each message, estimated from chars.
    pub(super) estimates: Vec<u64>,
    /// Positions of user messages.
    pub(super) users: Vec<usize>,
    /// Positions of assistant messages.
    pub(super) replies: Vec<usize>,
    /// Positions of tool results, and of messages that the guard treats as results.
    pub(super) results: Vec<usize>,
    /// Features of each result without its details; computed when a trace first needs them.
    stripped_features: Vec<OnceLock<Box<ContentFeatures>>>,
    /// Edits of the messages as the transcript has them, and of those without their details: all traces make the same.
    pub(super) edits: [EditCache; 2],
    is_paired: OnceLock<bool>,
}

enum Slot {
    Written { nth: usize, dropped: bool },
    Missing(MissingResult),
}

impl ReplayBase {
    pub(super) fn new(session: &ReplaySession<'_>) -> Self {
        let mut base = Self { weights: session.calibrated.map(|_| Vec::new()), ..Self::default() };
        let has_message = |place: &usize| {
            let entry = session.index.entry(session.path[*place]);
            entry.message.is_some() && entry.becomes_message()
        };
        let places: Vec<usize> = (0..session.path.len()).filter(has_message).collect();
        let is_edited = session.path.iter().any(|ix| is_context_edit(session.index, *ix));
        // Once context edits change messages on the way, the sums of a range do not stay valid.
        let slots = session.features.filter(|_| !is_edited).and_then(|features| {
            let features: Option<Vec<&ContentFeatures>> =
                places.iter().map(|place| features[*place].as_deref()).collect();
            repaired_slots(&features?, session.repair)
        });
        let slots = slots.filter(|slots| !splits_repairs(session, &places, slots));
        base.has_local_repairs = slots.is_some();
        base.context.messages.reserve(slots.as_ref().map_or(places.len(), Vec::len));
        let as_written = || (0..places.len()).map(|nth| Slot::Written { nth, dropped: false }).collect();
        for slot in slots.unwrap_or_else(as_written) {
            match slot {
                Slot::Missing(missing) => base.push_missing(missing, session.repair),
                Slot::Written { nth, dropped } => {
                    if dropped {
                        base.repair_changes.push(base.len());
                    }
                    base.push_written(session, places[nth]);
                }
            }
        }
        base
    }

    fn push_written(&mut self, session: &ReplaySession<'_>, place: usize) {
        let (at, ix) = (self.len(), session.path[place]);
        let entry = session.index.entry(ix);
        let Some(size) = entry.message.map(|size| runtime_size(session.index, ix, &size)) else { return };
        if let Some(body) = session.index.retained_bodies.get(&ix).filter(|_| size.needs_body) {
            self.context.odd_bodies.insert(at, Arc::clone(body));
        }
        let features = session.features.and_then(|features| features[place].as_deref());
        let is_result =
            size.role == Role::ToolResult || features.is_some_and(|features| features.guard.is_result);
        let weight = session.calibrated.map(|fit| fixed_point(fit.weights[place]));
        self.path_indices.push(place);
        self.push(ix, size, weight, is_result);
    }

    /// Adds an invented result after the message that needs it. Its entry is that message's entry.
    fn push_missing(&mut self, missing: MissingResult, rules: RepairRules) {
        let at = self.len();
        let message = PlannedMessage::invented(missing, rules.rules);
        let Some(change) = &message.change else { return };
        let entry = self.context.messages.last().map_or(EntryIx(0), |message| message.entry);
        self.repair_changes.push(at);
        self.path_indices.push(usize::MAX);
        self.push(entry, change.size(&MessageSize::EMPTY), None, true);
        self.missing.insert(at, message);
    }

    fn push(&mut self, entry: EntryIx, size: MessageSize, weight: Option<f64>, is_result: bool) {
        let at = self.context.messages.len();
        let estimate = estimate_or_zero(&size);
        if let Some(own) = &mut self.weights {
            own.push(Tokens(weight.unwrap_or(estimate as f64)));
        }
        if is_result {
            self.results.push(at);
        }
        match size.role {
            Role::User => self.users.push(at),
            Role::Assistant => self.replies.push(at),
            _ => {}
        }
        self.estimates.push(estimate);
        self.stripped_features.push(OnceLock::new());
        self.context.messages.push(ContextMessage::from_entry(entry, size));
    }

    pub(super) fn is_missing(&self, at: usize) -> bool {
        self.path_indices.get(at) == Some(&usize::MAX)
    }

    /// Returns the first message of a range that repair adds or drops.
    pub(super) fn first_repair_change(&self, from: usize, to: usize) -> Option<usize> {
        let first = self.repair_changes.partition_point(|at| *at < from);
        self.repair_changes.get(first).copied().filter(|at| *at < to)
    }

    pub(super) fn len(&self) -> usize {
        self.path_indices.len()
    }

    /// Returns a message's features as recorded in the transcript.
    pub(super) fn features<'a>(&self, session: &ReplaySession<'a>, at: usize) -> Option<&'a ContentFeatures> {
        session.features?.get(self.path_indices[at])?.as_deref()
    }

    pub(super) fn missing_features(&self, at: usize) -> Option<&ContentFeatures> {
        self.missing.get(&at)?.change.as_ref()?.features()
    }

    /// Returns a message's features after its details were stripped.
    pub(super) fn features_without_details<'a>(
        &'a self,
        session: &ReplaySession<'a>,
        at: usize,
    ) -> Option<&'a ContentFeatures> {
        let features = self.features(session, at)?;
        let size = &self.context.messages[at].size;
        if !has_details(size.role, features) {
            return Some(features);
        }
        Some(
            self.stripped_features[at].get_or_init(|| Box::new(Edit::StripDetails.predict(size, features).1)),
        )
    }

    pub(super) fn is_paired(&self, session: &ReplaySession<'_>) -> bool {
        *self.is_paired.get_or_init(|| {
            let written = RecordedFeatures { base: self, session };
            let mut list = MessageList::from_context(&self.context, None);
            list.features = session.features.map(|_| FeatureLookup::Source(&written));
            let is_odd =
                |at: &usize| self.features(session, *at).is_some_and(|features| features.needs_input_repair);
            let odd_calls = self.replies.iter().any(is_odd);
            !if odd_calls {
                repair_list(&mut list, session.repair).changed
            } else {
                pair_list(&mut list, session.repair).changed
            }
        })
    }
}

/// Returns the messages after a repair, if that repair only drops failed answers and results without a call, and invents
/// missing results in place: only then does it do the same to every range of them. Returns `None` where it also tidies calls, renames or
/// moves results, or meets an id twice.
fn repaired_slots(features: &[&ContentFeatures], rules: RepairRules) -> Option<Vec<Slot>> {
    if features.iter().any(|features| features.needs_input_repair) {
        return None;
    }
    // A result without a call makes `pair` return the order that it would give any list.
    let foreign = PairingShape::Result { id: None, name: None, invented: StubMark::No };
    let shapes: Vec<&PairingShape> =
        std::iter::once(&foreign).chain(features.iter().map(|t| &t.shape)).collect();
    let pairing = pair(&shapes, rules);
    // Such results are dropped only if something else changes.
    let may_stay = rules.pairing().failed_calls == FailedCalls::WithoutResults { replaces: false };
    if pairing.dropped_duplicates > 0 || may_stay && !pairing.failed.is_empty() {
        return None;
    }
    let mut slots = Vec::with_capacity(features.len());
    let mut next = 1;
    let dropped = |from: usize, to: usize, slots: &mut Vec<Slot>| {
        let is_in = |dropped: &[usize], at: usize| dropped.binary_search(&at).is_ok();
        let all = (from..to).all(|at| is_in(&pairing.orphans, at) || is_in(&pairing.failed, at));
        slots.extend((from..to).map(|at| Slot::Written { nth: at - 1, dropped: true }));
        all
    };
    for placed in &pairing.order {
        match placed {
            PlacedMessage::Original(at) if *at >= next && dropped(next, *at, &mut slots) => {
                slots.push(Slot::Written { nth: at - 1, dropped: false });
                next = at + 1;
            }
            PlacedMessage::Synthetic(missing) => slots.push(Slot::Missing(missing.clone())),
            PlacedMessage::Original(_) | PlacedMessage::Renamed(..) => return None,
        }
    }
    dropped(next, shapes.len(), &mut slots).then_some(slots)
}

/// Whether a compaction separates results from their calls at a place where repair adds or drops results: a repair of
/// the kept part then differs from that of the path. Results that are only separated are dropped when a run loads them.
fn splits_repairs(session: &ReplaySession<'_>, places: &[usize], slots: &[Slot]) -> bool {
    let ReplaySession { index, path, .. } = session;
    let place = |slot: &Slot| match slot {
        Slot::Written { nth, .. } => Some(places[*nth]),
        Slot::Missing(_) => None,
    };
    let is_result = |slot: &&Slot| {
        place(slot).is_none_or(|place| index.entry(path[place]).role() == Some(Role::ToolResult))
    };
    let is_special = |slot: &Slot| !matches!(slot, Slot::Written { dropped: false, .. });
    let mut compactions = (0..path.len()).filter(|at| index.entry(path[*at]).kind == EntryKind::Compaction);
    compactions.any(|at| {
        let kept = first_kept(index, &path[..at], path[at]).unwrap_or(at);
        let first = slots.iter().position(|slot| place(slot).is_some_and(|place| place >= kept));
        let kept = first.map_or(&[][..], |first| &slots[first..]);
        kept.iter().take_while(is_result).any(is_special)
    })
}

/// Whether a message has details that the next run strips.
pub(super) fn has_details(role: Role, features: &ContentFeatures) -> bool {
    role == Role::ToolResult && features.details_chars.is_some()
}

#[derive(Debug)]
struct RecordedFeatures<'a> {
    base: &'a ReplayBase,
    session: &'a ReplaySession<'a>,
}

impl crate::policy::message_list::FeatureSource for RecordedFeatures<'_> {
    fn features_at(&self, at: usize) -> Option<&ContentFeatures> {
        self.base.features(self.session, at)
    }
}

/// Returns a message's sizes as the runtime of its transcript counts them.
fn runtime_size(index: &Index, ix: EntryIx, size: &MessageSize) -> MessageSize {
    if index.pi_release.has(PiChange::CutsByContext) {
        projected_size(index, ix, size)
    } else {
        size.for_release(index.pi_release)
    }
}

/// Whether the runtime of the transcript reads an entry as a context edit.
pub(super) fn is_context_edit(index: &Index, ix: EntryIx) -> bool {
    index.reading == ReadMode::Projected && index.entry(ix).kind == EntryKind::ContextEdit
}
