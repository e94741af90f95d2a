//! `clawscope context SESSION --breakdown`: prints the sections of the window. `breakdown_json` has the JSON form.

use std::io::Write as _;

use super::breakdown_json::report_json;
use super::failure::Failure;
use super::output::{Output, Tone};
use super::session_output::print_session_header;
use super::table::{Align, Cell, Table};
use crate::context::budget::BudgetPart;
use crate::format::{format_counted, format_estimate, format_number, format_percent};
use crate::plan::Plan;
use crate::report::breakdown::{
    Figure, Line, Section, SectionKind, WindowContents, heavy_blocks, sections, warnings,
};
use crate::session::{CountSource, LoadedSession};

/// Printed lines per section; the JSON has all lines.
const MAX_SECTION_LINES: usize = 30;
const BAR_WIDTH: u64 = 24;

/// Shows the window of the next call, under a plan if there is one.
pub(super) fn show(
    session: &LoadedSession,
    plan: Option<&Plan>,
    json: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    let contents = WindowContents::new(session, plan).under_plan();
    let blocks = heavy_blocks(session, &contents.heaviest_entries(), &mut || true);
    if json {
        return Ok(output.json(&report_json(session, &contents, &blocks))?);
    }
    let sections = sections(session, &contents, &blocks);
    print_session_header(output, session, session.window)?;
    for section in sections.iter().filter(|section| section.kind == SectionKind::Part(BudgetPart::System)) {
        output.line(Tone::Dim, &section.explanation)?;
    }
    for warning in session.prompt_report.iter().flat_map(|report| warnings(report)) {
        output.line(Tone::Warning, &format!("! {warning}"))?;
    }
    writeln!(output)?;
    table(session, &sections).print(output, "")?;
    writeln!(output)?;
    print_total(session, &contents, &sections, output)
}

fn print_total(
    session: &LoadedSession,
    contents: &WindowContents,
    sections: &[Section],
    output: &mut Output,
) -> Result<(), Failure> {
    let (count, window) = (contents.total(), window_tokens(session));
    // A number derived from an estimate is one.
    let amount = |tokens: u64| format_counted(tokens, !count.is_estimate());
    let free = if count.tokens > window {
        format!("over by {}", amount(count.tokens - window))
    } else {
        format!("{} free", amount(window - count.tokens))
    };
    let total = amount(count.tokens);
    let share = format_percent(count.tokens, window);
    output.line(Tone::Strong, &format!("sum of the parts: {total} · {share} of the window · {free}"))?;
    output.line(Tone::Plain, &describe_basis(contents))?;
    for section in sections {
        let telling = [SectionKind::Part(BudgetPart::Tools), SectionKind::Remainder];
        if telling.contains(&section.kind) && !section.explanation.is_empty() {
            let words = format!("{}: {}", section.title.to_lowercase(), section.explanation);
            output.line(Tone::Plain, &words)?;
        }
    }
    Ok(())
}

/// Returns the basis of the parts, and the estimate that they are scaled from.
fn describe_basis(contents: &WindowContents) -> String {
    let estimate = format_estimate(contents.estimated_tokens);
    match contents.source {
        CountSource::Estimated => contents.basis().to_owned(),
        CountSource::Measured | CountSource::Calibrated => {
            format!("{}; chars/4 gives {estimate} for the whole prompt", contents.basis())
        }
    }
}

fn window_tokens(session: &LoadedSession) -> u64 {
    session.window.model_tokens.whole()
}

fn table(session: &LoadedSession, sections: &[Section]) -> Table {
    let mut table = Table::new(&[
        ("part", Align::Left),
        ("tokens", Align::Right),
        ("window", Align::Right),
        ("", Align::Left),
        ("what", Align::Left),
    ]);
    let window = window_tokens(session);
    let parts = sections.iter().filter(|section| matches!(section.kind, SectionKind::Part(_)));
    let largest = parts.filter_map(|section| section.figure.tokens()).max().unwrap_or(0);
    let row = |label: &str, figure: Figure, note: &str, tone: Tone, bar: bool| {
        let amount = figure.tokens().unwrap_or(0);
        let bar = if bar { render_bar(amount, largest) } else { String::new() };
        vec![
            Cell::new(label, tone),
            Cell::new(&format_figure(figure), tone),
            Cell::new(
                &figure.tokens().map_or_else(String::new, |tokens| format_percent(tokens, window)),
                Tone::Dim,
            ),
            Cell::new(&bar, Tone::Dim),
            Cell::new(note, if tone == Tone::Warning { tone } else { Tone::Dim }),
        ]
    };
    for section in sections {
        let bar = matches!(section.kind, SectionKind::Part(_));
        let tone = if section.has_warning { Tone::Warning } else { Tone::Strong };
        table.push(row(section.title, section.figure, &section.note, tone, bar));
        for line in section.lines.iter().take(MAX_SECTION_LINES) {
            let tone = if line.has_warning { Tone::Warning } else { Tone::Plain };
            let indent = " ".repeat(2 + 2 * usize::from(line.depth));
            let bar = section.kind != SectionKind::History;
            table.push(row(
                &format!("{indent}{}", line.label),
                line.figure,
                &line_note(section, line),
                tone,
                bar,
            ));
        }
        if let Some(more) = section.lines.len().checked_sub(MAX_SECTION_LINES + 1) {
            table.push(row(
                &format!("  … {} more", format_number(more as u64 + 1)),
                Figure::Unknown,
                "",
                Tone::Dim,
                false,
            ));
        }
    }
    table
}

/// Returns the explanation of a heavy line where its own note is empty: the entry and its heaviest block.
fn line_note(section: &Section, line: &Line) -> String {
    match section.kind {
        SectionKind::Heaviest if line.note.is_empty() => line.explanation.clone(),
        SectionKind::Heaviest => format!("{} · {}", line.explanation, line.note),
        _ => line.note.clone(),
    }
}

fn format_figure(figure: Figure) -> String {
    match figure {
        Figure::Estimated(tokens) => format_estimate(tokens),
        Figure::Measured(tokens) => format_number(tokens),
        Figure::Difference(tokens) => {
            format!("{}{}", if tokens < 0 { "-" } else { "+" }, format_number(tokens.unsigned_abs()))
        }
        Figure::Unknown => "-".into(),
    }
}

fn render_bar(tokens: u64, largest: u64) -> String {
    if tokens == 0 || largest == 0 {
        return String::new();
    }
    let halves = ((tokens.min(largest) * BAR_WIDTH * 2 + largest / 2) / largest).max(1);
    let half = if halves % 2 == 1 { "╸" } else { "" };
    "━".repeat(halves as usize / 2) + half
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_non_zero_share_has_a_visible_bar() {
        assert_eq!((render_bar(0, 10).as_str(), render_bar(1, 100_000).as_str()), ("", "╸"));
        assert_eq!(render_bar(50, 100).chars().count(), 12);
        assert_eq!(render_bar(900, 100).chars().count(), 24);
    }
}
