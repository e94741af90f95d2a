//! The screen rows of a message: its lines, wrapped or cut at a width. Only row offsets are kept; the text of a line
//! is formatted when it is drawn.

use std::ops::Range;
use std::sync::Arc;

use unicode_segmentation::UnicodeSegmentation;

use crate::app::message_body::{BodyLine, BodyOptions, LineTone, MessageBody, TextLine};
use crate::session::message::MessageText;
use crate::text;

/// The most bytes of an unwrapped line that are formatted: the rest is off the screen.
const MAX_UNWRAPPED_BYTES: usize = 4_096;

/// The inputs of a layout; equal options give equal rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViewOptions {
    pub body_options: BodyOptions,
    /// Whether long lines wrap.
    pub wrap: bool,
    /// Columns of the left and the right side, including line numbers.
    pub columns: (usize, usize),
}

/// A message with the row offsets of its lines.
#[derive(Debug, Clone)]
pub struct MessageLayout {
    pub message: Arc<MessageText>,
    pub options: ViewOptions,
    pub body: MessageBody,
    /// The first row of each line, and the total at the end.
    row_starts: Vec<usize>,
}

impl MessageLayout {
    pub fn new(message: &Arc<MessageText>, look: ViewOptions) -> Self {
        let body = MessageBody::new(message, look.body_options);
        let mut shown = Self { message: Arc::clone(message), options: look, body, row_starts: Vec::new() };
        let mut starts = Vec::with_capacity(shown.body.lines.len() + 1);
        let mut next = 0;
        for line in &shown.body.lines {
            starts.push(next);
            next += shown.line_height(line);
        }
        starts.push(next);
        shown.row_starts = starts;
        shown
    }

    /// Whether this is the layout of `message` under the same options.
    pub fn matches(&self, message: &Arc<MessageText>, look: ViewOptions) -> bool {
        Arc::ptr_eq(&self.message, message) && self.options == look
    }

    pub fn rows(&self) -> usize {
        self.row_starts.last().copied().unwrap_or(0)
    }

    /// Returns the line at a row, and the row's index within the line.
    pub fn line_at(&self, row: usize) -> Option<(usize, usize)> {
        let line = self.row_starts.partition_point(|start| *start <= row).checked_sub(1)?;
        (line < self.body.lines.len()).then(|| (line, row - self.row_starts[line]))
    }

    /// Returns the first row of the line with this number, or of the next numbered line.
    pub fn row_of_number(&self, number: u32) -> Option<usize> {
        let line = self.body.lines.iter().position(|line| line.number().is_some_and(|own| own >= number))?;
        Some(self.row_starts[line])
    }

    /// Columns before the text: sign, number and the blanks after them.
    pub fn gutter(&self) -> usize {
        let numbers = if self.body.number_digits > 0 { self.body.number_digits.max(3) + 2 } else { 0 };
        numbers + usize::from(self.body.has_signs)
    }

    /// Columns of the text on a side.
    pub fn text_columns(&self, right: bool) -> usize {
        let columns = if right { self.options.columns.1 } else { self.options.columns.0 };
        columns.saturating_sub(self.gutter()).max(2)
    }

    /// Whether a long line continues in the next row.
    pub fn wraps(&self, piece: &TextLine) -> bool {
        let content = &self.body.texts[piece.text_index].kind;
        self.options.wrap || piece.tone == LineTone::Added || content.always_wraps()
    }

    /// Returns the visible text of a line and its rows. A line that does not wrap is one row, may be wider than the
    /// screen, and is cut some way beyond `left` hidden columns.
    pub fn text_line_rows(&self, piece: &TextLine, right: bool, left: usize) -> (String, Vec<Range<usize>>) {
        if !self.wraps(piece) {
            let shown = self.body.visible_before(piece, formatted_bytes(left)).into_owned();
            let whole = 0..shown.len();
            return (shown, vec![whole]);
        }
        let shown = self.body.visible(piece).into_owned();
        let rows = wrap_rows(&shown, self.text_columns(right));
        (shown, rows)
    }

    /// Returns how many columns of some rows lie beyond a side, at most a screen beyond `reach`.
    pub fn columns_beyond(&self, rows: Range<usize>, reach: usize) -> usize {
        let beyond = |piece: &TextLine, right: bool| {
            if self.wraps(piece) {
                return 0;
            }
            let shown = self.body.visible_before(piece, formatted_bytes(reach));
            text::width(&shown).saturating_sub(self.text_columns(right))
        };
        let line = |row: usize| match self.body.lines.get(self.line_at(row)?.0)? {
            BodyLine::Single(piece) => Some(beyond(piece, false)),
            BodyLine::SideBySide(one, two) => {
                let one = one.as_ref().map_or(0, |piece| beyond(piece, false));
                Some(one.max(two.as_ref().map_or(0, |piece| beyond(piece, true))))
            }
            _ => None,
        };
        rows.filter_map(line).max().unwrap_or(0)
    }

    /// Returns the columns of the first match in a row that does not wrap, and the columns of the text on the screen.
    pub fn match_columns(&self, row: usize, words: &str) -> Option<(Range<usize>, usize)> {
        let BodyLine::Single(piece) = self.body.lines.get(self.line_at(row)?.0)? else { return None };
        if self.wraps(piece) {
            return None;
        }
        let visible = self.body.visible(piece);
        let found = occurrences(&visible, words).into_iter().next()?;
        let (from, to) = (text::width(&visible[..found.start]), text::width(&visible[..found.end]));
        Some((from..to, self.text_columns(false)))
    }

    fn line_height(&self, line: &BodyLine) -> usize {
        let side = |piece: &Option<TextLine>, right| {
            piece.as_ref().map_or(1, |piece| self.text_line_height(piece, right))
        };
        match line {
            BodyLine::Single(piece) => self.text_line_height(piece, false),
            BodyLine::SideBySide(left, right) => side(left, false).max(side(right, true)),
            _ => 1,
        }
    }

    fn text_line_height(&self, piece: &TextLine, right: bool) -> usize {
        let text = self.body.text(piece);
        if !self.wraps(piece) || is_short(text, self.text_columns(right)) {
            return 1;
        }
        wrap_rows(&self.body.visible(piece), self.text_columns(right)).len()
    }

    /// Whether the first of the words in a row is beyond the right edge, because the line does not wrap.
    pub fn is_cut_off(&self, row: usize, words: &str) -> bool {
        let Some((line, _)) = self.line_at(row) else { return false };
        let BodyLine::Single(piece) = &self.body.lines[line] else { return false };
        if self.wraps(piece) {
            return false;
        }
        let visible = self.body.visible(piece);
        let hit = occurrences(&visible, words).into_iter().next();
        hit.is_some_and(|hit| text::width(&visible[..hit.end]) > self.text_columns(false))
    }

    /// Returns the rows that contain the words, sorted and without duplicates.
    pub fn find(&self, words: &str) -> Vec<usize> {
        let mut found = Vec::new();
        for (at, line) in self.body.lines.iter().enumerate() {
            let (one, two) = match line {
                BodyLine::Single(piece) => (Some(piece), None),
                BodyLine::SideBySide(left, right) => (left.as_ref(), right.as_ref()),
                _ => continue,
            };
            let hits = one.map(|piece| (piece, false)).into_iter().chain(two.map(|piece| (piece, true)));
            for (piece, right) in hits {
                self.find_in_line(at, piece, right, words, &mut found);
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn find_in_line(&self, line: usize, piece: &TextLine, right: bool, words: &str, found: &mut Vec<usize>) {
        let visible = self.body.visible(piece);
        let hits = occurrences(&visible, words);
        if hits.is_empty() {
            return;
        }
        if !self.wraps(piece) {
            found.push(self.row_starts[line]);
            return;
        }
        let rows = wrap_rows(&visible, self.text_columns(right));
        let row_of =
            |hit: &Range<usize>| rows.partition_point(|row| row.start <= hit.start).saturating_sub(1);
        found.extend(hits.iter().map(|hit| self.row_starts[line] + row_of(hit)));
    }
}

/// Bytes of an unwrapped line that are formatted with some columns hidden on its left.
fn formatted_bytes(left: usize) -> usize {
    MAX_UNWRAPPED_BYTES.saturating_add(left.saturating_mul(4))
}

/// Whether the text is printable ASCII and fits, so that it needs no wrapping.
fn is_short(text: &str, columns: usize) -> bool {
    text.len() <= columns && text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

// Wraps long lines and finds words in them. Both work on visible text ([`crate::text::visible`]), return byte ranges
// and take one pass for a line of any length.

/// Returns the rows of a visible line, each at most `columns` wide and broken at blanks where possible. The blank at
/// a break belongs to no row. Never empty.
pub fn wrap_rows(line: &str, columns: usize) -> Vec<Range<usize>> {
    let columns = columns.max(2);
    if line.len() <= columns {
        return std::iter::once(0..line.len()).collect();
    }
    let mut walk =
        LineWrapper { line, columns, row_start: 0, used_columns: 0, last_blank: None, rows: Vec::new() };
    if line.is_ascii() {
        (0..line.len()).for_each(|at| walk.push_char(at, 1, line.as_bytes()[at] == b' '));
    } else {
        for (at, cluster) in line.grapheme_indices(true) {
            walk.push_char(at, text::width(cluster), cluster == " ");
        }
    }
    walk.rows.push(walk.row_start..line.len());
    walk.rows
}

struct LineWrapper<'a> {
    line: &'a str,
    columns: usize,
    /// Start of the current row, in bytes.
    row_start: usize,
    used_columns: usize,
    /// The last blank after a non-blank in the current row: its byte, and the columns up to and including it.
    last_blank: Option<(usize, usize)>,
    rows: Vec<Range<usize>>,
}

impl LineWrapper<'_> {
    fn push_char(&mut self, at: usize, width: usize, blank: bool) {
        if self.used_columns + width > self.columns {
            self.end_row(at, blank);
            if blank {
                return;
            }
        }
        if blank && !self.line[self.row_start..at].trim_start_matches(' ').is_empty() {
            self.last_blank = Some((at, self.used_columns + width));
        }
        self.used_columns += width;
    }

    /// Ends the current row before the char at `at`: at `at` if it is a blank, otherwise at the last blank, otherwise
    /// inside the word.
    fn end_row(&mut self, at: usize, blank: bool) {
        let (end, next, carried) = match self.last_blank {
            _ if blank => (at, at + 1, 0),
            Some((space, columns)) => (space, space + 1, self.used_columns - columns),
            None => (at, at, 0),
        };
        self.rows.push(self.row_start..end);
        (self.row_start, self.used_columns, self.last_blank) = (next, carried, None);
    }
}

/// Returns the occurrences of the words in a visible line. Ignores case unless the words contain a capital.
pub fn occurrences(line: &str, words: &str) -> Vec<Range<usize>> {
    if words.is_empty() {
        return Vec::new();
    }
    let exact = words.chars().any(char::is_uppercase);
    let lower = if exact { line.to_owned() } else { fold_case(line) };
    lower.match_indices(words).map(|(at, found)| at..at + found.len()).collect()
}

/// Lowercases the chars whose length in bytes stays the same, so that byte ranges remain valid.
fn fold_case(line: &str) -> String {
    let small = |char: char| {
        let mut lower = char.to_lowercase();
        lower
            .next()
            .filter(|small| lower.next().is_none() && small.len_utf8() == char.len_utf8())
            .unwrap_or(char)
    };
    line.chars().map(small).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(line: &str, columns: usize) -> Vec<&str> {
        wrap_rows(line, columns).into_iter().map(|row| &line[row]).collect()
    }

    #[test]
    fn rows_break_at_blanks_and_long_words_at_the_edge() {
        assert_eq!(texts("the first and last", 9), ["the first", "and last"]);
        assert_eq!(texts("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(texts("ab cdefgh", 4), ["ab", "cdef", "gh"]);
        assert_eq!(texts("", 4), [""]);
    }

    #[test]
    fn wrapping_keeps_indentation_and_whole_wide_characters() {
        assert_eq!(texts("    abc", 5), ["    a", "bc"]);
        assert_eq!(texts("树莓派好", 5), ["树莓", "派好"]);
    }

    #[test]
    fn search_ignores_case_unless_the_word_has_a_capital() {
        assert_eq!(occurrences("Error: error", "error"), [0..5, 7..12]);
        assert_eq!(occurrences("Error: error", "Error").first(), Some(&(0..5)));
        assert_eq!(occurrences("İx", "x").first(), Some(&(2..3)));
        assert!(occurrences("abc", "").is_empty());
    }

    #[test]
    fn a_line_of_a_megabyte_wraps_in_one_pass() {
        let line = "x".repeat(1 << 20);
        assert_eq!(wrap_rows(&line, 32).len(), 1 << 15);
        let line = "树".repeat(1 << 16);
        assert_eq!(wrap_rows(&line, 32).len(), 1 << 12);
    }

    proptest! {
        #[test]
        fn wrapped_rows_fit_and_lose_only_blanks(line in "[a-c 树é]{0,80}", columns in 2_usize..20) {
            let rows = wrap_rows(&line, columns);
            for row in &rows {
                prop_assert!(text::width(&line[row.clone()]) <= columns);
            }
            let joined: String = rows.iter().map(|row| &line[row.clone()]).collect();
            prop_assert_eq!(joined.replace(' ', ""), line.replace(' ', ""));
            prop_assert!(rows.windows(2).all(|pair| pair[1].start - pair[0].end <= 1));
        }
    }
}
