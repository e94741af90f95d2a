//! The screen rows of a message: its lines, wrapped or cut at a width. Only row offsets are kept; the text of a line
//! is formatted when it is drawn.

use std::ops::Range;
use std::sync::Arc;

use crate::app::message_body::{BodyLine, BodyOptions, LineTone, MessageBody, TextLine};
use crate::app::wrap::{occurrences, wrap_rows};
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
