//! `clawscope explain SESSION`: answers four questions. Did the session overflow, what made it large, why did nothing
//! prevent it, and what would have?

use std::io::Write as _;

use super::environment::{Invocation, Workspace, is_store_folder, require_context};
use super::explain_all::{self, verdict_tone};
use super::explain_json::report_json;
use super::failure::Failure;
use super::learned_window::with_learned_window;
use super::output::{Output, Tone};
use super::ruleset::refuse_unsupported;
use super::session_output::print_session_header;
use super::table::{Align, Cell, Table};
use crate::cli::{ExplainArgs, StoreArgs};
use crate::format::{
    format_amount, format_counted, format_displayed_timestamp, format_estimate, format_estimated_usd,
    format_number, format_signed_percent, format_usd_change,
};
use crate::ids::EntryIx;
use crate::redact::masked;
use crate::report::explain::{
    Advice, Explanation, Finding, FindingClass, GuardReport, GuardState, Overflow, PromptCount,
    ReplaySummary, explain_changes,
};
use crate::session::LoadedSession;
use crate::session::setting_change::{SettingChange, read_changes};
use crate::session::simulated_settings::{default_replay_policies, simulate_settings};
use crate::text::truncate;
use crate::units::Tokens;

/// Entries named per line.
const MAX_NAMED_ENTRIES: usize = 4;
/// Newest overflows printed.
const MAX_OVERFLOWS: usize = 6;
/// Printed columns of an error text.
const MAX_ERROR_COLUMNS: usize = 120;

pub(super) fn run(
    args: &ExplainArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let Some(target) = args.target.as_deref() else {
        return Err(Failure::usage(
            "explain: expected a SESSION, or --all. `clawscope sessions` lists them.",
        ));
    };
    if is_store_folder(target, place, invocation) {
        if !args.set.is_empty() || args.settings.is_some() {
            return Err(Failure::usage(format!(
                "--set and --settings: {target} is a store; name a SESSION in it."
            )));
        }
        return explain_all::run(args, place, invocation, output);
    }
    let workspace = Workspace::for_session(target, place, invocation)?;
    let session = require_context(workspace.open_session(target, output)?)?;
    let changes = requested_changes(args, &session, output)?;
    let explanation = explain_changes(&session, &changes)?;
    if args.json {
        return Ok(output.json(&report_json(&session, &explanation))?);
    }
    ExplanationPrinter { session: &session, explanation: &explanation }.print(output)
}

/// Returns the changes to try.
fn requested_changes(
    args: &ExplainArgs,
    session: &LoadedSession,
    output: &mut Output,
) -> Result<Vec<SettingChange>, Failure> {
    let changes = read_changes(args.settings.as_deref(), &args.set)?;
    let window = match args.window.as_slice() {
        [] => None,
        [window] => Some(*window),
        _ => return Err(Failure::usage("--window: one window for a SESSION, several only with --all.")),
    };
    let changes = with_learned_window(window, changes, session, output)?;
    refuse_unsupported(&changes, session)?;
    for warning in simulate_settings(session, &changes, default_replay_policies(session, &changes)).warnings()
    {
        output.note(&warning)?;
    }
    Ok(changes)
}

fn print_block(title: &str, table: &Table, output: &mut Output) -> Result<(), Failure> {
    writeln!(output)?;
    output.line(Tone::Strong, title)?;
    Ok(table.print(output, "  ")?)
}

struct ExplanationPrinter<'a> {
    session: &'a LoadedSession,
    explanation: &'a Explanation,
}

impl ExplanationPrinter<'_> {
    fn print(&self, output: &mut Output) -> Result<(), Failure> {
        self.print_headline(output)?;
        print_session_header(output, self.session, self.session.window)?;
        self.print_overflows(output)?;
        self.print_gateway_record(output)?;
        self.print_parts(output)?;
        self.print_guards(output)?;
        self.print_counts(output)?;
        self.print_findings(output)?;
        self.print_advice(output)
    }

    fn print_headline(&self, output: &mut Output) -> Result<(), Failure> {
        let Some(verdict) = self.explanation.verdict() else { return Ok(()) };
        output.line(verdict_tone(self.explanation), &verdict.headline())?;
        if let Some(next_step) = self.explanation.next_step() {
            output.line(Tone::Strong, &next_step)?;
        }
        if let (Some(line), Some(asked)) = (self.explanation.asked_line(), &self.explanation.asked) {
            output.line(if asked.fits_all { Tone::Good } else { Tone::Warning }, &line)?;
        }
        let class = format!("{} · {}", verdict.class.as_str(), verdict.confidence.as_str());
        output.line(Tone::Dim, &class)?;
        Ok(writeln!(output)?)
    }

    fn entry_names(&self, entries: &[EntryIx]) -> Cell {
        let shown = entries.iter().take(MAX_NAMED_ENTRIES).map(|ix| self.session.index.display_id(*ix));
        let mut names = shown.collect::<Vec<_>>().join(" ");
        if entries.len() > MAX_NAMED_ENTRIES {
            names = format!("{names} +{}", entries.len() - MAX_NAMED_ENTRIES);
        }
        Cell::new(&names, Tone::Dim)
    }

    fn print_overflows(&self, output: &mut Output) -> Result<(), Failure> {
        let overflows = &self.explanation.overflows;
        if overflows.is_empty() {
            return Ok(());
        }
        let mut table = Table::new(&[
            ("entry", Align::Left),
            ("when", Align::Left),
            ("needed", Align::Right),
            ("limit", Align::Right),
            ("", Align::Left),
            ("", Align::Left),
        ]);
        for overflow in overflows.iter().rev().take(MAX_OVERFLOWS).rev() {
            table.push(self.overflow_cells(overflow));
        }
        let more = overflows.len().saturating_sub(MAX_OVERFLOWS);
        let title = match more {
            0 => "What happened".to_owned(),
            _ => format!("What happened (the last {MAX_OVERFLOWS} of {})", overflows.len()),
        };
        print_block(&title, &table, output)
    }

    fn overflow_cells(&self, overflow: &Overflow) -> Vec<Cell> {
        let number = |tokens: Option<u64>| tokens.map_or_else(|| "not stated".to_owned(), format_number);
        let needed = match (overflow.requested, overflow.excess) {
            (None, Some(excess)) => format!("{} too many", format_number(excess)),
            (requested, _) => number(requested),
        };
        let recognised = match overflow.recognised {
            Some(false) => format!("not recognised by {}", self.session.gateway_release()),
            _ => String::new(),
        };
        let text: String = overflow.shown_text().split_whitespace().collect::<Vec<_>>().join(" ");
        vec![
            self.entry_names(&[overflow.entry]),
            Cell::new(&format_displayed_timestamp(overflow.time_ms).unwrap_or_default(), Tone::Dim),
            needed.into(),
            number(overflow.limit).into(),
            Cell::new(
                if recognised.is_empty() { overflow.kind.as_str() } else { &recognised },
                Tone::Warning,
            ),
            Cell::new(&truncate(&text, MAX_ERROR_COLUMNS).0, Tone::Dim),
        ]
    }

    /// Prints the gateway's own numbers of the last prompt and the error of the last run, from the session's record.
    fn print_gateway_record(&self, output: &mut Output) -> Result<(), Failure> {
        let limits = &self.session.limits;
        let mut table = Table::new(&[("", Align::Left), ("", Align::Left)]);
        if let Some(budget) = limits.gateway_budget {
            table.push(vec![
                "estimate".into(),
                budget.description(self.session.item.tokens, self.session.ruleset.id.rules()).into(),
            ]);
        }
        if let Some(error) = limits.run_error.as_deref() {
            let words = truncate(&masked(error), MAX_ERROR_COLUMNS).0;
            table.push(vec!["last run".into(), Cell::new(&words, Tone::Warning)]);
        }
        if limits.gateway_budget.is_none() && limits.run_error.is_none() {
            return Ok(());
        }
        print_block("What the gateway recorded", &table, output)
    }

    fn print_parts(&self, output: &mut Output) -> Result<(), Failure> {
        let parts = &self.explanation.parts;
        if parts.is_empty() {
            return Ok(());
        }
        let mut table = Table::new(&[
            ("part", Align::Left),
            ("messages", Align::Right),
            ("tokens", Align::Right),
            ("since the last accepted call", Align::Right),
        ]);
        for part in parts {
            let new = if part.new_tokens >= Tokens(1.0) {
                format!("+{}", format_estimate(part.new_tokens.whole()))
            } else {
                String::new()
            };
            let count = if part.count == 0 { String::new() } else { format_number(part.count as u64) };
            table.push(vec![
                part.kind.as_str().into(),
                count.into(),
                format_estimate(part.tokens.whole()).into(),
                new.into(),
            ]);
        }
        print_block("What made it large", &table, output)
    }

    fn print_guards(&self, output: &mut Output) -> Result<(), Failure> {
        if self.explanation.guards.is_empty() {
            return Ok(());
        }
        let mut table =
            Table::new(&[("guard", Align::Left), ("", Align::Left), ("", Align::Left), ("", Align::Left)]);
        for guard in &self.explanation.guards {
            table.push(self.guard_cells(guard));
        }
        print_block("Why nothing prevented it", &table, output)
    }

    fn guard_cells(&self, guard: &GuardReport) -> Vec<Cell> {
        let tone = match guard.state {
            GuardState::Acted => Tone::Good,
            GuardState::Blocked | GuardState::FreedNothing => Tone::Warning,
            GuardState::Failed => Tone::Bad,
            GuardState::NotDue | GuardState::NotSet => Tone::Dim,
        };
        let by = guard
            .missing_tokens
            .map(|by| format!(", {} below its limit", format_counted(by, !guard.missing_is_estimate)))
            .unwrap_or_default();
        let entry = guard.entry.map_or_else(|| "".into(), |ix| self.entry_names(&[ix]));
        vec![
            guard.kind.as_str().into(),
            Cell::new(&format!("{}{by}", guard.state.as_str()), tone),
            guard.description().into(),
            entry,
        ]
    }

    fn print_counts(&self, output: &mut Output) -> Result<(), Failure> {
        if self.explanation.counts.is_empty() {
            return Ok(());
        }
        let first = self.explanation.counts[0].tokens.max(1);
        let mut table = Table::new(&[
            ("who", Align::Left),
            ("tokens", Align::Right),
            ("", Align::Right),
            ("", Align::Left),
            ("", Align::Left),
        ]);
        for (at, count) in self.explanation.counts.iter().enumerate() {
            let PromptCount { counter, tokens, is_measured, entry } = count;
            let off = *tokens as f64 / first as f64 - 1.0;
            table.push(vec![
                counter.as_str().into(),
                count.lower_bound().unwrap_or_else(|| format_counted(*tokens, *is_measured)).into(),
                if at == 0 { String::new() } else { format_signed_percent(off) }.into(),
                Cell::new(&count.description(), Tone::Dim),
                entry.map_or_else(|| "".into(), |ix| self.entry_names(&[ix])),
            ]);
        }
        print_block("Who counted what", &table, output)
    }

    fn print_findings(&self, output: &mut Output) -> Result<(), Failure> {
        for (at, finding) in self.explanation.findings.iter().enumerate() {
            writeln!(output)?;
            let flips = if finding.prevents_overflow == Some(true) {
                " · correcting it makes every call fit"
            } else {
                ""
            };
            // The class of a healthy session is in the headline.
            if at > 0 || finding.class != FindingClass::Healthy {
                let head = format!("{} · {}{flips}", finding.class.as_str(), finding.confidence.as_str());
                output.line(Tone::Strong, &head)?;
            }
            if at > 0 {
                output.line(Tone::Plain, &finding.headline())?;
            }
            self.evidence_table(finding).print(output, "  ")?;
        }
        Ok(())
    }

    fn evidence_table(&self, finding: &Finding) -> Table {
        let columns = [("", Align::Left), ("entries", Align::Left)];
        let mut table = Table::new(&columns);
        for evidence in finding.evidence() {
            table.push(vec![evidence.text.as_str().into(), self.entry_names(&evidence.entries)]);
        }
        table
    }

    fn print_advice(&self, output: &mut Output) -> Result<(), Failure> {
        let explanation = self.explanation;
        if !explanation.has_overflowed() && explanation.asked.is_none() {
            return Ok(());
        }
        writeln!(output)?;
        if explanation.has_overflowed() {
            let (helps, head) = explanation.advice_headline();
            output.line(if helps { Tone::Strong } else { Tone::Warning }, &head)?;
        }
        let mut table = Table::new(&[
            ("change", Align::Left),
            (if explanation.failure.is_some() { "the call" } else { "" }, Align::Right),
            ("limit", Align::Right),
            ("overflows", Align::Right),
            ("peak", Align::Right),
            ("cost", Align::Right),
            ("", Align::Left),
        ]);
        if let Some((recorded, first)) = explanation.recorded.zip(explanation.tried().next()) {
            table.push(self.recorded_cells(recorded, first));
        }
        for advice in explanation.tried() {
            table.push(self.advice_cells(advice));
        }
        table.print(output, "  ")?;
        let Some(best) = explanation.tried().find(|advice| advice.fits_all) else { return Ok(()) };
        if best.commands.is_empty() && !best.patch.is_empty() {
            output.line(Tone::Dim, &format!("in {}:", best.file_name()))?;
        }
        let patch = best.patch.lines().filter(|_| best.commands.is_empty());
        for line in best.commands.iter().map(String::as_str).chain(patch) {
            output.line(Tone::Plain, line)?;
        }
        Ok(())
    }

    fn recorded_cells(&self, recorded: ReplaySummary, first: &Advice) -> Vec<Cell> {
        let failure = self.explanation.failure.as_ref();
        let call = failure.map(|failure| format_counted(first.tokens_before, failure.is_measured));
        let limit = failure.map_or_else(|| self.session.window.model_tokens.whole(), |failure| failure.limit);
        let cost = recorded.cost.map(|usd| format_amount(usd, recorded.cost_is_estimated));
        vec![
            Cell::new("recorded", Tone::Dim),
            call.unwrap_or_default().into(),
            format_number(limit).into(),
            format_number(recorded.overflows as u64).into(),
            format_counted(recorded.peak_tokens, recorded.peak_measured).into(),
            cost.unwrap_or_default().into(),
            "".into(),
        ]
    }

    fn advice_cells(&self, advice: &Advice) -> Vec<Cell> {
        let call = format_counted(advice.tokens_after, advice.is_measured_after());
        let call = if self.explanation.failure.is_some() { call } else { String::new() };
        let over = advice.overflows() as u64;
        let tone = if advice.fits_all { Tone::Good } else { Tone::Bad };
        vec![
            advice.description().into(),
            Cell::new(&call, if advice.fits { Tone::Good } else { Tone::Bad }),
            format_number(advice.limit).into(),
            Cell::new(&format_number(over), tone),
            format_counted(advice.peak(), advice.whole.peak_measured).into(),
            describe_cost_change(self.explanation.recorded, advice.whole).into(),
            Cell::new(&advice.outcome.description(), Tone::Dim),
        ]
    }
}

/// Formats the cost of all calls under changed settings, always an estimate: `~$24.10 (-$2.24)`.
fn describe_cost_change(recorded: Option<ReplaySummary>, whole: ReplaySummary) -> String {
    let Some(cost) = whole.cost else { return String::new() };
    let before = recorded.and_then(|recorded| recorded.cost);
    let shown = format_estimated_usd(cost);
    let change = before.map(|before| match format_usd_change(before, cost) {
        same if same == "$0" => "same".to_owned(),
        change => change,
    });
    change.map_or_else(|| shown.clone(), |change| format!("{shown} ({change})"))
}
