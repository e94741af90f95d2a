//! A document on a screen of its own: a cursor over its rows, and headings that fold.

use std::collections::BTreeSet;

use ratatui::layout::Rect;

use crate::app::action::Action;
use crate::app::screens::context::Outcome;
use crate::app::scroll::Scroll;
use crate::doc::{Doc, Line, Row};

#[derive(Debug, Clone, Default)]
pub struct DocPage {
    pub doc: Doc,
    /// The headings whose rows are hidden.
    pub folded: BTreeSet<String>,
    /// The row under the cursor.
    pub selected: usize,
    /// First visible line.
    pub top: usize,
}

/// Columns and lines that a page has for its document.
#[derive(Debug, Clone, Copy)]
pub struct PageSize {
    pub columns: usize,
    pub lines: usize,
}

/// Columns beside the lines of a page: signs of folds at its left, the scrollbar at its right.
pub const MARGIN: u16 = 4;

impl PageSize {
    /// Returns the room of a page below its title line.
    pub(super) fn new(area: Rect) -> Self {
        let columns = usize::from(area.width.saturating_sub(MARGIN));
        Self { columns, lines: usize::from(area.height.saturating_sub(1)) }
    }
}

impl DocPage {
    pub fn lines(&self, columns: usize) -> Vec<Line> {
        self.doc.list(columns, &self.folded)
    }

    pub fn row(&self) -> Option<&Row> {
        self.doc.rows().nth(self.selected)
    }

    /// Shows another state of the document; the cursor stays on the row with its name.
    pub fn set_doc(&mut self, doc: Doc, size: PageSize) {
        let name = self.row().map(|row| row.title().to_owned());
        self.doc = doc;
        // Several rows may share a name, so the cursor moves only if its row has another name now.
        if self.row().map(Row::title) != name.as_deref()
            && let Some(at) = self.doc.rows().position(|row| Some(row.title()) == name.as_deref())
        {
            self.selected = at;
        }
        self.move_by(0, size);
    }

    /// Moves the cursor over the visible rows.
    pub fn move_by(&mut self, by: isize, size: PageSize) {
        let lines = self.lines(size.columns);
        let mut rows: Vec<usize> = lines.iter().filter_map(|line| line.row).collect();
        rows.dedup();
        let now = rows.partition_point(|row| *row <= self.selected).saturating_sub(1);
        let to = now.saturating_add_signed(by).min(rows.len().saturating_sub(1));
        self.selected = rows.get(to).copied().unwrap_or(0);
        // The sentences above the first row and the heads of its columns belong to it.
        let first = lines.iter().position(|line| line.row == Some(self.selected)).filter(|_| to > 0);
        let mut scroll = Scroll { cursor: first.unwrap_or(0), top: self.top };
        scroll.keep_visible(lines.len(), size.lines);
        self.top = scroll.top;
    }

    pub fn on_action(&mut self, action: Action, size: PageSize) -> Outcome {
        match action {
            Action::Open => match self.row().and_then(|row| row.entry) {
                Some(entry) => return Outcome::GoTo(entry),
                None => self.fold(None),
            },
            Action::Copy => return Outcome::copy(self.row().map(Row::text), "line"),
            Action::Fold => self.fold(None),
            Action::Left => self.fold(Some(true)),
            Action::Right => self.fold(Some(false)),
            Action::Less => self.fold_all(true),
            Action::More => self.fold_all(false),
            _ => return Outcome::Ignored,
        }
        self.move_by(0, size);
        Outcome::Done
    }

    /// Selects the row of a line of the page, or opens it if it is selected.
    pub fn on_click(&mut self, line: usize, size: PageSize) -> Outcome {
        if self.select_line(line, size) { self.on_action(Action::Open, size) } else { Outcome::Done }
    }

    /// Selects the row of a line of the page; returns whether it was selected before.
    pub fn select_line(&mut self, line: usize, size: PageSize) -> bool {
        let row = self.lines(size.columns).get(self.top + line).and_then(|line| line.row);
        row.is_some_and(|row| std::mem::replace(&mut self.selected, row) == row)
    }

    /// Folds or unfolds the heading of the cursor's row, which becomes the selected one when it folds; `None` toggles.
    fn fold(&mut self, is_folded: Option<bool>) {
        let rows: Vec<&Row> = self.doc.rows().take(self.selected + 1).collect();
        let Some(at) = rows.iter().rposition(|row| row.is_heading) else { return };
        let title = rows[at].title().to_owned();
        if is_folded.unwrap_or(!self.folded.contains(&title)) {
            self.folded.insert(title);
            self.selected = at;
        } else {
            self.folded.remove(&title);
        }
    }

    fn fold_all(&mut self, is_folded: bool) {
        let titles = self.doc.rows().filter(|row| row.is_heading).map(|row| row.title().to_owned());
        self.folded = if is_folded { titles.collect() } else { BTreeSet::new() };
    }
}
