//! `clawscope simulate SESSION`: previews the effect of pruning and other policies on every message, with reasons.

use std::collections::BTreeMap;
use std::io::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::context_json::next_call;
use super::environment::Invocation;
use super::failure::Failure;
use super::messages;
use super::output::Output;
use super::policies::{self, CompactionJson, PolicyJson, compaction_json, policies_json};
use super::preview::{Preview, build_preview};
use super::ruleset::{RulesetJson, print_ruleset, ruleset_json};
use super::session_output::{SessionJson, finite, print_session_header, session_json, size_json, tool_name};
use super::summary::{
    self, ChosenSummarizer, SummaryJson, choose_summarizer, load_summarizer_config, parse_kind,
    print_generated, refuse_without_compaction,
};
use crate::cli::{SimulateArgs, StoreArgs, secrets};
use crate::doc::{Align, Cell, Table, Tone};
use crate::export::json::JsonOutput;
use crate::format::{format_estimate, format_number, format_ordinal, format_time};
use crate::gateway::window::WindowInfo;
use crate::js::{Members, Value};
use crate::plan::Plan;
use crate::policy::preflight::PreflightResult;
use crate::policy::prune::Gate;
use crate::policy::{Fate, MessageFate, Policy, PolicySet, Reason};
use crate::redact::{SecretDisplay, masked_value};
use crate::session::message::excerpt::read_sent_excerpt;
use crate::session::simulated_settings::settings_json;
use crate::session::{LoadedSession, SendingChanges};
use crate::units::{Millis, Moment};
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
    let mut preview = build_preview(
        &session.session,
        args.context.leaf.as_deref(),
        &args.plan,
        (place, invocation),
        output,
    )?;
    let made = match requested {
        Some(requested) => generate_for_plan(&mut preview, requested, session.json, output)?,
        None => None,
    };
    let bodies = if args.context.messages {
        let summary = made.as_ref().map(|made| &made.summary);
        Some(messages::read_planned(&preview.session, &preview.plan, summary, preview.now_ms)?)
    } else {
        None
    };
    if session.json {
        return Ok(output.json(&report_json(&preview, made.as_ref(), bodies)?)?);
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

/// Returns the summarizer of `--with`.
fn requested_summarizer(
    args: &SimulateArgs,
    invocation: &Invocation,
) -> Result<Option<ChosenSummarizer>, Failure> {
    let Some(kind) = parse_kind(args.with.as_deref()) else { return Ok(None) };
    let config = load_summarizer_config(invocation)?;
    choose_summarizer(kind, &config).map(Some)
}

/// Generates the summary; `None` if there is nothing to compact, which the preview reports.
fn generate_for_plan(
    preview: &mut Preview,
    requested: ChosenSummarizer,
    json: bool,
    output: &mut Output,
) -> Result<Option<SummaryResult>, Failure> {
    refuse_without_compaction(preview, "--with")?;
    if preview.plan.compaction.is_none() {
        return Ok(None);
    }
    summary::generate_summary(preview, requested, json, output).map(Some)
}

/// The effect of the policies on the next prompt. Tokens are estimates.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SimulationJson {
    session: SessionJson,
    leaf: Option<String>,
    /// Time of the next call, ms since 1970.
    now: Option<Moment>,
    /// The pruner's settings.
    settings: Value,
    /// The origin of each of them.
    provenance: Members<String>,
    ruleset: RulesetJson,
    gate: GateJson,
    window: WindowInfo,
    /// Chars of the context per char of the window.
    ratios: RatiosJson,
    /// Tokens of the whole prompt.
    prompt: PromptJson,
    /// Whether the plan changes a message.
    changed: bool,
    steps: Vec<PolicyJson>,
    check: Option<PreflightResult>,
    compaction: Option<CompactionJson>,
    /// Sums of the messages before.
    before: TotalsJson,
    /// Sums of the messages after.
    after: TotalsJson,
    fates: Vec<MessageFateJson>,
    /// The loss of the gateway's own rewrite; null if the plan truncates nothing in the transcript.
    rewrite_loss: Option<RewriteLossJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<SummaryJson>,
    /// The messages after the plan, with `--messages`.
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<Vec<Value>>,
    /// How the gateway changes these messages when it sends them, with `--messages`.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    sending: Option<SendingChanges>,
}

impl JsonOutput for SimulationJson {}

/// Whether the pruner may act now.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct GateJson {
    open: bool,
    /// Whether the preview ignores it.
    ignored: bool,
    reason: Option<&'static str>,
    rule: Option<&'static str>,
    /// Time since the cache was used, ms.
    idle_ms: Option<Millis>,
    ttl_ms: Option<Millis>,
}

#[derive(Serialize, JsonSchema)]
struct RatiosJson {
    before: Option<f64>,
    /// After trimming, before clearing.
    trimmed: Option<f64>,
    after: Option<f64>,
}

/// Tokens of the next prompt, by the count that the list of sessions shows.
#[derive(Serialize, JsonSchema)]
struct PromptJson {
    before: u64,
    after: u64,
}

impl PromptJson {
    fn new(session: &LoadedSession, plan: &Plan) -> Self {
        let [before, after] = [None, Some(plan)].map(|plan| next_call(session, plan).0.tokens);
        Self { before, after }
    }
}

#[derive(Serialize, JsonSchema)]
struct TotalsJson {
    tokens: u64,
    chars: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct MessageFateJson {
    /// Its index in the context.
    index: usize,
    entry: String,
    role: &'static str,
    tool: Option<String>,
    fate: &'static str,
    reason: &'static str,
    rule: &'static str,
    /// Chars before.
    before: Option<f64>,
    /// Chars after.
    after: Option<f64>,
    tokens_before: u64,
    tokens_after: u64,
}

#[derive(Serialize, JsonSchema)]
struct RewriteLossJson {
    #[serde(flatten)]
    loss: RewriteLoss,
    sentence: String,
}

fn report_json(
    preview: &Preview,
    made: Option<&SummaryResult>,
    messages: Option<Vec<Value>>,
) -> Result<SimulationJson, Failure> {
    let Preview { session, simulated, plan, .. } = preview;
    let chars = plan.total_chars().ok();
    let fates = plan.fates().iter().enumerate();
    let loss = preview.rewrite_loss()?;
    Ok(SimulationJson {
        session: session_json(&session.item),
        leaf: session.context.leaf.map(|leaf| session.index.display_id(leaf)),
        now: finite(preview.now_ms),
        settings: masked_value(&settings_json(
            &simulated.prune_settings,
            simulated.prune_on || preview.gate_ignored,
        )),
        provenance: simulated.prune_rows.iter().map(|row| (row.key, row.provenance.to_string())).collect(),
        ruleset: ruleset_json(&session.ruleset),
        gate: gate_json(preview),
        window: session.window,
        ratios: RatiosJson {
            before: finite(plan.pruning.ratio_before),
            trimmed: finite(plan.pruning.ratio_trimmed),
            after: finite(plan.pruning.ratio_after),
        },
        prompt: PromptJson::new(session, plan),
        changed: !plan.is_empty(),
        steps: policies_json(preview),
        check: plan.checked,
        compaction: compaction_json(preview)?,
        before: TotalsJson { tokens: plan.total_before(), chars: chars.map(|chars| chars.0.get()) },
        after: TotalsJson { tokens: plan.total_after(), chars: chars.map(|chars| chars.1.get()) },
        fates: fates.map(|(at, fate)| fate_json(preview, at, fate)).collect(),
        rewrite_loss: loss.map(|loss| RewriteLossJson { sentence: loss.description(), loss }),
        summary: made.map(SummaryJson::from),
        sending: messages
            .as_deref()
            .map(|it| messages::sending(session.sending_changes_of(it)))
            .transpose()?,
        messages,
    })
}

fn fate_json(preview: &Preview, at: usize, fate: &MessageFate) -> MessageFateJson {
    let message = &preview.session.context.messages[at];
    MessageFateJson {
        index: at,
        entry: preview.session.index.display_id(message.entry),
        role: message.size.role.as_str(),
        tool: tool_name(&preview.session, message.entry, &message.size),
        fate: fate.fate.word(),
        reason: fate.reason.word(),
        rule: fate.reason.rule(),
        before: size_json(fate.before),
        after: size_json(fate.after),
        tokens_before: preview.plan.tokens_before[at],
        tokens_after: preview.plan.tokens_after[at],
    }
}

fn gate_json(preview: &Preview) -> GateJson {
    let (idle, ttl) = match preview.gate {
        Gate::Open { idle_ms } => (idle_ms, preview.simulated.prune_settings.ttl_ms),
        Gate::Warm { idle_ms, ttl_ms } => (idle_ms, ttl_ms),
        _ => (Millis(f64::NAN), preview.simulated.prune_settings.ttl_ms),
    };
    let reason = preview.gate.reason();
    GateJson {
        open: preview.gate.is_open(),
        ignored: preview.gate_ignored,
        reason: reason.map(Reason::word),
        rule: reason.map(Reason::rule),
        idle_ms: finite(idle),
        ttl_ms: finite(ttl),
    }
}

fn print(preview: &Preview, secrets: SecretDisplay, output: &mut Output) -> Result<(), Failure> {
    print_session_header(output, &preview.session, preview.session.window)?;
    print_ruleset(&preview.session.ruleset, output)?;
    if preview.simulated.window_unchanged {
        output.line(
            Tone::Warning,
            "contextTokens can only lower the window, and the model's window is already smaller",
        )?;
    }
    for warning in preview.simulated.warnings() {
        output.line(Tone::Warning, &warning)?;
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
        ("~before", Align::Right),
        ("~after", Align::Right),
        ("text", Align::Flexible),
    ]);
    for (at, fate) in preview.plan.fates().iter().enumerate().filter(|(_, fate)| fate.fate.is_change()) {
        let session = &preview.session;
        let message = &session.context.messages[at];
        let text = read_sent_excerpt(session, message);
        let text = text.map_or_else(
            |error| error.to_string(),
            |excerpt| excerpt.with_secrets(secrets).text_with_envelope(),
        );
        table.push(vec![
            Cell::new(fate.fate.sign(), fate_tone(fate.fate)),
            (at + 1).to_string().into(),
            session.index.display_id(message.entry).into(),
            tool_name(session, message.entry, &message.size).unwrap_or_default().into(),
            Cell::new(fate.fate.word(), fate_tone(fate.fate)),
            format_number(preview.plan.tokens_before[at]).into(),
            format_number(preview.plan.tokens_after[at]).into(),
            Cell::new(&text, Tone::Dim),
        ]);
    }
    table
}

/// Counts unchanged messages by reason, the most frequent first.
fn print_unchanged(preview: &Preview, output: &mut Output) -> Result<(), Failure> {
    let mut counts: BTreeMap<(Fate, &str), (u64, u64, &str)> = BTreeMap::new();
    for (at, fate) in preview.plan.fates().iter().enumerate().filter(|(_, fate)| !fate.fate.is_change()) {
        let count = counts.entry((fate.fate, fate.reason.describe())).or_insert((0, 0, fate.reason.rule()));
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
        ("~tokens", Align::Right),
        ("rule", Align::Left),
    ]);
    let cited = counts.iter().map(|(_, (_, _, rule))| *rule).find(|rule| !rule.is_empty());
    for ((fate, reason), (messages, tokens, rule)) in counts {
        table.push(vec![
            Cell::new(fate.sign(), Tone::Plain),
            fate.word().into(),
            reason.into(),
            format_number(messages).into(),
            format_number(tokens).into(),
            Cell::new(rule, Tone::Dim),
        ]);
    }
    table.print(output, "  ")?;
    let Some(rule) = cited else { return Ok(()) };
    let hint = format!("  `clawscope rules {}` prints a rule", rule.replacen(' ', "-", 1));
    Ok(output.line(Tone::Dim, &hint)?)
}

fn print_messages(preview: &Preview, bodies: &[Value], output: &mut Output) -> Result<(), Failure> {
    writeln!(output)?;
    for (item, body) in preview.plan.messages.iter().zip(bodies) {
        let head = match item.position() {
            Some(at) => {
                let message = &preview.session.context.messages[at];
                let name = preview.session.index.display_id(message.entry);
                let tokens = format_estimate(preview.plan.tokens_after[at]);
                let (sign, role) = (preview.plan.fates()[at].fate.sign(), message.size.role.as_str());
                format!("{} {sign} {name} {role} {tokens} tokens", format_ordinal(at))
            }
            None => "added by the plan".to_owned(),
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
