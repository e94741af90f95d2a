//! `clawscope simulate SESSION`: previews the effect of pruning and other policies on every message, with reasons.

use std::collections::BTreeMap;
use std::io::Write as _;

use super::environment::Invocation;
use super::failure::Failure;
use super::messages;
use super::output::{Output, Tone};
use super::policies::{self, check_value, compaction_value, policies_value};
use super::preview::{Preview, build_preview};
use super::ruleset::{print_ruleset, ruleset_json};
use super::session_output::{
    number_value, print_session_header, session_json, size_value, tool_name, window_value,
};
use super::summary::{
    self, ChosenSummarizer, choose_summarizer, load_summarizer_config, parse_kind, print_generated,
    refuse_without_compaction, summary_value,
};
use super::table::{Align, Cell, Table};
use crate::cli::{SimulateArgs, StoreArgs, secrets};
use crate::format::{format_estimate, format_number, format_time};
use crate::js::{Object, Value};
use crate::policy::prune::Gate;
use crate::policy::{Fate, MessageFate, Policy, PolicySet};
use crate::redact::SecretDisplay;
use crate::session::message::excerpt::read_sent_excerpt;
use crate::session::simulated_settings::settings_json;
use crate::write::rewrite_loss::RewriteLoss;
use crate::write::summary::job::SummaryResult;

pub(super) fn run(
    args: &SimulateArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let session = &args.context.target;
    let requested = requested_summarizer(args, invocation)?;
    let mut preview =
        build_preview(&session.session, args.context.leaf.as_deref(), &args.plan, place, invocation)?;
    let made = match requested {
        Some(requested) => generate_for_plan(&mut preview, requested, session.json, output)?,
        None => None,
    };
    let bodies = if args.context.messages {
        let summary = made.as_ref().map(|made| &made.summary);
        Some(messages::read_planned(&preview.inspection, &preview.plan, summary, preview.now_ms)?)
    } else {
        None
    };
    if session.json {
        return Ok(output.json(report_json(&preview, made.as_ref(), bodies)?)?);
    }
    print(&preview, secrets(args.context.no_redact), output)?;
    if let Some(made) = &made {
        writeln!(output)?;
        print_generated(made, output)?;
    }
    if let Some(bodies) = bodies {
        print_messages(&preview, &bodies, output)?;
    }
    Ok(())
}

/// Returns the summarizer, if a summary is requested: from `--with`, otherwise from config.toml.
fn requested_summarizer(
    args: &SimulateArgs,
    invocation: &Invocation,
) -> Result<Option<ChosenSummarizer>, Failure> {
    if !args.summary && args.with.is_none() {
        return Ok(None);
    }
    let config = load_summarizer_config(invocation)?;
    let kind = parse_kind(args.with.as_deref()).unwrap_or(config.kind);
    choose_summarizer(kind, &config, invocation).map(Some)
}

/// Generates the summary; `None` if there is nothing to compact, which the preview reports.
fn generate_for_plan(
    preview: &mut Preview,
    requested: ChosenSummarizer,
    json: bool,
    output: &mut Output,
) -> Result<Option<SummaryResult>, Failure> {
    refuse_without_compaction(preview, "--summary")?;
    if preview.plan.compaction.is_none() {
        return Ok(None);
    }
    summary::generate_summary(preview, requested, json, output).map(Some)
}

fn report_json(
    preview: &Preview,
    made: Option<&SummaryResult>,
    bodies: Option<Vec<Value>>,
) -> Result<Object, Failure> {
    let Preview { inspection: session, simulated, plan, .. } = preview;
    let chars = plan.total_chars().ok();
    let total = |tokens: u64, chars: Option<f64>| {
        Object::from([("tokens", Value::from(tokens)), ("chars", chars.map_or(Value::Null, number_value))])
    };
    let budgets = [session.budget().total(), session.budget_after(plan).total()];
    let ratios = [
        ("before", number_value(plan.pruning.ratio_before)),
        ("trimmed", number_value(plan.pruning.ratio_trimmed)),
        ("after", number_value(plan.pruning.ratio_after)),
    ];
    let fates = plan.fates().iter().enumerate().map(|(at, fate)| fate_value(preview, at, fate));
    let provenance =
        simulated.prune_rows.iter().map(|row| (row.key, Value::from(row.provenance.to_string())));
    let mut object = Object::from([
        ("session", session_json(&session.item)),
        ("leaf", Value::from(session.context.leaf.map(|leaf| session.index.display_id(leaf)))),
        ("now", number_value(preview.now_ms)),
        ("settings", settings_json(&simulated.prune_settings, simulated.prune_on || preview.gate_ignored)),
        ("provenance", Value::from(provenance.collect::<Object>())),
        ("ruleset", ruleset_json(&session.ruleset)),
        ("gate", gate_value(preview)),
        ("window", window_value(session.window)),
        ("ratios", Value::from(Object::from(ratios))),
        ("prompt", Value::from(Object::from([("before", budgets[0]), ("after", budgets[1])]))),
        ("changed", Value::from(!plan.is_empty())),
        ("steps", policies_value(preview)),
        ("check", check_value(preview)),
        ("compaction", compaction_value(preview)?),
        ("before", Value::from(total(plan.total_before(), chars.map(|chars| chars.0)))),
        ("after", Value::from(total(plan.total_after(), chars.map(|chars| chars.1)))),
        ("fates", Value::from(fates.collect::<Vec<_>>())),
        ("rewriteLoss", preview.rewrite_loss()?.map_or(Value::Null, |loss| rewrite_loss_value(&loss))),
    ]);
    if let Some(made) = made {
        object.set("summary", summary_value(made));
    }
    if let Some(bodies) = bodies {
        object.set("messages", Value::from(bodies));
    }
    Ok(object)
}

/// Returns the loss of the gateway's own rewrite; null if the plan truncates nothing in the transcript.
fn rewrite_loss_value(loss: &RewriteLoss) -> Value {
    let compaction = loss.dangling_compaction.as_ref().map(|dangling| {
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
        ("brokenOff", Value::from(loss.unreached_messages)),
        ("sentence", Value::from(loss.description())),
    ]))
}

fn fate_value(preview: &Preview, at: usize, fate: &MessageFate) -> Value {
    let message = &preview.inspection.context.messages[at];
    Value::from(Object::from([
        ("index", Value::from(at)),
        ("entry", Value::from(preview.inspection.index.display_id(message.entry))),
        ("role", Value::from(message.size.role.as_str())),
        ("tool", Value::from(tool_name(&preview.inspection, message.entry, &message.size))),
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
        Gate::Open { idle_ms } => (idle_ms, preview.simulated.prune_settings.ttl_ms),
        Gate::Warm { idle_ms, ttl_ms } => (idle_ms, ttl_ms),
        _ => (f64::NAN, preview.simulated.prune_settings.ttl_ms),
    };
    let reason = preview.gate.reason();
    Value::from(Object::from([
        ("open", Value::from(preview.gate.is_open())),
        ("ignored", Value::from(preview.gate_ignored)),
        ("reason", Value::from(reason.map(|reason| reason.word().to_owned()))),
        ("rule", Value::from(reason.map(|reason| reason.rule().to_owned()))),
        ("idleMs", number_value(idle)),
        ("ttlMs", number_value(ttl)),
    ]))
}

fn print(preview: &Preview, secrets: SecretDisplay, output: &mut Output) -> Result<(), Failure> {
    print_session_header(output, &preview.inspection, preview.inspection.window)?;
    print_ruleset(&preview.inspection.ruleset, output)?;
    if preview.simulated.window_unchanged {
        output.line(
            Tone::Warning,
            "contextTokens only ever lowers the window: the model takes less than was set",
        )?;
    }
    output.line(Tone::Dim, &format!("next call at {}", format_time(preview.now_ms)))?;
    if preview.simulated.policies.enabled.has(Policy::Prune) {
        writeln!(output)?;
        preview.print_settings(output)?;
        writeln!(output)?;
        preview.print_gate(output)?;
    }
    if preview.simulated.policies.enabled != PolicySet::of(&[Policy::Prune]) {
        writeln!(output)?;
        policies::print(preview, output)?;
        writeln!(output)?;
    }
    preview.print_effect(output)?;
    if let Some(loss) = preview.rewrite_loss()? {
        output.line(Tone::Plain, &loss.description())?;
    }
    let changed = changes_table(preview, secrets);
    if !changed.is_empty() {
        writeln!(output)?;
        changed.print(output, "  ")?;
    }
    print_unchanged(preview, output)
}

fn changes_table(preview: &Preview, secrets: SecretDisplay) -> Table {
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
    for (at, fate) in preview.plan.fates().iter().enumerate().filter(|(_, fate)| fate.fate.is_change()) {
        let session = &preview.inspection;
        let message = &session.context.messages[at];
        let text = read_sent_excerpt(session, message);
        let text = text.map_or_else(
            |error| error.to_string(),
            |excerpt| excerpt.with_secrets(secrets).text_with_envelope(),
        );
        table.push(vec![
            Cell::new(fate.fate.sign(), fate_tone(fate.fate)),
            at.to_string().into(),
            session.index.display_id(message.entry).into(),
            tool_name(session, message.entry, &message.size).unwrap_or_default().into(),
            Cell::new(fate.fate.word(), fate_tone(fate.fate)),
            format_estimate(preview.plan.tokens_before[at]).into(),
            format_estimate(preview.plan.tokens_after[at]).into(),
            Cell::new(&text, Tone::Dim),
        ]);
    }
    table
}

/// Counts unchanged messages by reason, the most frequent first.
fn print_unchanged(preview: &Preview, output: &mut Output) -> Result<(), Failure> {
    let mut counts: BTreeMap<(Fate, &str), (u64, u64, &str)> = BTreeMap::new();
    for (at, fate) in preview.plan.fates().iter().enumerate().filter(|(_, fate)| !fate.fate.is_change()) {
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
            format_number(messages).into(),
            format_estimate(tokens).into(),
            Cell::new(rule, Tone::Dim),
        ]);
    }
    Ok(table.print(output, "  ")?)
}

fn print_messages(preview: &Preview, bodies: &[Value], output: &mut Output) -> Result<(), Failure> {
    writeln!(output)?;
    for (item, body) in preview.plan.messages.iter().zip(bodies) {
        let head = match item.position() {
            Some(at) => {
                let message = &preview.inspection.context.messages[at];
                let name = preview.inspection.index.display_id(message.entry);
                let tokens = format_estimate(preview.plan.tokens_after[at]);
                let (sign, role) = (preview.plan.fates()[at].fate.sign(), message.size.role.as_str());
                format!("#{at} {sign} {name} {role} {tokens} tokens")
            }
            None => "made by the plan".to_owned(),
        };
        messages::print(output, &head, body)?;
    }
    Ok(())
}

fn fate_tone(fate: Fate) -> Tone {
    match fate {
        Fate::Kept | Fate::Protected => Tone::Plain,
        Fate::SoftTrimmed | Fate::Truncated => Tone::Trimmed,
        Fate::Cleared | Fate::Summarised | Fate::Dropped => Tone::Cleared,
    }
}
