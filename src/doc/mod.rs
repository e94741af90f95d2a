//! A document: what a report says, written once. A command prints its lines and a screen draws them, so both say the same
//! in the same columns.

mod columns;
pub mod markdown;
mod table;
mod wrap;

pub use table::{Align, Row, Table};
pub use wrap::{wrap_line, wrap_words};

use std::collections::BTreeSet;

use crate::context::budget::BudgetPart;
use crate::text::visible;

/// The meaning of a text. Colour is never the only sign of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    #[default]
    Plain,
    /// A heading or the main number.
    Strong,
    Dim,
    Good,
    Warning,
    Bad,
    /// Shortened by a plan.
    Trimmed,
    /// Cleared by a plan.
    Cleared,
    /// A bar of a part of the window, in the part's colour.
    Part(BudgetPart),
}

/// A visible text of one tone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub text: String,
    pub tone: Tone,
}

/// One line of a document at a width.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    pub spans: Vec<Span>,
    /// The row of a table that it belongs to, counted over the document; `None` for headings and sentences.
    pub row: Option<usize>,
}

/// A cell: a text, and perhaps a sign before it that stays on its first line.
#[derive(Debug, Clone)]
pub struct Cell {
    lead: Option<Span>,
    text: String,
    tone: Tone,
}

impl Cell {
    pub fn new(text: &str, tone: Tone) -> Self {
        Self { lead: None, text: visible(text).into_owned(), tone }
    }

    /// Puts a sign before the text.
    #[must_use]
    pub fn after_sign(self, sign: &str, tone: Tone) -> Self {
        Self { lead: Some(Span { text: visible(sign).into_owned(), tone }), ..self }
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text.as_ref(), Tone::Plain)
    }
}

/// A part of a document.
#[derive(Debug, Clone)]
enum Block {
    Gap,
    Sentence(Tone, String),
    Table(Table),
}

/// A headline, and below it sentences and tables from top to bottom.
#[derive(Debug, Clone, Default)]
pub struct Doc {
    /// The answer in one sentence; a folded document shows only this.
    pub headline: String,
    blocks: Vec<Block>,
}

impl Doc {
    pub fn new(headline: String) -> Self {
        Self { headline, blocks: Vec::new() }
    }

    pub fn gap(&mut self) {
        self.blocks.push(Block::Gap);
    }

    /// Adds a sentence, which wraps at words.
    pub fn say(&mut self, tone: Tone, text: &str) {
        self.blocks.push(Block::Sentence(tone, text.to_owned()));
    }

    pub fn table(&mut self, table: Table) {
        self.blocks.push(Block::Table(table));
    }

    /// Returns the rows of all tables, in the order in which [`Line::row`] counts them.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.blocks.iter().flat_map(|block| match block {
            Block::Table(table) => table.rows(),
            Block::Gap | Block::Sentence(..) => &[],
        })
    }

    /// Returns the lines below the headline at a width in columns; `None` leaves every line whole.
    pub fn lines(&self, width: Option<usize>) -> Vec<Line> {
        self.lines_of(|table| table.lines(width), width)
    }

    /// Returns the lines below the headline as text.
    pub fn text(&self) -> String {
        let text = |line: Line| line.spans.into_iter().map(|span| span.text).collect::<String>() + "\n";
        self.lines(None).into_iter().map(text).collect()
    }

    /// Returns the lines without those below rows, and without the rows below folded headings.
    pub fn list(&self, width: usize, folded: &BTreeSet<String>) -> Vec<Line> {
        self.lines_of(|table| table.list(width, folded), Some(width))
    }

    fn lines_of(&self, rows_of: impl Fn(&Table) -> Vec<Line>, width: Option<usize>) -> Vec<Line> {
        let (mut lines, mut rows) = (Vec::new(), 0);
        for block in &self.blocks {
            match block {
                Block::Gap => lines.push(Line::default()),
                Block::Sentence(tone, text) => lines.extend(sentence(*tone, text, width)),
                Block::Table(table) => {
                    let own = rows_of(table).into_iter();
                    lines.extend(own.map(|line| Line { row: line.row.map(|row| row + rows), ..line }));
                    rows += table.rows().len();
                }
            }
        }
        lines
    }
}

fn sentence(tone: Tone, text: &str, width: Option<usize>) -> impl Iterator<Item = Line> {
    let lines = width.map_or_else(|| vec![visible(text).into_owned()], |columns| wrap_line(text, columns));
    lines.into_iter().map(move |text| Line { spans: vec![Span { text, tone }], row: None })
}
