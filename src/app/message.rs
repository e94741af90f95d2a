//! The message pane: the text of the entry under the transcript's cursor, its view options and its scroll position.
//! The pane computes its layout without drawing, so that keys know where scrolling ends.

use std::sync::Arc;

use crate::app::layout::{Pane, WidthClass};
use crate::app::message_body::BodyOptions;
use crate::app::message_header::{HeaderLine, header_lines};
use crate::app::message_layout::{MessageLayout, ViewOptions};
use crate::app::state::App;
use crate::ids::EntryIx;
use crate::session::message::MessageText;

/// Columns of the facts beside a full-screen message.
pub const FACTS_COLUMNS: usize = 30;
/// The widest text, in columns: longer lines are hard to read on a wide screen.
const MAX_TEXT_COLUMNS: usize = 100;

/// The view of a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MessageView {
    /// The parts of the message.
    #[default]
    Text,
    /// Before and after the plan, side by side when there is room.
    Diff,
    /// The entry's JSON as stored in the file.
    Raw,
}

#[derive(Debug, Clone, Default)]
pub struct MessagePane {
    /// The requested entry.
    pub requested: Option<EntryIx>,
    /// The message, once it is read.
    pub text: Option<Arc<MessageText>>,
    /// Why reading it failed.
    pub error: Option<String>,
    pub view: MessageView,
    /// Whether the full screen shows the text instead of the diff of a changed message.
    pub hide_diff: bool,
    /// First visible row.
    pub top: usize,
    /// Whether long lines wrap.
    pub wrap: bool,
    pub hide_thinking: bool,
    /// Whether the folded cut of a diff is unfolded.
    pub unfold: bool,
    /// The searched words.
    pub query: String,
    /// The current match of the search.
    pub current_match: Option<SearchMatch>,
    /// The last layout, valid for one message and one set of view options.
    layout: Option<Arc<MessageLayout>>,
}

/// A row that contains the searched words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchMatch {
    /// Index among the matches, from 0.
    pub index: usize,
    /// The number of matches.
    pub count: usize,
    pub row: usize,
}

/// The space for the message: columns inside the edges of the pane, rows below its title line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageArea {
    pub columns: usize,
    pub rows: usize,
    /// Whether it takes the whole screen.
    pub zoom: bool,
}

/// The pane at its current size.
#[derive(Debug, Clone)]
pub struct MessageScreen {
    pub area: MessageArea,
    /// Lines above the text.
    pub header: Vec<HeaderLine>,
    pub layout: Arc<MessageLayout>,
    /// Rows for the text.
    pub body_rows: usize,
    /// Whether a row with keys is below the text.
    pub has_footer: bool,
}

impl MessagePane {
    /// Requests another entry's text, and resets scroll, folds and search when the entry changes.
    pub fn request(&mut self, entry: EntryIx) {
        if self.requested != Some(entry) {
            self.requested = Some(entry);
            (self.top, self.unfold, self.current_match) = (0, false, None);
        }
    }

    /// Stores the requested text, or why reading it failed.
    pub fn set_text(&mut self, text: Result<Arc<MessageText>, String>) {
        self.current_match = None;
        match text {
            Ok(text) => (self.text, self.error) = (Some(text), None),
            Err(error) => (self.text, self.error) = (None, Some(error)),
        }
    }

    /// Returns an empty pane with the same wrap and thinking options.
    #[must_use]
    pub fn cleared(&self) -> Self {
        Self { wrap: self.wrap, hide_thinking: self.hide_thinking, ..Self::default() }
    }

    /// Returns the view in effect: a changed message on the full screen is a diff unless `hide_diff` is set, and the
    /// diff of an unchanged message is its text.
    pub fn effective_view(&self, zoom: bool) -> MessageView {
        let changes = self.text.as_ref().is_some_and(|text| text.planned_text.is_some());
        match self.view {
            MessageView::Raw => MessageView::Raw,
            MessageView::Diff if changes => MessageView::Diff,
            MessageView::Text if zoom && changes && !self.hide_diff => MessageView::Diff,
            _ => MessageView::Text,
        }
    }

    /// Switches to a view and scrolls to its top.
    pub fn show(&mut self, view: MessageView) {
        (self.view, self.hide_diff, self.top) = (view, false, 0);
    }

    pub fn toggle_diff(&mut self, zoom: bool) {
        let on = self.effective_view(zoom) != MessageView::Diff;
        self.view = if on { MessageView::Diff } else { MessageView::Text };
        self.hide_diff = !on;
        self.top = 0;
    }

    pub fn toggle_raw(&mut self) {
        self.view = if self.view == MessageView::Raw { MessageView::Text } else { MessageView::Raw };
        self.top = 0;
    }

    /// Toggles wrapping; the line at the top stays there.
    pub fn toggle_wrap(&mut self, room: MessageArea) {
        self.change_keeping_line(room, |pane| pane.wrap = !pane.wrap);
    }

    pub fn toggle_thinking(&mut self, room: MessageArea) {
        self.change_keeping_line(room, |pane| pane.hide_thinking = !pane.hide_thinking);
    }

    /// Toggles the fold of removed lines.
    pub fn toggle_unfold(&mut self, room: MessageArea) {
        self.change_keeping_line(room, |pane| pane.unfold = !pane.unfold);
    }

    /// Applies a change of options and keeps the line number at the top.
    fn change_keeping_line(&mut self, room: MessageArea, change: impl FnOnce(&mut Self)) {
        let number = |shown: &MessageLayout, row: usize| {
            shown.line_at(row).and_then(|(line, _)| shown.body.next_number(line))
        };
        let before = self.layout(room).and_then(|shown| number(&shown, self.top));
        change(self);
        let Some(shown) = self.layout(room) else { return };
        let row = before.filter(|_| self.top > 0).and_then(|number| shown.row_of_number(number));
        self.top = row.unwrap_or(self.top).min(shown.rows().saturating_sub(1));
        self.current_match = None;
        self.layout = Some(shown);
    }

    /// Whether the facts are beside the text: on the full screen from 100 columns (98 inside the edges).
    pub fn has_side_facts(&self, room: MessageArea) -> bool {
        room.zoom && room.columns >= 98
    }

    fn view_options(&self, room: MessageArea) -> ViewOptions {
        let view = self.effective_view(room.zoom);
        let wide = self.has_side_facts(room);
        let two = wide && view == MessageView::Diff;
        let beside = if wide { room.columns.saturating_sub(FACTS_COLUMNS + 2) } else { room.columns };
        let columns = if two {
            // Each side loses its hairline, two blanks and the scrollbar's column.
            let right = (room.columns + 2 - FACTS_COLUMNS) / 2;
            (room.columns + 2 - FACTS_COLUMNS - right - 3, right - 3)
        } else {
            (beside.min(MAX_TEXT_COLUMNS), 0)
        };
        let form = BodyOptions {
            view,
            side_by_side: two,
            show_end: wide,
            hide_thinking: self.hide_thinking,
            unfold: self.unfold,
        };
        ViewOptions { body_options: form, wrap: self.wrap, columns }
    }

    /// Returns the layout for this area; `None` before the message is read.
    pub fn layout(&self, room: MessageArea) -> Option<Arc<MessageLayout>> {
        let (text, look) = (self.text.as_ref()?, self.view_options(room));
        let known = self.layout.as_ref().filter(|shown| shown.matches(text, look));
        Some(known.map_or_else(|| Arc::new(MessageLayout::new(text, look)), Arc::clone))
    }

    /// Stores the layout for this area, so that drawing formats only the visible rows.
    pub fn update_layout(&mut self, room: MessageArea) {
        let shown = self.layout(room);
        let same = matches!((&self.layout, &shown), (Some(old), Some(new)) if Arc::ptr_eq(old, new));
        if !same {
            // The current match is a row of the old layout.
            self.current_match = None;
        }
        self.layout = shown;
    }

    pub fn scroll_by(&mut self, by: isize, height: usize, rows: usize) {
        self.top = self.top.saturating_add_signed(by).min(rows.saturating_sub(height));
    }

    /// Moves to the next match after the top, or the previous one before it, wrapping at the ends.
    fn go_to_match(&mut self, forward: bool, height: usize, shown: &MessageLayout) {
        let rows = shown.find(&self.query);
        let Some(last) = rows.len().checked_sub(1) else {
            self.current_match = None;
            return;
        };
        let next = match (
            self.current_match.filter(|found| found.count == rows.len()).map(|found| found.index),
            forward,
        ) {
            (Some(at), true) if at == last => 0,
            (Some(at), true) => at + 1,
            (Some(at), false) => at.checked_sub(1).unwrap_or(last),
            (None, true) => rows.iter().position(|row| *row >= self.top).unwrap_or(0),
            (None, false) => rows.iter().rposition(|row| *row < self.top).unwrap_or(last),
        };
        let row = rows[next];
        self.current_match = Some(SearchMatch { index: next, count: rows.len(), row });
        if row < self.top || row >= self.top + height {
            let third = row.saturating_sub(height / 3);
            self.top = third.min(shown.rows().saturating_sub(height));
        }
    }
}

impl App {
    /// Returns the current space for the message.
    pub fn message_area(&self) -> MessageArea {
        let layout = self.layout();
        let area = layout.message;
        // A hairline and a blank on the left, a blank on the right.
        let edges = if area.x > 0 { 3 } else { 2 };
        MessageArea {
            columns: usize::from(area.width).saturating_sub(edges),
            rows: layout.rows(Pane::Message),
            zoom: self.zoom && self.focus == Pane::Message && layout.width_class != WidthClass::TooSmall,
        }
    }

    /// Returns the message pane at its current size; `None` before a message is read.
    pub fn message_screen(&self) -> Option<MessageScreen> {
        let room = self.message_area();
        let shown = self.message.layout(room)?;
        let head = header_lines(self, &shown.message, room);
        let foot = !room.zoom && room.rows >= 14;
        let body_rows = room.rows.saturating_sub(head.len() + usize::from(foot));
        Some(MessageScreen { area: room, header: head, layout: shown, body_rows, has_footer: foot })
    }

    /// Stores the layout for the current size. Call it after any change.
    pub fn update_message_layout(&mut self) {
        let room = self.message_area();
        self.message.update_layout(room);
        if let Some(screen) = self.message_screen() {
            self.message.scroll_by(0, screen.body_rows, screen.layout.rows());
        }
    }

    pub fn scroll_message(&mut self, by: isize) {
        self.with_message(|pane, height, shown| pane.scroll_by(by, height, shown.rows()));
    }

    /// Changes the view options for the current size.
    pub fn change_message_view(&mut self, change: impl FnOnce(&mut MessagePane, MessageArea)) {
        let room = self.message_area();
        change(&mut self.message, room);
    }

    /// Searches the message and moves to the first match from the top of the screen; returns the number of matching
    /// rows. Unfolds removed lines when only they contain the words.
    pub fn find_in_message(&mut self, query: &str) -> usize {
        query.clone_into(&mut self.message.query);
        self.message.current_match = None;
        let count = |app: &Self| app.message_screen().map_or(0, |screen| screen.layout.find(query).len());
        let folded = count(self);
        if folded == 0 && !query.is_empty() && !self.message.unfold {
            self.message.unfold = true;
            if count(self) == 0 {
                self.message.unfold = false;
            }
        }
        self.go_to_message_match(true);
        self.message.current_match.map_or(0, |found| found.count)
    }

    /// Moves to the next or the previous match in the message.
    pub fn go_to_message_match(&mut self, forward: bool) {
        self.with_message(|pane, height, shown| pane.go_to_match(forward, height, shown));
    }

    fn with_message(&mut self, act: impl FnOnce(&mut MessagePane, usize, &MessageLayout)) {
        let Some(screen) = self.message_screen() else { return };
        act(&mut self.message, screen.body_rows, &screen.layout);
        self.message.layout = Some(screen.layout);
    }
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
