//! Sections for the tokens before the messages: system prompt, tool schemas, workspace files (compaction 11.3).

use std::collections::HashMap;

use super::{WindowContents, warnings};
use crate::context::breakdown::{Breakdown, PromptParts, PromptPiece, ToolTotals};
use crate::context::budget::BudgetPart;
use crate::format::{format_displayed_timestamp, format_number, quantity};
use crate::ids::EntryIx;
use crate::session::LoadedSession;
use crate::store::prompt_report::{InjectedFile, ReportSource, SystemPromptReport, ToolSize};

/// Builds three sections from a report, or one that says the report is missing.
pub(super) fn prompt_sections(view: &SectionBuilder) -> Vec<Section> {
    match (view.session.prompt_report.as_deref(), &view.now.prompt) {
        (Some(report), Some(parts)) => {
            vec![
                system_section(view, report, parts),
                tools_section(view, report, parts),
                files_section(view, report, parts),
            ]
        }
        _ => vec![unreported_section(view)],
    }
}

/// Builds the section of everything before the messages, of which only the sum is known, if a provider counted.
fn unreported_section(view: &SectionBuilder) -> Section {
    let part = SectionKind::Part(BudgetPart::System);
    if view.now.budget.tokens(BudgetPart::System) > 0 {
        return view.part_section(BudgetPart::System, "Before the messages").with_note("no report stored").with_explanation(
            "System prompt, tools and workspace files: the provider's count without the messages. No run has stored a \
             report of their sizes with this session.",
        );
    }
    Section::new(part, "System prompt", Figure::Unknown).with_note("no report stored").with_explanation(
        "No run has stored a report of system prompt, tools and workspace files with this session, and no provider \
         has counted its prompt, so the total is without them.",
    )
}

fn system_section(view: &SectionBuilder, report: &SystemPromptReport, parts: &PromptParts) -> Section {
    let mut lines = vec![piece_line("instructions", parts.instructions, "")];
    lines.push(piece_line("skills", parts.skills, &format_count_or_none(report.skills.len(), "skill")));
    let mut skills: Vec<Line> = report
        .skills
        .iter()
        .zip(&parts.skill_pieces)
        .map(|(skill, it)| piece_line(&skill.name, *it, ""))
        .collect();
    sort_by_tokens(&mut skills);
    skills.push(piece_line("surrounding text", parts.skills_overhead, ""));
    lines.extend(skills.into_iter().filter(has_chars).map(Line::indented));
    lines.push(piece_line("tool list", parts.tool_list, &format_count_or_none(report.tools.len(), "tool")));
    let when = report
        .generated_at
        .and_then(format_displayed_timestamp)
        .map_or_else(String::new, |at| format!(", {at}"));
    view.part_section(BudgetPart::System, "System prompt")
        .with_note(format!("{}{when}", report.source.description()))
        .with_explanation(describe_report_origin(report))
        .with_lines(lines)
}

/// Describes the origin of a report in one sentence.
fn describe_report_origin(report: &SystemPromptReport) -> String {
    let mut words = Vec::new();
    if report.source == ReportSource::Workspace {
        let rest = if report.system_chars > report.project_chars {
            "instructions, skills and tools as in the newest run of another session of this agent"
        } else {
            "instructions, skills and tools unknown: no session of this agent has a report"
        };
        words.push(format!("estimated from the workspace as it is now; {rest}"));
    }
    if let Some(workspace) = &report.workspace {
        words.push(format!("workspace {workspace}"));
    }
    if let Some(sandbox) = &report.sandbox {
        let mode = sandbox.mode.as_deref().unwrap_or("unknown");
        let inside = match sandbox.is_sandboxed {
            Some(true) => " (this session runs inside)",
            Some(false) if mode != "off" => " (this session runs outside)",
            Some(false) | None => "",
        };
        words.push(format!("sandbox {mode}{inside}"));
    }
    if let Some(model) = &report.model {
        words.push(format!("prompt for {model}"));
    }
    let limits = [("per file", report.max_file_chars), ("in all files", report.max_total_chars)];
    let limits = limits
        .iter()
        .filter_map(|(what, most)| Some(format!("up to {} chars {what}", format_number((*most)?))));
    words.extend(limits);
    words.join(" · ")
}

fn tools_section(view: &SectionBuilder, report: &SystemPromptReport, parts: &PromptParts) -> Section {
    let pieces = report.tools.iter().zip(&parts.schema_pieces);
    let used: HashMap<&str, &ToolTotals> =
        view.now.tools.iter().filter_map(|tool| Some((tool.name.as_deref()?, tool))).collect();
    let line = |(tool, it): (&ToolSize, &PromptPiece)| {
        tool_line(view, tool, *it, used.get(tool.name.as_str()).copied())
    };
    let mut lines: Vec<Line> = pieces.map(line).collect();
    sort_by_tokens(&mut lines);
    lines.extend(Some(piece_line("schemas of unlisted tools", parts.other_schemas, "")).filter(has_chars));
    let idle = lines.iter().filter(|line| line.note.ends_with(NOT_CALLED)).count();
    let unused = if idle > 0 && !view.now.tools.is_empty() {
        format!(", {idle} not called in this window")
    } else {
        String::new()
    };
    let described = format_number(parts.descriptions.tokens);
    let words = match report.source {
        ReportSource::Transcript => {
            "The transcript declares name, description and parameters of each tool; every call sends them."
                .to_owned()
        }
        _ => format!(
            "Every call sends all of them, used or not. It also sends their descriptions (~{described} tokens), which no estimate includes."
        ),
    };
    view.part_section(BudgetPart::Tools, "Tool schemas")
        .with_note(format!("{}{unused}", quantity(report.tools.len() as f64, "tool")))
        .with_explanation(words)
        .with_lines(lines)
}

/// Note of a tool that no message in the window calls.
const NOT_CALLED: &str = "not called";

fn tool_line(view: &SectionBuilder, tool: &ToolSize, it: PromptPiece, used: Option<&ToolTotals>) -> Line {
    let calls = used.map_or(0, |used| used.calls.count);
    let call = if calls > 0 { quantity(calls as f64, "call") } else { NOT_CALLED.into() };
    let parameters = match tool.property_count {
        Some(1) => "1 property, ".into(),
        Some(count) => format!("{} properties, ", format_number(count)),
        None => String::new(),
    };
    piece_line(&tool.name, it, &format!("{parameters}{call}"))
        .with_entry(used.and_then(|used| view.heaviest_with_tool(used)))
        .with_explanation(format!(
            "{}: schema {} chars, description {} chars",
            tool.name,
            format_number(tool.schema_chars),
            format_number(tool.summary_chars)
        ))
}

fn files_section(view: &SectionBuilder, report: &SystemPromptReport, parts: &PromptParts) -> Section {
    let mut lines: Vec<Line> =
        report.files.iter().zip(&parts.file_pieces).map(|(file, it)| file_line(report, file, *it)).collect();
    sort_by_tokens(&mut lines);
    lines.extend(Some(piece_line("surrounding text", parts.files_overhead, "")).filter(has_chars));
    let (cut, missing) = (report.truncated_files().count(), report.missing_files().count());
    let mut notes = vec![quantity(report.files.len() as f64, "file")];
    notes.extend((cut > 0).then(|| format!("{cut} cut")));
    notes.extend((missing > 0).then(|| format!("{missing} missing")));
    let estimated = "Estimated from the files as they are now.".to_owned();
    let estimated = Some(estimated).filter(|_| report.source == ReportSource::Workspace);
    let words = estimated.into_iter().chain(warnings(report)).collect::<Vec<_>>().join(" ");
    let section = view
        .part_section(BudgetPart::Files, "Workspace files")
        .with_note(notes.join(", "))
        .with_explanation(words)
        .with_lines(lines);
    Section { has_warning: cut + missing > 0, ..section }
}

fn file_line(report: &SystemPromptReport, file: &InjectedFile, it: PromptPiece) -> Line {
    let (raw, sent) = (format_number(file.raw_chars), format_number(file.injected_chars));
    let place = file.path.as_deref().unwrap_or(&file.name);
    let (note, words) = match file.status() {
        "missing" => (
            "missing".into(),
            format!("{place} is missing; the gateway sends a notice of {sent} chars instead"),
        ),
        "truncated" => {
            let over = report.max_file_chars.filter(|most| file.raw_chars > *most);
            let limit = over.map_or("bootstrapTotalMaxChars".into(), |most| {
                format!("bootstrapMaxChars {}", format_number(most))
            });
            let words = format!(
                "{place}: the gateway sends {sent} of {raw} chars, without the middle (limit: {limit})"
            );
            (format!("cut, {raw} chars on disk"), words)
        }
        _ => (String::new(), format!("{place}: {sent} chars")),
    };
    let name = if file.name.is_empty() { "(unnamed)" } else { &file.name };
    Line {
        has_warning: file.is_missing || file.is_truncated,
        ..piece_line(name, it, &note).with_explanation(words)
    }
}

fn piece_line(label: &str, piece: PromptPiece, note: &str) -> Line {
    let label = if label.is_empty() { "(unnamed)" } else { label };
    let chars = format!("{} chars", format_number(piece.chars));
    let words = format!("{label}: {chars}");
    let note = if note.is_empty() { chars } else { note.to_owned() };
    Line::new(label, piece.tokens).with_note(note).with_explanation(words)
}

fn format_count_or_none(count: usize, noun: &str) -> String {
    if count == 0 { "none".into() } else { quantity(count as f64, noun) }
}

fn has_chars(line: &Line) -> bool {
    line.note != "0 chars"
}

pub(super) struct SectionBuilder<'a> {
    pub(super) session: &'a LoadedSession,
    pub(super) contents: &'a WindowContents,
    pub(super) now: &'a Breakdown,
}

impl SectionBuilder<'_> {
    pub(super) fn part_section(&self, part: BudgetPart, title: &'static str) -> Section {
        let after = self.contents.after.as_ref().map(|after| after.budget.tokens(part));
        let tokens = self.now.budget.tokens(part);
        Section { after, ..Section::new(SectionKind::Part(part), title, Figure::Estimated(tokens)) }
    }

    pub(super) fn entry_at(&self, at: usize) -> Option<EntryIx> {
        self.session.context.messages.get(at).map(|message| message.entry)
    }

    /// Returns the heaviest message of a tool.
    pub(super) fn heaviest_with_tool(&self, tool: &ToolTotals) -> Option<EntryIx> {
        self.entry_at(tool.heaviest)
    }
}

/// A number of tokens and its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// Estimated by rule.
    Estimated(u64),
    /// Counted by the provider.
    Measured(u64),
    /// Measured minus estimated.
    Difference(i64),
    /// No number is known.
    Unknown,
}

impl Figure {
    /// Returns tokens for bars and shares, without the sign of a difference; `None` for an unknown number.
    pub fn tokens(self) -> Option<u64> {
        match self {
            Self::Estimated(tokens) | Self::Measured(tokens) => Some(tokens),
            Self::Difference(tokens) => Some(tokens.unsigned_abs()),
            Self::Unknown => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SectionKind {
    /// A part of the budget bar; the parts add up to it.
    Part(BudgetPart),
    Remainder,
    /// The heaviest messages; they also count in the parts.
    Heaviest,
    /// Images; they also count in the parts.
    Images,
    /// The window compared with the whole history.
    History,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    pub kind: SectionKind,
    pub title: &'static str,
    /// A short remark next to the title.
    pub note: String,
    pub figure: Figure,
    /// Tokens under the plan, if one is shown.
    pub after: Option<u64>,
    /// A sentence for the detail view.
    pub explanation: String,
    /// Whether something in the section needs the user's decision.
    pub has_warning: bool,
    pub lines: Vec<Line>,
}

impl Section {
    pub(super) fn new(kind: SectionKind, title: &'static str, figure: Figure) -> Self {
        Self {
            kind,
            title,
            note: String::new(),
            figure,
            after: None,
            explanation: String::new(),
            has_warning: false,
            lines: Vec::new(),
        }
    }

    pub(super) fn with_note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    pub(super) fn with_explanation(self, words: impl Into<String>) -> Self {
        Self { explanation: words.into(), ..self }
    }

    pub(super) fn with_lines(self, lines: Vec<Line>) -> Self {
        Self { lines, ..self }
    }
}

/// One line of a section. Its texts may come from a transcript or a report and are not yet sanitised for the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub label: String,
    /// A short remark next to the label.
    pub note: String,
    pub figure: Figure,
    /// Tokens under the plan, if one is shown.
    pub after: Option<u64>,
    /// 1 for a line that details the line above it, otherwise 0.
    pub depth: u8,
    /// Whether the line needs the user's decision.
    pub has_warning: bool,
    /// The entry that the line opens.
    pub entry: Option<EntryIx>,
    /// A sentence for the detail view.
    pub explanation: String,
}

impl Line {
    pub(super) fn new(label: impl Into<String>, tokens: u64) -> Self {
        Self {
            label: label.into(),
            note: String::new(),
            figure: Figure::Estimated(tokens),
            after: None,
            depth: 0,
            has_warning: false,
            entry: None,
            explanation: String::new(),
        }
    }

    pub(super) fn with_note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    pub(super) fn with_explanation(self, words: impl Into<String>) -> Self {
        Self { explanation: words.into(), ..self }
    }

    pub(super) fn with_after(self, after: Option<u64>) -> Self {
        Self { after, ..self }
    }

    pub(super) fn with_entry(self, entry: Option<EntryIx>) -> Self {
        Self { entry, ..self }
    }

    pub(super) fn indented(self) -> Self {
        Self { depth: 1, ..self }
    }
}

/// Sorts the largest first; the sort is stable.
pub(super) fn sort_by_tokens(lines: &mut [Line]) {
    lines.sort_by_key(|line| std::cmp::Reverse(line.figure.tokens()));
}
