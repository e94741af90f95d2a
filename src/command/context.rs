//! `clawscope context SESSION`: what the model would be sent, message by message, with estimates.

use std::io::Write as _;

use super::breakdown;
use super::described::{
    budget_value, budget_words, number, print_head, session_value, size_value, tokens_of, tool_of,
    window_value,
};
use super::failure::Failure;
use super::messages;
use super::output::{Output, Tone};
use super::ruleset::{print_ruleset, ruleset_value};
use super::scene::{Around, Scene, at_leaf, with_context};
use super::spent::{spending_value, spent_words};
use super::table::{Align, Cell, Table};
use super::words::{commas, counted, estimated, grouped, percent};
use crate::cli::{ContextViewArgs, PlaceArgs, secrets};
use crate::context::tokens::usage::sum_of_estimates;
use crate::context::tokens::{ContextEstimate, estimate_as, estimate_message};
use crate::context::{ContextMessage, Made};
use crate::ids::EntryIx;
use crate::inspect::Inspection;
use crate::inspect::excerpt::excerpt_sent;
use crate::inspect::spending::spending;
use crate::inspect::words::flush_words as words_of_flush;
use crate::js::{Object, Throws, Value};
use crate::plan::Plan;
use crate::policy::memory_flush::FlushState;
use crate::redact::Secrets;
use crate::store::entry::EntryKind;

/// Shows the context of a session.
pub(super) fn run(
    view: &ContextViewArgs,
    place: &PlaceArgs,
    around: &Around,
    output: &mut Output,
) -> Result<(), Failure> {
    let args = &view.context;
    let scene = Scene::for_session(&args.session.session, place, around)?;
    let inspection = scene.open(&args.session.session)?;
    let inspection = with_context(at_leaf(&scene, inspection, args.leaf.as_deref())?)?;
    if view.breakdown {
        return breakdown::show(&inspection, args.session.json, output);
    }
    let bodies = if args.messages { Some(messages::read(&inspection)?) } else { None };
    let sent = inspection.remembered().map_err(|error| Failure::unreadable(error.to_string()))?;
    let estimate = estimate_as(&inspection.index, &inspection.context);
    if args.session.json {
        return Ok(output.json(answer(&inspection, estimate, bodies.as_deref(), sent.as_ref()))?);
    }
    print_head(output, &inspection, inspection.window)?;
    print_ruleset(&inspection.ruleset, output)?;
    writeln!(output)?;
    match bodies {
        Some(bodies) => print_messages(&inspection, &bodies, output)?,
        None => table(&inspection, secrets(args.no_redact)).print(output, "")?,
    }
    print_sums(&inspection, estimate, output)?;
    sent.map_or(Ok(()), |sent| print_sent(&inspection, &sent, output))
}

/// What is sent otherwise than it stands in the transcript, as calls before left it.
fn print_sent(inspection: &Inspection, sent: &Plan, output: &mut Output) -> Result<(), Failure> {
    let less = sent.total_before().saturating_sub(sent.total_after());
    let line = format!("sent otherwise by what calls before pruned: {} less", estimated(less));
    output.line(Tone::Plain, &line)?;
    for (at, fate) in sent.fates().iter().enumerate().filter(|(_, fate)| fate.fate.changes()) {
        let name = inspection.index.name(inspection.context.messages[at].entry);
        let tokens = (sent.tokens_before[at], sent.tokens_after[at]);
        let line = format!(
            "  {} {name} {}: {} → {}",
            fate.fate.sign(),
            fate.fate.word(),
            estimated(tokens.0),
            estimated(tokens.1)
        );
        output.line(Tone::Dim, &line)?;
    }
    Ok(())
}

/// What a message is sent as where calls before pruned it; null where it is sent as it stands.
fn sent_value(sent: Option<&Plan>, at: usize) -> Value {
    let fate = sent.and_then(|plan| Some((plan, plan.fates().get(at)?)));
    let Some((plan, fate)) = fate.filter(|(_, fate)| fate.fate.changes()) else { return Value::Null };
    Value::from(Object::from([
        ("fate", Value::from(fate.fate.word())),
        ("reason", Value::from(fate.reason.word())),
        ("tokens", Value::from(plan.tokens_after[at])),
        ("prunerChars", size_value(fate.after)),
    ]))
}

/// pi's estimate over every `message` entry of the file, whatever its branch.
fn session_tokens(inspection: &Inspection) -> u64 {
    let entries = inspection.index.entries.iter().filter(|entry| entry.kind == EntryKind::Message);
    entries.filter_map(|entry| entry.message).map(|size| tokens_of(&size)).sum()
}

fn answer(
    inspection: &Inspection,
    estimate: Result<ContextEstimate, Throws>,
    bodies: Option<&[Value]>,
    sent: Option<&Plan>,
) -> Object {
    let messages = &inspection.context.messages;
    let message_value = |(at, message): (usize, &ContextMessage)| {
        let mut object = message_members(inspection, at, message);
        object.set("sent", sent_value(sent, at));
        if let Some(body) = bodies.and_then(|bodies| bodies.get(at)) {
            object.set("message", body.clone());
        }
        Value::from(object)
    };
    let sum = sum_of_estimates(messages).map_or(Value::Null, number);
    Object::from([
        ("session", session_value(&inspection.session)),
        ("leaf", Value::from(inspection.context.leaf.map(|leaf| inspection.index.name(leaf)))),
        ("provider", Value::from(inspection.provider.as_str())),
        ("model", Value::from(inspection.model.as_str())),
        ("ruleset", ruleset_value(&inspection.ruleset)),
        ("window", window_value(inspection.window)),
        ("estimate", estimate_value(inspection, estimate)),
        ("messageTokens", sum),
        ("sessionTokens", Value::from(session_tokens(inspection))),
        ("spent", spending_value(&spending(inspection))),
        ("budget", budget_value(&inspection.budget())),
        ("memoryFlush", flush_value(inspection)),
        ("messages", Value::from(messages.iter().enumerate().map(message_value).collect::<Vec<_>>())),
    ])
}

fn message_members(inspection: &Inspection, at: usize, message: &ContextMessage) -> Object {
    let size = &message.size;
    Object::from([
        ("index", Value::from(at)),
        ("entry", Value::from(inspection.index.name(message.entry))),
        ("edit", edit_of(message).map_or(Value::Null, |edit| Value::from(inspection.index.name(edit)))),
        ("role", Value::from(size.role.word())),
        ("tool", Value::from(tool_of(inspection, message.entry, size))),
        ("tokens", estimate_message(size).map_or(Value::Null, number)),
        ("chars", size_value(size.pi_chars)),
        ("prunerChars", size_value(size.prune_chars)),
    ])
}

/// The `context_edit` whose content stands in the place of its own.
fn edit_of(message: &ContextMessage) -> Option<EntryIx> {
    match message.made {
        Made::Edited(edit) => Some(edit),
        Made::Own | Made::Checkpoint => None,
    }
}

/// Measured up to the anchor, estimated from there on; all estimated without one.
fn estimate_value(inspection: &Inspection, estimate: Result<ContextEstimate, Throws>) -> Value {
    let Ok(estimate) = estimate else { return Value::Null };
    let anchor = estimate.last_usage.map(|at| inspection.context.messages[at].entry);
    Value::from(Object::from([
        ("tokens", number(estimate.tokens)),
        ("usageTokens", number(estimate.usage_tokens)),
        ("trailingTokens", number(estimate.trailing_tokens)),
        ("anchor", Value::from(anchor.map(|ix| inspection.index.name(ix)))),
        ("source", Value::from(if anchor.is_some() { "measured" } else { "est" })),
    ]))
}

/// Where the session stands with the memory flush; null where no gateway runs it.
fn flush_value(inspection: &Inspection) -> Value {
    let Some(flush) = inspection.memory_flush() else { return Value::Null };
    let total = flush.total.map(|total| {
        Object::from([("tokens", number(total.tokens)), ("projected", Value::from(total.projected))])
    });
    let to_go = match flush.state {
        FlushState::Waiting { tokens } => number(tokens),
        _ => Value::Null,
    };
    Value::from(Object::from([
        ("state", Value::from(flush.state.word())),
        ("threshold", number(flush.threshold)),
        ("total", Value::from(total)),
        ("toGo", to_go),
        ("late", Value::from(flush.late)),
        ("rule", Value::from(flush.state.rule())),
    ]))
}

fn table(inspection: &Inspection, secrets: Secrets) -> Table {
    let mut table = Table::new(&[
        ("#", Align::Right),
        ("entry", Align::Left),
        ("role", Align::Left),
        ("tool", Align::Left),
        ("tokens", Align::Right),
        ("total", Align::Right),
        ("text", Align::Flexible),
    ]);
    let mut total = inspection.fixed_tokens();
    for (at, message) in inspection.context.messages.iter().enumerate() {
        let tokens = tokens_of(&message.size);
        total += tokens;
        let text = excerpt_sent(inspection, message);
        let text = text.map_or_else(|error| error.to_string(), |excerpt| excerpt.shown(secrets).line());
        table.push(vec![
            at.to_string().into(),
            inspection.index.name(message.entry).into(),
            message.size.role.word().into(),
            tool_of(inspection, message.entry, &message.size).unwrap_or_default().into(),
            estimated(tokens).into(),
            Cell::new(&estimated(total), Tone::Dim),
            Cell::new(&text, Tone::Dim),
        ]);
    }
    table
}

fn print_messages(inspection: &Inspection, bodies: &[Value], output: &mut Output) -> Result<(), Failure> {
    for (at, (message, body)) in inspection.context.messages.iter().zip(bodies).enumerate() {
        let name = inspection.index.name(message.entry);
        let tool = tool_of(inspection, message.entry, &message.size).unwrap_or_default();
        let tokens = estimated(tokens_of(&message.size));
        let head = format!("#{at} {name} {} {tool} {tokens} tokens", message.size.role.word());
        messages::print(output, &head, body)?;
    }
    Ok(())
}

fn print_sums(
    inspection: &Inspection,
    estimate: Result<ContextEstimate, Throws>,
    output: &mut Output,
) -> Result<(), Failure> {
    let messages = &inspection.context.messages;
    let sum: u64 = messages.iter().map(|message| tokens_of(&message.size)).sum();
    writeln!(output)?;
    let count = counted(messages.len() as u64, "message", "messages");
    let whole = estimated(session_tokens(inspection));
    writeln!(output, "{count} · {} tokens by estimate · whole session {whole}", estimated(sum))?;
    output.line(Tone::Strong, &estimate_words(inspection, estimate))?;
    let budget = inspection.budget();
    if budget.total() > 0 {
        let words = format!("by part: {} = {}", estimated(budget.total()), budget_words(&budget));
        output.line(Tone::Plain, &words)?;
    }
    if let Some(words) = spent_words(&spending(inspection)) {
        output.line(Tone::Plain, &words)?;
    }
    if let Some(flush) = inspection.memory_flush() {
        let words = commas(&words_of_flush(&flush, &inspection.upkeep));
        output.line(Tone::Dim, &format!("memory flush: {words}"))?;
    }
    let guard = inspection.window_guard();
    if let Some(line) = guard.log_line(&inspection.provider, &inspection.model) {
        output.line(if guard.should_block { Tone::Bad } else { Tone::Warning }, &line)?;
    }
    Ok(())
}

fn estimate_words(inspection: &Inspection, estimate: Result<ContextEstimate, Throws>) -> String {
    let Ok(estimate) = estimate else {
        return "the runtime fails to estimate this context: a message has an odd shape".to_owned();
    };
    let whole = |tokens: f64| if tokens.is_finite() { tokens.max(0.0) as u64 } else { 0 };
    let window = whole(inspection.window.tokens);
    let share = percent(whole(estimate.tokens), window);
    match estimate.last_usage {
        Some(at) => {
            let (next, since) = (whole(estimate.tokens), whole(estimate.trailing_tokens));
            let measured = grouped(whole(estimate.usage_tokens));
            let name = inspection.index.name(inspection.context.messages[at].entry);
            // Nothing of it is an estimate as long as nothing came after the count.
            let sum = if since == 0 {
                format!("{} measured at {name}", grouped(next))
            } else {
                format!("{} = {measured} measured at {name} + {} since", estimated(next), estimated(since))
            };
            format!("as the runtime counts: {sum} · {share} of the window")
        }
        None => format!(
            "messages: ~{} est, no usage reported · {share} of the window",
            grouped(whole(estimate.tokens))
        ),
    }
}
