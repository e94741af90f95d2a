//! What came of the session's compactions, and of the refusal: a section of its own, which heads the answer only where
//! nothing overflowed.

use crate::explain::case::{Case, OtherError};
use crate::explain::compactions::Compaction;
use crate::explain::finding::{Class, Confidence, Evidence, Finding};
use crate::explain::words::{count, exact};
use crate::ids::EntryIx;
use crate::inspect::Mark;
use crate::inspect::overflow::refused::is_of_summary;
use crate::inspect::words::span;
use crate::store::entry::{Entry, EntryKind, Role, StopReason};

/// Share that a compaction must free.
const LEAST_FREED: f64 = 0.05;
/// A context of fewer estimated tokens is not worth a word.
const LEAST_TOKENS: u64 = 2_000;
/// No recovery takes so long, ms.
const LONG: f64 = 600_000.0;
/// Chars of an error that are quoted.
const QUOTED: usize = 160;

type Look = fn(&Case<'_>) -> Option<Finding>;

/// Everything that came of compactions.
pub(super) fn aftermath(case: &Case<'_>) -> Vec<Finding> {
    let looks: [Look; 7] = [summary_refused, refused, late, hollow, idle, stuck, moved];
    looks.iter().filter_map(|look| look(case)).collect()
}

/// The branch ended with a compaction, and the next prompt was refused again: the runtime prepares no second one there.
fn refused(case: &Case<'_>) -> Option<Finding> {
    let failure = case.failure.as_ref()?;
    let index = &case.inspection.index;
    let last = case.overflows().iter().rfind(|it| it.sign.is_refusal())?;
    let path = case.inspection.tree.walk(index, last.entry);
    let compaction = path.iter().rposition(|ix| index.entry(*ix).kind == EntryKind::Compaction)?;
    let answered = path[compaction + 1..].iter().any(|ix| is_answer(index.entry(*ix)));
    let again = case.compactions.iter().any(|it| it.entry > last.entry);
    if answered || again || last.entry < failure.overflow.entry {
        return None;
    }
    let line = format!("refused again right behind compaction {}", index.name(path[compaction]));
    Some(
        Finding::new(Class::CompactionRefused, Confidence::Sure, line)
            .by("compaction 3.1")
            .seen(
                Evidence::new("the branch ends with this compaction, so a second one finds nothing")
                    .at([path[compaction]])
                    .by("compaction 3.1"),
            )
            .seen(Evidence::new("the refusal behind it").at([last.entry])),
    )
}

/// The summary's own call was refused: one call for the whole history meets the same window.
fn summary_refused(case: &Case<'_>) -> Option<Finding> {
    let refused = case.errors.iter().filter(|error| is_of_summary(&error.text)).map(|error| error.entry);
    let refused: Vec<EntryIx> = refused.collect();
    let last = *refused.last()?;
    let leaf = case.inspection.tree.parent(last);
    let line = format!("{} refused: the summary's own call is too large", count(refused.len(), "compaction"));
    Some(
        Finding::new(Class::CompactionRefused, Confidence::Sure, line)
            .by("compaction 8.6")
            .seen(Evidence::new("every retry meets the same window; safeguard mode sends chunks").at(refused))
            .seen(Evidence::new("branch from here to keep everything").at(leaf)),
    )
}

/// Summaries that took longer than the gateway waits.
fn late(case: &Case<'_>) -> Option<Finding> {
    let late: Vec<&OtherError> = case.errors.iter().filter(|error| is_late(&error.text)).collect();
    let last = late.last()?;
    let line = format!("{} timed out", count(late.len(), "compaction"));
    let since = case.compactions.iter().all(|it| it.entry < last.entry);
    let words: String = last.text.chars().take(QUOTED).collect();
    Some(
        Finding::new(
            Class::CompactionTimeout,
            if since { Confidence::Sure } else { Confidence::Possible },
            line,
        )
        .by("compaction 8.13")
        .seen(Evidence::new(words).at(late.iter().map(|error| error.entry)).by("compaction 8.13"))
        .number("failed", late.len() as f64)
        .number("written", case.compactions.len() as f64),
    )
}

/// Whether an error is that of a compaction that ran out of time.
fn is_late(text: &str) -> bool {
    let text = text.to_lowercase();
    let compaction = ["compact", "summariz", "summaris"].iter().any(|word| text.contains(word));
    compaction && ["timed out", "timeout", "time out"].iter().any(|word| text.contains(word))
}

/// A summary that holds nothing.
fn hollow(case: &Case<'_>) -> Option<Finding> {
    let hollow: Vec<(usize, &Compaction)> =
        case.compactions.iter().enumerate().filter(|(_, compaction)| compaction.hollow).collect();
    let (number, last) = *hollow.last()?;
    let parent = case.inspection.tree.parent(last.entry);
    let line = format!("compaction #{} kept nothing: its summary is an empty form", number + 1);
    let newest = number + 1 == case.compactions.len();
    let freed = format!(
        "{} became {}; the old branch still has them",
        count(last.messages.0, "message"),
        count(last.messages.1, "message")
    );
    Some(
        Finding::new(
            Class::CompactionHollow,
            if newest { Confidence::Sure } else { Confidence::Possible },
            line,
        )
        .by("compaction 5.14")
        .seen(Evidence::new(freed).at([last.entry]).by("compaction 5.14"))
        .seen(Evidence::new("the first entry it summarised").at(last.first_summarised))
        .seen(Evidence::new("branch from here to have everything").at(parent))
        .number("hollow", hollow.len() as f64)
        .number("compactions", case.compactions.len() as f64)
        .number("summaryChars", last.summary_chars as f64),
    )
}

/// A compaction that freed nothing.
fn idle(case: &Case<'_>) -> Option<Finding> {
    let idle: Vec<(usize, &Compaction)> =
        case.compactions.iter().enumerate().filter(|(_, it)| freed_nothing(it)).collect();
    let (number, last) = *idle.last()?;
    let line = format!("compaction #{} freed nothing", number + 1);
    let newest = number + 1 == case.compactions.len();
    let estimated = format!("~{} tokens before, ~{} after", exact(last.estimated.0), exact(last.estimated.1));
    Some(
        Finding::new(
            Class::CompactionNoOp,
            if newest { Confidence::Sure } else { Confidence::Possible },
            line,
        )
        .by("compaction 3.6")
        .seen(Evidence::new(estimated).at(idle.iter().rev().map(|(_, it)| it.entry)).by("compaction 3.6"))
        .number("before", last.estimated.0 as f64)
        .number("after", last.estimated.1 as f64),
    )
}

/// Whether a compaction kept nearly everything.
pub(super) fn freed_nothing(compaction: &Compaction) -> bool {
    let (before, after) = compaction.estimated;
    before >= LEAST_TOKENS && after as f64 > before as f64 * (1.0 - LEAST_FREED)
}

fn is_answer(entry: &Entry) -> bool {
    let failed = |stop| matches!(stop, StopReason::Error | StopReason::Aborted);
    entry.is_call() && entry.message.is_some_and(|size| !failed(size.stop))
}

/// Something was written long after the refusal, and none of it is a recovery.
fn stuck(case: &Case<'_>) -> Option<Finding> {
    let failure =
        case.failure.as_ref().filter(|it| it.overflow.sign.is_refusal() && case.inspection.upkeep.gateway)?;
    let index = &case.inspection.index;
    let first = failure.overflow.entry;
    let since = index.entry(first).time;
    let later = || index.entries.since(first.at() + 1);
    let recovers = |entry: &&Entry| {
        is_answer(entry) || entry.kind == EntryKind::Compaction || entry.role() == Some(Role::ToolResult)
    };
    let recovered = later().find(recovers).map(|entry| entry.time - since);
    let last = later().map(|entry| entry.time - since).filter(|ms| ms.is_finite()).fold(0.0, f64::max);
    let idle = recovered.unwrap_or(last);
    if idle < LONG {
        return None;
    }
    let line = format!("nothing was done about the refusal for {}", span(idle));
    Some(
        Finding::new(
            Class::RuntimeFault,
            if recovered.is_none() { Confidence::Sure } else { Confidence::Likely },
            line,
        )
        .by("compaction 8.13")
        .seen(Evidence::new("no compaction entry follows this refusal").at([first]).by("compaction 8.12"))
        .number("idleMs", idle),
    )
}

/// Its key names another session since.
fn moved(case: &Case<'_>) -> Option<Finding> {
    let failure =
        case.failure.as_ref().filter(|it| it.overflow.sign.is_refusal() && case.inspection.upkeep.gateway)?;
    let index = &case.inspection.index;
    let item = &case.inspection.session;
    let successor = case.inspection.successor.as_ref();
    let left = item.has(Mark::Orphan) || item.has(Mark::Reset) || successor.is_some();
    let mut later = index.entries.since(failure.overflow.entry.at() + 1);
    if !left || later.any(|entry| is_answer(entry) || entry.kind == EntryKind::Compaction) {
        return None;
    }
    let entries = failure.then.context.path.len();
    let (line, sure) = match successor {
        Some(successor) => (
            format!("key {} moved to session {} without a compaction", successor.key.0, successor.id),
            successor.told,
        ),
        None => ("no session key leads here since the refusal".to_owned(), false),
    };
    let leaf: Option<EntryIx> = failure.then.context.leaf;
    let intact = format!(
        "this branch of {} is intact and can be forked here",
        count(entries, "entry").replace("entrys", "entries")
    );
    Some(
        Finding::new(Class::RuntimeFault, if sure { Confidence::Sure } else { Confidence::Possible }, line)
            .by("compaction 8.19")
            .seen(Evidence::new(intact).at(leaf))
            .number("entries", entries as f64),
    )
}

#[cfg(test)]
mod tests {
    use super::is_late;

    #[test]
    fn only_a_compaction_out_of_time_is_one() {
        assert!(is_late("Compaction timed out") && is_late("Summarization failed: request timeout"));
        assert!(!is_late("request timed out") && !is_late("Auto-compaction failed: overloaded"));
    }
}
