//! Effects of the session's compactions and of the refusal. These findings have their own section and head the answer
//! only if nothing overflowed.

use crate::commit::own_entries;
use crate::ids::EntryIx;
use crate::redact::masked;
use crate::report::explain::case::{MAX_QUOTE_CHARS, OverflowCase, is_answer};
use crate::report::explain::compactions::PastCompaction;
use crate::report::explain::failure::Failure;
use crate::report::explain::finding::{Confidence, FindingClass, Found, Numbers};
use crate::report::explain::premature::{PrematureCompactions, detect_premature};
use crate::session::overflow::CallError;
use crate::session::overflow::refused::is_summary_call_error;
use crate::session::successor::Successor;
use crate::session::{Mark, TurnEndCheck};
use crate::store::entry::{Entry, EntryKind, Role};
use crate::units::{Chars, Millis};

/// The smallest share that a useful compaction frees.
const MIN_FREED_SHARE: f64 = 0.05;
/// Contexts below this many estimated tokens are too small to report.
const MIN_CONTEXT_TOKENS: u64 = 2_000;
/// The longest time that a recovery takes.
const MAX_RECOVERY_MS: Millis = Millis(600_000.0);

/// The values of a finding about compactions or about the time after a refusal.
#[derive(Debug, Clone, PartialEq)]
pub enum Aftermath {
    /// The prompt after a compaction was refused again; the runtime prepares no second compaction directly after one.
    RefusedAgain {
        compaction: EntryIx,
        /// The compaction's name.
        id: String,
        refusal: EntryIx,
    },
    /// The calls for a summary were refused.
    SummaryRefused {
        refusals: Vec<EntryIx>,
        /// The entry before the last one.
        parent: Option<EntryIx>,
    },
    /// Summaries took longer than the gateway's timeout.
    SummaryTimeout {
        failures: Vec<EntryIx>,
        /// Number of compactions that were written.
        written: usize,
        /// The start of the last error; secrets are masked.
        error: String,
    },
    /// The last summary without content.
    HollowSummary {
        compaction: EntryIx,
        /// The place among the compactions, from 1.
        number: usize,
        /// Number of summaries without content.
        hollow: usize,
        /// Number of compactions.
        compactions: usize,
        summary_chars: Chars,
        /// Number of messages before and after it.
        messages: (usize, usize),
        first_summarised: Option<EntryIx>,
        /// The entry before it.
        parent: Option<EntryIx>,
        /// Whether a memory flush ran before it.
        is_flushed: bool,
    },
    /// The last compaction that freed nothing.
    FreedNothing {
        /// The place among the compactions, from 1.
        number: usize,
        /// All compactions that freed nothing, the newest first.
        entries: Vec<EntryIx>,
        /// Estimated tokens before and after the last one.
        estimated: (u64, u64),
        /// The check that asks for one after every turn.
        turn_end: Option<TurnEndCheck>,
    },
    /// Compactions ran far below the trigger.
    Premature(PrematureCompactions),
    /// Nothing followed the refusal for a long time.
    Stuck {
        refusal: EntryIx,
        idle_ms: Millis,
        /// Whether an answer, a result or a compaction followed after that time.
        is_recovered: bool,
    },
    /// The session key moved to another session, or no key leads here.
    Moved {
        successor: Option<Successor>,
        /// Number of entries of the branch.
        entries: usize,
        leaf: Option<EntryIx>,
    },
}

impl Aftermath {
    pub(super) fn numbers(&self) -> Numbers {
        match self {
            Self::RefusedAgain { .. } | Self::SummaryRefused { .. } => Numbers::new(),
            Self::SummaryTimeout { failures, written, .. } => {
                vec![("failed", failures.len() as f64), ("written", *written as f64)]
            }
            Self::HollowSummary { hollow, compactions, summary_chars, .. } => vec![
                ("hollow", *hollow as f64),
                ("compactions", *compactions as f64),
                ("summaryChars", summary_chars.get()),
            ],
            Self::FreedNothing { estimated: (before, after), turn_end, .. } => {
                let check = turn_end.iter().flat_map(|check| {
                    [("turnEndEstimate", check.estimate.get()), ("turnEndBudget", check.budget.get())]
                });
                [("before", *before as f64), ("after", *after as f64)].into_iter().chain(check).collect()
            }
            Self::Premature(facts) => facts.numbers(),
            Self::Stuck { idle_ms, .. } => vec![("idleMs", idle_ms.get())],
            Self::Moved { entries, .. } => vec![("entries", *entries as f64)],
        }
    }
}

type Detector = fn(&OverflowCase<'_>) -> Option<Found<Aftermath>>;

pub(super) fn find_aftermath(case: &OverflowCase<'_>) -> Vec<Found<Aftermath>> {
    let looks: [Detector; 8] = [
        |case| detect_premature(case).map(|found| found.map(Aftermath::Premature)),
        detect_summary_refused,
        detect_refused_again,
        detect_late_summary,
        detect_hollow_summary,
        detect_no_op,
        detect_stuck,
        detect_moved,
    ];
    looks.iter().filter_map(|look| look(case)).collect()
}

fn detect_refused_again(case: &OverflowCase<'_>) -> Option<Found<Aftermath>> {
    let failure = case.failure.as_ref()?;
    let index = &case.session.index;
    let last = case.overflows().iter().rfind(|it| it.kind.is_refusal() && !it.is_compaction())?;
    let path = case.session.tree.path_to(index, last.entry);
    let place = path.iter().rposition(|ix| index.entry(*ix).kind == EntryKind::Compaction)?;
    let answered = path[place + 1..].iter().any(|ix| is_answer(index.entry(*ix)));
    let again = case.compactions.iter().any(|it| it.entry > last.entry);
    if answered || again || last.entry < failure.overflow.entry {
        return None;
    }
    let compaction = path[place];
    let facts = Aftermath::RefusedAgain { compaction, id: index.display_id(compaction), refusal: last.entry };
    Some(Found::new(FindingClass::CompactionRefused, Confidence::Sure, facts).with_rule("compaction 3.1"))
}

/// The call for the summary was refused: one call for the whole history meets the same window.
fn detect_summary_refused(case: &OverflowCase<'_>) -> Option<Found<Aftermath>> {
    let refused = case.session.errors.iter().filter(|error| is_summary_call_error(&error.text));
    let refusals: Vec<EntryIx> = refused.map(|error| error.entry).collect();
    let parent = case.session.tree.parent(*refusals.last()?);
    let facts = Aftermath::SummaryRefused { refusals, parent };
    Some(Found::new(FindingClass::CompactionRefused, Confidence::Sure, facts).with_rule("compaction 8.6"))
}

fn detect_late_summary(case: &OverflowCase<'_>) -> Option<Found<Aftermath>> {
    let late: Vec<&CallError> = case.session.errors.iter().filter(|error| is_timeout(&error.text)).collect();
    let last = late.last()?;
    let is_newest = case.compactions.iter().all(|it| it.entry < last.entry);
    let facts = Aftermath::SummaryTimeout {
        failures: late.iter().map(|error| error.entry).collect(),
        written: case.compactions.len(),
        error: masked(&last.text).chars().take(MAX_QUOTE_CHARS).collect(),
    };
    Some(Found::new(FindingClass::CompactionTimeout, sure_if(is_newest), facts).with_rule("compaction 8.13"))
}

fn is_timeout(text: &str) -> bool {
    let text = text.to_lowercase();
    let compaction = ["compact", "summariz", "summaris"].iter().any(|word| text.contains(word));
    compaction
        && ["timed out", "timed-out", "timeout", "time out", "deadline exceeded"]
            .iter()
            .any(|word| text.contains(word))
}

/// Returns `Sure` for a certain finding: about the newest compaction, or by a name in a record.
fn sure_if(is_certain: bool) -> Confidence {
    if is_certain { Confidence::Sure } else { Confidence::Possible }
}

fn detect_hollow_summary(case: &OverflowCase<'_>) -> Option<Found<Aftermath>> {
    let hollow: Vec<(usize, &PastCompaction)> =
        (1..).zip(&case.compactions).filter(|(_, compaction)| compaction.is_hollow).collect();
    let (number, last) = *hollow.last()?;
    let facts = Aftermath::HollowSummary {
        compaction: last.entry,
        number,
        hollow: hollow.len(),
        compactions: case.compactions.len(),
        summary_chars: last.summary_chars,
        messages: last.messages,
        first_summarised: last.first_summarised,
        parent: case.session.tree.parent(last.entry),
        is_flushed: last.is_flushed,
    };
    let is_newest = number == case.compactions.len();
    Some(Found::new(FindingClass::CompactionHollow, sure_if(is_newest), facts).with_rule("compaction 5.14"))
}

fn detect_no_op(case: &OverflowCase<'_>) -> Option<Found<Aftermath>> {
    let idle: Vec<(usize, &PastCompaction)> =
        (1..).zip(&case.compactions).filter(|(_, it)| has_freed_nothing(it)).collect();
    let (number, last) = *idle.last()?;
    let entries = idle.iter().rev().map(|(_, it)| it.entry).collect();
    let is_unexplained = !last.is_at_trigger(last.tokens_at());
    let branch = || case.session.tree.path_to(&case.session.index, last.entry);
    let turn_end = is_unexplained.then(|| case.session.turn_end_check(&branch())).flatten();
    let turn_end = turn_end.filter(|check| check.compacts);
    let rule = if turn_end.is_some() { "releases R73" } else { "compaction 3.6" };
    let facts = Aftermath::FreedNothing { number, entries, estimated: last.estimated, turn_end };
    let is_newest = number == case.compactions.len();
    Some(Found::new(FindingClass::CompactionNoOp, sure_if(is_newest), facts).with_rule(rule))
}

/// Whether a compaction kept nearly everything.
pub(super) fn has_freed_nothing(compaction: &PastCompaction) -> bool {
    let (before, after) = compaction.estimated;
    before >= MIN_CONTEXT_TOKENS && after as f64 > before as f64 * (1.0 - MIN_FREED_SHARE)
}

/// Returns the failure if a gateway ran the session and the provider refused the call.
fn refused_failure<'a>(case: &'a OverflowCase<'_>) -> Option<&'a Failure> {
    case.failure.as_ref().filter(|it| it.overflow.kind.is_refusal() && case.session.limits.is_gateway_run)
}

/// Entries were written long after the refusal, and none of them is a recovery.
fn detect_stuck(case: &OverflowCase<'_>) -> Option<Found<Aftermath>> {
    let refusal = refused_failure(case).filter(|it| !it.overflow.is_compaction())?.overflow.entry;
    let index = &case.session.index;
    let since = index.entry(refusal).time_ms;
    // A person's own commit is nothing that the gateway did.
    let own = own_entries(index, &case.session.tree);
    let later = || {
        let later = index.iter().skip(refusal.index() + 1);
        later.filter(|(ix, _)| !own.contains(ix)).map(|(_, entry)| entry)
    };
    let recovers = |entry: &&Entry| {
        is_answer(entry) || entry.kind == EntryKind::Compaction || entry.role() == Some(Role::ToolResult)
    };
    let recovered = later().find(recovers).map(|entry| entry.time_ms - since);
    let last = later()
        .map(|entry| entry.time_ms - since)
        .filter(|ms| ms.is_finite())
        .fold(Millis::ZERO, Millis::max);
    let idle_ms = recovered.unwrap_or(last);
    if idle_ms < MAX_RECOVERY_MS {
        return None;
    }
    let confidence = if recovered.is_none() { Confidence::Sure } else { Confidence::Likely };
    let facts = Aftermath::Stuck { refusal, idle_ms, is_recovered: recovered.is_some() };
    Some(Found::new(FindingClass::RuntimeFault, confidence, facts).with_rule("compaction 8.13"))
}

fn detect_moved(case: &OverflowCase<'_>) -> Option<Found<Aftermath>> {
    let failure = refused_failure(case).filter(|it| !it.overflow.is_compaction())?;
    let item = &case.session.item;
    let successor = case.session.successor.clone();
    let left = item.has(Mark::Orphan) || item.has(Mark::Reset) || successor.is_some();
    let mut later = case.session.index.entries.iter_from(failure.overflow.entry.index() + 1);
    if !left || later.any(|entry| is_answer(entry) || entry.kind == EntryKind::Compaction) {
        return None;
    }
    let is_sure = successor.as_ref().is_some_and(|successor| successor.named_by_row);
    let context = &failure.session.context;
    let facts = Aftermath::Moved { successor, entries: context.path.len(), leaf: context.leaf };
    Some(Found::new(FindingClass::RuntimeFault, sure_if(is_sure), facts).with_rule("compaction 8.19"))
}

#[cfg(test)]
mod tests {
    use super::is_timeout;

    #[test]
    fn only_a_compaction_timeout_is_recognised() {
        assert!(is_timeout("Compaction timed out") && is_timeout("Summarization failed: request timeout"));
        assert!(!is_timeout("request timed out") && !is_timeout("Auto-compaction failed: overloaded"));
    }
}
