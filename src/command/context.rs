//! `clawscope context SESSION`: prints the messages that the model would receive, with token estimates.

use std::io::Write as _;

use super::context_json::{MessageJson, messages_json, next_call, report_json, session_tokens};
use super::environment::{Invocation, Workspace, at_leaf, require_context};
use super::failure::Failure;
use super::output::Output;
use super::preview::{Preview, preview_session};
use super::ruleset::print_ruleset;
use super::session_output::{describe_budget, message_tokens, print_session_header, tool_name};
use super::usage_totals::describe_usage;
use super::{breakdown, messages};
use crate::cli::{ContextViewArgs, PlanArgs, ReplaySettingsArgs, StoreArgs, secrets};
use crate::context::tokens::ContextEstimate;
use crate::doc::{Align, Cell, Table, Tone};
use crate::format::{
    format_count, format_estimate, format_number, format_ordinal, format_percent, format_size, round_tokens,
};
use crate::gateway::window::WindowInfo;
use crate::js::{JsException, Value};
use crate::plan::Plan;
use crate::policy::Policy;
use crate::policy::memory_flush::{Flush, FlushState, FlushTotal, FlushTrigger};
use crate::redact::SecretDisplay;
use crate::session::context_limits::ContextLimits;
use crate::session::message::excerpt::read_sent_excerpt;
use crate::session::setting_change::{SettingChange, read_changes};
use crate::session::usage_totals::session_usage;
use crate::session::{CountSource, LoadedSession, TokenCount};
use crate::units::Tokens;

pub(super) fn run(
    view: &ContextViewArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let args = &view.context;
    let workspace = Workspace::for_session(&args.target.session, place, invocation)?;
    let session = workspace.open_session(&args.target.session, output)?;
    if has_changes(&view.settings) {
        let preview = plan_next_call(workspace, session, args.leaf.as_deref(), &view.settings, output)?;
        return show_under_settings(view, &preview, output);
    }
    let session = require_context(at_leaf(&workspace, session, args.leaf.as_deref())?)?;
    if view.breakdown {
        return breakdown::show(&session, None, args.target.json, output);
    }
    let bodies = if args.messages { Some(messages::read(&session)?) } else { None };
    let sent = sent_plan(&session)?;
    let estimate = session.runtime_estimate();
    let sending = messages::sending(session.sending_changes())?;
    if args.target.json {
        let json = report_json(&session, estimate, bodies.as_deref(), sent.as_ref(), None, sending);
        return Ok(output.json(&json)?);
    }
    print_session_header(output, &session, session.window)?;
    print_ruleset(&session.ruleset, output)?;
    writeln!(output)?;
    match bodies {
        Some(bodies) => print_messages(&session, &bodies, output)?,
        None => table(&session, secrets(args.no_redact)).print(output, "")?,
    }
    print_totals(&session, estimate, None, output)?;
    messages::print_sending(&sending, output)?;
    sent.map_or(Ok(()), |sent| {
        print_sent(&session, &sent, "the gateway sends these messages shorter", output)
    })
}

/// Returns the changes that every call makes to the messages, if any: stored pruning, or the steps of the last counted
/// call.
fn sent_plan(session: &LoadedSession) -> Result<Option<Plan>, Failure> {
    let stored = session.stored_pruning_plan().map_err(|error| Failure::unreadable(error.to_string()))?;
    Ok(stored.or_else(|| session.own_steps_plan()))
}

/// Returns the messages of the next call under the settings in force, without their bodies.
pub(super) fn sent_messages(session: &LoadedSession) -> Result<Vec<MessageJson>, Failure> {
    let sent = sent_plan(session)?;
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
        return breakdown::show(session, Some(plan), args.target.json, output);
    }
    let estimate = session.runtime_estimate();
    if args.target.json {
        let sending = messages::sending(session.sending_changes())?;
        return Ok(output.json(&report_json(session, estimate, None, Some(plan), Some(plan), sending))?);
    }
    print_session_header(output, session, session.window)?;
    print_ruleset(&session.ruleset, output)?;
    preview.print_gate_state(output)?;
    writeln!(output)?;
    table(session, secrets(args.no_redact)).print(output, "")?;
    print_totals(session, estimate, Some(plan), output)?;
    print_sent(session, plan, "under these settings the gateway changes the next call", output)
}

/// Prints the messages that are sent shorter than recorded; `lead` says why.
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

fn table(session: &LoadedSession, secrets: SecretDisplay) -> Table {
    let mut table = Table::new(&[
        ("#", Align::Right),
        ("entry", Align::Left),
        ("role", Align::Left),
        ("tool", Align::Left),
        ("chars/4", Align::Right),
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
            (at + 1).to_string().into(),
            session.index.display_id(message.entry).into(),
            message.size.role.as_str().into(),
            tool_name(session, message.entry, &message.size).unwrap_or_default().into(),
            format_number(tokens).into(),
            Cell::new(&format_number(total), Tone::Dim),
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
    let sums = format!("{count} · {} tokens by chars/4 · whole session {whole}", format_estimate(sum));
    output.line(Tone::Plain, &sums)?;
    let (next, budget) = next_call(session, plan);
    let answer = if plan.is_none() { session.next_prompt.last_answer_tokens } else { 0 };
    output.line(Tone::Strong, &describe_next_call(next, answer, session.window))?;
    output.line(Tone::Plain, &describe_estimate(session, estimate))?;
    if budget.total() > 0 {
        let basis = if next.source == CountSource::Estimated { "by chars/4" } else { "scaled to that" };
        let words = format!("by part, {basis}: {}", describe_budget(&budget));
        output.line(Tone::Plain, &words)?;
    }
    if let Some(words) = describe_usage(&session_usage(session)) {
        output.line(Tone::Plain, &words)?;
    }
    if let Some(flush) = session.memory_flush() {
        let words = describe_flush(&flush, &session.limits);
        output.line(Tone::Dim, &format!("memory flush: {words}"))?;
    }
    if let Some(check) = session.turn_end_check(&session.context.path).filter(|check| check.compacts) {
        let line = format!(
            "an `openclaw agent` turn that ends here compacts: {} tokens of all messages of the branch, also summarised ones, \
             are above {}",
            format_estimate(check.estimate.whole()),
            format_number(check.budget)
        );
        output.line(Tone::Dim, &line)?;
    }
    let guard = session.window_guard();
    if let Some(line) = guard.log_line(&session.provider, &session.model) {
        output.line(if guard.should_block { Tone::Bad } else { Tone::Warning }, &line)?;
    }
    Ok(())
}

/// `answer` are the tokens of the last answer, which the provider counted apart from its prompt.
fn describe_next_call(next: TokenCount, answer: u64, window: WindowInfo) -> String {
    let share = format_percent(next.tokens, round_tokens(window.model_tokens));
    let tokens = match next.source {
        CountSource::Measured if answer > 0 => {
            let (tokens, answer) = (format_number(next.tokens), format_number(answer));
            format!("{tokens}, measured with the last answer ({answer})")
        }
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
    let whole = |tokens: Tokens| if tokens.is_finite() { tokens.whole() } else { 0 };
    let window = whole(session.window.model_tokens);
    let share = format_percent(whole(estimate.tokens), window);
    match estimate.last_usage {
        Some(at) => {
            let (next, since) = (whole(estimate.tokens), whole(estimate.trailing_tokens));
            let measured = format_number(whole(estimate.usage_tokens));
            let name = session.index.display_id(session.context.messages[at].entry);
            let name = format!("{} ({name})", format_ordinal(at));
            // The sum is a measurement as long as no message follows the count.
            let sum = if since == 0 {
                format!("{} measured at {name} with its answer", format_number(next))
            } else {
                format!(
                    "{} = {measured} measured at {name} with its answer + {} since by chars/4",
                    format_estimate(next),
                    format_estimate(since)
                )
            };
            format!("runtime's estimate now: {sum} · {share} of the window")
        }
        None => format!(
            "runtime's estimate now: ~{} of messages by chars/4, no usage reported · {share} of the window",
            format_number(whole(estimate.tokens))
        ),
    }
}

/// Whether an option changes a setting.
pub(super) fn has_changes(args: &ReplaySettingsArgs) -> bool {
    !args.set.is_empty() || args.settings.is_some() || args.window.is_some() || !args.policy.is_empty()
}

/// Builds the plan of the next call under the settings. It respects the gates, because it predicts the gateway's next
/// prompt, not the potential of a policy.
fn plan_next_call(
    workspace: Workspace,
    session: LoadedSession,
    leaf: Option<&str>,
    args: &ReplaySettingsArgs,
    output: &mut Output,
) -> Result<Preview, Failure> {
    let plan = PlanArgs {
        policy: if args.policy.is_empty() { default_policies(args)? } else { args.policy.clone() },
        set: args.set.clone(),
        settings: args.settings.clone(),
        window: args.window,
        now: None,
        gates: true,
    };
    let mut preview = preview_session(workspace, session, leaf, &plan, output)?;
    if let Some(window) = preview.simulated.assumed.runtime_window {
        preview.session.limits.runtime_window = window;
    }
    Ok(preview)
}

/// Returns the gateway's policies and those whose settings change, as `--policy` names them.
fn default_policies(args: &ReplaySettingsArgs) -> Result<Vec<String>, Failure> {
    let changes = read_changes(args.settings.as_deref(), &args.set)?;
    let changed = changes.iter().filter_map(SettingChange::policy).map(Policy::word);
    Ok(std::iter::once("gateway").chain(changed).map(str::to_owned).collect())
}

fn describe_flush(flush: &Flush, limits: &ContextLimits) -> String {
    let threshold = format_number(flush.threshold);
    let words = match flush.state {
        FlushState::Off => "off".to_owned(),
        FlushState::Never => {
            "never: the reserve floor and the soft threshold fill the whole window".to_owned()
        }
        FlushState::Skipped(skip) => format!("not run: {}", skip.reason()),
        FlushState::Flushed { at } => {
            format!(
                "done in this cycle (compaction count {}); the next one at {threshold} tokens",
                format_number(at)
            )
        }
        FlushState::Due(FlushTrigger::Tokens) => {
            let total = flush.total.map_or_else(String::new, |total| describe_total(total, limits));
            format!("due before the next message: {total} reached {threshold} tokens")
        }
        FlushState::Due(FlushTrigger::Bytes) => {
            let limit = format_size(limits.flush.force_bytes.value);
            format!("due before the next message: the transcript reached {limit}")
        }
        FlushState::Waiting { tokens } => {
            let total = flush
                .total
                .map_or_else(String::new, |total| format!(" from {}", describe_total(total, limits)));
            format!("at {threshold} tokens, {} to go{total}", format_number(tokens))
        }
        FlushState::NoTotal => format!("at {threshold} tokens; the current count is unknown"),
    };
    let late = flush.compacts_first && !matches!(flush.state, FlushState::Off | FlushState::Skipped(_));
    if late { format!("{words}; a compaction runs first, because its reserve is larger") } else { words }
}

/// Names the count that the gateway compares with the threshold (compaction 9.4, 9.5).
fn describe_total(total: FlushTotal, limits: &ContextLimits) -> String {
    let is_stored = limits.stored_totals.total_tokens == Some(total.tokens);
    let name = if is_stored { "the stored total" } else { "the last prompt with its answer" };
    format!("{name} ({})", format_number(total.tokens))
}
