//! `clawscope context SESSION --breakdown`: what is in the window, section by section; the JSON is beside.

use std::io::Write as _;

use super::breakdown_json::answer;
use super::described::print_head;
use super::failure::Failure;
use super::output::{Output, Tone};
use super::table::{Align, Cell, Table};
use super::words::{commas, estimated, grouped, percent};
use crate::context::budget::Part;
use crate::inspect::Inspection;
use crate::inspect::breakdown::{
    Figure, Line, Section, SectionKind, WindowContents, heavy_blocks, sections, warnings,
};

/// Lines of a section that are printed; the JSON has them all.
const MOST_LINES: usize = 30;
/// Columns of the largest bar.
const BAR: u64 = 24;

/// Shows what is in the window of a session.
pub(super) fn show(inspection: &Inspection, json: bool, output: &mut Output) -> Result<(), Failure> {
    let contents = WindowContents::new(inspection, None);
    let blocks = heavy_blocks(inspection, &contents.heavy_entries(), &mut || true);
    if json {
        return Ok(output.json(answer(inspection, &contents, &blocks))?);
    }
    let sections = sections(inspection, &contents, &blocks);
    print_head(output, inspection, inspection.window)?;
    for section in sections.iter().filter(|section| section.kind == SectionKind::Part(Part::System)) {
        output.line(Tone::Dim, &commas(&section.words))?;
    }
    for warning in inspection.report.iter().flat_map(|report| warnings(report)) {
        output.line(Tone::Warning, &format!("! {}", commas(&warning)))?;
    }
    writeln!(output)?;
    table(inspection, &sections).print(output, "")?;
    writeln!(output)?;
    print_end(inspection, &contents, &sections, output)
}

/// The sum, and what there is to know of it.
fn print_end(
    inspection: &Inspection,
    contents: &WindowContents,
    sections: &[Section],
    output: &mut Output,
) -> Result<(), Failure> {
    let (total, window) = (contents.now.budget.total(), window_of(inspection));
    let free = if total > window {
        format!("over by {}", estimated(total - window))
    } else {
        format!("{} free", estimated(window - total))
    };
    output.line(
        Tone::Strong,
        &format!(
            "sum of the parts: {} · {} of the window · {free}",
            estimated(total),
            percent(total, window)
        ),
    )?;
    for section in sections {
        let telling = [SectionKind::Part(Part::Tools), SectionKind::Remainder];
        if telling.contains(&section.kind) && !section.words.is_empty() {
            let words = format!("{}: {}", section.title.to_lowercase(), section.words);
            output.line(Tone::Plain, &commas(&words))?;
        }
    }
    Ok(())
}

fn window_of(inspection: &Inspection) -> u64 {
    inspection.window.tokens.max(0.0) as u64
}

fn table(inspection: &Inspection, sections: &[Section]) -> Table {
    let mut table = Table::new(&[
        ("part", Align::Left),
        ("tokens", Align::Right),
        ("window", Align::Right),
        ("", Align::Left),
        ("what", Align::Flexible),
    ]);
    let window = window_of(inspection);
    let parts = sections.iter().filter(|section| matches!(section.kind, SectionKind::Part(_)));
    let largest = parts.filter_map(|section| section.figure.amount()).max().unwrap_or(0);
    let row = |label: &str, figure: Figure, note: &str, tone: Tone, bar: bool| {
        let amount = figure.amount().unwrap_or(0);
        let bar = if bar { bar_of(amount, largest) } else { String::new() };
        vec![
            Cell::new(label, tone),
            Cell::new(&figure_words(figure), tone),
            Cell::new(&figure.amount().map_or_else(String::new, |tokens| share(tokens, window)), Tone::Dim),
            Cell::new(&bar, Tone::Dim),
            Cell::new(&commas(note), if tone == Tone::Warning { tone } else { Tone::Dim }),
        ]
    };
    for section in sections {
        let bar = matches!(section.kind, SectionKind::Part(_));
        let tone = if section.warns { Tone::Warning } else { Tone::Strong };
        table.push(row(section.title, section.figure, &section.note, tone, bar));
        for line in section.lines.iter().take(MOST_LINES) {
            let tone = if line.warns { Tone::Warning } else { Tone::Plain };
            let indent = " ".repeat(2 + 2 * usize::from(line.depth));
            let bar = section.kind != SectionKind::History;
            table.push(row(
                &format!("{indent}{}", line.label),
                line.figure,
                &note_of(section, line),
                tone,
                bar,
            ));
        }
        if let Some(more) = section.lines.len().checked_sub(MOST_LINES + 1) {
            table.push(row(
                &format!("  … {} more", grouped(more as u64 + 1)),
                Figure::Unknown,
                "",
                Tone::Dim,
                false,
            ));
        }
    }
    table
}

/// A heavy message says which entry it is, and its heaviest block.
fn note_of(section: &Section, line: &Line) -> String {
    match section.kind {
        SectionKind::Heaviest if line.note.is_empty() => line.words.clone(),
        SectionKind::Heaviest => format!("{} · {}", line.words, line.note),
        _ => line.note.clone(),
    }
}

fn figure_words(figure: Figure) -> String {
    match figure {
        Figure::Est(tokens) => estimated(tokens),
        Figure::Measured(tokens) => grouped(tokens),
        Figure::Difference(tokens) => {
            format!("{}{}", if tokens < 0 { "-" } else { "+" }, grouped(tokens.unsigned_abs()))
        }
        Figure::Unknown => "-".into(),
    }
}

/// A share of the window; what is there but rounds to nothing is less than one percent.
fn share(tokens: u64, window: u64) -> String {
    let words = percent(tokens, window);
    if tokens > 0 && words == "0%" { "<1%".into() } else { words }
}

fn bar_of(tokens: u64, largest: u64) -> String {
    if tokens == 0 || largest == 0 {
        return String::new();
    }
    let halves = ((tokens.min(largest) * BAR * 2 + largest / 2) / largest).max(1);
    let half = if halves % 2 == 1 { "╸" } else { "" };
    "━".repeat(halves as usize / 2) + half
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_show_at_least_something_of_something() {
        assert_eq!((bar_of(0, 10).as_str(), bar_of(1, 100_000).as_str()), ("", "╸"));
        assert_eq!(bar_of(50, 100).chars().count(), 12);
        assert_eq!(bar_of(900, 100).chars().count(), 24);
    }
}
