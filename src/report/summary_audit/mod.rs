//! Audits recorded summaries without a model: which facts of the summarised messages a summary keeps, which it lost, and
//! for which it has an older value. Facts are found by their form ([`crate::report::facts`]), so nothing is judged that is
//! not there word for word.

mod audit;
mod compare;
mod later;
mod sources;
#[cfg(test)]
mod tests;

pub use audit::{AuditTotals, AuditedFact, FactState, SummaryAudit};

use crate::context::build::first_kept;
use crate::session::LoadedSession;
use crate::store::body::BodyError;
use crate::store::entry::EntryKind;

use compare::SummaryFacts;
use sources::{Message, collect, read_messages};

/// Audits every compaction of the active branch. Reads the texts of its messages.
///
/// # Errors
/// When an entry cannot be read again.
pub fn audit_summaries(session: &LoadedSession) -> Result<Vec<SummaryAudit>, BodyError> {
    let (index, path) = (&session.index, &session.context.path);
    let compactions: Vec<usize> =
        (0..path.len()).filter(|at| index.entry(path[*at]).kind == EntryKind::Compaction).collect();
    if compactions.is_empty() {
        return Ok(Vec::new());
    }
    let messages = read_messages(session, path)?;
    let mut audits = Vec::new();
    let mut from = 0;
    for (number, at) in compactions.iter().copied().enumerate() {
        let reset = path[from..at].iter().rposition(|ix| index.entry(*ix).kind == EntryKind::Reset);
        let start = reset.map_or(from, |reset| from + reset + 1);
        let cut = first_kept(index, &path[..at], path[at]).unwrap_or(at).max(start);
        let until = compactions.get(number + 1).copied().unwrap_or(path.len());
        audits.extend(audit_one(&messages, &Cut { start, first_kept: cut, compaction: at, until }));
        from = cut;
    }
    Ok(audits)
}

/// Positions on the path around one compaction.
#[derive(Debug, Clone, Copy)]
struct Cut {
    /// The first summarised entry.
    start: usize,
    first_kept: usize,
    compaction: usize,
    /// The next compaction, or the end.
    until: usize,
}

/// Audits one summary; `None` if it cannot be found.
fn audit_one(messages: &[Message], cut: &Cut) -> Option<SummaryAudit> {
    let within = |from: usize, to: usize| {
        let first = messages.partition_point(|message| message.position < from);
        let last = messages.partition_point(|message| message.position < to);
        &messages[first..last.max(first)]
    };
    let summary = within(cut.compaction, cut.compaction + 1).first()?;
    let summarised = within(cut.start, cut.first_kept);
    let kept = within(cut.first_kept, cut.compaction);
    let facts = collect(summarised);
    let known = SummaryFacts::new(&summary.text);
    let still = SummaryFacts::of_messages(kept);
    let mut audited: Vec<AuditedFact> = facts
        .iter()
        .map(|fact| AuditedFact { state: compare::state(fact, &known, &still), ..fact.audited() })
        .collect();
    later::find_uses(&mut audited, &facts, within(cut.compaction + 1, cut.until));
    audited.sort_by_key(|fact| {
        (fact.used_later.is_none(), std::cmp::Reverse(fact.state.clone()), fact.kind, fact.source)
    });
    Some(SummaryAudit { entry: summary.entry, messages: summarised.len(), facts: audited })
}
