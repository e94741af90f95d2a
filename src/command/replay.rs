//! `clawscope replay SESSION`: every call again, recorded beside simulated.

use std::io::Write as _;

use super::described::print_head;
use super::failure::Failure;
use super::learnt::with_learnt;
use super::output::{Output, Tone};
use super::replay_json::answer;
use super::ruleset::{print_ruleset, refuse_fixed};
use super::scene::{Around, Scene, at_leaf, with_context};
use super::steps::replayed_steps;
use super::table::{Align, Cell, Table};
use super::words::{commas, counted, estimated, grouped, moment, percent, span};
use crate::cli::{PlaceArgs, ReplayArgs, ReplaySettingsArgs};
use crate::gateway::provenance::Provenance;
use crate::gateway::ruleset::Chosen;
use crate::inspect::Inspection;
use crate::inspect::again::Material;
use crate::inspect::change::{Change, read_changes};
use crate::inspect::cost::{amount, cost_short, cost_words};
use crate::inspect::simulated::{Simulated, simulated};
use crate::inspect::timeline::Timeline;
use crate::inspect::words::dollars;
use crate::policy::{Step, StepSet};
use crate::replay::{CallReplay, Fired, FiredKind, Often, Record, Replay, Totals, record};

/// Calls that are printed unless all are asked for: the newest.
const SHOWN: usize = 40;
/// Lines of the log that are printed unless all are asked for: the newest.
const LOGGED: usize = 15;

/// A replay and everything it was made from.
#[derive(Debug)]
pub(super) struct Replayed {
    /// The session, under the window of the settings.
    pub inspection: Inspection,
    /// The settings.
    pub simulated: Simulated,
    /// What was read of it.
    pub material: Material,
    /// Both lanes.
    pub replay: Replay,
    /// What fired in the simulated one.
    pub record: Record,
    /// The rules of the recorded lane, where the simulated one goes by those of another version.
    pub written_by: Option<Chosen>,
    /// `--ruleset` names a version, and the store does not say which one wrote it: both lanes go by the one that is named.
    pub writer_unknown: bool,
}

/// Replays a session by arguments.
pub(super) fn make(
    session: &str,
    leaf: Option<&str>,
    args: &ReplaySettingsArgs,
    place: &PlaceArgs,
    around: &Around,
) -> Result<Replayed, Failure> {
    let changes: Vec<Change> = read_changes(args.settings.as_deref(), &args.set)?;
    let scene = Scene::for_session(session, place, around)?;
    let inspection = with_context(at_leaf(&scene, scene.open(session)?, leaf)?)?;
    let changes = with_learnt(args.window, changes, &inspection)?;
    refuse_fixed(&changes, &inspection)?;
    let (own, writer_unknown) = match place.ruleset {
        Some(_) => written_by(session, leaf, &inspection, place, around)?,
        None => (None, false),
    };
    let mut steps = replayed_steps(&args.policy, &changes, &inspection)?;
    if args.policy.is_empty() {
        // Another version would have compacted elsewhere.
        steps = steps.with(Step::Compact, steps.has(Step::Compact) || own.is_some());
    }
    let mut simulated = simulated(&inspection, &changes, steps);
    let mut material = read(&inspection, steps)?;
    if args.policy.is_empty() {
        let set = changes.iter().filter_map(|change| change.step).collect::<Vec<_>>();
        let doubted = own.as_ref().map_or(material.doubted, |(_, own)| own.doubted);
        let left_out = doubted.without(StepSet::of(&set));
        simulated.steps.steps = simulated.steps.steps.without(left_out);
    }
    let inspection = Inspection { window: simulated.window, ..inspection };
    let other = simulated.replayed();
    let replay = match &own {
        Some(own) => material.replay_beside(own, &inspection, &other),
        None => material.replay(&inspection, &other),
    };
    let record = record(&replay, material.provider_window);
    let written_by = own.map(|(own, _)| own.ruleset);
    Ok(Replayed { inspection, simulated, material, replay, record, written_by, writer_unknown })
}

fn read(inspection: &Inspection, steps: StepSet) -> Result<Material, Failure> {
    Material::read(inspection, steps).map_err(|error| Failure::unreadable(error.to_string()))
}

/// The session by the rules of the version that wrote it, where `--ruleset` names another one: what an upgrade would do is
/// held against what happened. None for the runtime without a gateway, and where the store does not tell its version; that it
/// does not is answered beside it.
fn written_by(
    session: &str,
    leaf: Option<&str>,
    inspection: &Inspection,
    place: &PlaceArgs,
    around: &Around,
) -> Result<(Option<(Inspection, Material)>, bool), Failure> {
    let place = PlaceArgs { ruleset: None, ..place.clone() };
    let scene = Scene::for_session(session, &place, around)?;
    let own = with_context(at_leaf(&scene, scene.open(session)?, leaf)?)?;
    let (own_rules, rules) = (own.ruleset.ruleset, inspection.ruleset.ruleset);
    let unknown = own.ruleset.from == Provenance::Default && !rules.is_pi();
    if unknown || own_rules == rules || own_rules.is_pi() || rules.is_pi() {
        return Ok((None, unknown));
    }
    let material = read(&own, own.gateway_steps())?;
    Ok((Some((own, material)), false))
}

/// Prints a replay.
pub(super) fn run(
    args: &ReplayArgs,
    place: &PlaceArgs,
    around: &Around,
    output: &mut Output,
) -> Result<(), Failure> {
    let replayed = make(&args.session.session, args.leaf.as_deref(), &args.with, place, around)?;
    if args.session.json {
        return Ok(output.json(answer(&replayed))?);
    }
    print_head(output, &replayed.inspection, replayed.inspection.window)?;
    if let Some(own) = &replayed.written_by {
        print_ruleset(own, output)?;
        let rules = &replayed.inspection.ruleset;
        let line = format!(
            "simulated under the rules of {} ({}), compaction included",
            rules.ruleset.name(),
            rules.from_words()
        );
        output.line(Tone::Plain, &line)?;
    } else {
        print_ruleset(&replayed.inspection.ruleset, output)?;
    }
    writeln!(output)?;
    if replayed.replay.calls.is_empty() {
        return Ok(output.line(Tone::Plain, "no call is recorded on this path")?);
    }
    if args.timeline {
        return print_timeline(replayed, output);
    }
    print_summary(&replayed, output)?;
    print_calls(&replayed, args.all, output)?;
    print_log(&replayed, args.all, output)
}

/// Prints the course of both lanes in sentences.
fn print_timeline(replayed: Replayed, output: &mut Output) -> Result<(), Failure> {
    for (tone, line) in remarks(&replayed, &replayed.replay.totals()) {
        output.line(tone, &format!("{line}."))?;
    }
    let Replayed { inspection, simulated, material, replay, .. } = replayed;
    let settings = simulated.replayed();
    let timeline = Timeline::of_replay(inspection, material, settings, replay);
    for line in timeline.sentences() {
        output.line(Tone::Plain, &commas(&line))?;
    }
    Ok(())
}

/// The cost of one call; a list price is an estimate.
fn usd(call: &CallReplay) -> String {
    let recorded = call.recorded_cost.is_some_and(|usd| usd > 0.0);
    call.cost.filter(|usd| *usd > 0.0).map_or_else(|| "-".to_owned(), |usd| amount(usd, !recorded))
}

/// The cost of a lane, or that nobody knows it.
fn cost_of(total: &Totals) -> String {
    cost_short(&total.spent).unwrap_or_else(|| "-".to_owned())
}

fn tokens(tokens: f64) -> u64 {
    tokens.max(0.0).round() as u64
}

fn print_summary(replayed: &Replayed, output: &mut Output) -> Result<(), Failure> {
    let totals = replayed.replay.totals();
    output.line(Tone::Strong, &headline(&totals))?;
    for (tone, line) in remarks(replayed, &totals) {
        output.line(tone, &line)?;
    }
    writeln!(output)?;
    let mut table = Table::new(&[("", Align::Left), ("recorded", Align::Right), ("simulated", Align::Right)]);
    let window = tokens(replayed.material.provider_window);
    let lanes = [&replayed.replay.recorded, &replayed.replay.simulated];
    let mut rows: Vec<(&str, [String; 2])> = vec![
        ("calls", totals.map(|total| grouped(total.calls as u64))),
        ("that did not fit", totals.map(|total| grouped(total.overflows as u64))),
        ("  nor in the end", totals.map(|total| grouped(total.failed as u64))),
        ("largest prompt", [0, 1].map(|lane| peak(&totals[lane], lanes[lane], window))),
        ("compactions", totals.map(|total| grouped(total.compactions as u64))),
        ("freed by each call's steps", totals.map(|total| estimated(tokens(total.freed)))),
    ];
    rows.extend(cost_rows(&totals));
    for (name, values) in rows {
        let [recorded, simulated] = values;
        let tone = if recorded == simulated { Tone::Plain } else { Tone::Warning };
        table.push(vec![name.into(), recorded.into(), Cell::new(&simulated, tone)]);
    }
    Ok(table.print(output, "  ")?)
}

/// The rows about costs; those that would say nothing but $0 are left out.
fn cost_rows(totals: &[Totals; 2]) -> Vec<(&'static str, [String; 2])> {
    let paid = |of: &dyn Fn(&Totals) -> f64| totals.iter().any(|total| of(total) > 0.0);
    let mut rows = vec![("cost", totals.map(|total| cost_of(&total)))];
    if paid(&|total| total.summaries) {
        rows.push(("  of that summaries", totals.map(|total| amount(total.summaries, true))));
    }
    if paid(&|total| total.modelled.unwrap_or(0.0)) {
        let modelled = |total: Totals| total.modelled.map_or_else(|| "-".to_owned(), |usd| amount(usd, true));
        rows.push(("  calls by the model of the cache", totals.map(modelled)));
    }
    rows
}

/// The largest prompt that was answered, and beside it a larger one that was refused.
fn peak(total: &Totals, lane: &[CallReplay], window: u64) -> String {
    let of = |(size, at): (f64, Option<usize>)| {
        let at = at?;
        Some((sized(lane.get(at)?, tokens(size)), percent(tokens(size), window), at))
    };
    let answered = of(total.answered).map(|(size, share, at)| format!("{size} ({share}) at #{at}"));
    let refused = of(total.refused).filter(|_| total.refused.0 > total.answered.0);
    let refused = refused.map(|(size, _, at)| format!("refused at {size}, #{at}"));
    let parts: Vec<String> = [answered, refused].into_iter().flatten().collect();
    if parts.is_empty() { "refused".to_owned() } else { parts.join(" · ") }
}

/// Tokens of a prompt, with `~` where a rule estimated them.
fn sized(call: &CallReplay, tokens: u64) -> String {
    if call.is_estimate() { estimated(tokens) } else { grouped(tokens) }
}

/// The answer in one line.
fn headline([recorded, simulated]: &[Totals; 2]) -> String {
    let calls = counted(recorded.calls as u64, "call", "calls");
    let fitted = |total: &Totals| match total.overflows {
        0 => "all fit".to_owned(),
        count => counted(count as u64, "does not fit", "do not fit"),
    };
    let cost = match (cost_short(&recorded.spent), cost_short(&simulated.spent)) {
        (Some(before), Some(after)) => format!("; {before} → {after}"),
        _ => String::new(),
    };
    format!("{calls}: recorded, {}; simulated, {}{cost}", fitted(recorded), fitted(simulated))
}

/// What the numbers rest on, and what cannot work.
fn remarks(replayed: &Replayed, totals: &[Totals; 2]) -> Vec<(Tone, String)> {
    let mut lines = doubts(replayed);
    lines.push((Tone::Dim, estimate_words(replayed.material.fit_error)));
    lines.extend(cost_words(&totals[0].spent).map(|words| (Tone::Dim, format!("recorded cost: {words}"))));
    let own = totals[1].measured;
    if own < replayed.replay.calls.len() {
        let line = format!(
            "cost: by the provider's own count for {} of the simulated calls, the others by the cache's model (retention {})",
            grouped(own as u64),
            replayed.material.retention.word()
        );
        lines.push((Tone::Dim, line));
    }
    let often = replayed.record.often.iter().filter(|often| often.too_often);
    lines.extend(often.map(|often| (Tone::Warning, often_words(often))));
    lines
}

/// Where the record, the settings and the provider do not agree.
fn doubts(replayed: &Replayed) -> Vec<(Tone, String)> {
    let Replayed { inspection, simulated, material, replay, .. } = replayed;
    let mut lines = Vec::new();
    if replayed.writer_unknown {
        let line =
            "the store does not name the version that wrote it; both columns follow the rules from --ruleset";
        lines.push((Tone::Warning, line.to_owned()));
    }
    if material.provider_window < inspection.upkeep.runtime_window {
        let window = grouped(tokens(material.provider_window));
        let line = format!(
            "a refusal says that the provider takes {window} tokens, not as many as the gateway believes"
        );
        lines.push((Tone::Warning, line));
    }
    if material.provider_window > inspection.upkeep.runtime_window {
        let window = grouped(tokens(material.provider_window));
        let believed = grouped(tokens(inspection.upkeep.runtime_window));
        let line = format!(
            "prompts of up to {window} tokens were answered: so many fit, though the gateway believes {believed}"
        );
        lines.push((Tone::Warning, line));
    }
    lines.extend(material.doubted.iter().map(|step| {
        let word = step.word();
        let line = format!(
            "the provider's counts show that `{word}` did nothing here: left out of the record, and unless --policy names it"
        );
        (Tone::Warning, line)
    }));
    if simulated.switched_on {
        let line = "pruning is off in the configuration; simulated with mode cache-ttl";
        lines.push((Tone::Warning, line.to_owned()));
    }
    if simulated.on && !replay.touches_recorded {
        let line = "no cache touch is recorded: one is assumed at the end of each run (pruning 4.4)";
        lines.push((Tone::Dim, line.to_owned()));
    }
    lines
}

/// What estimates rest on.
pub(super) fn estimate_words(fit_error: Option<f64>) -> String {
    match fit_error {
        Some(error) => {
            format!("estimates are calibrated to this session, off by {:.1}% on average", error * 100.0)
        }
        None => "estimates are chars/4: too few calls were counted to calibrate them".to_owned(),
    }
}

fn often_words(often: &Often) -> String {
    format!(
        "{} fires too often: {}, every {:.0} calls, for {} tokens each",
        often.kind.word(),
        counted(often.times as u64, "time", "times"),
        often.every,
        estimated(tokens(often.tokens / often.times as f64))
    )
}

fn print_calls(replayed: &Replayed, all: bool, output: &mut Output) -> Result<(), Failure> {
    let replay = &replayed.replay;
    let count = replay.calls.len();
    let shown = if all { count } else { SHOWN.min(count) };
    writeln!(output)?;
    let which = if shown < count {
        format!("the last {shown} calls (--all: every one)")
    } else {
        "every call".to_owned()
    };
    output.line(Tone::Strong, &which)?;
    let mut table = Table::new(&[
        ("#", Align::Right),
        ("entry", Align::Left),
        ("time", Align::Left),
        ("idle", Align::Right),
        ("recorded", Align::Right),
        ("", Align::Left),
        ("cost", Align::Right),
        ("simulated", Align::Right),
        ("", Align::Left),
        ("cost", Align::Right),
        ("total", Align::Right),
    ]);
    let totals = replay.totals()[1];
    for at in count - shown..count {
        let (call, recorded, simulated) = (&replay.calls[at], &replay.recorded[at], &replay.simulated[at]);
        let tone = |call: &CallReplay| if call.overflow { Tone::Warning } else { Tone::Plain };
        table.push(vec![
            at.to_string().into(),
            replayed.inspection.index.name(call.entry).into(),
            Cell::new(&moment(call.started), Tone::Dim),
            Cell::new(&span(call.idle_ms), Tone::Dim),
            Cell::new(&prompt(recorded), tone(recorded)),
            Cell::new(&signs(recorded), tone(recorded)),
            usd(recorded).into(),
            Cell::new(&prompt(simulated), tone(simulated)),
            Cell::new(&signs(simulated), tone(simulated)),
            usd(simulated).into(),
            amount(simulated.total_cost, totals.spent.is_estimated()).into(),
        ]);
    }
    if totals.spent.total().is_none_or(|usd| usd <= 0.0) {
        table.without("cost");
        table.without("total");
    }
    Ok(table.print(output, "")?)
}

/// The prompt in tokens, with `~` where a rule estimated them; that it was refused where nobody says how large it was.
pub(super) fn prompt(call: &CallReplay) -> String {
    if call.is_sized() { sized(call, tokens(call.expected)) } else { call.without_size().to_owned() }
}

/// What happened at a call, in signs.
fn signs(call: &CallReplay) -> String {
    let mut signs = String::new();
    let mut add = |there: bool, sign: &str| signs.push_str(if there { sign } else { "" });
    add(call.overflow && !call.failed, "!");
    add(call.failed, "✗");
    add(call.compacted.is_some(), "Σ");
    add(call.truncated.is_some(), "⇥");
    add(call.trimmed() > 0, "~");
    add(call.cleared() > 0, "✂");
    signs
}

/// The messages that a policy changed; a compaction may keep every one.
fn changed_words(fired: &Fired) -> String {
    match (fired.kind, fired.messages) {
        (FiredKind::Compact, 0) => "keeps all".to_owned(),
        (_, messages) => grouped(u64::from(messages)),
    }
}

fn print_log(replayed: &Replayed, all: bool, output: &mut Output) -> Result<(), Failure> {
    let fired = &replayed.record.fired;
    writeln!(output)?;
    if fired.is_empty() {
        return Ok(output.line(Tone::Dim, "no policy changed a prompt")?);
    }
    let shown = if all { fired.len() } else { LOGGED.min(fired.len()) };
    let more = if shown < fired.len() { format!(", the last {shown}") } else { String::new() };
    let often: Vec<String> = replayed
        .record
        .often
        .iter()
        .map(|often| format!("{} {}", often.kind.word(), grouped(often.times as u64)))
        .collect();
    output.line(Tone::Strong, &format!("what the policies did: {}{more}", often.join(" · ")))?;
    let mut table = Table::new(&[
        ("policy", Align::Left),
        ("at", Align::Right),
        ("calls", Align::Right),
        ("time", Align::Left),
        ("messages", Align::Right),
        ("first", Align::Left),
        ("freed", Align::Right),
        ("cost", Align::Right),
    ]);
    for fired in &fired[fired.len() - shown..] {
        let signed = |usd: f64| if usd < 0.0 { format!("-~{}", dollars(-usd)) } else { amount(usd, true) };
        let freed = if fired.tokens < 0.0 {
            format!("-{}", estimated(tokens(-fired.tokens)))
        } else {
            estimated(tokens(fired.tokens))
        };
        let kind = fired.kind;
        table.push(vec![
            Cell::new(kind.word(), if kind == FiredKind::Compact { Tone::Cleared } else { Tone::Plain }),
            format!("#{}", fired.call).into(),
            grouped(fired.calls as u64).into(),
            Cell::new(&moment(fired.time), Tone::Dim),
            changed_words(fired).into(),
            fired.first.map(|ix| replayed.inspection.index.name(ix)).unwrap_or_default().into(),
            freed.into(),
            fired.cost.map_or_else(|| "-".to_owned(), signed).into(),
        ]);
    }
    if fired.iter().all(|fired| fired.cost.is_none_or(|usd| usd == 0.0)) {
        table.without("cost");
    }
    Ok(table.print(output, "")?)
}
