//! Aligned columns for terminals. Widths count terminal cells; flexible columns shrink if the line is too long.

use std::io::{self, Write};

use super::output::{Output, Tone};
use crate::text::{truncate, visible, width};

/// Columns that a flexible column keeps.
const MIN_FLEXIBLE_WIDTH: usize = 16;
const COLUMN_GAP: &str = "  ";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    /// For numbers.
    Right,
    /// Left-aligned, and truncated if the line is wider than the terminal, the last such column first.
    Flexible,
}

/// A cell: escaped text and its tone.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    pub(super) fn new(text: &str, tone: Tone) -> Self {
        Self { text: visible(text).into_owned(), tone }
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text.as_ref(), Tone::Plain)
    }
}

#[derive(Debug)]
pub(super) struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub(super) fn new(columns: &[(impl AsRef<str>, Align)]) -> Self {
        let columns = columns.iter().map(|(name, align)| (name.as_ref().to_owned(), *align));
        Self { columns: columns.collect(), rows: Vec::new() }
    }

    pub(super) fn push(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    pub(super) fn remove_column(&mut self, name: &str) {
        let kept: Vec<bool> = self.columns.iter().map(|(own, _)| own != name).collect();
        let mut columns = kept.iter();
        self.columns.retain(|_| columns.next() == Some(&true));
        for row in &mut self.rows {
            let mut cells = kept.iter();
            row.retain(|_| cells.next() == Some(&true));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Prints heading and rows with `indent` before each line.
    pub(super) fn print(&self, output: &mut Output, indent: &str) -> io::Result<()> {
        let widths = self.column_widths(output.width(), width(indent));
        let head: Vec<Cell> = self.columns.iter().map(|(name, _)| Cell::new(name, Tone::Dim)).collect();
        for row in std::iter::once(&head).chain(&self.rows) {
            self.print_row(output, indent, row, &widths)?;
        }
        Ok(())
    }

    /// Prints the rows alone.
    pub(super) fn print_rows(&self, output: &mut Output, indent: &str) -> io::Result<()> {
        let widths = self.column_widths(output.width(), width(indent));
        self.rows.iter().try_for_each(|row| self.print_row(output, indent, row, &widths))
    }

    fn column_widths(&self, terminal: Option<usize>, indent: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = self.columns.iter().map(|(name, _)| width(name)).collect();
        for row in &self.rows {
            for (at, cell) in row.iter().enumerate() {
                widths[at] = widths[at].max(width(&cell.text));
            }
        }
        let taken: usize =
            widths.iter().sum::<usize>() + COLUMN_GAP.len() * widths.len().saturating_sub(1) + indent;
        let mut over = terminal.map_or(0, |terminal| taken.saturating_sub(terminal));
        let flexible = |at: &usize| self.columns[*at].1 == Align::Flexible;
        for at in (0..widths.len()).rev().filter(flexible) {
            let gives = over.min(widths[at].saturating_sub(MIN_FLEXIBLE_WIDTH));
            widths[at] -= gives;
            over -= gives;
        }
        widths
    }

    fn print_row(&self, output: &mut Output, indent: &str, row: &[Cell], widths: &[usize]) -> io::Result<()> {
        let mut line = String::from(indent);
        for (at, cell) in row.iter().enumerate() {
            let (text, columns) = truncate(&cell.text, widths[at]);
            let pad = " ".repeat(widths[at].saturating_sub(columns));
            let painted = output.paint(cell.tone, &text);
            if at > 0 {
                line.push_str(COLUMN_GAP);
            }
            if self.columns[at].1 == Align::Right {
                line.push_str(&pad);
            }
            line.push_str(&painted);
            if self.columns[at].1 != Align::Right {
                line.push_str(&pad);
            }
        }
        writeln!(output, "{}", line.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(table: &Table, terminal: Option<usize>) -> String {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        table.print(&mut Output::new(&mut out, &mut err).with_terminal(terminal, false), "").unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_stay_aligned_under_wide_characters() {
        let mut table = Table::new(&[("name", Align::Left), ("tokens", Align::Right)]);
        table.push(vec!["日本語".into(), "5".into()]);
        table.push(vec!["a".into(), "12345".into()]);
        let text = printed(&table, None);
        let ends: Vec<usize> = text.lines().map(width).collect();
        assert_eq!(ends, [14, 14, 14], "{text}");
    }

    #[test]
    fn only_flexible_columns_give_way_to_a_narrow_terminal() {
        let mut table = Table::new(&[("text", Align::Flexible), ("tokens", Align::Right)]);
        table.push(vec!["x".repeat(80).into(), "12345".into()]);
        let text = printed(&table, Some(40));
        assert!(text.lines().all(|line| width(line) <= 40) && text.contains("12345"), "{text}");
        assert!(printed(&table, None).contains(&"x".repeat(80)));
    }
}
