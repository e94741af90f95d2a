//! The rows a message takes on the screen: its lines, wrapped or cut at a width.

use std::ops::Range;
use std::sync::Arc;

use crate::app::message_body::{BodyLine, BodyOptions, LineTone, MessageBody, TextLine};
use crate::app::wrap::{occurrences, wrap_rows};
use crate::inspect::message::MessageText;
use crate::text;

/// Lines longer than this many bytes are cut before they are made visible, where they do not wrap.
const MAX_UNWRAPPED_BYTES: usize = 4_096;

/// What rows depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViewOptions {
    /// What is shown.
    pub body_options: BodyOptions,
    /// Long lines wrap.
    pub wrap: bool,
    /// Columns for lines with their numbers: of the left side, and of the right side.
    pub columns: (usize, usize),
}

/// A message laid out.
#[derive(Debug, Clone)]
pub struct MessageLayout {
    /// The message.
    pub message: Arc<MessageText>,
    /// How it is looked at.
    pub options: ViewOptions,
    /// Its lines.
    pub body: MessageBody,
    /// The row each line starts at, and behind them the number of rows.
    row_starts: Vec<usize>,
}

impl MessageLayout {
    /// Lays a message out.
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

    /// Whether this is that message, looked at in that way.
    pub fn matches(&self, message: &Arc<MessageText>, look: ViewOptions) -> bool {
        Arc::ptr_eq(&self.message, message) && self.options == look
    }

    /// Rows in all.
    pub fn rows(&self) -> usize {
        self.row_starts.last().copied().unwrap_or(0)
    }

    /// The line at a row, and which of its rows that is.
    pub fn line_at(&self, row: usize) -> Option<(usize, usize)> {
        let line = self.row_starts.partition_point(|start| *start <= row).checked_sub(1)?;
        (line < self.body.lines.len()).then(|| (line, row - self.row_starts[line]))
    }

    /// The first row of the line with this number, or with the next one that is shown.
    pub fn row_of_number(&self, number: u32) -> Option<usize> {
        let line = self.body.lines.iter().position(|line| line.number().is_some_and(|own| own >= number))?;
        Some(self.row_starts[line])
    }

    /// Columns before the text: sign, number, and the blanks behind them.
    pub fn gutter(&self) -> usize {
        let numbers = if self.body.number_digits > 0 { self.body.number_digits.max(3) + 2 } else { 0 };
        numbers + usize::from(self.body.has_signs)
    }

    /// Columns for the text of a side.
    pub fn text_columns(&self, right: bool) -> usize {
        let columns = if right { self.options.columns.1 } else { self.options.columns.0 };
        columns.saturating_sub(self.gutter()).max(2)
    }

    /// Whether a piece goes on in the next row where it is too long.
    pub fn wraps(&self, piece: &TextLine) -> bool {
        let content = &self.body.texts[piece.text_index].kind;
        self.options.wrap || piece.tone == LineTone::Added || content.always_wraps()
    }

    /// The visible text of a piece, and its rows. A piece that does not wrap is one row, and may be longer
    /// than there are columns.
    pub fn text_line_rows(&self, piece: &TextLine, right: bool) -> (String, Vec<Range<usize>>) {
        let text = self.body.text(piece);
        if !self.wraps(piece) {
            let shown = text::visible(truncate_bytes(text, MAX_UNWRAPPED_BYTES)).into_owned();
            let whole = 0..shown.len();
            return (shown, vec![whole]);
        }
        let shown = text::visible(text).into_owned();
        let rows = wrap_rows(&shown, self.text_columns(right));
        (shown, rows)
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
        wrap_rows(&text::visible(text), self.text_columns(right)).len()
    }

    /// The rows that hold the words, top down, each once.
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
        let visible = text::visible(self.body.text(piece));
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

/// Plain letters that take a column each, and fit.
fn is_short(text: &str, columns: usize) -> bool {
    text.len() <= columns && text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

/// The first bytes of a text, up to the start of a character.
pub fn truncate_bytes(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}
