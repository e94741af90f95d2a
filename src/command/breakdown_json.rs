//! What is in the window, as JSON: exact integers, and the report as it stands in the row.

use std::collections::{BTreeMap, HashMap};

use super::described::{budget_value, session_value, tool_of, window_value};
use crate::context::breakdown::{Amount, Extent, Piece, PromptParts, ToolUse};
use crate::context::budget::{Budget, FixedChars, Part, part_of};
use crate::inspect::Inspection;
use crate::inspect::breakdown::{
    BlockKind, Blocks, Cause, HeavyMessage, Remainder, WindowContents, warnings,
};
use crate::js::{Object, Value};
use crate::store::prompt_report::{SystemPromptReport, ToolSize};

/// The whole answer.
pub(super) fn answer(inspection: &Inspection, contents: &WindowContents, blocks: &Blocks) -> Object {
    let now = &contents.now;
    let prompt = inspection.report.as_deref().zip(now.prompt.as_ref());
    let of_prompt = |make: fn(&SystemPromptReport, &PromptParts, &Budget) -> Value| {
        prompt.map_or(Value::Null, |(report, parts)| make(report, parts, &now.budget))
    };
    let roles = now.roles.iter().map(|(role, amount)| {
        let mut value =
            Object::from([("role", Value::from(role.word())), ("part", Value::from(part_of(*role).name()))]);
        set_amount(&mut value, *amount);
        Value::from(value)
    });
    let images = Object::from([
        ("priced", Value::from(now.images.priced)),
        ("tokens", Value::from(now.images.tokens)),
        ("free", Value::from(now.images.free)),
    ]);
    let heaviest = contents.heaviest.iter().map(|message| heavy(inspection, message, blocks));
    Object::from([
        ("session", session_value(&inspection.session)),
        ("leaf", Value::from(inspection.context.leaf.map(|leaf| inspection.index.name(leaf)))),
        ("provider", Value::from(inspection.provider.as_str())),
        ("model", Value::from(inspection.model.as_str())),
        ("window", window_value(inspection.window)),
        ("budget", budget_value(&now.budget)),
        ("percent", share(now.budget.total(), inspection.window.tokens)),
        ("system", of_prompt(system)),
        ("files", of_prompt(files)),
        ("schemas", of_prompt(schemas)),
        ("roles", Value::from(roles.collect::<Vec<_>>())),
        ("text", amount(now.said)),
        ("thinking", amount(now.thinking)),
        ("tools", tools(inspection, contents)),
        ("images", Value::from(images)),
        ("heaviest", Value::from(heaviest.collect::<Vec<_>>())),
        ("history", history(contents)),
        ("remainder", remainder(inspection, contents)),
        ("report", inspection.report.as_ref().map_or(Value::Null, |report| report.raw.clone())),
    ])
}

/// Whole percent of the window, rounded half up; null without a window.
fn share(tokens: u64, window: f64) -> Value {
    let window = window.max(0.0) as u64;
    Value::from((tokens * 100 + window / 2).checked_div(window))
}

fn set_amount(object: &mut Object, amount: Amount) {
    object.set("count", Value::from(amount.count));
    object.set("chars", Value::from(amount.chars));
    object.set("tokens", Value::from(amount.tokens));
}

fn amount(amount: Amount) -> Value {
    let mut object = Object::default();
    set_amount(&mut object, amount);
    Value::from(object)
}

fn piece(piece: Piece) -> Object {
    Object::from([("chars", Value::from(piece.chars)), ("tokens", Value::from(piece.tokens))])
}

fn system(report: &SystemPromptReport, parts: &PromptParts, budget: &Budget) -> Value {
    let fixed = FixedChars::new(report);
    let items = report.skills.iter().zip(&parts.each_skill).map(|(skill, it)| {
        let mut item = Object::from([("name", Value::from(skill.name.as_str()))]);
        item.set("chars", Value::from(it.chars));
        item.set("tokens", Value::from(it.tokens));
        Value::from(item)
    });
    let mut skills = piece(parts.skills);
    skills.set("items", Value::from(items.collect::<Vec<_>>()));
    skills.set("around", Value::from(piece(parts.around_skills)));
    let mut value = whole(fixed.system - fixed.files, budget.tokens(Part::System));
    value.set("instructions", Value::from(piece(parts.instructions)));
    value.set("skills", Value::from(skills));
    value.set("toolList", Value::from(piece(parts.tool_list)));
    Value::from(value)
}

fn whole(chars: u64, tokens: u64) -> Object {
    piece(Piece { chars, tokens })
}

fn files(report: &SystemPromptReport, parts: &PromptParts, budget: &Budget) -> Value {
    let items = report.files.iter().zip(&parts.each_file).map(|(file, it)| {
        Value::from(Object::from([
            ("name", Value::from(file.name.as_str())),
            ("path", Value::from(file.path.clone())),
            ("status", Value::from(file.status())),
            ("rawChars", Value::from(file.raw_chars)),
            ("injectedChars", Value::from(file.injected_chars)),
            ("tokens", Value::from(it.tokens)),
        ]))
    });
    let warned =
        warnings(report).into_iter().map(|text| Value::from(text.replace(crate::inspect::words::GROUP, " ")));
    let mut value = whole(FixedChars::new(report).files, budget.tokens(Part::Files));
    value.set("maxFileChars", Value::from(report.max_file_chars));
    value.set("maxTotalChars", Value::from(report.max_total_chars));
    value.set("items", Value::from(items.collect::<Vec<_>>()));
    value.set("around", Value::from(piece(parts.around_files)));
    value.set("warnings", Value::from(warned.collect::<Vec<_>>()));
    Value::from(value)
}

fn schemas(report: &SystemPromptReport, parts: &PromptParts, budget: &Budget) -> Value {
    let mut value = whole(FixedChars::new(report).tools, budget.tokens(Part::Tools));
    value.set("other", Value::from(piece(parts.other_schemas)));
    value.set("descriptions", Value::from(piece(parts.descriptions)));
    Value::from(value)
}

/// Tools of the report in its order, then those that only messages name.
fn tools(inspection: &Inspection, contents: &WindowContents) -> Value {
    let report = inspection.report.as_deref();
    let pieces = contents.now.prompt.as_ref().map_or(&[][..], |parts| &parts.each_schema);
    let listed: &[ToolSize] = report.map_or(&[], |report| &report.tools);
    let mut left: BTreeMap<usize, &ToolUse> = contents.now.tools.iter().enumerate().collect();
    let mut named: HashMap<&str, usize> =
        left.iter().filter_map(|(at, tool)| Some((tool.name.as_deref()?, *at))).collect();
    let in_report = listed.iter().zip(pieces).map(|(tool, it)| {
        // Of two tools of one name the first has the messages.
        let used = named.remove(tool.name.as_str()).and_then(|at| left.remove(&at));
        tool_value(inspection, Some(&tool.name), Some((tool, *it)), used)
    });
    let mut values: Vec<Value> = in_report.collect();
    values.extend(left.values().map(|tool| tool_value(inspection, tool.name.as_deref(), None, Some(tool))));
    Value::from(values)
}

fn tool_value(
    inspection: &Inspection,
    name: Option<&str>,
    schema: Option<(&ToolSize, Piece)>,
    used: Option<&ToolUse>,
) -> Value {
    let schema = schema.map(|(tool, it)| {
        let mut value = piece(it);
        value.set("properties", Value::from(tool.properties));
        value
    });
    let heaviest = used.and_then(|used| inspection.context.messages.get(used.heaviest));
    Value::from(Object::from([
        ("name", Value::from(name)),
        ("schema", Value::from(schema)),
        ("calls", amount(used.map_or(Amount::default(), |used| used.calls))),
        ("results", amount(used.map_or(Amount::default(), |used| used.results))),
        ("images", Value::from(used.map_or(0, |used| used.images))),
        ("imageTokens", Value::from(used.map_or(0, |used| used.image_tokens))),
        ("errors", Value::from(used.map_or(0, |used| used.errors))),
        ("heaviest", Value::from(heaviest.map(|message| inspection.index.name(message.entry)))),
    ]))
}

fn heavy(inspection: &Inspection, message: &HeavyMessage, blocks: &Blocks) -> Value {
    let size = &inspection.context.messages[message.at].size;
    let found = blocks.get(&message.entry).and_then(|block| block.as_ref().ok());
    let block = found.map(|block| {
        let tool = match &block.kind {
            BlockKind::Call(tool) => Some(tool.as_str()),
            _ => None,
        };
        Object::from([
            ("type", Value::from(block.kind.word())),
            ("tool", Value::from(tool)),
            ("chars", Value::from(block.chars)),
            ("blocks", Value::from(block.blocks)),
        ])
    });
    Value::from(Object::from([
        ("index", Value::from(message.at)),
        ("entry", Value::from(inspection.index.name(message.entry))),
        ("role", Value::from(size.role.word())),
        ("tool", Value::from(tool_of(inspection, message.entry, size))),
        ("chars", Value::from(size.pi_chars.chars())),
        ("tokens", Value::from(message.tokens)),
        ("block", Value::from(block)),
        ("about", Value::from(found.map(|block| block.about.as_str()))),
    ]))
}

fn history(contents: &WindowContents) -> Value {
    let extent = |extent: Extent| {
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

fn remainder(inspection: &Inspection, contents: &WindowContents) -> Value {
    let known = contents.remainder.as_ref();
    let number = |of: fn(&Remainder) -> u64| Value::from(known.ok().map(of));
    let words = match known {
        Ok(remainder) => remainder.words().replace(crate::inspect::words::GROUP, " "),
        Err(why) => why.words().to_owned(),
    };
    Value::from(Object::from([
        ("tokens", Value::from(known.ok().map(Remainder::tokens))),
        ("measured", number(|remainder| remainder.measured)),
        ("estimated", number(|remainder| remainder.estimated)),
        ("since", number(|remainder| remainder.since)),
        ("entry", Value::from(known.ok().map(|remainder| inspection.index.name(remainder.entry)))),
        ("reason", Value::from(known.map_or("not-measured", |remainder| reason(&remainder.cause)))),
        ("words", Value::from(words)),
    ]))
}

fn reason(cause: &Cause) -> &'static str {
    match cause {
        Cause::NoReport => "no-report",
        Cause::EstimatedReport => "estimated-report",
        Cause::OtherSession => "other-session",
        Cause::OtherModel(_) => "other-model",
        Cause::OlderReport(_) => "older-report",
        Cause::Estimator => "estimator",
    }
}
