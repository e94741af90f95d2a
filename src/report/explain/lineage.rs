//! Findings about the session's lineage: whose history it sends, and which part of its history it does not send.

use crate::ids::EntryIx;
use crate::report::explain::case::OverflowCase;
use crate::report::explain::failure::Failure;
use crate::report::explain::finding::{Confidence, FindingClass, Found, Numbers};
use crate::report::explain::way_out::{Blocked, WayOut};
use crate::session::ManualChange;
use crate::session::lineage::{Continuation, CutOff, HiddenBranch, IdMismatch, Inherited};
use crate::store::entry::EntryKind;
use crate::units::{Moment, Tokens};

/// Share of the failing prompt's messages from which on the parent's history is its cause.
const MIN_INHERITED_SHARE: f64 = 0.5;

/// The values of a finding about the lineage.
#[derive(Debug, Clone, PartialEq)]
pub enum LineageFacts {
    Inherited {
        found: Inherited,
        /// Tokens of the copied messages in the failing prompt, by estimate; `None` if nothing overflowed.
        tokens: Option<u64>,
        /// The size of the parent's prompt, where the provider counted it.
        parent_tokens: Option<u64>,
    },
    IdMismatch {
        found: IdMismatch,
        /// Times of the first and the last entry.
        span: (Moment, Moment),
    },
    HiddenBranch {
        found: HiddenBranch,
        leaf: String,
        way_out: Result<WayOut, Blocked>,
    },
    CutOff {
        found: CutOff,
        root: String,
        way_out: Option<Result<WayOut, Blocked>>,
    },
    Continued {
        found: Vec<Continuation>,
        /// Compactions that the record counts, and those on the path.
        compactions: (u64, usize),
    },
    Predecessor {
        name: String,
        messages: Option<usize>,
        reset_ms: Option<Moment>,
        named_by_record: bool,
    },
}

impl LineageFacts {
    pub(super) fn numbers(&self) -> Numbers {
        match self {
            Self::Inherited { found, tokens, .. } => {
                let mut numbers = vec![("inherited", found.messages as f64), ("messages", found.of as f64)];
                numbers.extend(tokens.map(|tokens| ("inheritedTokens", tokens as f64)));
                numbers
            }
            Self::HiddenBranch { found, .. } => {
                vec![("messages", found.messages as f64), ("activeMessages", found.active_messages as f64)]
            }
            Self::CutOff { found, .. } => {
                vec![("entries", found.entries as f64), ("messages", found.messages as f64)]
            }
            Self::Continued { found, .. } => vec![("successors", found.len() as f64)],
            Self::Predecessor { messages, .. } => {
                messages.map(|messages| ("messages", messages as f64)).into_iter().collect()
            }
            Self::IdMismatch { .. } => Numbers::new(),
        }
    }
}

/// Returns the findings about a lineage. The sure ones head the answer if nothing else is wrong.
pub(super) fn find_lineage(case: &OverflowCase<'_>) -> Vec<Found<LineageFacts>> {
    let found = [
        find_id_mismatch(case),
        find_continued(case),
        find_hidden_branch(case),
        find_cut_off(case),
        find_inherited(case),
        find_predecessor(case),
    ];
    found.into_iter().flatten().collect()
}

fn find_id_mismatch(case: &OverflowCase<'_>) -> Option<Found<LineageFacts>> {
    let found = case.session.lineage.id_mismatch.clone()?;
    let times = || case.session.index.entries.iter().map(|entry| entry.time_ms).filter(|at| at.is_finite());
    let span = (times().fold(Moment(f64::NAN), Moment::min), times().fold(Moment(f64::NAN), Moment::max));
    let facts = LineageFacts::IdMismatch { found, span };
    Some(Found::new(FindingClass::IdMismatch, Confidence::Sure, facts).with_rule("store C5"))
}

fn find_continued(case: &OverflowCase<'_>) -> Option<Found<LineageFacts>> {
    let session = case.session;
    let found = session.lineage.continuations.clone();
    if found.is_empty() {
        return None;
    }
    let written = session.index.iter().filter(|(_, entry)| entry.kind == EntryKind::Compaction).count();
    let compactions = (session.item.compactions.unwrap_or_default(), written);
    let facts = LineageFacts::Continued { found, compactions };
    Some(Found::new(FindingClass::UnadoptedSuccessor, Confidence::Sure, facts))
}

fn find_hidden_branch(case: &OverflowCase<'_>) -> Option<Found<LineageFacts>> {
    let session = case.session;
    let found = session.lineage.hidden_branch.clone()?;
    let leaf = session.index.display_id(found.leaf);
    let way_out = WayOut::new(session, ManualChange::Branch(found.leaf));
    let facts = LineageFacts::HiddenBranch { found, leaf, way_out };
    Some(Found::new(FindingClass::DeadEndLeaf, Confidence::Sure, facts).with_rule("store K1"))
}

fn find_cut_off(case: &OverflowCase<'_>) -> Option<Found<LineageFacts>> {
    let session = case.session;
    let found = session.lineage.cut_off.clone()?;
    let (root, is_lost) = (session.index.display_id(found.root), found.messages > 0);
    let way_out = found.last_before.map(|last| WayOut::new(session, ManualChange::Branch(last)));
    let facts = LineageFacts::CutOff { found, root, way_out };
    // A file without its beginning was cut by someone; it sends all that it has.
    let confidence = if is_lost { Confidence::Sure } else { Confidence::Likely };
    Some(Found::new(FindingClass::UnreachableEntries, confidence, facts).with_rule("store J10"))
}

/// Reports copied history beside another answer.
fn find_inherited(case: &OverflowCase<'_>) -> Option<Found<LineageFacts>> {
    let found = case.session.lineage.inherited.clone()?;
    if case.failure.as_ref().is_some_and(|failure| is_cause(case, failure, &found)) {
        return None;
    }
    let facts = LineageFacts::Inherited { found, tokens: None, parent_tokens: None };
    Some(Found::new(FindingClass::InheritedHistory, Confidence::Possible, facts).with_rule("store N4"))
}

/// Returns the finding if the history of the parent made a prompt too large.
pub(super) fn find_inherited_overflow(
    case: &OverflowCase<'_>,
    failure: &Failure,
) -> Option<Found<LineageFacts>> {
    let found = case.session.lineage.inherited.clone()?;
    if !is_cause(case, failure, &found) {
        return None;
    }
    let tokens = inherited_tokens(failure, &found);
    let last_call = case.calls.iter().rev().find(|call| call.entry <= found.last);
    let facts = LineageFacts::Inherited {
        tokens: Some(tokens),
        parent_tokens: last_call.map(|call| call.prompt_tokens),
        found,
    };
    Some(Found::new(FindingClass::InheritedHistory, Confidence::Sure, facts).with_rule("store N4"))
}

/// Whether most of the failing prompt was copied and the session never had an answer of its own, or hardly added
/// anything.
fn is_cause(case: &OverflowCase<'_>, failure: &Failure, found: &Inherited) -> bool {
    // The parent made that call itself, as in an exported branch.
    if failure.overflow.entry <= found.last {
        return false;
    }
    let messages: Tokens = failure.weights.iter().copied().sum();
    let copied = inherited_tokens(failure, found) as f64;
    let answered =
        case.calls.iter().any(|call| call.entry > found.last && call.entry < failure.overflow.entry);
    let share = if answered { 1.0 - MIN_INHERITED_SHARE / 2.0 } else { MIN_INHERITED_SHARE };
    copied >= messages.get() * share
}

fn inherited_tokens(failure: &Failure, found: &Inherited) -> u64 {
    let sizes = failure.session.context.messages.iter().zip(&failure.weights);
    let copied = sizes.filter(|(message, _)| message.entry <= found.last);
    copied.map(|(_, tokens)| *tokens).sum::<Tokens>().whole()
}

fn find_predecessor(case: &OverflowCase<'_>) -> Option<Found<LineageFacts>> {
    let found = case.session.lineage.predecessor.as_ref()?;
    let facts = LineageFacts::Predecessor {
        name: found.name(),
        messages: found.count_messages(),
        reset_ms: found.reset_ms,
        named_by_record: found.named_by_record,
    };
    Some(Found::new(FindingClass::EarlierTranscript, Confidence::Possible, facts).with_rule("store F2"))
}

impl LineageFacts {
    /// Returns the change that makes the part active which is not sent.
    pub(super) fn way_out(&self) -> Option<&WayOut> {
        match self {
            Self::HiddenBranch { way_out, .. } => way_out.as_ref().ok(),
            Self::CutOff { way_out, .. } => way_out.as_ref()?.as_ref().ok(),
            Self::Inherited { .. }
            | Self::IdMismatch { .. }
            | Self::Continued { .. }
            | Self::Predecessor { .. } => None,
        }
    }

    /// Returns the entries that show it.
    pub(super) fn entries(&self) -> Vec<EntryIx> {
        match self {
            Self::Inherited { found, .. } => vec![found.last],
            Self::HiddenBranch { found, .. } => vec![found.leaf, found.dead_end],
            Self::CutOff { found, .. } => std::iter::once(found.root).chain(found.last_before).collect(),
            Self::IdMismatch { .. } | Self::Continued { .. } | Self::Predecessor { .. } => Vec::new(),
        }
    }
}
