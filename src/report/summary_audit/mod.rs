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

use rayon::prelude::*;

use crate::context::build::first_kept;
use crate::session::LoadedSession;
use crate::store::body::BodyError;
use crate::store::entry::EntryKind;

use compare::SummaryFacts;
use later::UseFinder;
use sources::{FactCollector, MessageReader};

/// Audits every compaction of the active branch, one at a time: the facts of all summaries can take more memory than the
/// rest of a long session. Reads the texts of its messages, a few hundred at a time.
///
/// # Errors
/// When an entry cannot be read again.
pub fn summary_audits(session: &LoadedSession) -> impl Iterator<Item = Result<SummaryAudit, BodyError>> + '_ {
    let reader = MessageReader { session, path: &session.context.path };
    cuts(session).into_iter().filter_map(move |cut| audit_one(&reader, &cut).transpose())
}

/// Returns the cuts of the compactions of the active branch.
fn cuts(session: &LoadedSession) -> Vec<Cut> {
    let (index, path) = (&session.index, &session.context.path);
    let compactions: Vec<usize> =
        (0..path.len()).filter(|at| index.entry(path[*at]).kind == EntryKind::Compaction).collect();
    let mut from = 0;
    let cut = |(number, at): (usize, &usize)| {
        let reset = path[from..*at].iter().rposition(|ix| index.entry(*ix).kind == EntryKind::Reset);
        let start = reset.map_or(from, |reset| from + reset + 1);
        let first_kept = first_kept(index, &path[..*at], path[*at]).unwrap_or(*at).max(start);
        let until = compactions.get(number + 1).copied().unwrap_or(path.len());
        from = first_kept;
        Cut { start, first_kept, compaction: *at, until }
    };
    compactions.iter().enumerate().map(cut).collect()
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
        .par_iter()
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
