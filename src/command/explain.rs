//! `clawscope explain SESSION`: did it overflow, what made it large, why nothing prevented it, and what would have.

use std::io::Write as _;

use super::described::print_head;
use super::explain_json::answer;
use super::failure::Failure;
use super::output::{Output, Tone};
use super::scene::{Around, Scene, with_context};
use super::table::{Align, Cell, Table};
use super::words::{estimated, grouped};
use crate::cli::{ExplainArgs, PlaceArgs};
use crate::explain::{
    Advice, Class, Count, Explanation, Finding, Guard, GuardState, Overflow, Whole, explain,
};
use crate::ids::EntryIx;
use crate::inspect::Inspection;
use crate::inspect::cost::amount;
use crate::inspect::spending::spending;
use crate::inspect::words::{difference, moment};
use crate::store::entry::{EntryKind, MessageSize};

/// Entries of one line that are named.
const NAMED: usize = 4;
/// Overflows that are printed: the newest.
const EVENTS: usize = 6;
/// Chars of an error text that are printed.
const QUOTED: usize = 120;

/// Explains one session.
pub(super) fn run(
    args: &ExplainArgs,
    place: &PlaceArgs,
    around: &Around,
    output: &mut Output,
) -> Result<(), Failure> {
    let Some(target) = args.target.as_deref() else {
        return Err(Failure::usage(
            "explain: expected a SESSION, or --all. `clawscope sessions` lists them.",
        ));
    };
    let scene = Scene::for_session(target, place, around)?;
    let inspection = with_context(scene.open(target)?)?;
    let explanation = explain(&inspection).map_err(|error| Failure::unreadable(error.to_string()))?;
    if args.json {
        return Ok(output.json(answer(&inspection, &explanation))?);
    }
    Printed { inspection: &inspection, explanation: &explanation }.print(output)
}

/// One block: a blank row, its title, its table.
fn block(title: &str, table: &Table, output: &mut Output) -> Result<(), Failure> {
    writeln!(output)?;
    output.line(Tone::Strong, title)?;
    Ok(table.print(output, "  ")?)
}

/// How a verdict is painted.
pub(super) fn tone(explanation: &Explanation) -> Tone {
    match explanation.verdict().map(|finding| finding.class) {
        Some(Class::Healthy) => Tone::Good,
        _ if explanation.overflowed() => Tone::Bad,
        _ => Tone::Warning,
    }
}

/// An explanation on its way to the terminal, block by block.
struct Printed<'a> {
    inspection: &'a Inspection,
    explanation: &'a Explanation,
}

impl Printed<'_> {
    fn print(&self, output: &mut Output) -> Result<(), Failure> {
        self.headline(output)?;
        print_head(output, self.inspection, self.inspection.window)?;
        self.events(output)?;
        self.parts(output)?;
        self.guards(output)?;
        self.counts(output)?;
        self.findings(output)?;
        self.advice(output)
    }

    fn headline(&self, output: &mut Output) -> Result<(), Failure> {
        let Some(verdict) = self.explanation.verdict() else { return Ok(()) };
        output.line(tone(self.explanation), &verdict.line)?;
        if let Some(best) = self.explanation.advice.first().filter(|advice| advice.helps) {
            output.line(Tone::Strong, &format!("{} would have fixed it (tested).", best.words()))?;
        } else if self.explanation.overflowed() {
            output.line(Tone::Strong, &format!("{}.", self.explanation.advice_head().1))?;
        }
        let class = format!("{} · {}", verdict.class.word(), verdict.confidence.word());
        output.line(Tone::Dim, &class)?;
        Ok(writeln!(output)?)
    }

    fn names(&self, entries: &[EntryIx]) -> Cell {
        let shown = entries.iter().take(NAMED).map(|ix| self.inspection.index.name(*ix));
        let mut names = shown.collect::<Vec<_>>().join(" ");
        if entries.len() > NAMED {
            names = format!("{names} +{}", entries.len() - NAMED);
        }
        Cell::new(&names, Tone::Dim)
    }

    fn events(&self, output: &mut Output) -> Result<(), Failure> {
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
            ("", Align::Flexible),
        ]);
        for overflow in overflows.iter().rev().take(EVENTS).rev() {
            table.push(self.event(overflow));
        }
        let more = overflows.len().saturating_sub(EVENTS);
        let title = match more {
            0 => "What happened".to_owned(),
            more => format!("What happened ({more} earlier not shown)"),
        };
        block(&title, &table, output)
    }

    fn event(&self, overflow: &Overflow) -> Vec<Cell> {
        let number = |tokens: Option<u64>| tokens.map_or_else(|| "not named".to_owned(), grouped);
        let recognised = match overflow.recognised {
            Some(false) => format!("not recognised by {}", self.inspection.release()),
            _ => String::new(),
        };
        let text: String = overflow.text.split_whitespace().collect::<Vec<_>>().join(" ");
        vec![
            self.names(&[overflow.entry]),
            Cell::new(&moment(overflow.at).unwrap_or_default(), Tone::Dim),
            number(overflow.requested).into(),
            number(overflow.limit).into(),
            Cell::new(if recognised.is_empty() { overflow.sign.word() } else { &recognised }, Tone::Warning),
            Cell::new(&text.chars().take(QUOTED).collect::<String>(), Tone::Dim),
        ]
    }

    fn parts(&self, output: &mut Output) -> Result<(), Failure> {
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
            let new = if part.new >= 1.0 { format!("+{}", grouped(part.new as u64)) } else { String::new() };
            let count = if part.count == 0 { String::new() } else { grouped(part.count as u64) };
            table.push(vec![
                part.kind.word().into(),
                count.into(),
                estimated(part.tokens as u64).into(),
                new.into(),
            ]);
        }
        block("What made it large", &table, output)
    }

    fn guards(&self, output: &mut Output) -> Result<(), Failure> {
        if self.explanation.guards.is_empty() {
            return Ok(());
        }
        let mut table =
            Table::new(&[("guard", Align::Left), ("", Align::Left), ("", Align::Left), ("", Align::Left)]);
        for guard in &self.explanation.guards {
            table.push(self.guard(guard));
        }
        block("Why nothing prevented it", &table, output)
    }

    fn guard(&self, guard: &Guard) -> Vec<Cell> {
        let tone = match guard.state {
            GuardState::Acted => Tone::Good,
            GuardState::Blocked | GuardState::FreedNothing => Tone::Warning,
            GuardState::Failed => Tone::Bad,
            GuardState::NotDue | GuardState::NotSet => Tone::Dim,
        };
        let by = guard.due_by.map(|by| format!(" by {}", grouped(by))).unwrap_or_default();
        let opens = if guard.opens.is_empty() {
            String::new()
        } else {
            format!("; every call fits with {} opened", guard.opens.join(" or "))
        };
        let entry = guard.entry.map_or_else(|| "".into(), |ix| self.names(&[ix]));
        vec![
            guard.kind.word().into(),
            Cell::new(&format!("{}{by}", guard.state.word()), tone),
            format!("{}{opens}", guard.why).into(),
            entry,
        ]
    }

    fn counts(&self, output: &mut Output) -> Result<(), Failure> {
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
            let Count { who, tokens, exact, what, entry } = count;
            let off = (*tokens as f64 / first as f64 - 1.0) * 100.0;
            table.push(vec![
                (*who).into(),
                if *exact { grouped(*tokens) } else { estimated(*tokens) }.into(),
                if at == 0 { String::new() } else { format!("{off:+.1}%") }.into(),
                Cell::new(what, Tone::Dim),
                entry.map_or_else(|| "".into(), |ix| self.names(&[ix])),
            ]);
        }
        block("Who counted what", &table, output)
    }

    fn findings(&self, output: &mut Output) -> Result<(), Failure> {
        for (at, finding) in self.explanation.findings.iter().enumerate() {
            writeln!(output)?;
            let flips = if finding.flips == Some(true) { " · every call fits once it is right" } else { "" };
            let head = format!("{} · {}{flips}", finding.class.word(), finding.confidence.word());
            output.line(Tone::Strong, &head)?;
            if at > 0 {
                output.line(Tone::Plain, &finding.line)?;
            }
            self.evidence(finding).print(output, "  ")?;
        }
        Ok(())
    }

    fn evidence(&self, finding: &Finding) -> Table {
        let columns = [("", Align::Left), ("entries", Align::Left)];
        let mut table = Table::new(&columns);
        for evidence in &finding.evidence {
            table.push(vec![evidence.text.as_str().into(), self.names(&evidence.entries)]);
        }
        table
    }

    fn advice(&self, output: &mut Output) -> Result<(), Failure> {
        let explanation = self.explanation;
        if !explanation.overflowed() {
            return Ok(());
        }
        writeln!(output)?;
        let (helps, head) = explanation.advice_head();
        output.line(if helps { Tone::Strong } else { Tone::Warning }, &head)?;
        let mut table = Table::new(&[
            ("change", Align::Left),
            ("the call", Align::Right),
            ("of", Align::Right),
            ("all calls: over", Align::Right),
            ("peak", Align::Right),
            ("cost", Align::Right),
            ("", Align::Flexible),
        ]);
        if let Some((recorded, first)) = explanation.recorded.zip(explanation.advice.first()) {
            table.push(vec![
                Cell::new("recorded", Tone::Dim),
                grouped(first.before).into(),
                grouped(first.limit).into(),
                grouped(recorded.overflows as u64).into(),
                recorded_peak(self.inspection, recorded.peak).into(),
                recorded.cost.map(|usd| amount(usd, self.is_cost_estimated())).unwrap_or_default().into(),
                "".into(),
            ]);
        }
        for advice in &explanation.advice {
            table.push(self.advice_cells(advice));
        }
        table.print(output, "  ")?;
        let best = explanation.advice.iter().find(|advice| advice.helps);
        for line in best.into_iter().flat_map(|advice| &advice.commands) {
            output.line(Tone::Plain, line)?;
        }
        Ok(())
    }

    fn advice_cells(&self, advice: &Advice) -> Vec<Cell> {
        let over = advice.overflows() as u64;
        let tone = if advice.helps { Tone::Good } else { Tone::Bad };
        vec![
            advice.words().into(),
            Cell::new(&estimated(advice.after), if advice.fits { Tone::Good } else { Tone::Bad }),
            grouped(advice.limit).into(),
            Cell::new(&grouped(over), tone),
            estimated(advice.peak()).into(),
            cost_change(self.explanation.recorded, advice.whole).into(),
            Cell::new(&advice.note, Tone::Dim),
        ]
    }

    /// Whether list prices make a part of the recorded cost: for calls, or for summaries that no usage is recorded of.
    fn is_cost_estimated(&self) -> bool {
        let index = &self.inspection.index;
        let summaries = index.iter().filter(|(_, entry)| entry.kind == EntryKind::Compaction);
        let mut uncounted = summaries.filter(|(ix, _)| !index.beside.contains_key(ix));
        spending(self.inspection).cost().is_estimated() || uncounted.next().is_some()
    }
}

/// The largest prompt of the record, with `~` where neither provider nor refusal names it.
fn recorded_peak(inspection: &Inspection, peak: u64) -> String {
    let counted = |size: MessageSize| size.usage.is_some_and(|usage| usage.prompt_tokens() as u64 == peak);
    let known = inspection.index.iter().any(|(_, entry)| entry.message.is_some_and(counted))
        || inspection.overflows.iter().any(|overflow| overflow.prompt() == Some(peak));
    if known { grouped(peak) } else { estimated(peak) }
}

/// `~$24.10 (-$2.24)`: the cost of all calls under other settings, an estimate.
fn cost_change(recorded: Option<Whole>, whole: Whole) -> String {
    let Some(cost) = whole.cost else { return String::new() };
    let before = recorded.and_then(|recorded| recorded.cost);
    before.map_or_else(
        || amount(cost, true),
        |before| format!("{} ({})", amount(cost, true), difference(cost - before)),
    )
}
