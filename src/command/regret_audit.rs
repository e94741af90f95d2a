//! The text of a summary audit: the lost facts, those that were used later first.

use std::io::Write as _;

use super::failure::Failure;
use super::output::{Output, Tone};
use super::table::{Align, Cell, Table};
use crate::format::{format_count, format_number, quantity};
use crate::redact::masked;
use crate::report::summary_audit::{AuditTotals, AuditedFact, FactState, SummaryAudit};
use crate::session::LoadedSession;
use crate::session::masked_quotes::MaskedQuotes;
use crate::text::truncate;

/// Facts printed without `--all`: all that were used later, and of the other lost ones this many.
const MAX_FACTS: usize = 12;
/// Columns of a fact.
const FACT_COLUMNS: usize = 64;

pub(super) fn print_audit(
    session: &LoadedSession,
    quotes: &MaskedQuotes<'_>,
    audit: &SummaryAudit,
    all: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    writeln!(output)?;
    let totals = audit.totals();
    let tone = if totals.used_later > 0 { Tone::Warning } else { Tone::Plain };
    let entry = session.index.display_id(audit.entry);
    let messages = quantity(audit.messages, "message");
    output.line(tone, &format!("Summary {entry} of {messages}: {}", describe(&totals)))?;
    let is_shown = |fact: &&AuditedFact| all || fact.used_later.is_some() || is_missing(fact);
    let facts: Vec<&AuditedFact> = audit.facts.iter().filter(is_shown).collect();
    if facts.is_empty() {
        return Ok(());
    }
    let shown = if all { facts.len() } else { facts.len().min(totals.used_later.max(MAX_FACTS)) };
    let columns = [
        ("state", Align::Left),
        ("kind", Align::Left),
        ("fact", Align::Flexible),
        ("last in", Align::Left),
        ("used later", Align::Left),
    ];
    let mut table = Table::new(&columns);
    for fact in &facts[..shown] {
        table.push(fact_cells(session, quotes, audit, fact));
    }
    table.print(output, "  ")?;
    let more = facts.len() - shown;
    if more > 0 {
        let line =
            format!("{} not shown; --all shows them", format_count(more as u64, "more fact", "more facts"));
        output.line(Tone::Dim, &line)?;
    }
    Ok(())
}

fn is_missing(fact: &AuditedFact) -> bool {
    matches!(fact.state, FactState::Lost | FactState::Stale { .. })
}

/// Describes the counts: `31 of 48 facts are kept, 16 lost, 1 stale; 3 were used later`.
fn describe(totals: &AuditTotals) -> String {
    if totals.facts == 0 {
        return "no path, id, number, limit, decision or error in them".to_owned();
    }
    let number = |count: usize| format_number(count as u64);
    let kept = format!("{} of {} kept", number(totals.kept), quantity(totals.facts, "fact"));
    let gone = [(totals.lost, "lost"), (totals.stale, "stale")].into_iter().filter(|(count, _)| *count > 0);
    let gone = gone.map(|(count, name)| format!("{} {name}", number(count)));
    let counts = std::iter::once(kept).chain(gone).collect::<Vec<_>>().join(", ");
    let used = match totals.used_later as u64 {
        0 if totals.lost + totals.stale == 0 => String::new(),
        0 => "; none was used later".to_owned(),
        count => format!("; {} used later", format_count(count, "was", "were")),
    };
    counts + used.as_str()
}

fn fact_cells(
    session: &LoadedSession,
    quotes: &MaskedQuotes<'_>,
    audit: &SummaryAudit,
    fact: &AuditedFact,
) -> Vec<Cell> {
    let state = match &fact.state {
        FactState::Stale { summary } => format!("stale: {}", quotes.masked(audit.entry, summary)),
        state => state.as_str().to_owned(),
    };
    let name = fact.name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
    let text = masked(&format!("{name}{}", quotes.masked(fact.source, &fact.text))).into_owned();
    let used = fact.used_later.map(|entry| session.index.display_id(entry)).unwrap_or_default();
    let tone = if fact.used_later.is_some() { Tone::Warning } else { Tone::Plain };
    vec![
        Cell::new(&state, tone),
        fact.kind.as_str().into(),
        truncate(&text, FACT_COLUMNS).0.into(),
        session.index.display_id(fact.source).into(),
        Cell::new(&used, tone),
    ]
}
