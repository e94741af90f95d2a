//! Aligned columns. Widths count terminal cells; texts shrink or wrap if the line is too long.

use std::collections::BTreeSet;

use super::columns::{COLUMN_GAP, Column, Layout, STACK_INDENT, Shrink, fit, total};
use super::wrap::wrap_words;
use super::{Cell, Line, Span, Tone};
use crate::ids::EntryIx;
use crate::text::{truncate, visible, width};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Wraps at blanks if the line is wider than the page.
    Left,
    /// Left-aligned names, such as those of entries: they wrap before anything else, to leave the width to sentences.
    Names,
    /// A sentence, left-aligned: it moves below its row if the other columns leave it less than three fifths of the page.
    Sentence,
    /// For numbers, which never shrink; words among them wrap.
    Right,
    /// Left-aligned, and shortened if the line is wider than the page.
    Flexible,
}

#[derive(Debug, Clone)]
pub struct Row {
    cells: Vec<Cell>,
    /// Sentences about it, below it in a text.
    pub note: String,
    /// Whether it heads the rows below it, up to the next heading.
    pub is_heading: bool,
    /// The entry that it leads to.
    pub entry: Option<EntryIx>,
    /// The rule behind it, such as `compaction 8.13`; may be empty.
    pub rule: &'static str,
}

impl From<Vec<Cell>> for Row {
    fn from(cells: Vec<Cell>) -> Self {
        Self { cells, note: String::new(), is_heading: false, entry: None, rule: "" }
    }
}

impl Row {
    /// Adds sentences below the row.
    #[must_use]
    pub fn with_note(self, note: &str) -> Self {
        Self { note: note.to_owned(), ..self }
    }

    #[must_use]
    pub fn leading_to(self, entry: Option<EntryIx>) -> Self {
        Self { entry, ..self }
    }

    #[must_use]
    pub fn citing(self, rule: &'static str) -> Self {
        Self { rule, ..self }
    }

    #[must_use]
    pub fn as_heading(self) -> Self {
        Self { is_heading: true, ..self }
    }

    /// Returns the text of the first cell.
    pub fn title(&self) -> &str {
        self.cells.first().map_or("", |cell| &cell.text)
    }

    /// Returns the text behind the title; the title of a row that has no more.
    pub fn value(&self) -> String {
        let cells: Vec<&str> = self.cells.iter().skip(1).map(|cell| cell.text.trim()).collect();
        if cells.is_empty() { self.title().to_owned() } else { cells.join("  ") }
    }

    /// Returns the row as one line of text.
    pub fn text(&self) -> String {
        let is_bar = |cell: &&Cell| matches!(cell.tone, Tone::Part(_));
        let cells = self.cells.iter().filter(|cell| !is_bar(cell)).map(|cell| cell.text.as_str());
        cells
            .chain([self.note.as_str()])
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join("  ")
    }
}

#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Row>,
    /// Columns that leave first, the least important first.
    dropped: &'static [&'static str],
}

impl Table {
    pub fn new(columns: &[(impl AsRef<str>, Align)]) -> Self {
        let columns = columns.iter().map(|(name, align)| (name.as_ref().to_owned(), *align));
        Self { columns: columns.collect(), rows: Vec::new(), dropped: &[] }
    }

    pub fn push(&mut self, row: impl Into<Row>) {
        self.rows.push(row.into());
    }

    pub fn remove_column(&mut self, name: &str) {
        let kept: Vec<bool> = self.columns.iter().map(|(own, _)| own != name).collect();
        let mut columns = kept.iter();
        self.columns.retain(|_| columns.next() == Some(&true));
        for row in &mut self.rows {
            let mut cells = kept.iter();
            row.cells.retain(|_| cells.next() == Some(&true));
        }
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Names the columns that are left out of a narrow page, the least important first.
    pub fn drop_first(&mut self, names: &'static [&'static str]) {
        self.dropped = names;
    }

    /// Returns the heads of named columns and the rows at a width in columns; `None` keeps every text whole.
    pub fn lines(&self, width: Option<usize>) -> Vec<Line> {
        self.lines_where(width, |_| true, true)
    }

    fn lines_where(
        &self,
        width: Option<usize>,
        is_shown: impl Fn(usize) -> bool,
        has_notes: bool,
    ) -> Vec<Line> {
        let columns: Vec<Column> = (0..self.columns.len()).map(|at| self.column(at)).collect();
        let layout = fit(&columns, width);
        let pairs = width.and_then(|width| layout.of_pairs(&columns, width));
        let head: Vec<Cell> = self.columns.iter().map(|(name, _)| Cell::new(name, Tone::Dim)).collect();
        let has_head = self.columns.iter().any(|(name, _)| !name.is_empty());
        let mut lines = if has_head { self.row_lines(&head, &layout) } else { Vec::new() };
        for (at, row) in self.rows.iter().enumerate().filter(|(at, _)| is_shown(*at)) {
            let note = if has_notes { row.note.as_str() } else { "" };
            let layout = pairs.as_ref().filter(|pairs| pairs.fit_words(&row.cells)).unwrap_or(&layout);
            let own = self.row_lines(&row.cells, layout).into_iter().chain(note_lines(note, width));
            lines.extend(own.map(|line| Line { row: Some(at), ..line }));
        }
        lines
    }

    /// Returns heading and rows without their notes, and without the rows below folded headings.
    pub fn list(&self, width: usize, folded: &BTreeSet<String>) -> Vec<Line> {
        let mut is_hidden = false;
        let shown = self.rows.iter().map(|row| {
            is_hidden = if row.is_heading { folded.contains(row.title()) } else { is_hidden };
            row.is_heading || !is_hidden
        });
        let shown: Vec<bool> = shown.collect();
        self.lines_where(Some(width), |at| shown[at], false)
    }

    /// A row takes further lines for the columns that have no room beside the others.
    fn row_lines(&self, cells: &[Cell], layout: &Layout) -> Vec<Line> {
        let (first, second) = cells.split_at(layout.stacked_from.min(cells.len()));
        let mut lines = self.cell_lines(first, 0, &self.widened(first, layout), 0);
        if second.iter().any(|cell| !cell.text.is_empty()) {
            lines.extend(self.cell_lines(second, first.len(), &layout.widths, STACK_INDENT));
        }
        if let Some((at, columns)) = layout.below
            && let Some(cell) = cells.get(at).filter(|cell| !cell.text.is_empty())
        {
            let mut widths = vec![0; self.columns.len()];
            widths[at] = columns;
            lines.extend(self.cell_lines(std::slice::from_ref(cell), at, &widths, STACK_INDENT));
        }
        lines
    }

    /// Gives the last text of a row the empty columns to its right.
    fn widened(&self, cells: &[Cell], layout: &Layout) -> Vec<usize> {
        let mut widths = layout.widths.clone();
        let is_shown = |at: &usize| widths[*at] > 0 && !cells[*at].text.is_empty();
        let last = (0..cells.len()).rev().find(is_shown);
        if let Some(at) = last.filter(|at| self.columns[*at].1 != Align::Right) {
            widths[at] = total(&widths[at..layout.stacked_from]);
            widths[at + 1..layout.stacked_from].fill(0);
        }
        widths
    }

    fn column(&self, at: usize) -> Column {
        let (name, align) = &self.columns[at];
        let texts = || self.rows.iter().filter_map(|row| row.cells.get(at));
        let cells = texts;
        let texts = || std::iter::once(name.as_str()).chain(cells().map(|cell| cell.text.as_str()));
        let lead = cells().map(Cell::lead_width).max().unwrap_or(0);
        let longest_word = || lead + texts().flat_map(|text| text.split(' ')).map(width).max().unwrap_or(0);
        let shrink = match align {
            Align::Right if texts().all(|text| !text.contains(' ')) => Shrink::Fixed,
            Align::Right | Align::Left => Shrink::Wraps { longest_word: longest_word() },
            Align::Names => Shrink::WrapsFirst { longest_word: longest_word() },
            Align::Sentence => Shrink::Moves { longest_word: longest_word() },
            Align::Flexible => Shrink::Shortens,
        };
        let whole = cells().map(|cell| cell.lead_width() + width(&cell.text));
        let natural = whole.chain([width(name)]).max().unwrap_or(0);
        let dropped = self.dropped.iter().position(|dropped| dropped == name);
        Column { natural, shrink, dropped }
    }

    /// Puts cells that begin at column `from` side by side, over as many lines as their texts need.
    fn cell_lines(&self, cells: &[Cell], from: usize, widths: &[usize], indent: usize) -> Vec<Line> {
        let numbered = cells.iter().enumerate().map(|(at, cell)| (from + at, cell));
        let shown: Vec<(usize, &Cell, Vec<String>)> = numbered
            .filter(|(at, _)| widths[*at] > 0)
            .map(|(at, cell)| (at, cell, self.wrapped(cell, at, widths[at])))
            .collect();
        let height = shown.iter().map(|(_, _, lines)| lines.len()).max().unwrap_or(0);
        let line = |nth: usize| {
            let mut line = LineBuilder::default();
            line.blanks(indent);
            for (place, (at, cell, lines)) in shown.iter().enumerate() {
                line.blanks(if place > 0 { COLUMN_GAP } else { 0 });
                let text = lines.get(nth).map_or("", String::as_str);
                let lead = cell.lead_width().min(widths[*at]);
                let free = widths[*at].saturating_sub(lead + width(text));
                let is_right = self.columns[*at].1 == Align::Right;
                line.blanks(if is_right { free } else { 0 });
                match &cell.lead {
                    Some(sign) if nth == 0 => line.push(&sign.text, sign.tone),
                    _ => line.blanks(lead),
                }
                line.push(text, cell.tone);
                line.blanks(if is_right { 0 } else { free });
            }
            line.finish()
        };
        (0..height).map(line).collect()
    }

    fn wrapped(&self, cell: &Cell, at: usize, columns: usize) -> Vec<String> {
        let columns = columns.saturating_sub(cell.lead_width());
        match self.columns[at].1 {
            Align::Left | Align::Names | Align::Sentence | Align::Right => wrap_words(&cell.text, columns),
            Align::Flexible => vec![shorten(&cell.text, columns)],
        }
    }
}

impl Cell {
    pub(super) fn lead_width(&self) -> usize {
        self.lead.as_ref().map_or(0, |sign| width(&sign.text))
    }
}

/// Returns the sentences below a row.
fn note_lines(note: &str, columns: Option<usize>) -> impl Iterator<Item = Line> {
    let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(STACK_INDENT).max(1));
    let lines = if note.is_empty() { Vec::new() } else { wrap_words(&visible(note), room) };
    lines.into_iter().map(|text| {
        let mut line = LineBuilder::default();
        line.blanks(STACK_INDENT);
        line.push(&text, Tone::Dim);
        line.finish()
    })
}

/// Joins texts to a line without blanks at its end.
#[derive(Default)]
struct LineBuilder {
    spans: Vec<Span>,
    blanks: usize,
}

impl LineBuilder {
    fn blanks(&mut self, columns: usize) {
        self.blanks += columns;
    }

    fn push(&mut self, text: &str, tone: Tone) {
        if text.is_empty() {
            return;
        }
        if self.blanks > 0 {
            self.spans.push(Span { text: " ".repeat(self.blanks), tone: Tone::Plain });
            self.blanks = 0;
        }
        self.spans.push(Span { text: text.to_owned(), tone });
    }

    fn finish(self) -> Line {
        Line { spans: self.spans, row: None }
    }
}

/// Shortens a visible text to `columns`: a sentence after a word, a name in its middle.
fn shorten(text: &str, columns: usize) -> String {
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
        let line = |line: &Line| line.spans.iter().map(|span| span.text.as_str()).collect::<String>() + "\n";
        table.lines(terminal).iter().map(line).collect()
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
    fn only_the_row_with_a_long_word_takes_a_second_line() {
        let mut table = Table::new(&[("", Align::Left), ("", Align::Left)]);
        table.push(vec!["agent".into(), "main".into()]);
        table.push(vec!["transcript".into(), format!("/{}", "x".repeat(38)).into()]);
        let expected = format!("agent       main\ntranscript\n    /{}\n", "x".repeat(38));
        assert_eq!(printed(&table, Some(44)), expected);
    }

    #[test]
    fn names_wrap_before_the_sentence_beside_them() {
        let mut table = Table::new(&[("", Align::Left), ("", Align::Names)]);
        table.push(vec![
            "one two three four five six seven eight".into(),
            "aaaaaaaa bbbbbbbb cccccccc".into(),
        ]);
        table.push(vec!["a sentence without names has the whole line".into(), "".into()]);
        let lines = [
            "one two three four five six     aaaaaaaa",
            "seven eight                     bbbbbbbb",
            "                                cccccccc",
            "a sentence without names has the whole line",
        ];
        assert_eq!(printed(&table, Some(44)).lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn a_sentence_moves_below_its_row_when_the_columns_beside_it_are_wide() {
        let mut table = Table::new(&[("", Align::Left), ("", Align::Sentence), ("entry", Align::Left)]);
        table.push(vec!["a long name of a thing".into(), "what is said of it in words".into(), "e1".into()]);
        let beside = "a long name of a thing  what is said of it in words  e1";
        assert!(printed(&table, Some(60)).contains(beside));
        let below = [
            "                        entry",
            "a long name of a thing  e1",
            "    what is said of it in words",
        ];
        assert_eq!(printed(&table, Some(40)).lines().collect::<Vec<_>>(), below);
        assert_eq!(table.lines(Some(40))[2].row, Some(0));
    }

    #[test]
    fn only_flexible_columns_shrink_on_a_narrow_terminal() {
        let mut table = Table::new(&[("text", Align::Flexible), ("tokens", Align::Right)]);
        table.push(vec!["x".repeat(80).into(), "12345".into()]);
        let text = printed(&table, Some(40));
        assert!(text.lines().all(|line| width(line) <= 40) && text.contains("12345"), "{text}");
        assert!(printed(&table, None).contains(&"x".repeat(80)));
    }

    #[test]
    fn sentences_end_at_a_word_and_names_keep_both_ends() {
        assert_eq!(shorten("every call fits", 12), "every call…");
        assert_eq!(shorten("agent:main:telegram:direct:8812", 16), "agent:ma…ct:8812");
        assert_eq!(shorten("short", 16), "short");
        assert!(width(&shorten("日本語日本語日本語日本語", 11)) <= 11);
    }
}
