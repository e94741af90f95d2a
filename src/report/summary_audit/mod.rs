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
use later::UseFinder;
use sources::{FactCollector, MessageReader};

/// Audits every compaction of the active branch. Reads the texts of its messages, a few hundred at a time.
///
/// # Errors
/// When an entry cannot be read again.
pub fn audit_summaries(session: &LoadedSession) -> Result<Vec<SummaryAudit>, BodyError> {
    let (index, path) = (&session.index, &session.context.path);
    let compactions: Vec<usize> =
        (0..path.len()).filter(|at| index.entry(path[*at]).kind == EntryKind::Compaction).collect();
    let reader = MessageReader { session, path };
    let mut audits = Vec::new();
    let mut from = 0;
    for (number, at) in compactions.iter().copied().enumerate() {
        let reset = path[from..at].iter().rposition(|ix| index.entry(*ix).kind == EntryKind::Reset);
        let start = reset.map_or(from, |reset| from + reset + 1);
        let cut = first_kept(index, &path[..at], path[at]).unwrap_or(at).max(start);
        let until = compactions.get(number + 1).copied().unwrap_or(path.len());
        audits.extend(audit_one(&reader, &Cut { start, first_kept: cut, compaction: at, until })?);
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
fn audit_one(reader: &MessageReader<'_>, cut: &Cut) -> Result<Option<SummaryAudit>, BodyError> {
    let Some(summary) = reader.read(cut.compaction..cut.compaction + 1)?.pop() else { return Ok(None) };
    let (mut found, mut messages) = (FactCollector::default(), 0);
    reader.each_part(cut.start..cut.first_kept, |part| {
        messages += part.len();
        found.add(part);
        true
    })?;
    let facts = found.finish();
    let known = SummaryFacts::new(&summary.text);
    let mut still = SummaryFacts::default();
    reader.each_part(cut.first_kept..cut.compaction, |part| {
        still.add_messages(part);
        true
    })?;
    let mut audited: Vec<AuditedFact> = facts
        .iter()
        .map(|fact| AuditedFact { state: compare::state(fact, &known, &still), ..fact.audited() })
        .collect();
    let mut uses = UseFinder::new(&audited, &facts);
    reader.each_part(cut.compaction + 1..cut.until, |part| {
        uses.read(part, &mut audited);
        !uses.has_found_all()
    })?;
    audited.sort_by_key(|fact| {
        (fact.used_later.is_none(), std::cmp::Reverse(fact.state.clone()), fact.kind, fact.source)
    });
    Ok(Some(SummaryAudit { entry: summary.entry, messages, facts: audited }))
}
