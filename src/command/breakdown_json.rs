//! JSON of `context --breakdown`: exact integers, and the prompt report unchanged from the session's row.

use std::collections::{BTreeMap, HashMap};

use super::session_output::{budget_value, session_json, tool_name, window_value};
use crate::context::breakdown::{MessageSum, PromptParts, PromptPiece, Tally, ToolTotals};
use crate::context::budget::{Budget, BudgetPart, FixedChars, part_for};
use crate::js::{Object, Value};
use crate::report::breakdown::{
    BlockKind, HeavyBlocks, HeavyMessage, Remainder, RemainderCause, WindowContents, warnings,
};
use crate::session::LoadedSession;
use crate::store::prompt_report::{SystemPromptReport, ToolSize};

pub(super) fn report_json(
    session: &LoadedSession,
    contents: &WindowContents,
    blocks: &HeavyBlocks,
) -> Object {
    let now = &contents.now;
    let prompt = session.prompt_report.as_deref().zip(now.prompt.as_ref());
    let of_prompt = |make: fn(&SystemPromptReport, &PromptParts, &Budget) -> Value| {
        prompt.map_or(Value::Null, |(report, parts)| make(report, parts, &now.budget))
    };
    let roles = now.roles.iter().map(|(role, amount)| {
        let mut value = Object::from([
            ("role", Value::from(role.as_str())),
            ("part", Value::from(part_for(*role).name())),
        ]);
        set_amount(&mut value, *amount);
        Value::from(value)
    });
    let images = Object::from([
        ("priced", Value::from(now.images.priced)),
        ("tokens", Value::from(now.images.tokens)),
        ("free", Value::from(now.images.free)),
    ]);
    let heaviest = contents.heaviest.iter().map(|message| heavy_message_value(session, message, blocks));
    Object::from([
        ("session", session_json(&session.item)),
        ("leaf", Value::from(session.context.leaf.map(|leaf| session.index.display_id(leaf)))),
        ("provider", Value::from(session.provider.as_str())),
        ("model", Value::from(session.model.as_str())),
        ("window", window_value(session.window)),
        ("budget", budget_value(&now.budget)),
        ("percent", share_value(now.budget.total(), session.window.tokens)),
        ("system", of_prompt(system_prompt_value)),
        ("files", of_prompt(injected_files_value)),
        ("schemas", of_prompt(tool_schemas_value)),
        ("roles", Value::from(roles.collect::<Vec<_>>())),
        ("text", amount_value(now.answer_text)),
        ("thinking", amount_value(now.thinking)),
        ("tools", tools_value(session, contents)),
        ("images", Value::from(images)),
        ("heaviest", Value::from(heaviest.collect::<Vec<_>>())),
        ("history", history_value(contents)),
        ("remainder", remainder_value(session, contents)),
        ("report", session.prompt_report.as_ref().map_or(Value::Null, |report| report.raw.clone())),
    ])
}

/// Returns whole percent of the window, rounded half up; null without a window.
fn share_value(tokens: u64, window: f64) -> Value {
    let window = window.max(0.0) as u64;
    Value::from((tokens * 100 + window / 2).checked_div(window))
}

fn set_amount(object: &mut Object, amount: Tally) {
    object.set("count", Value::from(amount.count));
    object.set("chars", Value::from(amount.chars));
    object.set("tokens", Value::from(amount.tokens));
}

fn amount_value(amount: Tally) -> Value {
    let mut object = Object::default();
    set_amount(&mut object, amount);
    Value::from(object)
}

fn piece_value(piece: PromptPiece) -> Object {
    Object::from([("chars", Value::from(piece.chars)), ("tokens", Value::from(piece.tokens))])
}

fn system_prompt_value(report: &SystemPromptReport, parts: &PromptParts, budget: &Budget) -> Value {
    let fixed = FixedChars::new(report);
    let items = report.skills.iter().zip(&parts.skill_pieces).map(|(skill, it)| {
        let mut item = Object::from([("name", Value::from(skill.name.as_str()))]);
        item.set("chars", Value::from(it.chars));
        item.set("tokens", Value::from(it.tokens));
        Value::from(item)
    });
    let mut skills = piece_value(parts.skills);
    skills.set("items", Value::from(items.collect::<Vec<_>>()));
    skills.set("around", Value::from(piece_value(parts.skills_overhead)));
    let mut value = size_object(fixed.system - fixed.files, budget.tokens(BudgetPart::System));
    value.set("instructions", Value::from(piece_value(parts.instructions)));
    value.set("skills", Value::from(skills));
    value.set("toolList", Value::from(piece_value(parts.tool_list)));
    Value::from(value)
}

fn size_object(chars: u64, tokens: u64) -> Object {
    piece_value(PromptPiece { chars, tokens })
}

fn injected_files_value(report: &SystemPromptReport, parts: &PromptParts, budget: &Budget) -> Value {
    let items = report.files.iter().zip(&parts.file_pieces).map(|(file, it)| {
        Value::from(Object::from([
            ("name", Value::from(file.name.as_str())),
            ("path", Value::from(file.path.clone())),
            ("status", Value::from(file.status())),
            ("rawChars", Value::from(file.raw_chars)),
            ("injectedChars", Value::from(file.injected_chars)),
            ("tokens", Value::from(it.tokens)),
        ]))
    });
    let warned = warnings(report).into_iter().map(|text| Value::from(text));
    let mut value = size_object(FixedChars::new(report).files, budget.tokens(BudgetPart::Files));
    value.set("maxFileChars", Value::from(report.max_file_chars));
    value.set("maxTotalChars", Value::from(report.max_total_chars));
    value.set("items", Value::from(items.collect::<Vec<_>>()));
    value.set("around", Value::from(piece_value(parts.files_overhead)));
    value.set("warnings", Value::from(warned.collect::<Vec<_>>()));
    Value::from(value)
}

fn tool_schemas_value(report: &SystemPromptReport, parts: &PromptParts, budget: &Budget) -> Value {
    let mut value = size_object(FixedChars::new(report).tools, budget.tokens(BudgetPart::Tools));
    value.set("other", Value::from(piece_value(parts.other_schemas)));
    value.set("descriptions", Value::from(piece_value(parts.descriptions)));
    Value::from(value)
}

/// Lists the tools in the order of the report, then the tools that only messages name.
fn tools_value(session: &LoadedSession, contents: &WindowContents) -> Value {
    let report = session.prompt_report.as_deref();
    let pieces = contents.now.prompt.as_ref().map_or(&[][..], |parts| &parts.schema_pieces);
    let listed: &[ToolSize] = report.map_or(&[], |report| &report.tools);
    let mut left: BTreeMap<usize, &ToolTotals> = contents.now.tools.iter().enumerate().collect();
    let mut named: HashMap<&str, usize> =
        left.iter().filter_map(|(at, tool)| Some((tool.name.as_deref()?, *at))).collect();
    let in_report = listed.iter().zip(pieces).map(|(tool, it)| {
        // The first of two tools with one name gets the messages.
        let used = named.remove(tool.name.as_str()).and_then(|at| left.remove(&at));
        tool_value(session, Some(&tool.name), Some((tool, *it)), used)
    });
    let mut values: Vec<Value> = in_report.collect();
    values.extend(left.values().map(|tool| tool_value(session, tool.name.as_deref(), None, Some(tool))));
    Value::from(values)
}

fn tool_value(
    session: &LoadedSession,
    name: Option<&str>,
    schema: Option<(&ToolSize, PromptPiece)>,
    used: Option<&ToolTotals>,
) -> Value {
    let schema = schema.map(|(tool, it)| {
        let mut value = piece_value(it);
        value.set("properties", Value::from(tool.property_count));
        value
    });
    let heaviest = used.and_then(|used| session.context.messages.get(used.heaviest));
    Value::from(Object::from([
        ("name", Value::from(name)),
        ("schema", Value::from(schema)),
        ("calls", amount_value(used.map_or(Tally::default(), |used| used.calls))),
        ("results", amount_value(used.map_or(Tally::default(), |used| used.results))),
        ("images", Value::from(used.map_or(0, |used| used.images))),
        ("imageTokens", Value::from(used.map_or(0, |used| used.image_tokens))),
        ("errors", Value::from(used.map_or(0, |used| used.errors))),
        ("heaviest", Value::from(heaviest.map(|message| session.index.display_id(message.entry)))),
    ]))
}

fn heavy_message_value(session: &LoadedSession, message: &HeavyMessage, blocks: &HeavyBlocks) -> Value {
    let size = &session.context.messages[message.position].size;
    let found = blocks.get(&message.entry).and_then(|block| block.as_ref().ok());
    let block = found.map(|block| {
        let tool = match &block.kind {
            BlockKind::Call(tool) => Some(tool.as_str()),
            _ => None,
        };
        Object::from([
            ("type", Value::from(block.kind.as_str())),
            ("tool", Value::from(tool)),
            ("chars", Value::from(block.chars)),
            ("blocks", Value::from(block.block_count)),
        ])
    });
    Value::from(Object::from([
        ("index", Value::from(message.position)),
        ("entry", Value::from(session.index.display_id(message.entry))),
        ("role", Value::from(size.role.as_str())),
        ("tool", Value::from(tool_name(session, message.entry, size))),
        ("chars", Value::from(size.pi_chars.whole_chars())),
        ("tokens", Value::from(message.tokens)),
        ("block", Value::from(block)),
        ("about", Value::from(found.map(|block| block.topic.as_str()))),
    ]))
}

fn history_value(contents: &WindowContents) -> Value {
    let extent = |extent: MessageSum| {
        Value::from(Object::from([
            ("messages", Value::from(extent.messages)),
            ("tokens", Value::from(extent.tokens)),
        ]))
    };
    let history = contents.history;
    Value::from(Object::from([
        ("window", extent(history.live)),
        ("path", extent(history.path)),
        ("file", extent(history.file)),
        ("compactions", Value::from(history.compactions)),
    ]))
}

fn remainder_value(session: &LoadedSession, contents: &WindowContents) -> Value {
    let known = contents.remainder.as_ref();
    let number = |of: fn(&Remainder) -> u64| Value::from(known.ok().map(of));
    let words = match known {
        Ok(remainder) => remainder.explanation(),
        Err(why) => why.label().to_owned(),
    };
    Value::from(Object::from([
        ("tokens", Value::from(known.ok().map(Remainder::difference))),
        ("measured", number(|remainder| remainder.measured)),
        ("estimated", number(|remainder| remainder.estimated)),
        ("since", number(|remainder| remainder.tokens_since)),
        ("entry", Value::from(known.ok().map(|remainder| session.index.display_id(remainder.entry)))),
        ("reason", Value::from(known.map_or("not-measured", |remainder| cause_name(&remainder.cause)))),
        ("words", Value::from(words)),
    ]))
}

fn cause_name(cause: &RemainderCause) -> &'static str {
    match cause {
        RemainderCause::NoReport => "no-report",
        RemainderCause::EstimatedReport => "estimated-report",
        RemainderCause::OtherSession => "other-session",
        RemainderCause::OtherModel(_) => "other-model",
        RemainderCause::OlderReport(_) => "older-report",
        RemainderCause::Estimator => "estimator",
    }
}
