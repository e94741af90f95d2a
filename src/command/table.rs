//! Aligned columns for terminals. Widths count terminal cells; texts shrink or wrap if the line is too long.

use std::io::{self, Write};

use super::output::{Output, Tone};
use super::table_layout::{COLUMN_GAP, Column, Layout, STACK_INDENT, Shrink, fit, shorten};
use super::wrap::wrap_words;
use crate::text::{visible, width};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    /// Wraps at blanks if the line is wider than the terminal.
    Left,
    /// For numbers, which never shrink; words among them wrap.
    Right,
    /// Left-aligned, and shortened if the line is wider than the terminal.
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
    /// Columns that leave first, the least important first.
    dropped: &'static [&'static str],
}

impl Table {
    pub(super) fn new(columns: &[(impl AsRef<str>, Align)]) -> Self {
        let columns = columns.iter().map(|(name, align)| (name.as_ref().to_owned(), *align));
        Self { columns: columns.collect(), rows: Vec::new(), dropped: &[] }
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

    /// Names the columns that are left out of a narrow terminal, the least important first.
    pub(super) fn drop_first(&mut self, names: &'static [&'static str]) {
        self.dropped = names;
    }

    /// Prints heading and rows with `indent` before each line.
    pub(super) fn print(&self, output: &mut Output, indent: &str) -> io::Result<()> {
        let head: Vec<Cell> = self.columns.iter().map(|(name, _)| Cell::new(name, Tone::Dim)).collect();
        self.print_lines(output, indent, Some(&head))
    }

    /// Prints only the rows.
    pub(super) fn print_rows(&self, output: &mut Output, indent: &str) -> io::Result<()> {
        self.print_lines(output, indent, None)
    }

    fn print_lines(&self, output: &mut Output, indent: &str, head: Option<&Vec<Cell>>) -> io::Result<()> {
        let terminal = output.width().map(|columns| columns.saturating_sub(width(indent)).max(1));
        let columns: Vec<Column> = (0..self.columns.len()).map(|at| self.column(at)).collect();
        let layout = fit(&columns, terminal);
        for row in head.into_iter().chain(&self.rows) {
            let (first, second) = row.split_at(layout.stacked_from.min(row.len()));
            self.print_cells(output, indent, first, 0, &layout)?;
            if second.iter().any(|cell| !cell.text.is_empty()) {
                let indent = format!("{indent}{}", " ".repeat(STACK_INDENT));
                self.print_cells(output, &indent, second, first.len(), &layout)?;
            }
        }
        Ok(())
    }

    fn column(&self, at: usize) -> Column {
        let (name, align) = &self.columns[at];
        let texts = || self.rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.text.as_str());
        let texts = || std::iter::once(name.as_str()).chain(texts());
        let longest_word = || texts().flat_map(|text| text.split(' ')).map(width).max().unwrap_or(0);
        let shrink = match align {
            Align::Right if texts().all(|text| !text.contains(' ')) => Shrink::Fixed,
            Align::Right | Align::Left => Shrink::Wraps { longest_word: longest_word() },
            Align::Flexible => Shrink::Shortens,
        };
        let natural = texts().map(width).max().unwrap_or(0);
        let dropped = self.dropped.iter().position(|dropped| dropped == name);
        Column { natural, shrink, dropped }
    }

    /// Prints cells that begin at column `from` side by side, over as many lines as their texts need.
    fn print_cells(
        &self,
        output: &mut Output,
        indent: &str,
        cells: &[Cell],
        from: usize,
        layout: &Layout,
    ) -> io::Result<()> {
        let shown: Vec<(usize, &Cell, Vec<String>)> = cells
            .iter()
            .enumerate()
            .map(|(at, cell)| (from + at, cell))
            .filter(|(at, _)| layout.widths[*at] > 0 || self.columns[*at].0.is_empty())
            .map(|(at, cell)| (at, cell, self.cell_lines(cell, at, layout.widths[at])))
            .collect();
        let height = shown.iter().map(|(_, _, lines)| lines.len()).max().unwrap_or(0);
        for nth in 0..height {
            let mut line = String::from(indent);
            for (place, (at, cell, lines)) in shown.iter().enumerate() {
                let text = lines.get(nth).map_or("", String::as_str);
                let pad = " ".repeat(layout.widths[*at].saturating_sub(width(text)));
                let painted = output.paint(cell.tone, text);
                if place > 0 {
                    line.push_str(&" ".repeat(COLUMN_GAP));
                }
                if self.columns[*at].1 == Align::Right {
                    line.push_str(&pad);
                }
                line.push_str(&painted);
                if self.columns[*at].1 != Align::Right {
                    line.push_str(&pad);
                }
            }
            writeln!(output, "{}", line.trim_end())?;
        }
        Ok(())
    }

    fn cell_lines(&self, cell: &Cell, at: usize, columns: usize) -> Vec<String> {
        match self.columns[at].1 {
            Align::Left | Align::Right => wrap_words(&cell.text, columns),
            Align::Flexible => vec![shorten(&cell.text, columns)],
        }
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
    fn wide_characters_keep_columns_aligned() {
        let mut table = Table::new(&[("name", Align::Left), ("tokens", Align::Right)]);
        table.push(vec!["日本語".into(), "5".into()]);
        table.push(vec!["a".into(), "12345".into()]);
        let text = printed(&table, None);
        let ends: Vec<usize> = text.lines().map(width).collect();
        assert_eq!(ends, [14, 14, 14], "{text}");
    }

    #[test]
    fn only_flexible_columns_shrink_on_a_narrow_terminal() {
        let mut table = Table::new(&[("text", Align::Flexible), ("tokens", Align::Right)]);
        table.push(vec!["x".repeat(80).into(), "12345".into()]);
        let text = printed(&table, Some(40));
        assert!(text.lines().all(|line| width(line) <= 40) && text.contains("12345"), "{text}");
        assert!(printed(&table, None).contains(&"x".repeat(80)));
    }
}
