//! Fits the columns of a table into a page: less important columns are left out before a sentence wraps, then the widest
//! texts shrink, and at last columns move to a second line below their row.

use super::Cell;
use crate::text::width;

/// Columns that a shortened text keeps.
const MIN_FLEXIBLE: usize = 24;

/// Columns that a shortened text keeps if nothing else helps.
const MIN_NARROW: usize = 10;

/// Columns that a wrapped text keeps.
const MIN_WRAPPED: usize = 12;

/// The part of the page that a sentence needs beside the other columns: three fifths.
const SENTENCE_SHARE: (usize, usize) = (3, 5);

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
    /// The same, before those of other columns.
    WrapsFirst { longest_word: usize },
    /// Its cells wrap at blanks, or move below their rows.
    Moves { longest_word: usize },
    /// Its cells are shortened.
    Shortens,
}

/// A column before it is fitted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    /// Its widest cell.
    pub(super) natural: usize,
    pub(super) shrink: Shrink,
    /// Rank in which it is left out, from 0; `None` stays.
    pub(super) dropped: Option<usize>,
}

/// The fitted table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    /// Width of each column; 0 for a column that is left out.
    pub(super) widths: Vec<usize>,
    /// The first column of the second line; the number of columns without a second line.
    pub(super) stacked_from: usize,
    /// The column of sentences below their rows, whose width above is 0, and its columns there.
    pub(super) below: Option<(usize, usize)>,
}

/// Fits columns into `terminal` columns; `None` keeps the natural widths.
pub(super) fn fit(columns: &[Column], terminal: Option<usize>) -> Layout {
    let natural: Vec<usize> = columns.iter().map(|column| column.natural).collect();
    let Some(terminal) = terminal else {
        return Layout { widths: natural, stacked_from: columns.len(), below: None };
    };
    let mut widths: Vec<usize> = natural.iter().map(|width| (*width).min(terminal)).collect();
    let mut droppable: Vec<usize> = (0..columns.len()).filter(|at| columns[*at].dropped.is_some()).collect();
    droppable.sort_by_key(|at| columns[*at].dropped);
    for at in droppable {
        let mut tried = widths.clone();
        shrink(columns, &mut tried, terminal, |column| match column.shrink {
            Shrink::Shortens => MIN_FLEXIBLE,
            _ => usize::MAX,
        });
        if total(&tried) > terminal {
            widths[at] = 0;
        }
    }
    shrink(columns, &mut widths, terminal, |column| match column.shrink {
        Shrink::WrapsFirst { .. } => column.least(),
        _ => usize::MAX,
    });
    let before = widths.clone();
    shrink(columns, &mut widths, terminal, Column::least);
    let below = moved_sentence(columns, &widths, terminal);
    if let Some((at, _)) = below {
        widths = before;
        widths[at] = 0;
        shrink(columns, &mut widths, terminal, Column::least);
    }
    let stacked_from = (1..=columns.len()).rev().find(|end| total(&widths[..*end]) <= terminal).unwrap_or(1);
    let room = terminal.saturating_sub(STACK_INDENT);
    for (width, natural) in
        widths.iter_mut().zip(&natural).skip(stacked_from).filter(|(width, _)| **width > 0)
    {
        *width = (*natural).min(room);
    }
    if total(&widths[stacked_from..]) > room {
        shrink(&columns[stacked_from..], &mut widths[stacked_from..], room, Column::least);
    }
    Layout { widths, stacked_from, below }
}

/// Returns the column of sentences that has too little room beside the others, and its columns on lines of their own.
fn moved_sentence(columns: &[Column], widths: &[usize], terminal: usize) -> Option<(usize, usize)> {
    let (share, of) = SENTENCE_SHARE;
    let is_moved = |at: &usize| {
        matches!(columns[*at].shrink, Shrink::Moves { .. })
            && widths[*at] < columns[*at].natural
            && widths[*at] * of < terminal * share
    };
    let at = (0..columns.len()).find(is_moved)?;
    Some((at, columns[at].natural.min(terminal.saturating_sub(STACK_INDENT))))
}

impl Layout {
    /// Returns the layout for those rows of two stacked columns whose values fit beside their names.
    pub(super) fn of_pairs(&self, columns: &[Column], terminal: usize) -> Option<Self> {
        let [name, _] = columns else { return None };
        let beside = terminal.checked_sub(name.natural + COLUMN_GAP).filter(|room| *room >= MIN_WRAPPED)?;
        (self.stacked_from == 1).then(|| Self {
            widths: vec![name.natural, beside],
            stacked_from: 2,
            below: None,
        })
    }

    /// Whether no word of a row is longer than its column.
    pub(super) fn fit_words(&self, cells: &[Cell]) -> bool {
        let longest = |cell: &Cell| cell.lead_width() + cell.text.split(' ').map(width).max().unwrap_or(0);
        cells.iter().zip(&self.widths).all(|(cell, columns)| longest(cell) <= *columns)
    }
}

/// Width of the columns with the gaps between them.
pub(super) fn total(widths: &[usize]) -> usize {
    let shown = widths.iter().filter(|width| **width > 0).count();
    widths.iter().sum::<usize>() + COLUMN_GAP * shown.saturating_sub(1)
}

impl Column {
    /// Returns the columns that it keeps if nothing else helps.
    fn least(&self) -> usize {
        match self.shrink {
            Shrink::Fixed => usize::MAX,
            Shrink::Wraps { longest_word }
            | Shrink::WrapsFirst { longest_word }
            | Shrink::Moves { longest_word } => longest_word.max(MIN_WRAPPED),
            Shrink::Shortens => MIN_NARROW,
        }
    }
}

/// Takes columns from the widest text until the table fits or no text can shrink.
fn shrink(columns: &[Column], widths: &mut [usize], terminal: usize, least: impl Fn(&Column) -> usize) {
    while total(widths) > terminal {
        let can = |at: &usize| widths[*at] > least(&columns[*at]);
        let Some(at) = (0..widths.len()).filter(can).max_by_key(|at| (widths[*at], *at)) else { return };
        widths[at] -= 1;
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(
            fit(&[NUMBER, time, NUMBER], Some(30)),
            Layout { widths: vec![7, 0, 7], stacked_from: 3, below: None }
        );
        let fixed = Column { natural: 40, ..NUMBER };
        let layout = fit(&[fixed, NUMBER, WORDS], Some(52));
        assert_eq!(layout, Layout { widths: vec![40, 7, 48], stacked_from: 2, below: None });
    }
}
