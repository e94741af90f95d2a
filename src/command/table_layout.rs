//! Fits the columns of a table into a terminal: the widest texts shrink first, then less important columns are left out,
//! and at last columns move to a second line below their row.

use crate::text::{truncate, width};

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
