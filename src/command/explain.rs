//! `clawscope explain SESSION`: why it overflowed, what that rests on, and what would have helped.

use std::io::Write as _;

use super::described::{number, print_head, session_value};
use super::failure::Failure;
use super::output::{Output, Tone};
use super::ruleset::ruleset_value;
use super::scene::{Around, Scene, with_context};
use super::table::{Align, Cell, Table};
use super::words::{estimated, grouped};
use crate::cli::{ExplainArgs, PlaceArgs};
use crate::explain::{Advice, Class, Evidence, Explanation, Finding, Kind, Overflow, Whole, explain};
use crate::ids::EntryIx;
use crate::inspect::Inspection;
use crate::inspect::words::{difference, dollars};
use crate::js::{Object, Value};

/// Entries of one line of evidence that are named.
const NAMED: usize = 6;

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
    let explanation =
        explain(&inspection, scene.now_ms).map_err(|error| Failure::unreadable(error.to_string()))?;
    if args.json {
        return Ok(output.json(answer(&inspection, &explanation))?);
    }
    print(&inspection, &explanation, output)
}

/// Groups parted as the commands part them.
pub(super) fn plain(line: &str) -> String {
    line.replace(crate::inspect::words::GROUP, ",")
}

/// Class, confidence and line of the first finding.
pub(super) fn verdict_value(explanation: &Explanation) -> Value {
    Value::from(explanation.verdict().map(|finding| {
        Object::from([
            ("class", Value::from(finding.class.word())),
            ("confidence", Value::from(finding.confidence.word())),
            ("line", Value::from(plain(&finding.line).as_str())),
        ])
    }))
}

fn answer(inspection: &Inspection, explanation: &Explanation) -> Object {
    let list = |values: Vec<Value>| Value::from(values);
    let events = explanation.overflows.iter().map(|overflow| event_value(inspection, overflow));
    let findings = explanation.findings.iter().map(|finding| finding_value(inspection, finding));
    Object::from([
        ("session", session_value(&inspection.session)),
        ("ruleset", ruleset_value(&inspection.ruleset)),
        ("overflowed", Value::from(explanation.overflowed())),
        ("events", list(events.collect())),
        ("verdict", verdict_value(explanation)),
        ("findings", list(findings.collect())),
        ("advice", list(explanation.advice.iter().map(advice_value).collect())),
        ("recorded", Value::from(explanation.recorded.map(|it| recorded_value(&it)))),
        ("noSettingHelps", Value::from(explanation.no_setting_helps())),
    ])
}

fn event_value(inspection: &Inspection, overflow: &Overflow) -> Value {
    let kind = match overflow.kind {
        Kind::Refused(_) => "refused",
        Kind::CutShort => "cut-short",
    };
    Value::from(Object::from([
        ("entry", Value::from(inspection.index.name(overflow.entry))),
        ("kind", Value::from(kind)),
        ("time", number(overflow.at)),
        ("requested", Value::from(overflow.requested)),
        ("limit", Value::from(overflow.limit)),
        ("by", Value::from(overflow.who())),
        ("text", Value::from(overflow.text.as_str())),
    ]))
}

fn names(inspection: &Inspection, entries: &[EntryIx]) -> Vec<Value> {
    entries.iter().map(|ix| Value::from(inspection.index.name(*ix))).collect()
}

fn finding_value(inspection: &Inspection, finding: &Finding) -> Value {
    let mut seen: Vec<EntryIx> = Vec::new();
    for entry in finding.evidence.iter().flat_map(|evidence| &evidence.entries) {
        if !seen.contains(entry) {
            seen.push(*entry);
        }
    }
    let line = |evidence: &Evidence| {
        Value::from(Object::from([
            ("text", Value::from(plain(&evidence.text).as_str())),
            ("rule", Value::from(evidence.rule)),
            ("entries", Value::from(names(inspection, &evidence.entries))),
        ]))
    };
    let mut numbers = Object::default();
    for (name, value) in &finding.numbers {
        numbers.set(name, number(*value));
    }
    Value::from(Object::from([
        ("class", Value::from(finding.class.word())),
        ("confidence", Value::from(finding.confidence.word())),
        ("text", Value::from(plain(&finding.line).as_str())),
        ("rule", Value::from(finding.rule)),
        ("evidence", Value::from(names(inspection, &seen))),
        ("lines", Value::from(finding.evidence.iter().map(line).collect::<Vec<_>>())),
        ("numbers", Value::from(numbers)),
    ]))
}

fn advice_value(advice: &Advice) -> Value {
    let mut set = Object::default();
    for change in &advice.changes {
        set.set(&change.key, change.value.clone());
    }
    let commands = advice.commands.iter().map(|line| Value::from(line.as_str())).collect::<Vec<_>>();
    Value::from(Object::from([
        ("set", Value::from(set)),
        ("helps", Value::from(advice.helps)),
        ("overflows", Value::from(advice.overflows() as u64)),
        ("peak", Value::from(advice.peak())),
        ("cost", cost_value(advice.whole)),
        ("note", Value::from(plain(&advice.note).as_str())),
        ("fits", Value::from(advice.fits)),
        ("before", Value::from(advice.before)),
        ("after", Value::from(advice.after)),
        ("compactions", Value::from(advice.whole.map(|whole| whole.compactions as u64))),
        ("limit", Value::from(advice.limit)),
        ("patch", Value::from(advice.patch.as_str())),
        ("commands", Value::from(commands)),
    ]))
}

fn cost_value(whole: Option<Whole>) -> Value {
    number(whole.and_then(|whole| whole.cost).unwrap_or(f64::NAN))
}

fn recorded_value(whole: &Whole) -> Object {
    Object::from([
        ("overflows", Value::from((whole.others + usize::from(whole.failing)) as u64)),
        ("peak", Value::from(whole.peak)),
        ("cost", cost_value(Some(*whole))),
        ("compactions", Value::from(whole.compactions as u64)),
    ])
}

/// How a verdict is painted.
pub(super) fn tone(explanation: &Explanation) -> Tone {
    match explanation.verdict().map(|finding| finding.class) {
        Some(Class::Healthy) => Tone::Good,
        _ if explanation.overflowed() => Tone::Bad,
        _ => Tone::Warning,
    }
}

fn print(inspection: &Inspection, explanation: &Explanation, output: &mut Output) -> Result<(), Failure> {
    if let Some(verdict) = explanation.verdict() {
        output.line(tone(explanation), &plain(&verdict.line))?;
        let head = format!("{} · {}", verdict.class.word(), verdict.confidence.word());
        output.line(Tone::Dim, &head)?;
        writeln!(output)?;
    }
    print_head(output, inspection, inspection.window)?;
    for (at, finding) in explanation.findings.iter().enumerate() {
        writeln!(output)?;
        if at > 0 {
            let head = format!("{} · {}", finding.class.word(), finding.confidence.word());
            output.line(Tone::Strong, &head)?;
            output.line(Tone::Plain, &plain(&finding.line))?;
        }
        evidence(inspection, finding).print(output, "  ")?;
    }
    if explanation.overflowed() || !explanation.advice.is_empty() {
        writeln!(output)?;
        print_advice(explanation, output)?;
    }
    Ok(())
}

fn evidence(inspection: &Inspection, finding: &Finding) -> Table {
    let columns =
        [("", Align::Right), ("seen", Align::Left), ("entries", Align::Left), ("rule", Align::Left)];
    let mut table = Table::new(&columns);
    for (at, evidence) in finding.evidence.iter().enumerate() {
        let shown = evidence.entries.iter().take(NAMED).map(|ix| inspection.index.name(*ix));
        let mut entries = shown.collect::<Vec<_>>().join(" ");
        if evidence.entries.len() > NAMED {
            entries = format!("{entries} +{}", evidence.entries.len() - NAMED);
        }
        table.push(vec![
            (at + 1).to_string().into(),
            plain(&evidence.text).into(),
            Cell::new(&entries, Tone::Dim),
            Cell::new(evidence.rule, Tone::Dim),
        ]);
    }
    table
}

fn print_advice(explanation: &Explanation, output: &mut Output) -> Result<(), Failure> {
    let (tone, head) = explanation.advice_head();
    output.line(if tone { Tone::Strong } else { Tone::Warning }, &head)?;
    if explanation.advice.is_empty() {
        return Ok(());
    }
    let columns = [
        ("change", Align::Left),
        (if explanation.overflowed() { "the call" } else { "next call" }, Align::Right),
        ("of", Align::Right),
        ("fits", Align::Left),
        ("whole session: over", Align::Right),
        ("peak", Align::Right),
        ("cost", Align::Right),
        ("", Align::Flexible),
    ];
    let mut table = Table::new(&columns);
    let first = &explanation.advice[0];
    let failed = explanation.overflowed();
    if let Some(recorded) = explanation.recorded {
        let over = recorded.others + usize::from(recorded.failing);
        let fits = if failed { Cell::new("no", Tone::Bad) } else { "".into() };
        table.push(vec![
            Cell::new("as it was", Tone::Dim),
            grouped(first.before).into(),
            grouped(first.limit).into(),
            fits,
            grouped(over as u64).into(),
            grouped(recorded.peak).into(),
            recorded.cost.map_or_else(|| "-".to_owned(), dollars).into(),
            "".into(),
        ]);
    }
    for advice in &explanation.advice {
        table.push(advice_cells(explanation, advice));
    }
    table.print(output, "  ")?;
    for line in explanation.advice.iter().find(|advice| advice.helps).into_iter().flat_map(|it| &it.commands)
    {
        output.line(Tone::Plain, line)?;
    }
    Ok(())
}

/// A change: the call that failed under it, and the whole session.
fn advice_cells(explanation: &Explanation, advice: &Advice) -> Vec<Cell> {
    let yes = |yes: bool| if yes { Cell::new("yes", Tone::Good) } else { Cell::new("no", Tone::Bad) };
    let fits = if explanation.overflowed() { yes(advice.fits) } else { yes(advice.helps) };
    let over = advice.overflows() as u64;
    let (over, peak, cost) = match advice.whole {
        Some(whole) => (
            Cell::new(&grouped(over), if over == 0 { Tone::Good } else { Tone::Bad }),
            estimated(advice.peak()),
            cost_change(explanation.recorded, whole),
        ),
        None => ("-".into(), "-".to_owned(), "-".to_owned()),
    };
    vec![
        plain(&advice.words()).into(),
        estimated(advice.after).into(),
        grouped(advice.limit).into(),
        fits,
        over,
        peak.into(),
        cost.into(),
        Cell::new(&plain(&advice.note), Tone::Dim),
    ]
}

/// `$24.10 (-$2.24)`: what all calls would have cost.
fn cost_change(recorded: Option<Whole>, whole: Whole) -> String {
    let Some(cost) = whole.cost else { return "-".to_owned() };
    let before = recorded.and_then(|recorded| recorded.cost);
    before
        .map_or_else(|| dollars(cost), |before| format!("{} ({})", dollars(cost), difference(cost - before)))
}
