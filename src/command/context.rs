//! `clawscope context SESSION`: prints the messages that the model would receive, with token estimates.

use std::io::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::breakdown;
use super::context_settings;
use super::environment::{Invocation, Workspace, at_leaf, require_context};
use super::failure::Failure;
use super::flush::describe_flush;
use super::messages;
use super::output::{Output, Tone};
use super::preview::Preview;
use super::ruleset::{RulesetJson, print_ruleset, ruleset_json};
use super::session_output::{
    BudgetJson, SessionJson, WindowJson, budget_json, describe_budget, finite, message_tokens,
    print_session_header, session_json, size_json, tool_name, window_json,
};
use super::table::{Align, Cell, Table};
use super::usage_totals::{UsageJson, describe_usage, usage_json};
use crate::cli::{ContextViewArgs, StoreArgs, secrets};
use crate::context::budget::Budget;
use crate::context::tokens::usage::sum_of_estimates;
use crate::context::tokens::{ContextEstimate, estimate_for_runtime, estimate_message};
use crate::context::{ContentSource, ContextMessage};
use crate::export::json::JsonOutput;
use crate::format::{
    format_count, format_estimate, format_number, format_ordinal, format_percent, round_tokens, whole_percent,
};
use crate::gateway::window::WindowInfo;
use crate::ids::EntryIx;
use crate::js::{JsException, Value};
use crate::plan::Plan;
use crate::policy::memory_flush::{Flush, FlushState};
use crate::redact::SecretDisplay;
use crate::session::message::excerpt::read_sent_excerpt;
use crate::session::usage_totals::session_usage;
use crate::session::{CountSource, LoadedSession, TokenCount};
use crate::store::entry::EntryKind;

pub(super) fn run(
    view: &ContextViewArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let args = &view.context;
    let workspace = Workspace::for_session(&args.target.session, place, invocation)?;
    let session = workspace.open_session(&args.target.session, output)?;
    if context_settings::has_changes(&view.settings) {
        let preview =
            context_settings::plan_next_call(workspace, session, args.leaf.as_deref(), &view.settings)?;
        return show_under_settings(view, &preview, output);
    }
    let session = require_context(at_leaf(&workspace, session, args.leaf.as_deref())?)?;
    if view.breakdown {
        return breakdown::show(&session, args.target.json, output);
    }
    let bodies = if args.messages { Some(messages::read(&session)?) } else { None };
    let sent = stored_plan(&session)?;
    let estimate = estimate_for_runtime(&session.index, &session.context);
    if args.target.json {
        return Ok(output.json(&report_json(&session, estimate, bodies.as_deref(), sent.as_ref(), None))?);
    }
    print_session_header(output, &session, session.window)?;
    print_ruleset(&session.ruleset, output)?;
    writeln!(output)?;
    match bodies {
        Some(bodies) => print_messages(&session, &bodies, output)?,
        None => table(&session, secrets(args.no_redact)).print(output, "")?,
    }
    print_totals(&session, estimate, None, output)?;
    sent.map_or(Ok(()), |sent| print_sent(&session, &sent, "earlier calls pruned these messages", output))
}

/// Returns the changes that earlier calls made to the messages, if any.
fn stored_plan(session: &LoadedSession) -> Result<Option<Plan>, Failure> {
    session.stored_pruning_plan().map_err(|error| Failure::unreadable(error.to_string()))
}

/// Returns the messages of the next call under the settings in force, without their bodies.
pub(super) fn sent_messages(session: &LoadedSession) -> Result<Vec<MessageJson>, Failure> {
    let sent = stored_plan(session)?;
    Ok(messages_json(session, None, sent.as_ref()))
}

/// Shows the next call under settings that the command line changes.
fn show_under_settings(
    view: &ContextViewArgs,
    preview: &Preview,
    output: &mut Output,
) -> Result<(), Failure> {
    let (args, session, plan) = (&view.context, &preview.session, &preview.plan);
    if args.messages {
        return Err(Failure::usage(
            "--messages prints the transcript's own messages. `clawscope simulate` has --messages for other settings.",
        ));
    }
    if view.breakdown {
        if plan.total_after() != plan.total_before() {
            let (before, after) = (format_estimate(plan.total_before()), format_estimate(plan.total_after()));
            output.note(&format!(
                "note: these settings change the messages, {before} → {after}; the parts below are without that change"
            ))?;
        }
        return breakdown::show(session, args.target.json, output);
    }
    let estimate = estimate_for_runtime(&session.index, &session.context);
    if args.target.json {
        return Ok(output.json(&report_json(session, estimate, None, Some(plan), Some(plan)))?);
    }
    print_session_header(output, session, session.window)?;
    print_ruleset(&session.ruleset, output)?;
    preview.print_gate_state(output)?;
    writeln!(output)?;
    table(session, secrets(args.no_redact)).print(output, "")?;
    print_totals(session, estimate, Some(plan), output)?;
    print_sent(session, plan, "under these settings the gateway changes the next call", output)
}

/// Prints the messages that go out shorter than the transcript has them; `lead` says why.
fn print_sent(session: &LoadedSession, sent: &Plan, lead: &str, output: &mut Output) -> Result<(), Failure> {
    let less = sent.total_before().saturating_sub(sent.total_after());
    let line = format!("{lead}: {} tokens less are sent", format_estimate(less));
    output.line(Tone::Plain, &line)?;
    for (at, fate) in sent.fates().iter().enumerate().filter(|(_, fate)| fate.fate.is_change()) {
        let name = session.index.display_id(session.context.messages[at].entry);
        let tokens = (sent.tokens_before[at], sent.tokens_after[at]);
        let line = format!(
            "  {} {name} {}: {} → {}",
            fate.fate.sign(),
            fate.fate.word(),
            format_estimate(tokens.0),
            format_estimate(tokens.1)
        );
        output.line(Tone::Dim, &line)?;
    }
    Ok(())
}

/// Returns the pruned form of a message that an earlier call pruned; null where the message goes out unchanged.
/// The messages that the model is sent.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ContextJson {
    session: SessionJson,
    /// The entry that the context ends at.
    leaf: Option<String>,
    provider: String,
    model: String,
    ruleset: RulesetJson,
    window: WindowJson,
    /// The prompt of the next call, as the list of sessions shows it.
    next_call: NextCallJson,
    /// The runtime's own estimate of the context; null where the runtime would fail.
    estimate: Option<EstimateJson>,
    /// Sum of the messages' estimates.
    message_tokens: Option<f64>,
    /// Estimated tokens of every message on the path.
    session_tokens: u64,
    spent: UsageJson,
    budget: BudgetJson,
    memory_flush: Option<FlushJson>,
    messages: Vec<MessageJson>,
}

impl JsonOutput for ContextJson {}

#[derive(Serialize, JsonSchema)]
struct NextCallJson {
    tokens: TokenCount,
    /// Its share of the window, in whole percent.
    percent: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct EstimateJson {
    tokens: Option<f64>,
    /// Tokens that a provider counted, up to `anchor`.
    usage_tokens: Option<f64>,
    /// Estimated tokens after it.
    trailing_tokens: Option<f64>,
    /// The answer whose usage holds the count.
    anchor: Option<String>,
    source: &'static str,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct FlushJson {
    state: &'static str,
    /// Tokens.
    threshold: Option<f64>,
    total: Option<FlushTotalJson>,
    /// Tokens that are missing.
    to_go: Option<f64>,
    /// Whether compaction comes first.
    late: bool,
    rule: &'static str,
}

#[derive(Serialize, JsonSchema)]
struct FlushTotalJson {
    tokens: Option<f64>,
    projected: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct MessageJson {
    index: usize,
    pub(super) entry: String,
    /// The entry that edited its content.
    edit: Option<String>,
    role: &'static str,
    tool: Option<String>,
    /// Estimated tokens.
    tokens: Option<f64>,
    /// Chars as pi counts them.
    chars: Option<f64>,
    /// Chars as the pruner counts them.
    pruner_chars: Option<f64>,
    /// Its form in the last call, if pruning changed it.
    sent: Option<SentJson>,
    /// The message, with `--messages`.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Value>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SentJson {
    fate: &'static str,
    reason: &'static str,
    tokens: u64,
    pruner_chars: Option<f64>,
}

fn sent_json(sent: Option<&Plan>, at: usize) -> Option<SentJson> {
    let plan = sent?;
    let fate = plan.fates().get(at).filter(|fate| fate.fate.is_change())?;
    Some(SentJson {
        fate: fate.fate.word(),
        reason: fate.reason.word(),
        tokens: plan.tokens_after[at],
        pruner_chars: size_json(fate.after),
    })
}

/// Sums pi's estimates over every `message` entry of the file, on all branches.
fn session_tokens(session: &LoadedSession) -> u64 {
    let entries = session.index.entries.iter().filter(|entry| entry.kind == EntryKind::Message);
    entries.filter_map(|entry| entry.message).map(|size| message_tokens(&size)).sum()
}

/// `sent` are the cuts of the messages.
fn messages_json(session: &LoadedSession, bodies: Option<&[Value]>, sent: Option<&Plan>) -> Vec<MessageJson> {
    let message = |(at, message): (usize, &ContextMessage)| {
        let size = &message.size;
        MessageJson {
            index: at,
            entry: session.index.display_id(message.entry),
            edit: content_edit(message).map(|edit| session.index.display_id(edit)),
            role: size.role.as_str(),
            tool: tool_name(session, message.entry, size),
            tokens: estimate_message(size).ok(),
            chars: size_json(size.pi_chars),
            pruner_chars: size_json(size.prune_chars),
            sent: sent_json(sent, at),
            message: bodies.and_then(|bodies| bodies.get(at)).cloned(),
        }
    };
    session.context.messages.iter().enumerate().map(message).collect()
}

/// `sent` are the cuts of the messages; `settings` are those of a plan for the next call, if it is under other settings.
fn report_json(
    session: &LoadedSession,
    estimate: Result<ContextEstimate, JsException>,
    bodies: Option<&[Value]>,
    sent: Option<&Plan>,
    settings: Option<&Plan>,
) -> ContextJson {
    let messages = &session.context.messages;
    let (next, _) = next_call(session, settings);
    ContextJson {
        session: session_json(&session.item),
        leaf: session.context.leaf.map(|leaf| session.index.display_id(leaf)),
        provider: session.provider.clone(),
        model: session.model.clone(),
        ruleset: ruleset_json(&session.ruleset),
        window: window_json(session.window),
        next_call: NextCallJson {
            tokens: next,
            percent: whole_percent(next.tokens, round_tokens(session.window.tokens)),
        },
        estimate: estimate.ok().map(|estimate| estimate_json(session, &estimate)),
        message_tokens: sum_of_estimates(messages).ok(),
        session_tokens: session_tokens(session),
        spent: usage_json(&session_usage(session)),
        budget: budget_json(&settings.map_or_else(|| session.budget(), |plan| session.budget_after(plan))),
        memory_flush: session.memory_flush().map(|flush| flush_json(&flush)),
        messages: messages_json(session, bodies, sent),
    }
}

/// Returns the `context_edit` that replaces the message's own content.
fn content_edit(message: &ContextMessage) -> Option<EntryIx> {
    match message.content_source {
        ContentSource::Edited(edit) => Some(edit),
        ContentSource::Own | ContentSource::Checkpoint => None,
    }
}

/// Returns measured tokens up to the anchor and estimates after it; all tokens are estimates without an anchor.
fn estimate_json(session: &LoadedSession, estimate: &ContextEstimate) -> EstimateJson {
    let anchor = estimate.last_usage.map(|at| session.context.messages[at].entry);
    EstimateJson {
        tokens: finite(estimate.tokens),
        usage_tokens: finite(estimate.usage_tokens),
        trailing_tokens: finite(estimate.trailing_tokens),
        anchor: anchor.map(|ix| session.index.display_id(ix)),
        source: if anchor.is_some() { "measured" } else { "est" },
    }
}

fn flush_json(flush: &Flush) -> FlushJson {
    FlushJson {
        state: flush.state.word(),
        threshold: finite(flush.threshold),
        total: flush
            .total
            .map(|total| FlushTotalJson { tokens: finite(total.tokens), projected: total.is_projected }),
        to_go: if let FlushState::Waiting { tokens } = flush.state { finite(tokens) } else { None },
        late: flush.compacts_first,
        rule: flush.state.rule(),
    }
}

fn table(session: &LoadedSession, secrets: SecretDisplay) -> Table {
    let mut table = Table::new(&[
        ("#", Align::Right),
        ("entry", Align::Left),
        ("role", Align::Left),
        ("tool", Align::Left),
        ("tokens", Align::Right),
        ("total", Align::Right),
        ("text", Align::Flexible),
    ]);
    let mut total = session.fixed_tokens();
    for (at, message) in session.context.messages.iter().enumerate() {
        let tokens = message_tokens(&message.size);
        total += tokens;
        let text = read_sent_excerpt(session, message);
        let text =
            text.map_or_else(|error| error.to_string(), |excerpt| excerpt.with_secrets(secrets).line());
        table.push(vec![
            at.to_string().into(),
            session.index.display_id(message.entry).into(),
            message.size.role.as_str().into(),
            tool_name(session, message.entry, &message.size).unwrap_or_default().into(),
            format_estimate(tokens).into(),
            Cell::new(&format_estimate(total), Tone::Dim),
            Cell::new(&text, Tone::Dim),
        ]);
    }
    table
}

fn print_messages(session: &LoadedSession, bodies: &[Value], output: &mut Output) -> Result<(), Failure> {
    for (at, (message, body)) in session.context.messages.iter().zip(bodies).enumerate() {
        let name = session.index.display_id(message.entry);
        let tool = tool_name(session, message.entry, &message.size).unwrap_or_default();
        let tokens = format_estimate(message_tokens(&message.size));
        let head =
            format!("{} {name} {} {tool} {tokens} tokens", format_ordinal(at), message.size.role.as_str());
        messages::print(output, &head, body)?;
    }
    Ok(())
}

fn print_totals(
    session: &LoadedSession,
    estimate: Result<ContextEstimate, JsException>,
    plan: Option<&Plan>,
    output: &mut Output,
) -> Result<(), Failure> {
    let messages = &session.context.messages;
    let sum: u64 = messages.iter().map(|message| message_tokens(&message.size)).sum();
    writeln!(output)?;
    let count = format_count(messages.len() as u64, "message", "messages");
    let whole = format_estimate(session_tokens(session));
    let sums = format!("{count} · {} tokens by estimate · whole session {whole}", format_estimate(sum));
    output.line(Tone::Plain, &sums)?;
    let (next, budget) = next_call(session, plan);
    output.line(Tone::Strong, &describe_next_call(next, session.window))?;
    output.line(Tone::Plain, &describe_estimate(session, estimate))?;
    if budget.total() > 0 {
        let words = format!("by part: {}", describe_budget(&budget));
        output.line(Tone::Plain, &words)?;
    }
    if let Some(words) = describe_usage(&session_usage(session)) {
        output.line(Tone::Plain, &words)?;
    }
    if let Some(flush) = session.memory_flush() {
        let words = describe_flush(&flush, &session.limits);
        output.line(Tone::Dim, &format!("memory flush: {words}"))?;
    }
    let guard = session.window_guard();
    if let Some(line) = guard.log_line(&session.provider, &session.model) {
        output.line(if guard.should_block { Tone::Bad } else { Tone::Warning }, &line)?;
    }
    Ok(())
}

/// Returns the prompt of the next call and its parts, as the list and the screen show them.
fn next_call(session: &LoadedSession, plan: Option<&Plan>) -> (TokenCount, Budget) {
    let next = &session.next_prompt;
    let budget = match plan {
        Some(plan) => next.budget_after(&session.context, plan),
        None => next.budget(&session.context),
    };
    let is_changed = budget.total() != next.total.tokens;
    let source = match next.total.source {
        CountSource::Measured if is_changed => CountSource::Calibrated,
        source => source,
    };
    (TokenCount { tokens: budget.total(), source }, budget)
}

fn describe_next_call(next: TokenCount, window: WindowInfo) -> String {
    let share = format_percent(next.tokens, round_tokens(window.tokens));
    let tokens = match next.source {
        CountSource::Measured => format!("{}, measured", format_number(next.tokens)),
        CountSource::Calibrated => {
            format!("{}, by the counts of this session", format_estimate(next.tokens))
        }
        CountSource::Estimated => format_estimate(next.tokens),
    };
    format!("next call: {tokens} · {share} of the window")
}

fn describe_estimate(session: &LoadedSession, estimate: Result<ContextEstimate, JsException>) -> String {
    let Ok(estimate) = estimate else {
        return "the runtime cannot estimate this context: a message is malformed".to_owned();
    };
    let whole = |tokens: f64| if tokens.is_finite() { tokens.max(0.0) as u64 } else { 0 };
    let window = whole(session.window.tokens);
    let share = format_percent(whole(estimate.tokens), window);
    match estimate.last_usage {
        Some(at) => {
            let (next, since) = (whole(estimate.tokens), whole(estimate.trailing_tokens));
            let measured = format_number(whole(estimate.usage_tokens));
            let name = session.index.display_id(session.context.messages[at].entry);
            // The sum is a measurement as long as no message follows the count.
            let sum = if since == 0 {
                format!("{} measured at {name}", format_number(next))
            } else {
                format!(
                    "{} = {measured} measured at {name} + {} since",
                    format_estimate(next),
                    format_estimate(since)
                )
            };
            format!("as the runtime counts: {sum} · {share} of the window")
        }
        None => format!(
            "messages: ~{} est, no usage reported · {share} of the window",
            format_number(whole(estimate.tokens))
        ),
    }
}
