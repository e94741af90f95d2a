//! The window as a document: one row per section and line, with its tokens, its share of the window and a bar.

use super::{Figure, Line, Section, SectionKind, WindowContents};
use crate::doc::{Align, Cell, Doc, Row, Table, Tone};
use crate::format::{format_counted, format_estimate, format_number, format_percent};
use crate::session::{CountSource, LoadedSession};

const BAR_WIDTH: u64 = 20;

/// The inputs of all rows.
struct WindowTable {
    table: Table,
    /// Window in tokens.
    window: u64,
    /// Tokens of the longest bar.
    largest: u64,
    /// Whether a plan is shown.
    has_plan: bool,
}

/// A section or a line of one.
struct Entry<'a> {
    kind: SectionKind,
    name: Cell,
    figure: Figure,
    after: Option<u64>,
    what: &'a str,
    has_warning: bool,
}

impl WindowContents {
    /// Lists at most `max_lines` lines of each section.
    pub fn doc(&self, session: &LoadedSession, sections: &[Section], max_lines: usize) -> Doc {
        let window = session.window.model_tokens.whole();
        let mut doc = Doc::new(self.headline(window));
        doc.say(Tone::Dim, &self.describe_basis());
        doc.gap();
        let parts = sections.iter().filter(|section| matches!(section.kind, SectionKind::Part(_)));
        let largest = parts.filter_map(|section| section.figure.tokens()).max().unwrap_or(0);
        let mut table = WindowTable::new(window, largest, self.after.is_some());
        for section in sections {
            table.push_section(section, max_lines);
        }
        doc.table(table.table);
        doc
    }

    fn headline(&self, window: u64) -> String {
        let count = self.total();
        // A number derived from an estimate is one.
        let amount = |tokens: u64| format_counted(tokens, !count.is_estimate());
        let free = if count.tokens > window {
            format!("over by {}", amount(count.tokens - window))
        } else {
            format!("{} free", amount(window - count.tokens))
        };
        let after = self.after.as_ref().map(|after| format!(" → {}", format_estimate(after.budget.total())));
        let (total, share) = (amount(count.tokens), format_percent(count.tokens, window));
        let after = after.unwrap_or_default();
        format!("sum of the parts: {total}{after} · {share} of the window · {free}")
    }

    /// Returns the basis of the parts, and the estimate that they are scaled from.
    fn describe_basis(&self) -> String {
        let estimate = format_estimate(self.estimated_tokens);
        match self.source {
            CountSource::Estimated => self.basis().to_owned(),
            CountSource::Measured | CountSource::Calibrated => {
                format!("{}; chars/4 gives {estimate} for the whole prompt", self.basis())
            }
        }
    }
}

impl WindowTable {
    fn new(window: u64, largest: u64, has_plan: bool) -> Self {
        let mut columns = vec![("part", Align::Left), ("~tokens", Align::Right)];
        columns.extend(has_plan.then_some(("~after", Align::Right)));
        columns.extend([("window", Align::Right), ("", Align::Left), ("what", Align::Flexible)]);
        let mut table = Table::new(&columns);
        // The sentence about a row says the same where there is no room.
        table.drop_first(if has_plan { &["", "what"] } else { &[""] });
        Self { table, window, largest, has_plan }
    }

    fn push_section(&mut self, section: &Section, max_lines: usize) {
        let cells = self.cells(&Entry {
            kind: section.kind,
            name: Cell::new(section.title, if section.has_warning { Tone::Warning } else { Tone::Strong }),
            figure: section.figure,
            after: section.after,
            what: &section.note,
            has_warning: section.has_warning,
        });
        self.table.push(Row::from(cells).with_note(&section.explanation).as_heading());
        for line in section.lines.iter().take(max_lines) {
            self.push_line(section.kind, line);
        }
        if let Some(more) = section.lines.len().checked_sub(max_lines).filter(|more| *more > 0) {
            let words = format!("… {} more", format_number(more as u64));
            self.table.push(vec![Cell::new(&words, Tone::Dim).after_sign("  ", Tone::Dim)]);
        }
    }

    fn push_line(&mut self, kind: SectionKind, line: &Line) {
        let name = Cell::new(&line.label, if line.has_warning { Tone::Warning } else { Tone::Plain });
        let cells = self.cells(&Entry {
            kind,
            name: name.after_sign(&" ".repeat(2 + 2 * usize::from(line.depth)), Tone::Plain),
            figure: line.figure,
            after: line.after,
            what: &line.note,
            has_warning: line.has_warning,
        });
        // A text has the sizes beside the names already.
        let note =
            if kind == SectionKind::Heaviest || line.has_warning { line.explanation.as_str() } else { "" };
        self.table.push(Row::from(cells).with_note(note).leading_to(line.entry));
    }

    fn cells(&self, entry: &Entry) -> Vec<Cell> {
        let tokens = entry.figure.tokens();
        let mut cells = vec![entry.name.clone(), format_figure(entry.figure).into()];
        if self.has_plan {
            let changed = entry.after.filter(|after| tokens != Some(*after));
            cells.push(Cell::new(&changed.map_or_else(String::new, format_number), Tone::Trimmed));
        }
        let now = entry.after.or(tokens);
        let share = now.map_or_else(String::new, |tokens| format_percent(tokens, self.window));
        cells.push(Cell::new(&share, Tone::Dim));
        cells.push(self.bar(entry));
        cells.push(Cell::new(entry.what, if entry.has_warning { Tone::Warning } else { Tone::Dim }));
        cells
    }

    /// Draws the tokens that stay, and behind them those that a plan frees.
    fn bar(&self, entry: &Entry) -> Cell {
        // The history may exceed the window, so a share of it would mislead.
        if entry.kind == SectionKind::History {
            return "".into();
        }
        let tone = match entry.kind {
            SectionKind::Part(part) => Tone::Part(part),
            _ => Tone::Dim,
        };
        let before = entry.figure.tokens().unwrap_or(0);
        let stays = render_bar(entry.after.unwrap_or(before), self.largest);
        let whole = render_bar(before, self.largest);
        let freed: String = whole.chars().skip(stays.chars().count()).collect();
        Cell::new(&freed, Tone::Dim).after_sign(&stays, tone)
    }
}

fn format_figure(figure: Figure) -> String {
    match figure {
        Figure::Estimated(tokens) | Figure::Measured(tokens) => format_number(tokens),
        Figure::Difference(tokens) => {
            format!("{}{}", if tokens < 0 { "-" } else { "+" }, format_number(tokens.unsigned_abs()))
        }
        Figure::Unknown => "—".into(),
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
        assert_eq!(render_bar(50, 100).chars().count(), 10);
        assert_eq!(render_bar(900, 100).chars().count(), 20);
    }
}
