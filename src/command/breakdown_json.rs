//! JSON of `context --breakdown`: exact integers, and the prompt report unchanged from the session's row.

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::Serialize;

use super::session_output::{SessionJson, session_json, tool_name};
use crate::context::breakdown::{Images, PromptParts, PromptPiece, Tally, ToolTotals, WindowHistory};
use crate::context::budget::{Budget, BudgetPart, FixedChars, part_for};
use crate::export::json::JsonOutput;
use crate::gateway::window::WindowInfo;
use crate::js::Value;
use crate::redact::masked;
use crate::report::breakdown::{
    BlockKind, HeavyBlocks, HeavyMessage, Remainder, RemainderCause, WindowContents, warnings,
};
use crate::session::LoadedSession;
use crate::store::entry::Role;
use crate::store::prompt_report::{SystemPromptReport, ToolSize};
use crate::units::{Chars, Tokens};

/// The contents of the window. The parts are scaled to the provider's count where there is one; they add up to
/// `budget.total`, the prompt of the next call.
#[derive(Serialize, JsonSchema)]
pub(super) struct BreakdownJson {
    session: SessionJson,
    /// The entry that the context ends at.
    leaf: Option<String>,
    provider: String,
    model: String,
    window: WindowInfo,
    budget: Budget,
    /// Share of the window that the prompt takes, in whole percent.
    percent: Option<u64>,
    /// The system prompt without workspace files; null without a report of the prompt.
    system: Option<SystemPromptJson>,
    /// The workspace files in the system prompt.
    files: Option<InjectedFilesJson>,
    /// The schemas of the tools.
    schemas: Option<ToolSchemasJson>,
    /// Sizes by role.
    roles: Vec<RoleJson>,
    /// Texts of the model.
    text: Tally,
    /// Thinking of the model.
    thinking: Tally,
    tools: Vec<ToolJson>,
    images: Images,
    /// The heaviest messages, the heaviest first.
    heaviest: Vec<HeavyMessageJson>,
    history: WindowHistory,
    remainder: RemainderJson,
    /// The gateway's own report of the prompt, unchanged.
    report: Option<Value>,
}

impl JsonOutput for BreakdownJson {}

#[derive(Serialize, JsonSchema)]
struct RoleJson {
    role: &'static str,
    /// The part of the budget that these messages count towards.
    part: &'static str,
    #[serde(flatten)]
    size: Tally,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SystemPromptJson {
    #[serde(flatten)]
    size: PromptPiece,
    instructions: PromptPiece,
    skills: SkillsJson,
    tool_list: PromptPiece,
}

#[derive(Serialize, JsonSchema)]
struct SkillsJson {
    #[serde(flatten)]
    size: PromptPiece,
    items: Vec<SkillJson>,
    /// The text around the skills.
    around: PromptPiece,
}

#[derive(Serialize, JsonSchema)]
struct SkillJson {
    name: String,
    #[serde(flatten)]
    size: PromptPiece,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct InjectedFilesJson {
    #[serde(flatten)]
    size: PromptPiece,
    /// Chars that one file may have.
    max_file_chars: Option<u64>,
    /// Chars that all files may have.
    max_total_chars: Option<u64>,
    items: Vec<InjectedFileJson>,
    /// The headings around the files.
    around: PromptPiece,
    warnings: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct InjectedFileJson {
    name: String,
    path: Option<String>,
    status: &'static str,
    /// Chars of the file on disk.
    raw_chars: u64,
    /// Chars of it in the prompt.
    injected_chars: u64,
    tokens: u64,
}

#[derive(Serialize, JsonSchema)]
struct ToolSchemasJson {
    #[serde(flatten)]
    size: PromptPiece,
    /// Schemas without a tool in the list.
    other: PromptPiece,
    /// Descriptions of the tools, which are sent with the schemas and which no estimate counts.
    descriptions: PromptPiece,
}

/// A tool of the report, or one that only messages name.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ToolJson {
    name: Option<String>,
    schema: Option<ToolSchemaJson>,
    calls: Tally,
    results: Tally,
    images: u64,
    /// Tokens of the images, included in `results`.
    image_tokens: u64,
    /// Results marked as errors.
    errors: u64,
    /// The heaviest message with a call or result of this tool.
    heaviest: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct ToolSchemaJson {
    #[serde(flatten)]
    size: PromptPiece,
    /// Number of parameters.
    properties: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
struct HeavyMessageJson {
    /// Its index in the context.
    index: usize,
    entry: String,
    role: &'static str,
    tool: Option<String>,
    /// Chars as pi counts them.
    chars: u64,
    tokens: u64,
    /// Its largest block.
    block: Option<HeavyBlockJson>,
    /// One line about the message.
    about: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct HeavyBlockJson {
    r#type: &'static str,
    tool: Option<String>,
    chars: u64,
    /// Number of blocks in the message.
    blocks: usize,
}

/// The part of the provider's count that no estimate explains.
#[derive(Serialize, JsonSchema)]
struct RemainderJson {
    tokens: Option<i64>,
    /// Prompt tokens that the provider counted.
    measured: Option<u64>,
    /// The estimate of the same prompt.
    estimated: Option<u64>,
    /// Tokens of that answer and of later messages.
    since: Option<u64>,
    /// The answer whose usage holds the count.
    entry: Option<String>,
    reason: &'static str,
    words: String,
}

pub(super) fn report_json(
    session: &LoadedSession,
    contents: &WindowContents,
    blocks: &HeavyBlocks,
) -> BreakdownJson {
    let now = &contents.now;
    let prompt = session.prompt_report.as_deref().zip(now.prompt.as_ref());
    let role = |(role, size): &(Role, Tally)| RoleJson {
        role: role.as_str(),
        part: part_for(*role).name(),
        size: *size,
    };
    BreakdownJson {
        session: session_json(&session.item),
        leaf: session.context.leaf.map(|leaf| session.index.display_id(leaf)),
        provider: session.provider.clone(),
        model: session.model.clone(),
        window: session.window,
        budget: now.budget,
        percent: percent(now.budget.total(), session.window.model_tokens),
        system: prompt.map(|(report, parts)| system_prompt_json(report, parts, &now.budget)),
        files: prompt.map(|(report, parts)| injected_files_json(report, parts, &now.budget)),
        schemas: prompt.map(|(report, parts)| tool_schemas_json(report, parts, &now.budget)),
        roles: now.roles.iter().map(role).collect(),
        text: now.answer_text,
        thinking: now.thinking,
        tools: tools_json(session, contents),
        images: now.images,
        heaviest: contents.heaviest.iter().map(|heavy| heavy_message_json(session, heavy, blocks)).collect(),
        history: contents.history,
        remainder: remainder_json(session, contents),
        report: session.prompt_report.as_ref().map(|report| report.raw.clone()),
    }
}

/// Returns whole percent of the window, rounded half up; `None` without a window.
fn percent(tokens: u64, window: Tokens) -> Option<u64> {
    let window = window.whole();
    (tokens * 100 + window / 2).checked_div(window)
}

fn system_prompt_json(report: &SystemPromptReport, parts: &PromptParts, budget: &Budget) -> SystemPromptJson {
    let fixed = FixedChars::new(report);
    let items = report.skills.iter().zip(&parts.skill_pieces);
    let items = items.map(|(skill, size)| SkillJson { name: skill.name.clone(), size: *size }).collect();
    SystemPromptJson {
        size: PromptPiece { chars: fixed.system - fixed.files, tokens: budget.tokens(BudgetPart::System) },
        instructions: parts.instructions,
        skills: SkillsJson { size: parts.skills, items, around: parts.skills_overhead },
        tool_list: parts.tool_list,
    }
}

fn injected_files_json(
    report: &SystemPromptReport,
    parts: &PromptParts,
    budget: &Budget,
) -> InjectedFilesJson {
    let items = report.files.iter().zip(&parts.file_pieces).map(|(file, size)| InjectedFileJson {
        name: file.name.clone(),
        path: file.path.clone(),
        status: file.status(),
        raw_chars: file.raw_chars.whole(),
        injected_chars: file.injected_chars.whole(),
        tokens: size.tokens,
    });
    let chars = FixedChars::new(report).files;
    InjectedFilesJson {
        size: PromptPiece { chars, tokens: budget.tokens(BudgetPart::Files) },
        max_file_chars: report.max_file_chars.map(Chars::whole),
        max_total_chars: report.max_total_chars.map(Chars::whole),
        items: items.collect(),
        around: parts.files_overhead,
        warnings: warnings(report),
    }
}

fn tool_schemas_json(report: &SystemPromptReport, parts: &PromptParts, budget: &Budget) -> ToolSchemasJson {
    let chars = FixedChars::new(report).tools;
    ToolSchemasJson {
        size: PromptPiece { chars, tokens: budget.tokens(BudgetPart::Tools) },
        other: parts.other_schemas,
        descriptions: parts.descriptions,
    }
}

/// Lists the tools in the order of the report, then the tools that only messages name.
fn tools_json(session: &LoadedSession, contents: &WindowContents) -> Vec<ToolJson> {
    let report = session.prompt_report.as_deref();
    let pieces = contents.now.prompt.as_ref().map_or(&[][..], |parts| &parts.schema_pieces);
    let listed: &[ToolSize] = report.map_or(&[], |report| &report.tools);
    let mut left: BTreeMap<usize, &ToolTotals> = contents.now.tools.iter().enumerate().collect();
    let mut named: HashMap<&str, usize> =
        left.iter().filter_map(|(at, tool)| Some((tool.name.as_deref()?, *at))).collect();
    let in_report = listed.iter().zip(pieces).map(|(tool, size)| {
        // The first of two tools with one name gets the messages.
        let used = named.remove(tool.name.as_str()).and_then(|at| left.remove(&at));
        let schema = ToolSchemaJson { size: *size, properties: tool.property_count };
        tool_json(session, Some(&tool.name), Some(schema), used)
    });
    let mut tools: Vec<ToolJson> = in_report.collect();
    tools.extend(left.values().map(|tool| tool_json(session, tool.name.as_ref(), None, Some(tool))));
    tools
}

fn tool_json(
    session: &LoadedSession,
    name: Option<&String>,
    schema: Option<ToolSchemaJson>,
    used: Option<&ToolTotals>,
) -> ToolJson {
    let heaviest = used.and_then(|used| session.context.messages.get(used.heaviest));
    ToolJson {
        name: name.map(|name| masked(name).into_owned()),
        schema,
        calls: used.map_or(Tally::default(), |used| used.calls),
        results: used.map_or(Tally::default(), |used| used.results),
        images: used.map_or(0, |used| used.images),
        image_tokens: used.map_or(0, |used| used.image_tokens),
        errors: used.map_or(0, |used| used.errors),
        heaviest: heaviest.map(|message| session.index.display_id(message.entry)),
    }
}

fn heavy_message_json(
    session: &LoadedSession,
    message: &HeavyMessage,
    blocks: &HeavyBlocks,
) -> HeavyMessageJson {
    let size = &session.context.messages[message.position].size;
    let found = blocks.get(&message.entry).and_then(|block| block.as_ref().ok());
    let block = found.map(|block| HeavyBlockJson {
        r#type: block.kind.as_str(),
        tool: if let BlockKind::Call(tool) = &block.kind { Some(masked(tool).into_owned()) } else { None },
        chars: block.chars.whole(),
        blocks: block.block_count,
    });
    HeavyMessageJson {
        index: message.position,
        entry: session.index.display_id(message.entry),
        role: size.role.as_str(),
        tool: tool_name(session, message.entry, size),
        chars: size.pi_chars.whole_chars().whole(),
        tokens: message.tokens,
        block,
        about: found.map(|block| block.topic.clone()),
    }
}

fn remainder_json(session: &LoadedSession, contents: &WindowContents) -> RemainderJson {
    let known = contents.remainder.as_ref();
    let words = match known {
        Ok(remainder) => remainder.explanation(),
        Err(why) => why.label().to_owned(),
    };
    RemainderJson {
        tokens: known.ok().map(Remainder::difference),
        measured: known.ok().map(|remainder| remainder.measured),
        estimated: known.ok().map(|remainder| remainder.estimated),
        since: known.ok().map(|remainder| remainder.tokens_since),
        entry: known.ok().map(|remainder| session.index.display_id(remainder.entry)),
        reason: known.map_or("not-measured", |remainder| cause_name(&remainder.cause)),
        words,
    }
}

fn cause_name(cause: &RemainderCause) -> &'static str {
    match cause {
        RemainderCause::NoReport => "no-report",
        RemainderCause::EstimatedReport => "estimated-report",
        RemainderCause::Workspace => "workspace",
        RemainderCause::OtherSession => "other-session",
        RemainderCause::OtherModel(_) => "other-model",
        RemainderCause::OlderReport(_) => "older-report",
        RemainderCause::Estimator => "estimator",
    }
}
