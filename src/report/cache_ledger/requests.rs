//! The steps of a transcript that matter to the provider's cache, in file order: calls on every branch, warmed caches, and
//! entries that begin a new context.

use std::collections::{HashMap, HashSet};

use crate::ids::EntryIx;
use crate::replay::{CacheKey, model_calls};
use crate::report::cache_ledger::cause::MissCause;
use crate::session::LoadedSession;
use crate::session::overflow::implausible_counts;
use crate::session::usage_totals::{BilledCalls, billed_calls};
use crate::store::entry::{EntryKind, Usage};
use crate::store::index::Index;
use crate::units::Moment;

/// `kind` of the `usage` entries that keep a cache warm (store-pi-1.5 B3).
const WARMING: &str = "cache_warm";

/// One step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum LedgerStep {
    Call(Request),
    /// pi sent the prompt again to keep it cached: its usage, and when.
    Warmed(Usage, Moment),
    /// A summary or a reset: the next prompt has other messages.
    NewContext(MissCause, EntryIx),
}

/// A billed call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Request {
    /// The answer.
    pub(super) entry: EntryIx,
    /// Time of the message before the answer.
    pub(super) started: Moment,
    /// Time of the answer.
    pub(super) ended: Moment,
    pub(super) cache_key: CacheKey,
    pub(super) usage: Usage,
}

/// Lists the steps of a whole transcript, and the billed calls that are none of them.
pub(super) fn ledger_steps(session: &LoadedSession) -> (Vec<LedgerStep>, Vec<(EntryIx, Usage)>) {
    let index = &session.index;
    let implausible = implausible_counts(&session.overflow_scope());
    let BilledCalls { answers, failed, side_calls } = billed_calls(index, &implausible);
    let counted = answers.iter().filter(|(ix, _)| !implausible.contains(ix));
    let billed: HashMap<EntryIx, Usage> = counted.chain(&failed).copied().collect();
    let entries: Vec<EntryIx> = index.iter().map(|(ix, _)| ix).collect();
    let calls = model_calls(index, &entries, &[], &HashSet::new(), &HashSet::new());
    let mut requests = calls
        .into_iter()
        .filter_map(|call| {
            Some(Request {
                entry: call.entry,
                started: call.started,
                ended: call.ended,
                cache_key: call.cache_key,
                usage: *billed.get(&call.entry)?,
            })
        })
        .peekable();
    let mut steps = Vec::new();
    for (ix, entry) in index.iter() {
        let new_context = |cause| Some(LedgerStep::NewContext(cause, ix));
        steps.extend(match entry.kind {
            EntryKind::Compaction => new_context(MissCause::Compaction),
            EntryKind::BranchSummary => new_context(MissCause::BranchSummary),
            EntryKind::Reset => new_context(MissCause::Reset),
            EntryKind::Usage => warming(index, ix).map(|usage| LedgerStep::Warmed(usage, entry.time_ms)),
            _ => requests.next_if(|request| request.entry == ix).map(LedgerStep::Call),
        });
    }
    let called: HashSet<EntryIx> = steps.iter().filter_map(LedgerStep::call).collect();
    let others = answers.into_iter().chain(failed).chain(side_calls);
    let others = others.filter(|(ix, _)| !called.contains(ix)).collect();
    (steps, others)
}

impl LedgerStep {
    /// Returns the answer of a call.
    fn call(&self) -> Option<EntryIx> {
        match self {
            Self::Call(request) => Some(request.entry),
            Self::Warmed(..) | Self::NewContext(..) => None,
        }
    }
}

fn warming(index: &Index, ix: EntryIx) -> Option<Usage> {
    let kind = index.value_text(index.entry(ix).payload)?;
    index.unanchored_usage.get(&ix).copied().filter(|_| kind == WARMING)
}
