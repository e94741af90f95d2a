//! `clawscope regret SESSION`: shows what was cleared or summarised and needed again, as recorded and under other settings.

use std::io::Write as _;

use super::context_settings::has_changes;
use super::environment::Invocation;
use super::failure::Failure;
use super::output::{Output, Tone};
use super::regret_json::report_json;
use super::replay_report::{ReplayReport, replay_session};
use super::session_output::print_session_header;
use super::table::{Align, Cell, Table};
use crate::cli::{RegretArgs, StoreArgs};
use crate::format::{
    format_call, format_count, format_estimate, format_estimated_usd, format_number, quantity, round_tokens,
};
use crate::redact::masked;
use crate::report::regret::{LostMessage, Need, NeedKind, Regret, RegretTotals, find_regret};
use crate::session::LoadedSession;
use crate::text::truncate;

/// Needs printed without `--all`.
const MAX_NEEDS: usize = 40;
/// Columns of an identifier.
const EVIDENCE_COLUMNS: usize = 48;

pub(super) fn run(
    args: &RegretArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let replayed = replay_session(&args.target.session, None, &args.overrides, (place, invocation), output)?;
    let ReplayReport { session, inputs, simulated, .. } = &replayed;
    let unreadable = |error: crate::store::body::BodyError| Failure::unreadable(error.to_string());
    let recorded = find_regret(session, inputs, &inputs.recorded_settings, false).map_err(unreadable)?;
    let other = if has_changes(&args.overrides) {
        Some(find_regret(session, inputs, &simulated.replay_settings(), true).map_err(unreadable)?)
    } else {
        None
    };
    if args.target.json {
        return Ok(output.json(&report_json(session, &recorded, other.as_ref()))?);
    }
    print_session_header(output, session, session.window)?;
    print_regret("Recorded", session, &recorded, args.all, output)?;
    match &other {
        Some(other) => print_regret("With these settings", session, other, args.all, output),
        None => Ok(()),
    }
}

fn print_regret(
    name: &str,
    session: &LoadedSession,
    regret: &Regret,
    all: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    writeln!(output)?;
    let totals = regret.totals();
    let (tone, line) = describe_totals(&totals);
    output.line(tone, &format!("{name}: {line}"))?;
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
        table.push(need_cells(session, lost, need));
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

/// Describes the totals: what the prompts lacked, and what of it was needed again.
fn describe_totals(totals: &RegretTotals) -> (Tone, String) {
    if totals.lost == 0 {
        return (Tone::Good, "every prompt has all messages of its branch; nothing was lost".to_owned());
    }
    let lost = format!(
        "{} cleared, cut or summarised ({} tokens)",
        quantity(totals.lost, "message"),
        format_estimate(round_tokens(totals.lost_tokens))
    );
    if totals.needed == 0 {
        return (Tone::Good, format!("{lost}; none was needed again, so it cost you nothing"));
    }
    let part = |count: usize, kind: NeedKind| {
        (count > 0).then(|| format!("{} {}", format_number(count as u64), kind.label()))
    };
    let parts = [
        part(totals.fetched_again, NeedKind::FetchedAgain),
        part(totals.quoted, NeedKind::Quoted),
        part(totals.asked_again, NeedKind::AskedAgain),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let repeated = match totals.cost.map(format_estimated_usd) {
        _ if totals.tokens <= 0.0 => String::new(),
        cost => {
            let cost = cost.map(|cost| format!(", {cost}")).unwrap_or_default();
            format!(" ({} tokens repeated{cost})", format_estimate(round_tokens(totals.tokens)))
        }
    };
    let needed = format_count(totals.needed as u64, "was", "were");
    let line = format!("{lost}; {needed} needed again: {}{repeated}", parts.join(", "));
    (Tone::Warning, line)
}

fn need_cells(session: &LoadedSession, lost: &LostMessage, need: &Need) -> Vec<Cell> {
    let loss = &lost.loss;
    let later = match need.distance {
        0 => "at once".to_owned(),
        calls => format!("{} later", quantity(calls, "call")),
    };
    let is_fetched = need.kind == NeedKind::FetchedAgain;
    let cost = need.cost.map_or_else(|| "-".to_owned(), format_estimated_usd);
    vec![
        session.index.display_id(loss.entry).into(),
        lost.tool.as_deref().unwrap_or("").into(),
        format_estimate(round_tokens(loss.tokens_before - loss.tokens_after)).into(),
        loss.cause.as_str().into(),
        Cell::new(&format!("{} {later}", need.kind.label()), Tone::Warning),
        format_call(need.call).into(),
        if is_fetched { format_estimate(round_tokens(need.tokens)) } else { "-".to_owned() }.into(),
        if is_fetched { cost } else { "-".to_owned() }.into(),
        truncate(&masked(&need.evidence), EVIDENCE_COLUMNS).0.into(),
    ]
}
