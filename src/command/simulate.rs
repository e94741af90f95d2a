//! `clawscope simulate SESSION`: what pruning would do to every message, and why.

use std::collections::BTreeMap;
use std::io::Write as _;

use super::described::{number, print_head, session_value, size_value, tool_of, window_value};
use super::failure::Failure;
use super::messages;
use super::output::{Output, Tone};
use super::preview::{Preview, make};
use super::ruleset::{print_ruleset, ruleset_value};
use super::scene::Around;
use super::steps::{self, checked_value, compaction_value, steps_value};
use super::summary::{
    self, Asked, config_of, kind_of, made_value, print_made, refuse_without_compaction, summarizer,
};
use super::table::{Align, Cell, Table};
use super::words::{estimated, grouped, moment};
use crate::cli::{PlaceArgs, SimulateArgs, secrets};
use crate::inspect::excerpt::excerpt_sent;
use crate::inspect::making::Made;
use crate::inspect::rewrite_loss::RewriteLoss;
use crate::inspect::simulated::settings_value;
use crate::js::{Object, Value};
use crate::policy::prune::Gate;
use crate::policy::{Fate, MessageFate, Step, StepSet};
use crate::redact::Secrets;

/// Previews a plan.
pub(super) fn run(
    args: &SimulateArgs,
    place: &PlaceArgs,
    around: &Around,
    output: &mut Output,
) -> Result<(), Failure> {
    let session = &args.context.session;
    let asked = asked(args, around)?;
    let mut preview = make(&session.session, args.context.leaf.as_deref(), &args.plan, place, around)?;
    let made = match asked {
        Some(asked) => made(&mut preview, asked, session.json, output)?,
        None => None,
    };
    let bodies = if args.context.messages {
        let summary = made.as_ref().map(|made| &made.summary);
        Some(messages::read_after(&preview.inspection, &preview.plan, summary, preview.now_ms)?)
    } else {
        None
    };
    if session.json {
        return Ok(output.json(answer(&preview, made.as_ref(), bodies)?)?);
    }
    print(&preview, secrets(args.context.no_redact), output)?;
    if let Some(made) = &made {
        writeln!(output)?;
        print_made(made, output)?;
    }
    if let Some(bodies) = bodies {
        print_messages(&preview, &bodies, output)?;
    }
    Ok(())
}

/// Who makes the summary, where one is asked for: the one of `--with`, else of config.toml.
fn asked(args: &SimulateArgs, around: &Around) -> Result<Option<Asked>, Failure> {
    if !args.summary && args.with.is_none() {
        return Ok(None);
    }
    let config = config_of(around)?;
    let kind = kind_of(args.with.as_deref()).unwrap_or(config.kind);
    summarizer(kind, &config, around).map(Some)
}

/// The summary; none where there is nothing to compact, which the preview says itself.
fn made(
    preview: &mut Preview,
    asked: Asked,
    json: bool,
    output: &mut Output,
) -> Result<Option<Made>, Failure> {
    refuse_without_compaction(preview, "--summary")?;
    if preview.plan.compaction.is_none() {
        return Ok(None);
    }
    summary::make(preview, asked, json, output).map(Some)
}

fn answer(preview: &Preview, made: Option<&Made>, bodies: Option<Vec<Value>>) -> Result<Object, Failure> {
    let Preview { inspection, simulated, plan, .. } = preview;
    let chars = plan.total_chars().ok();
    let total = |tokens: u64, chars: Option<f64>| {
        Object::from([("tokens", Value::from(tokens)), ("chars", chars.map_or(Value::Null, number))])
    };
    let budgets = [inspection.budget().total(), inspection.budget_after(plan).total()];
    let ratios = [
        ("before", number(plan.outcome.ratio_before)),
        ("trimmed", number(plan.outcome.ratio_trimmed)),
        ("after", number(plan.outcome.ratio_after)),
    ];
    let fates = plan.fates().iter().enumerate().map(|(at, fate)| fate_value(preview, at, fate));
    let provenance = simulated.rows.iter().map(|row| (row.key, Value::from(row.provenance.to_string())));
    let mut object = Object::from([
        ("session", session_value(&inspection.session)),
        ("leaf", Value::from(inspection.context.leaf.map(|leaf| inspection.index.name(leaf)))),
        ("now", number(preview.now_ms)),
        ("settings", settings_value(&simulated.settings, simulated.on || preview.ignored)),
        ("provenance", Value::from(provenance.collect::<Object>())),
        ("ruleset", ruleset_value(&inspection.ruleset)),
        ("gate", gate_value(preview)),
        ("window", window_value(inspection.window)),
        ("ratios", Value::from(Object::from(ratios))),
        ("prompt", Value::from(Object::from([("before", budgets[0]), ("after", budgets[1])]))),
        ("changed", Value::from(!plan.is_empty())),
        ("steps", steps_value(preview)),
        ("check", checked_value(preview)),
        ("compaction", compaction_value(preview)?),
        ("before", Value::from(total(plan.total_before(), chars.map(|chars| chars.0)))),
        ("after", Value::from(total(plan.total_after(), chars.map(|chars| chars.1)))),
        ("fates", Value::from(fates.collect::<Vec<_>>())),
        ("rewriteLoss", preview.rewrite_loss()?.map_or(Value::Null, |loss| rewrite_loss_value(&loss))),
    ]);
    if let Some(made) = made {
        object.set("summary", made_value(made));
    }
    if let Some(bodies) = bodies {
        object.set("messages", Value::from(bodies));
    }
    Ok(object)
}

/// What the gateway's own rewrite would lose; null where the plan cuts nothing in the transcript.
fn rewrite_loss_value(loss: &RewriteLoss) -> Value {
    let compaction = loss.dangling.as_ref().map(|dangling| {
        Value::from(Object::from([
            ("entry", Value::from(dangling.compaction.as_str())),
            ("firstKept", Value::from(dangling.first_kept.as_str())),
            ("messages", Value::from(dangling.messages)),
            ("tokens", Value::from(dangling.tokens)),
        ]))
    });
    Value::from(Object::from([
        ("results", Value::from(loss.results)),
        ("labels", Value::from(loss.labels)),
        ("branchSummaries", Value::from(loss.branch_summaries)),
        ("compaction", compaction.unwrap_or(Value::Null)),
        ("brokenOff", Value::from(loss.broken_off)),
        ("sentence", Value::from(loss.sentence())),
    ]))
}

fn fate_value(preview: &Preview, at: usize, fate: &MessageFate) -> Value {
    let message = &preview.inspection.context.messages[at];
    Value::from(Object::from([
        ("index", Value::from(at)),
        ("entry", Value::from(preview.inspection.index.name(message.entry))),
        ("role", Value::from(message.size.role.word())),
        ("tool", Value::from(tool_of(&preview.inspection, message.entry, &message.size))),
        ("fate", Value::from(fate.fate.word())),
        ("reason", Value::from(fate.reason.word())),
        ("rule", Value::from(fate.reason.rule())),
        ("before", size_value(fate.before)),
        ("after", size_value(fate.after)),
        ("tokensBefore", Value::from(preview.plan.tokens_before[at])),
        ("tokensAfter", Value::from(preview.plan.tokens_after[at])),
    ]))
}

fn gate_value(preview: &Preview) -> Value {
    let (idle, ttl) = match preview.gate {
        Gate::Open { idle_ms } => (idle_ms, preview.simulated.settings.ttl_ms),
        Gate::Warm { idle_ms, ttl_ms } => (idle_ms, ttl_ms),
        _ => (f64::NAN, preview.simulated.settings.ttl_ms),
    };
    let reason = preview.gate.reason();
    Value::from(Object::from([
        ("open", Value::from(preview.gate.is_open())),
        ("ignored", Value::from(preview.ignored)),
        ("reason", Value::from(reason.map(|reason| reason.word().to_owned()))),
        ("rule", Value::from(reason.map(|reason| reason.rule().to_owned()))),
        ("idleMs", number(idle)),
        ("ttlMs", number(ttl)),
    ]))
}

fn print(preview: &Preview, secrets: Secrets, output: &mut Output) -> Result<(), Failure> {
    print_head(output, &preview.inspection, preview.inspection.window)?;
    print_ruleset(&preview.inspection.ruleset, output)?;
    if preview.simulated.window_unmoved {
        output.line(
            Tone::Warning,
            "contextTokens only ever lowers the window: the model takes less than was set",
        )?;
    }
    output.line(Tone::Dim, &format!("next call at {}", moment(preview.now_ms)))?;
    if preview.simulated.steps.steps.has(Step::Prune) {
        writeln!(output)?;
        preview.print_settings(output)?;
        writeln!(output)?;
        preview.print_gate(output)?;
    }
    if preview.simulated.steps.steps != StepSet::of(&[Step::Prune]) {
        writeln!(output)?;
        steps::print(preview, output)?;
        writeln!(output)?;
    }
    preview.print_effect(output)?;
    if let Some(loss) = preview.rewrite_loss()? {
        output.line(Tone::Plain, &loss.sentence())?;
    }
    let changed = changed(preview, secrets);
    if !changed.is_empty() {
        writeln!(output)?;
        changed.print(output, "  ")?;
    }
    print_unchanged(preview, output)
}

fn changed(preview: &Preview, secrets: Secrets) -> Table {
    let mut table = Table::new(&[
        ("", Align::Left),
        ("#", Align::Right),
        ("entry", Align::Left),
        ("tool", Align::Left),
        ("fate", Align::Left),
        ("before", Align::Right),
        ("after", Align::Right),
        ("text", Align::Flexible),
    ]);
    for (at, fate) in preview.plan.fates().iter().enumerate().filter(|(_, fate)| fate.fate.changes()) {
        let inspection = &preview.inspection;
        let message = &inspection.context.messages[at];
        let text = excerpt_sent(inspection, message);
        let text = text.map_or_else(|error| error.to_string(), |excerpt| excerpt.shown(secrets).words());
        table.push(vec![
            Cell::new(fate.fate.sign(), tone(fate.fate)),
            at.to_string().into(),
            inspection.index.name(message.entry).into(),
            tool_of(inspection, message.entry, &message.size).unwrap_or_default().into(),
            Cell::new(fate.fate.word(), tone(fate.fate)),
            estimated(preview.plan.tokens_before[at]).into(),
            estimated(preview.plan.tokens_after[at]).into(),
            Cell::new(&text, Tone::Dim),
        ]);
    }
    table
}

/// How many messages stay, by reason; the most frequent first.
fn print_unchanged(preview: &Preview, output: &mut Output) -> Result<(), Failure> {
    let mut counts: BTreeMap<(Fate, &str), (u64, u64, &str)> = BTreeMap::new();
    for (at, fate) in preview.plan.fates().iter().enumerate().filter(|(_, fate)| !fate.fate.changes()) {
        let count = counts.entry((fate.fate, fate.reason.word())).or_insert((0, 0, fate.reason.rule()));
        count.0 += 1;
        count.1 += preview.plan.tokens_before[at];
    }
    if counts.is_empty() {
        return Ok(());
    }
    writeln!(output)?;
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, (messages, _, _))| std::cmp::Reverse(*messages));
    let mut table = Table::new(&[
        ("", Align::Left),
        ("unchanged", Align::Left),
        ("why", Align::Left),
        ("messages", Align::Right),
        ("tokens", Align::Right),
        ("rule", Align::Left),
    ]);
    for ((fate, reason), (messages, tokens, rule)) in counts {
        table.push(vec![
            Cell::new(fate.sign(), Tone::Plain),
            fate.word().into(),
            reason.into(),
            grouped(messages).into(),
            estimated(tokens).into(),
            Cell::new(rule, Tone::Dim),
        ]);
    }
    Ok(table.print(output, "  ")?)
}

fn print_messages(preview: &Preview, bodies: &[Value], output: &mut Output) -> Result<(), Failure> {
    writeln!(output)?;
    for (item, body) in preview.plan.items.iter().zip(bodies) {
        let head = match item.position() {
            Some(at) => {
                let message = &preview.inspection.context.messages[at];
                let name = preview.inspection.index.name(message.entry);
                let tokens = estimated(preview.plan.tokens_after[at]);
                let (sign, role) = (preview.plan.fates()[at].fate.sign(), message.size.role.word());
                format!("#{at} {sign} {name} {role} {tokens} tokens")
            }
            None => "made by the plan".to_owned(),
        };
        messages::print(output, &head, body)?;
    }
    Ok(())
}

fn tone(fate: Fate) -> Tone {
    match fate {
        Fate::Kept | Fate::Protected => Tone::Plain,
        Fate::SoftTrimmed | Fate::Truncated => Tone::Trimmed,
        Fate::Cleared | Fate::Summarised | Fate::Dropped => Tone::Cleared,
    }
}
