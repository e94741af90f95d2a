//! The sections of what precedes the messages: system prompt, tool schemas, workspace files (compaction 11.3).

use std::collections::HashMap;

use super::lines::by_weight;
use super::sections::View;
use super::{Figure, Line, Section, SectionKind, warnings};
use crate::context::breakdown::{Piece, PromptParts, ToolUse};
use crate::context::budget::Part;
use crate::inspect::words::{grouped, moment, of};
use crate::store::prompt_report::{InjectedFile, ReportSource, SystemPromptReport, ToolSize};

/// Three sections with a report, one that says that there is none without.
pub(super) fn prompt_sections(view: &View) -> Vec<Section> {
    match (view.inspection.report.as_deref(), &view.now.prompt) {
        (Some(report), Some(parts)) => {
            vec![system(view, report, parts), tools(view, report, parts), files(view, report, parts)]
        }
        _ => vec![
            Section::new(SectionKind::Part(Part::System), "System prompt", Figure::Unknown)
                .note("no report stored")
                .words(
                    "No run has left a report of system prompt, tools and workspace files in the session row. Where a \
                     provider counted the prompt, they are what is not accounted for.",
                ),
        ],
    }
}

fn system(view: &View, report: &SystemPromptReport, parts: &PromptParts) -> Section {
    let mut lines = vec![piece("instructions", parts.instructions, "")];
    lines.push(piece("skills", parts.skills, &counted_or_none(report.skills.len(), "skill")));
    let mut skills: Vec<Line> =
        report.skills.iter().zip(&parts.each_skill).map(|(skill, it)| piece(&skill.name, *it, "")).collect();
    by_weight(&mut skills);
    skills.push(piece("around them", parts.around_skills, ""));
    lines.extend(skills.into_iter().filter(has_chars).map(Line::below));
    lines.push(piece("tool list", parts.tool_list, &counted_or_none(report.tools.len(), "tool")));
    let when = report.generated_at.and_then(moment).map_or_else(String::new, |at| format!(", {at}"));
    view.part(Part::System, "System prompt")
        .note(format!("report: {}{when}", report.source.word()))
        .words(origin(report))
        .lines(lines)
}

/// Where a report comes from, in one sentence.
fn origin(report: &SystemPromptReport) -> String {
    let mut words = Vec::new();
    if let Some(workspace) = &report.workspace {
        words.push(format!("workspace {workspace}"));
    }
    if let Some(sandbox) = &report.sandbox {
        let mode = sandbox.mode.as_deref().unwrap_or("unknown");
        let inside = match sandbox.sandboxed {
            Some(true) => ", this session in it",
            Some(false) => ", this session outside",
            None => "",
        };
        words.push(format!("sandbox {mode}{inside}"));
    }
    if let Some(model) = &report.model {
        words.push(format!("made for {model}"));
    }
    let limits = [("a file", report.max_file_chars), ("all files", report.max_total_chars)];
    let limits =
        limits.iter().filter_map(|(what, most)| Some(format!("{what} up to {} chars", grouped((*most)?))));
    words.extend(limits);
    words.join(" · ")
}

fn tools(view: &View, report: &SystemPromptReport, parts: &PromptParts) -> Section {
    let pieces = report.tools.iter().zip(&parts.each_schema);
    let used: HashMap<&str, &ToolUse> =
        view.now.tools.iter().filter_map(|tool| Some((tool.name.as_deref()?, tool))).collect();
    let line =
        |(tool, it): (&ToolSize, &Piece)| tool_line(view, tool, *it, used.get(tool.name.as_str()).copied());
    let mut lines: Vec<Line> = pieces.map(line).collect();
    by_weight(&mut lines);
    lines.extend(Some(piece("of no tool in the list", parts.other_schemas, "")).filter(has_chars));
    let idle = lines.iter().filter(|line| line.note.ends_with(IDLE)).count();
    let unused = if idle > 0 && !view.now.tools.is_empty() {
        format!(", {idle} not called in this window")
    } else {
        String::new()
    };
    let described = grouped(parts.descriptions.tokens);
    let words = match report.source {
        ReportSource::Transcript => {
            "Declared in the transcript: name, description and parameters of each, sent with every call."
                .to_owned()
        }
        _ => format!(
            "Sent with every call, called or not. Their descriptions, ~{described} tokens, are sent too and in no estimate."
        ),
    };
    view.part(Part::Tools, "Tool schemas")
        .note(format!("{}{unused}", of(report.tools.len() as f64, "tool")))
        .words(words)
        .lines(lines)
}

/// What a tool says that no message of the window calls.
const IDLE: &str = "not called";

fn tool_line(view: &View, tool: &ToolSize, it: Piece, used: Option<&ToolUse>) -> Line {
    let calls = used.map_or(0, |used| used.calls.count);
    let call = if calls > 0 { of(calls as f64, "call") } else { IDLE.into() };
    let parameters = match tool.properties {
        Some(1) => "1 property, ".into(),
        Some(count) => format!("{} properties, ", grouped(count)),
        None => String::new(),
    };
    piece(&tool.name, it, &format!("{parameters}{call}"))
        .to(used.and_then(|used| view.heaviest_of(used)))
        .words(format!(
            "{}: schema {} chars, description {} chars",
            tool.name,
            grouped(tool.schema_chars),
            grouped(tool.summary_chars)
        ))
}

fn files(view: &View, report: &SystemPromptReport, parts: &PromptParts) -> Section {
    let mut lines: Vec<Line> =
        report.files.iter().zip(&parts.each_file).map(|(file, it)| file_line(report, file, *it)).collect();
    by_weight(&mut lines);
    lines.extend(Some(piece("around them", parts.around_files, "")).filter(has_chars));
    let (cut, missing) = (report.truncated().count(), report.missing().count());
    let mut notes = vec![of(report.files.len() as f64, "file")];
    notes.extend((cut > 0).then(|| format!("{cut} cut")));
    notes.extend((missing > 0).then(|| format!("{missing} missing")));
    let words = warnings(report).join(" ");
    let section = view.part(Part::Files, "Workspace files").note(notes.join(", ")).words(words).lines(lines);
    Section { warns: cut + missing > 0, ..section }
}

fn file_line(report: &SystemPromptReport, file: &InjectedFile, it: Piece) -> Line {
    let (raw, sent) = (grouped(file.raw_chars), grouped(file.injected_chars));
    let place = file.path.as_deref().unwrap_or(&file.name);
    let (note, words) = match file.status() {
        "missing" => {
            ("missing".into(), format!("{place} is expected and not there: a notice of {sent} chars is sent"))
        }
        "truncated" => {
            let over = report.max_file_chars.filter(|most| file.raw_chars > *most);
            let limit = over.map_or("bootstrapTotalMaxChars".into(), |most| {
                format!("bootstrapMaxChars, {}", grouped(most))
            });
            let words =
                format!("{place}: {sent} of {raw} chars are sent, the middle is left out: over {limit}");
            (format!("cut, {raw} chars on disk"), words)
        }
        _ => (String::new(), format!("{place}: {sent} chars")),
    };
    let name = if file.name.is_empty() { "— not named" } else { &file.name };
    Line { warns: file.missing || file.truncated, ..piece(name, it, &note).words(words) }
}

fn piece(label: &str, piece: Piece, note: &str) -> Line {
    let label = if label.is_empty() { "— not named" } else { label };
    let chars = format!("{} chars", grouped(piece.chars));
    let words = format!("{label}: {chars}");
    let note = if note.is_empty() { chars } else { note.to_owned() };
    Line::new(label, piece.tokens).note(note).words(words)
}

fn counted_or_none(count: usize, noun: &str) -> String {
    if count == 0 { "none".into() } else { of(count as f64, noun) }
}

fn has_chars(line: &Line) -> bool {
    line.note != "0 chars"
}
