//! `clawscope replay SESSION`: replays every call under other settings and prints recorded and simulated numbers.

use std::io::Write as _;

use super::environment::Invocation;
use super::failure::Failure;
use super::output::Output;
use super::replay_json::report_json;
use super::replay_report::{ReplayReport, SharedRules, replay_session};
use super::ruleset::print_ruleset;
use super::session_output::print_session_header;
use crate::cli::{ReplayArgs, StoreArgs};
use crate::doc::{Align, Cell, Table, Tone};
use crate::format::{
    format_amount, format_count, format_counted, format_duration, format_estimate,
    format_estimated_usd_difference, format_number, format_ordinal, format_percent, format_time, quantity,
    round_tokens,
};
use crate::replay::{CallReplay, FiringStats, PolicyEvent, PolicyEventKind, TraceTotals};
use crate::report::cost::{describe_cost, format_cost};
use crate::report::timeline::Timeline;
use crate::session::usage_totals::session_usage;
use crate::units::Tokens;

/// Newest calls printed without `--all`.
const MAX_CALLS: usize = 40;
/// Newest log lines printed without `--all`.
const MAX_EVENTS: usize = 15;

pub(super) fn run(
    args: &ReplayArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let replayed = replay_session(
        &args.target.session,
        args.leaf.as_deref(),
        &args.overrides,
        (place, invocation),
        output,
    )?;
    if args.target.json {
        return Ok(output.json(&report_json(&replayed))?);
    }
    print_session_header(output, &replayed.session, replayed.session.window)?;
    if let Some(own) = &replayed.writer_ruleset {
        print_ruleset(own, output)?;
        let rules = &replayed.session.ruleset;
        let line = format!(
            "simulated under the rules of {} ({}), compaction included",
            rules.id.display_name(),
            rules.provenance_text()
        );
        output.line(Tone::Plain, &line)?;
    } else {
        print_ruleset(&replayed.session.ruleset, output)?;
    }
    writeln!(output)?;
    if replayed.replay.calls.is_empty() {
        return Ok(output.line(Tone::Plain, "this path has no recorded calls")?);
    }
    if args.timeline {
        return print_timeline(replayed, output);
    }
    print_summary(&replayed, output)?;
    print_calls(&replayed, args.all, output)?;
    print_policy_log(&replayed, args.all, output)
}

/// Prints both traces as sentences.
fn print_timeline(replayed: ReplayReport, output: &mut Output) -> Result<(), Failure> {
    for (tone, line) in remarks(&replayed, &replayed.replay.totals()) {
        output.line(tone, &format!("{line}."))?;
    }
    let ReplayReport { session, simulated, inputs, replay, .. } = replayed;
    let settings = simulated.replay_settings();
    let timeline = Timeline::from_replay(session, inputs, settings, replay)?;
    for line in timeline.describe() {
        output.line(Tone::Plain, &line)?;
    }
    Ok(())
}

/// Formats the cost of one call, with `~` if it is a list price.
fn format_call_cost(call: &CallReplay) -> String {
    let recorded = call.recorded_cost.is_some_and(|usd| usd > 0.0);
    call.cost.filter(|usd| *usd > 0.0).map_or_else(|| "-".to_owned(), |usd| format_amount(usd, !recorded))
}

/// Formats the cost of a trace; `-` if it is unknown.
fn format_total_cost(total: &TraceTotals) -> String {
    format_cost(&total.cost_breakdown).unwrap_or_else(|| "-".to_owned())
}

fn print_summary(replayed: &ReplayReport, output: &mut Output) -> Result<(), Failure> {
    let totals = replayed.replay.totals();
    output.line(Tone::Strong, &headline(&totals))?;
    for (tone, line) in remarks(replayed, &totals) {
        output.line(tone, &line)?;
    }
    writeln!(output)?;
    let mut table = Table::new(&[("", Align::Left), ("recorded", Align::Right), ("simulated", Align::Right)]);
    let window = round_tokens(replayed.inputs.provider_window);
    let traces = [&replayed.replay.recorded, &replayed.replay.simulated];
    let mut rows: Vec<(&str, [String; 2])> = vec![
        ("calls", totals.map(|total| format_number(total.calls as u64))),
        ("overflows", totals.map(|total| format_number(total.overflows as u64))),
        ("  without an answer", totals.map(|total| format_number(total.failed as u64))),
        ("largest prompt", [0, 1].map(|trace| describe_peak(&totals[trace], traces[trace], window))),
        ("compactions", totals.map(|total| format_number(total.compactions as u64))),
        ("freed without compactions", totals.map(|total| format_estimate(round_tokens(total.freed_tokens)))),
    ];
    rows.extend(cost_rows(&totals));
    for (name, values) in rows {
        let [recorded, simulated] = values;
        let tone = if recorded == simulated { Tone::Plain } else { Tone::Warning };
        table.push(vec![name.into(), recorded.into(), Cell::new(&simulated, tone)]);
    }
    Ok(table.print(output, "  ")?)
}

/// Returns the cost rows of the table; the detail rows are omitted if both traces have $0.
fn cost_rows(totals: &[TraceTotals; 2]) -> Vec<(&'static str, [String; 2])> {
    let paid = |of: &dyn Fn(&TraceTotals) -> f64| totals.iter().any(|total| of(total) > 0.0);
    let mut rows = vec![("cost of this branch", totals.map(|total| format_total_cost(&total)))];
    if paid(&|total| total.summary_cost) {
        rows.push(("  summaries in it", totals.map(|total| format_amount(total.summary_cost, true))));
    }
    if paid(&|total| total.modelled_cost.unwrap_or(0.0)) {
        let modelled = |total: TraceTotals| {
            total.modelled_cost.map_or_else(|| "-".to_owned(), |usd| format_amount(usd, true))
        };
        rows.push(("calls, by the cache model", totals.map(modelled)));
    }
    rows
}

/// Formats the largest answered prompt, followed by a refused prompt if that is larger.
fn describe_peak(total: &TraceTotals, trace: &[CallReplay], window: u64) -> String {
    let of = |(size, at): (Tokens, Option<usize>)| {
        let at = at?;
        Some((
            format_tokens(trace.get(at)?, round_tokens(size)),
            format_percent(round_tokens(size), window),
            at,
        ))
    };
    let answered =
        of(total.answered).map(|(size, share, at)| format!("{size} ({share}) at {}", format_ordinal(at)));
    let refused = of(total.refused).filter(|_| total.refused.0 > total.answered.0);
    let refused = refused.map(|(size, _, at)| format!("refused at {size}, {}", format_ordinal(at)));
    let parts: Vec<String> = [answered, refused].into_iter().flatten().collect();
    if parts.is_empty() { "refused".to_owned() } else { parts.join(" · ") }
}

/// Formats prompt tokens, with `~` if they are an estimate.
fn format_tokens(call: &CallReplay, tokens: u64) -> String {
    format_counted(tokens, !call.is_estimate())
}

/// Returns the result in one line.
fn headline([recorded, simulated]: &[TraceTotals; 2]) -> String {
    let calls = format_count(recorded.calls as u64, "call on this branch", "calls on this branch");
    let fitted = |total: &TraceTotals| match total.overflows {
        0 => "all fit".to_owned(),
        count => quantity(count, "overflow"),
    };
    let cost = match (format_cost(&recorded.cost_breakdown), format_cost(&simulated.cost_breakdown)) {
        (Some(before), Some(after)) => format!(", {before} → {after}"),
        _ => String::new(),
    };
    format!("{calls}, recorded → simulated: {} → {}{cost}", fitted(recorded), fitted(simulated))
}

/// Returns notes on the quality of the numbers and on settings without effect.
fn remarks(replayed: &ReplayReport, totals: &[TraceTotals; 2]) -> Vec<(Tone, String)> {
    let mut lines = discrepancies(replayed);
    lines.push((Tone::Dim, describe_estimates(replayed.inputs.fit_error)));
    let is_scaled = totals[0].cost_breakdown.unrecorded_summaries > 0 && replayed.inputs.fit_error.is_some();
    let scaled = if is_scaled { "; `context` prices summaries by chars/4, without the scale" } else { "" };
    lines.extend(
        describe_cost(&totals[0].cost_breakdown)
            .map(|words| (Tone::Dim, format!("cost of this branch: {words}{scaled}"))),
    );
    lines.extend(describe_other_branches(replayed, &totals[0]).map(|words| (Tone::Dim, words)));
    let own = totals[1].measured_calls;
    if own < replayed.replay.calls.len() {
        let rest = replayed.replay.calls.len() - own;
        let line = format!(
            "simulated cost: {} as the provider counted, {} priced by clawscope's cache model (retention {})",
            quantity(own, "call"),
            format_number(rest),
            replayed.inputs.retention.as_str()
        );
        lines.push((Tone::Dim, line));
    }
    let often =
        replayed.policy_log.stats.iter().filter(|often| often.is_too_frequent(replayed.firing_limits));
    lines.extend(often.map(|often| (Tone::Warning, describe_frequent_firing(often))));
    lines
}

/// Names the calls that the session's own cost includes and the replay does not, and the summaries that only the
/// replay includes.
fn describe_other_branches(replayed: &ReplayReport, recorded: &TraceTotals) -> Option<String> {
    let others = replayed.calls_elsewhere();
    (others > 0).then(|| {
        let calls = format_count(others as u64, "call", "calls");
        let are = if others == 1 { "is" } else { "are" };
        let usage = session_usage(&replayed.session);
        let answers = format_count(usage.answers.calls as u64, "answer", "answers");
        let summaries = if recorded.summary_cost > 0.0 { ", without the summaries" } else { "" };
        let total = format_cost(&usage.cost())
            .map_or_else(String::new, |cost| format!("; all branches cost {cost} for {answers}{summaries}"));
        format!("{calls} on other branches {are} not replayed{total}")
    })
}

/// Reports conflicts between record, settings and provider.
fn discrepancies(replayed: &ReplayReport) -> Vec<(Tone, String)> {
    let ReplayReport { session, simulated, inputs, replay, .. } = replayed;
    let mut lines = Vec::new();
    let shared = replayed.shared_rules.map(|shared| match shared {
        SharedRules::WriterUnknown => {
            "the store does not name the release that wrote it; both columns follow the rules from --ruleset"
        }
        SharedRules::OtherPath => {
            "the release that wrote the store would read another path from this damaged tree; both columns follow the rules from --ruleset"
        }
    });
    lines.extend(shared.map(|line| (Tone::Warning, line.to_owned())));
    if inputs.provider_window < session.limits.runtime_window {
        let window = format_number(round_tokens(inputs.provider_window));
        let line = format!(
            "a refusal shows that the provider accepts only {window} tokens, fewer than the gateway assumes"
        );
        lines.push((Tone::Warning, line));
    }
    if inputs.provider_window > session.limits.runtime_window {
        let window = format_number(round_tokens(inputs.provider_window));
        let believed = format_number(round_tokens(session.limits.runtime_window));
        let line = format!(
            "the provider answered prompts of up to {window} tokens, although the gateway assumes {believed}"
        );
        lines.push((Tone::Warning, line));
    }
    lines.extend(inputs.contradicted_policies.iter().map(|policy| {
        let word = policy.word();
        let line = format!(
            "the provider's counts show that `{word}` had no effect here; clawscope leaves it out unless --policy names it"
        );
        (Tone::Warning, line)
    }));
    if simulated.prune_switched_on {
        let line = "pruning is off in the configuration; simulated with mode cache-ttl";
        lines.push((Tone::Warning, line.to_owned()));
    }
    if simulated.prune_on && !replay.touches_recorded {
        let line = "no cache-ttl entry is recorded; clawscope assumes one at the end of each run";
        lines.push((Tone::Dim, line.to_owned()));
    }
    lines
}

/// Describes the calibration of the estimates.
pub(super) fn describe_estimates(fit_error: Option<f64>) -> String {
    match fit_error {
        Some(error) => {
            format!("estimates are scaled to this session, off by {:.1}% on average", error * 100.0)
        }
        None => "estimates are chars/4: too few calls were counted to calibrate them".to_owned(),
    }
}

fn describe_frequent_firing(often: &FiringStats) -> String {
    format!(
        "{} runs too often: {}, every {:.0} calls, freeing {} tokens each",
        often.kind.word(),
        format_count(often.times as u64, "time", "times"),
        often.call_interval,
        format_estimate(round_tokens(often.tokens / often.times as f64))
    )
}

fn print_calls(replayed: &ReplayReport, all: bool, output: &mut Output) -> Result<(), Failure> {
    let replay = &replayed.replay;
    let count = replay.calls.len();
    let shown = if all { count } else { MAX_CALLS.min(count) };
    writeln!(output)?;
    let which = if shown < count {
        format!("the last {shown} calls (--all shows every call)")
    } else {
        "every call".to_owned()
    };
    output.line(Tone::Strong, &which)?;
    let mut table = Table::new(&[
        ("#", Align::Right),
        ("entry", Align::Left),
        ("sent", Align::Left),
        ("idle", Align::Right),
        ("recorded", Align::Right),
        ("", Align::Left),
        ("cost", Align::Right),
        ("simulated", Align::Right),
        ("", Align::Left),
        ("cost", Align::Right),
        ("total", Align::Right),
    ]);
    table.drop_first(&["total", "idle", "entry"]);
    let totals = replay.totals()[1];
    for at in count - shown..count {
        let (call, recorded, simulated) = (&replay.calls[at], &replay.recorded[at], &replay.simulated[at]);
        let tone = |call: &CallReplay| if call.overflowed { Tone::Warning } else { Tone::Plain };
        table.push(vec![
            (at + 1).to_string().into(),
            replayed.session.index.display_id(call.entry).into(),
            Cell::new(&format_time(call.started), Tone::Dim),
            Cell::new(&format_duration(call.idle_ms), Tone::Dim),
            Cell::new(&format_prompt(recorded), tone(recorded)),
            Cell::new(&event_signs(recorded), tone(recorded)),
            format_call_cost(recorded).into(),
            Cell::new(&format_prompt(simulated), tone(simulated)),
            Cell::new(&event_signs(simulated), tone(simulated)),
            format_call_cost(simulated).into(),
            format_amount(simulated.total_cost, totals.cost_breakdown.is_estimated()).into(),
        ]);
    }
    if totals.cost_breakdown.total().is_none_or(|usd| usd <= 0.0) {
        table.remove_column("cost");
        table.remove_column("total");
    }
    Ok(table.print(output, "")?)
}

/// Formats prompt tokens, with `~` if they are an estimate; a refused prompt of unknown size has words instead.
pub(super) fn format_prompt(call: &CallReplay) -> String {
    if call.has_size() {
        format_tokens(call, round_tokens(call.expected))
    } else {
        call.missing_size_label().to_owned()
    }
}

/// Returns the signs of the events at a call.
fn event_signs(call: &CallReplay) -> String {
    let mut signs = String::new();
    let mut add = |there: bool, sign: &str| signs.push_str(if there { sign } else { "" });
    add(call.overflowed && !call.failed, "!");
    add(call.failed, "✗");
    add(call.compacted.is_some(), "Σ");
    add(call.truncated.is_some(), "⇥");
    add(call.trimmed_count() > 0, "~");
    add(call.cleared_count() > 0, "✂");
    signs
}

/// Describes the messages that a policy changed. A compaction may keep every message.
fn describe_changed_messages(fired: &PolicyEvent) -> String {
    match (fired.kind, fired.messages) {
        (PolicyEventKind::Compact, 0) => "keeps everything".to_owned(),
        (_, messages) => format_number(u64::from(messages)),
    }
}

fn print_policy_log(replayed: &ReplayReport, all: bool, output: &mut Output) -> Result<(), Failure> {
    let fired = &replayed.policy_log.events;
    writeln!(output)?;
    if fired.is_empty() {
        return Ok(output.line(Tone::Dim, "no policy changed a prompt")?);
    }
    let shown = if all { fired.len() } else { MAX_EVENTS.min(fired.len()) };
    let more = if shown < fired.len() { format!(", the last {shown}") } else { String::new() };
    let often: Vec<String> = replayed
        .policy_log
        .stats
        .iter()
        .map(|often| format!("{} ({})", often.kind.word(), quantity(often.times, "time")))
        .collect();
    output.line(Tone::Strong, &format!("policies that acted: {}{more}", often.join(", ")))?;
    let mut table = Table::new(&[
        ("policy", Align::Left),
        ("call", Align::Right),
        ("times", Align::Right),
        ("time", Align::Left),
        ("messages", Align::Right),
        ("first entry", Align::Left),
        ("freed", Align::Right),
        ("cost", Align::Right),
    ]);
    for fired in &fired[fired.len() - shown..] {
        let signed = |usd: f64| {
            if usd < 0.0 { format_estimated_usd_difference(usd) } else { format_amount(usd, true) }
        };
        let freed = format_estimate(fired.tokens.get().round() as i64);
        let kind = fired.kind;
        table.push(vec![
            Cell::new(
                kind.word(),
                if kind == PolicyEventKind::Compact { Tone::Cleared } else { Tone::Plain },
            ),
            format_ordinal(fired.call).into(),
            format_number(fired.calls as u64).into(),
            Cell::new(&format_time(fired.time), Tone::Dim),
            describe_changed_messages(fired).into(),
            fired.first.map(|ix| replayed.session.index.display_id(ix)).unwrap_or_default().into(),
            freed.into(),
            fired.cost.map_or_else(|| "-".to_owned(), signed).into(),
        ]);
    }
    if fired.iter().all(|fired| fired.cost.is_none_or(|usd| usd == 0.0)) {
        table.remove_column("cost");
    }
    Ok(table.print(output, "")?)
}
