//! Effects of the session's compactions and of the refusal. These findings have their own section and head the answer
//! only if nothing overflowed.

use crate::format::{format_duration, format_number, quantity};
use crate::ids::EntryIx;
use crate::redact::masked;
use crate::report::explain::case::{Case, OtherError};
use crate::report::explain::compactions::PastCompaction;
use crate::report::explain::finding::{Confidence, Evidence, Finding, FindingClass};
use crate::session::Mark;
use crate::session::overflow::refused::is_summary_call_error;
use crate::store::entry::{Entry, EntryKind, Role, StopReason};

/// The smallest share that a useful compaction frees.
const MIN_FREED_SHARE: f64 = 0.05;
/// Contexts below this many estimated tokens are too small to report.
const MIN_CONTEXT_TOKENS: u64 = 2_000;
/// The longest time that a recovery takes, ms.
const MAX_RECOVERY_MS: f64 = 600_000.0;
/// The longest quote of an error, in chars.
const MAX_QUOTE_CHARS: usize = 160;

type Detector = fn(&Case<'_>) -> Option<Finding>;

pub(super) fn find_aftermath(case: &Case<'_>) -> Vec<Finding> {
    let looks: [Detector; 7] = [
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

/// The branch ends with a compaction, and the next prompt was refused again: the runtime prepares no second compaction
/// directly after one.
fn detect_refused_again(case: &Case<'_>) -> Option<Finding> {
    let failure = case.failure.as_ref()?;
    let index = &case.session.index;
    let last = case.overflows().iter().rfind(|it| it.kind.is_refusal())?;
    let path = case.session.tree.path_to(index, last.entry);
    let compaction = path.iter().rposition(|ix| index.entry(*ix).kind == EntryKind::Compaction)?;
    let answered = path[compaction + 1..].iter().any(|ix| is_answer(index.entry(*ix)));
    let again = case.compactions.iter().any(|it| it.entry > last.entry);
    if answered || again || last.entry < failure.overflow.entry {
        return None;
    }
    let line = format!("refused again right after compaction {}", index.display_id(path[compaction]));
    Some(
        Finding::new(FindingClass::CompactionRefused, Confidence::Sure, line)
            .with_rule("compaction 3.1")
            .with_evidence(
                Evidence::new(
                    "the branch ends with this compaction, so a second one has nothing to summarise",
                )
                .with_entries([path[compaction]])
                .with_rule("compaction 3.1"),
            )
            .with_evidence(Evidence::new("the refusal after it").with_entries([last.entry])),
    )
}

/// The call for the summary was refused: one call for the whole history meets the same window.
fn detect_summary_refused(case: &Case<'_>) -> Option<Finding> {
    let refused =
        case.errors.iter().filter(|error| is_summary_call_error(&error.text)).map(|error| error.entry);
    let refused: Vec<EntryIx> = refused.collect();
    let last = *refused.last()?;
    let leaf = case.session.tree.parent(last);
    let line = format!(
        "{} refused: the call that writes the summary is too large",
        quantity(refused.len(), "compaction")
    );
    Some(
        Finding::new(FindingClass::CompactionRefused, Confidence::Sure, line)
            .with_rule("compaction 8.6")
            .with_evidence(
                Evidence::new("every retry exceeds the same window; compaction.mode safeguard sends the history in chunks")
                    .with_entries(refused),
            )
            .with_evidence(Evidence::new("branch from here to keep everything").with_entries(leaf)),
    )
}

/// Summaries took longer than the gateway's timeout.
fn detect_late_summary(case: &Case<'_>) -> Option<Finding> {
    let late: Vec<&OtherError> = case.errors.iter().filter(|error| is_timeout(&error.text)).collect();
    let last = late.last()?;
    let line = format!("{} timed out", quantity(late.len(), "compaction"));
    let since = case.compactions.iter().all(|it| it.entry < last.entry);
    let words: String = masked(&last.text).chars().take(MAX_QUOTE_CHARS).collect();
    Some(
        Finding::new(
            FindingClass::CompactionTimeout,
            if since { Confidence::Sure } else { Confidence::Possible },
            line,
        )
        .with_rule("compaction 8.13")
        .with_evidence(
            Evidence::new(words)
                .with_entries(late.iter().map(|error| error.entry))
                .with_rule("compaction 8.13"),
        )
        .with_number("failed", late.len() as f64)
        .with_number("written", case.compactions.len() as f64),
    )
}

fn is_timeout(text: &str) -> bool {
    let text = text.to_lowercase();
    let compaction = ["compact", "summariz", "summaris"].iter().any(|word| text.contains(word));
    compaction && ["timed out", "timeout", "time out"].iter().any(|word| text.contains(word))
}

/// A summary has no content.
fn detect_hollow_summary(case: &Case<'_>) -> Option<Finding> {
    let hollow: Vec<(usize, &PastCompaction)> =
        case.compactions.iter().enumerate().filter(|(_, compaction)| compaction.is_hollow).collect();
    let (number, last) = *hollow.last()?;
    let parent = case.session.tree.parent(last.entry);
    let line = format!("compaction #{} summarised nothing: its summary is empty", number + 1);
    let newest = number + 1 == case.compactions.len();
    let freed = format!(
        "{} became {}; the old branch still has all of them",
        quantity(last.messages.0, "message"),
        quantity(last.messages.1, "message")
    );
    Some(
        Finding::new(
            FindingClass::CompactionHollow,
            if newest { Confidence::Sure } else { Confidence::Possible },
            line,
        )
        .with_rule("compaction 5.14")
        .with_evidence(Evidence::new(freed).with_entries([last.entry]).with_rule("compaction 5.14"))
        .with_evidence(Evidence::new("the first entry it summarised").with_entries(last.first_summarised))
        .with_evidence(Evidence::new("branch from here to get everything back").with_entries(parent))
        .with_number("hollow", hollow.len() as f64)
        .with_number("compactions", case.compactions.len() as f64)
        .with_number("summaryChars", last.summary_chars as f64),
    )
}

/// A compaction freed nothing.
fn detect_no_op(case: &Case<'_>) -> Option<Finding> {
    let idle: Vec<(usize, &PastCompaction)> =
        case.compactions.iter().enumerate().filter(|(_, it)| has_freed_nothing(it)).collect();
    let (number, last) = *idle.last()?;
    let line = format!("compaction #{} freed nothing", number + 1);
    let newest = number + 1 == case.compactions.len();
    let estimated = format!(
        "~{} tokens before, ~{} after",
        format_number(last.estimated.0),
        format_number(last.estimated.1)
    );
    Some(
        Finding::new(
            FindingClass::CompactionNoOp,
            if newest { Confidence::Sure } else { Confidence::Possible },
            line,
        )
        .with_rule("compaction 3.6")
        .with_evidence(
            Evidence::new(estimated)
                .with_entries(idle.iter().rev().map(|(_, it)| it.entry))
                .with_rule("compaction 3.6"),
        )
        .with_number("before", last.estimated.0 as f64)
        .with_number("after", last.estimated.1 as f64),
    )
}

/// Whether a compaction kept nearly everything.
pub(super) fn has_freed_nothing(compaction: &PastCompaction) -> bool {
    let (before, after) = compaction.estimated;
    before >= MIN_CONTEXT_TOKENS && after as f64 > before as f64 * (1.0 - MIN_FREED_SHARE)
}

fn is_answer(entry: &Entry) -> bool {
    let failed = |stop| matches!(stop, StopReason::Error | StopReason::Aborted);
    entry.is_model_call() && entry.message.is_some_and(|size| !failed(size.stop_reason))
}

/// Entries were written long after the refusal, and none of them is a recovery.
fn detect_stuck(case: &Case<'_>) -> Option<Finding> {
    let failure = case
        .failure
        .as_ref()
        .filter(|it| it.overflow.kind.is_refusal() && case.session.limits.is_gateway_run)?;
    let index = &case.session.index;
    let first = failure.overflow.entry;
    let since = index.entry(first).time_ms;
    let later = || index.entries.iter_from(first.index() + 1);
    let recovers = |entry: &&Entry| {
        is_answer(entry) || entry.kind == EntryKind::Compaction || entry.role() == Some(Role::ToolResult)
    };
    let recovered = later().find(recovers).map(|entry| entry.time_ms - since);
    let last = later().map(|entry| entry.time_ms - since).filter(|ms| ms.is_finite()).fold(0.0, f64::max);
    let idle = recovered.unwrap_or(last);
    if idle < MAX_RECOVERY_MS {
        return None;
    }
    let line = format!("the gateway did nothing about the refusal for {}", format_duration(idle));
    Some(
        Finding::new(
            FindingClass::RuntimeFault,
            if recovered.is_none() { Confidence::Sure } else { Confidence::Likely },
            line,
        )
        .with_rule("compaction 8.13")
        .with_evidence(
            Evidence::new("no compaction entry follows this refusal")
                .with_entries([first])
                .with_rule("compaction 8.12"),
        )
        .with_number("idleMs", idle),
    )
}

/// After the refusal, the session key moved to another session, or no key leads here.
fn detect_moved(case: &Case<'_>) -> Option<Finding> {
    let failure = case
        .failure
        .as_ref()
        .filter(|it| it.overflow.kind.is_refusal() && case.session.limits.is_gateway_run)?;
    let index = &case.session.index;
    let item = &case.session.item;
    let successor = case.session.successor.as_ref();
    let left = item.has(Mark::Orphan) || item.has(Mark::Reset) || successor.is_some();
    let mut later = index.entries.iter_from(failure.overflow.entry.index() + 1);
    if !left || later.any(|entry| is_answer(entry) || entry.kind == EntryKind::Compaction) {
        return None;
    }
    let entries = failure.session.context.path.len();
    let (line, sure) = match successor {
        Some(successor) => (
            format!("key {} moved to session {} without a compaction", successor.key.0, successor.id),
            successor.named_by_row,
        ),
        None => ("no session key points here since the refusal".to_owned(), false),
    };
    let leaf: Option<EntryIx> = failure.session.context.leaf;
    let intact = format!("this branch of {} is intact; you can fork it here", quantity(entries, "entry"));
    Some(
        Finding::new(
            FindingClass::RuntimeFault,
            if sure { Confidence::Sure } else { Confidence::Possible },
            line,
        )
        .with_rule("compaction 8.19")
        .with_evidence(Evidence::new(intact).with_entries(leaf))
        .with_number("entries", entries as f64),
    )
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
