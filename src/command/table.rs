//! Aligned columns for terminals. Widths count terminal cells; texts shrink or wrap if the line is too long.

use std::io;
use std::io::Write;

use super::output::{Output, Tone};
use super::wrap::wrap_words;
use crate::text::{truncate, visible, width};

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

// Fits the columns of a table into a terminal: the widest texts shrink first, then less important columns are left out,
// and at last columns move to a second line below their row.

/// Columns that a shortened text keeps.
const MIN_FLEXIBLE: usize = 24;

/// Columns that a shortened text keeps if nothing else helps.
const MIN_NARROW: usize = 10;

/// Columns that a wrapped text keeps.
const MIN_WRAPPED: usize = 12;

pub(super) const COLUMN_GAP: usize = 2;

/// Columns by which the second line of a row is indented.
pub(super) const STACK_INDENT: usize = 4;

/// The way a column may shrink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shrink {
    /// Never: a number.
    Fixed,
    /// Its cells wrap at blanks, down to this longest word.
    Wraps { longest_word: usize },
    /// Its cells are shortened.
    Shortens,
}

/// A column before it is fitted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    /// Its widest cell.
    pub natural: usize,
    pub shrink: Shrink,
    /// Rank in which it is left out, from 0; `None` stays.
    pub dropped: Option<usize>,
}

/// The fitted table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    /// Width of each column; 0 for a column that is left out.
    pub widths: Vec<usize>,
    /// The first column of the second line; the number of columns without a second line.
    pub stacked_from: usize,
}

/// Fits columns into `terminal` columns; `None` keeps the natural widths.
pub(super) fn fit(columns: &[Column], terminal: Option<usize>) -> Layout {
    let natural: Vec<usize> = columns.iter().map(|column| column.natural).collect();
    let Some(terminal) = terminal else {
        return Layout { widths: natural, stacked_from: columns.len() };
    };
    let mut widths: Vec<usize> = natural.iter().map(|width| (*width).min(terminal)).collect();
    shrink(columns, &mut widths, terminal, MIN_FLEXIBLE);
    let mut droppable: Vec<usize> = (0..columns.len()).filter(|at| columns[*at].dropped.is_some()).collect();
    droppable.sort_by_key(|at| columns[*at].dropped);
    for at in droppable {
        if total(&widths) > terminal {
            widths[at] = 0;
        }
    }
    shrink(columns, &mut widths, terminal, MIN_NARROW);
    let stacked_from = (1..=columns.len()).rev().find(|end| total(&widths[..*end]) <= terminal).unwrap_or(1);
    let below = terminal.saturating_sub(STACK_INDENT);
    for (width, natural) in
        widths.iter_mut().zip(&natural).skip(stacked_from).filter(|(width, _)| **width > 0)
    {
        *width = (*natural).min(below);
    }
    if total(&widths[stacked_from..]) > below {
        shrink(&columns[stacked_from..], &mut widths[stacked_from..], below, MIN_NARROW);
    }
    Layout { widths, stacked_from }
}

/// Width of the columns with the gaps between them.
fn total(widths: &[usize]) -> usize {
    let shown = widths.iter().filter(|width| **width > 0).count();
    widths.iter().sum::<usize>() + COLUMN_GAP * shown.saturating_sub(1)
}

/// Takes columns from the widest text until the table fits or no text can shrink.
fn shrink(columns: &[Column], widths: &mut [usize], terminal: usize, least: usize) {
    let minimum = |column: &Column| match column.shrink {
        Shrink::Fixed => usize::MAX,
        Shrink::Wraps { longest_word } => longest_word.max(MIN_WRAPPED),
        Shrink::Shortens => least,
    };
    while total(widths) > terminal {
        let can = |at: &usize| widths[*at] > minimum(&columns[*at]);
        let Some(at) = (0..widths.len()).filter(can).max_by_key(|at| (widths[*at], *at)) else { return };
        widths[at] -= 1;
    }
}

/// Shortens a visible text to `columns`: a sentence after a word, a name in its middle.
pub(super) fn shorten(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let (cut, _) = truncate(text, columns);
    let kept = cut.trim_end_matches('…');
    match kept.rfind(' ') {
        Some(at) if at * 3 > kept.len() => format!("{}…", kept[..at].trim_end()),
        Some(_) => cut,
        None => shorten_middle(text, columns),
    }
}

fn shorten_middle(text: &str, columns: usize) -> String {
    let head = truncate(text, columns / 2 + 1).0;
    let limit = columns.saturating_sub(width(&head));
    let start = text.char_indices().map(|(at, _)| at).find(|at| width(&text[*at..]) <= limit);
    format!("{head}{}", start.map_or("", |at| &text[at..]))
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

#[cfg(test)]
mod table_layout_tests {
    use super::*;

    const NUMBER: Column = Column { natural: 7, shrink: Shrink::Fixed, dropped: None };
    const NAME: Column = Column { natural: 60, shrink: Shrink::Shortens, dropped: None };
    const WORDS: Column = Column { natural: 60, shrink: Shrink::Wraps { longest_word: 15 }, dropped: None };

    #[test]
    fn the_widest_text_shrinks_first_and_numbers_never() {
        assert_eq!(fit(&[NAME, NUMBER, WORDS], Some(91)).widths, [40, 7, 40]);
        assert_eq!(fit(&[NAME, NUMBER, WORDS], None).widths, [60, 7, 60]);
    }

    #[test]
    fn the_least_important_columns_are_dropped_before_any_is_stacked() {
        let time = Column { natural: 20, dropped: Some(0), ..NUMBER };
        assert_eq!(fit(&[NUMBER, time, NUMBER], Some(30)), Layout { widths: vec![7, 0, 7], stacked_from: 3 });
        let fixed = Column { natural: 40, ..NUMBER };
        let layout = fit(&[fixed, NUMBER, WORDS], Some(52));
        assert_eq!(layout, Layout { widths: vec![40, 7, 48], stacked_from: 2 });
    }

    #[test]
    fn sentences_end_at_a_word_and_names_keep_both_ends() {
        assert_eq!(shorten("every call fits", 12), "every call…");
        assert_eq!(shorten("agent:main:telegram:direct:8812", 16), "agent:ma…ct:8812");
        assert_eq!(shorten("short", 16), "short");
        assert!(width(&shorten("日本語日本語日本語日本語", 11)) <= 11);
    }
}
