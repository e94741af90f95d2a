//! `clawscope replay SESSION --lost`: shows messages that were cleared or summarised and needed again, as recorded and under
//! other settings.

use std::io::Write as _;

use super::context::has_changes;
use super::environment::Invocation;
use super::failure::Failure;
use super::output::Output;
use super::regret_json::report_json;
use super::replay_report::{ReplayReport, replay_session};
use super::session_output::print_session_header;
use crate::cli::{ReplayArgs, StoreArgs};
use crate::doc::{Align, Cell, Table, Tone};
use crate::format::{
    format_count, format_estimate, format_estimated_usd, format_number, format_ordinal, quantity,
    round_tokens,
};
use crate::redact::masked;
use crate::report::regret::{LostMessage, Need, NeedKind, Regret, RegretFinder};
use crate::report::summary_audit::{AuditTotals, AuditedFact, FactState, SummaryAudit, summary_audits};
use crate::session::LoadedSession;
use crate::session::message_texts::MaskedQuotes;
use crate::text::truncate;

/// Needs printed without `--all`.
const MAX_NEEDS: usize = 40;

/// Columns of an identifier.
const EVIDENCE_COLUMNS: usize = 48;

pub(super) fn run(
    args: &ReplayArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let replayed = replay_session(&args.target.session, None, &args.overrides, (place, invocation), output)?;
    let ReplayReport { session, inputs, simulated, .. } = &replayed;
    let finder = RegretFinder::new(session, inputs);
    let recorded = finder.recorded()?;
    let other = if has_changes(&args.overrides) {
        Some(finder.simulated(&simulated.replay_settings())?)
    } else {
        None
    };
    drop(finder);
    let quotes = MaskedQuotes::new(session);
    if args.target.json {
        let report = report_json(session, &quotes, &recorded, other.as_ref());
        let written = output.json(&report);
        report.check_texts()?;
        return Ok(written?);
    }
    print_session_header(output, session, session.window)?;
    print_regret("Recorded", (session, &quotes), &recorded, args.all, output)?;
    if let Some(other) = &other {
        print_regret("With these settings", (session, &quotes), other, args.all, output)?;
    }
    summary_audits(session).try_for_each(|audit| print_audit(session, &quotes, &audit?, args.all, output))
}

fn print_regret(
    name: &str,
    (session, quotes): (&LoadedSession, &MaskedQuotes<'_>),
    regret: &Regret,
    all: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    writeln!(output)?;
    let totals = regret.totals();
    let tone = if totals.needed == 0 { Tone::Good } else { Tone::Warning };
    output.line(tone, &format!("{name}: {}", totals.describe()))?;
    if totals.needed == 0 {
        return Ok(());
    }
    let columns = [
        ("lost", Align::Left),
        ("tool", Align::Flexible),
        ("tokens", Align::Right),
        ("by", Align::Left),
        ("needed again", Align::Left),
        ("at call", Align::Right),
        ("repeated", Align::Right),
        ("cost", Align::Right),
        ("evidence", Align::Flexible),
    ];
    let mut table = Table::new(&columns);
    table.drop_first(&["evidence", "tool"]);
    let needs: Vec<(&LostMessage, &Need)> =
        regret.lost.iter().flat_map(|lost| lost.needs.iter().map(move |need| (lost, need))).collect();
    let shown = if all { needs.len() } else { needs.len().min(MAX_NEEDS) };
    for (lost, need) in &needs[..shown] {
        table.push(need_cells(session, quotes, lost, need));
    }
    table.print(output, "  ")?;
    let more = needs.len() - shown;
    if more > 0 {
        let line =
            format!("{} not shown; --all shows them", format_count(more as u64, "more need", "more needs"));
        output.line(Tone::Dim, &line)?;
    }
    Ok(())
}

fn need_cells(
    session: &LoadedSession,
    quotes: &MaskedQuotes<'_>,
    lost: &LostMessage,
    need: &Need,
) -> Vec<Cell> {
    let loss = &lost.loss;
    let is_fetched = need.kind == NeedKind::FetchedAgain;
    let cost = need.cost.map_or_else(|| "-".to_owned(), format_estimated_usd);
    vec![
        session.index.display_id(loss.entry).into(),
        masked(lost.tool.as_deref().unwrap_or("")).as_ref().into(),
        format_estimate(round_tokens(loss.tokens_before - loss.tokens_after)).into(),
        loss.cause.as_str().into(),
        Cell::new(&format!("{} {}", need.kind.label(), need.describe_distance()), Tone::Warning),
        format_ordinal(need.call).into(),
        if is_fetched { format_estimate(round_tokens(need.tokens)) } else { "-".to_owned() }.into(),
        if is_fetched { cost } else { "-".to_owned() }.into(),
        truncate(&quotes.masked(need.entry, &need.evidence), EVIDENCE_COLUMNS).0.into(),
    ]
}

// The text of a summary audit: the lost facts, those that were used later first.

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
