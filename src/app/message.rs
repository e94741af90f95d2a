//! The message pane: the text of the entry under the transcript's cursor, how it is looked at, and how far
//! it is scrolled. What is shown, and so where scrolling ends, is told without drawing.

use std::sync::Arc;

use crate::app::layout::{Pane, WidthClass};
use crate::app::message_body::BodyOptions;
use crate::app::message_header::{HeaderLine, header_lines};
use crate::app::message_layout::{MessageLayout, ViewOptions};
use crate::app::state::App;
use crate::ids::EntryIx;
use crate::inspect::message::MessageText;

/// Columns of the facts beside a message on the full screen.
pub const FACTS_COLUMNS: usize = 30;
/// Text is never wider, however wide the screen is.
const MAX_TEXT_COLUMNS: usize = 100;

/// How a message is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MessageView {
    /// Its parts.
    #[default]
    Text,
    /// Before and after the plan, side by side where there is room.
    Diff,
    /// The entry as it stands in the file.
    Raw,
}

/// The message pane.
#[derive(Debug, Clone, Default)]
pub struct MessagePane {
    /// The entry that is wanted.
    pub requested: Option<EntryIx>,
    /// The message, once it was read.
    pub text: Option<Arc<MessageText>>,
    /// Why it could not be read.
    pub error: Option<String>,
    /// How it is shown.
    pub view: MessageView,
    /// The full screen shows the text alone, though the plan changes it.
    pub hide_diff: bool,
    /// First visible row.
    pub top: usize,
    /// Long lines wrap.
    pub wrap: bool,
    /// Thinking is hidden.
    pub hide_thinking: bool,
    /// The long cut of a diff is unfolded.
    pub unfold: bool,
    /// Words searched for in it.
    pub query: String,
    /// The match the search is at.
    pub current_match: Option<SearchMatch>,
    /// The last layout; laid out again when it is another message or another look.
    layout: Option<Arc<MessageLayout>>,
}

/// A row that holds the words searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchMatch {
    /// Which of them, counted from 0.
    pub index: usize,
    /// How many there are.
    pub count: usize,
    /// The row of the text.
    pub row: usize,
}

/// Where the message stands: columns inside the edges of the pane, rows below its title line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageArea {
    /// Columns.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
    /// It takes the whole screen.
    pub zoom: bool,
}

/// The pane as it stands now.
#[derive(Debug, Clone)]
pub struct MessageScreen {
    /// Its room.
    pub area: MessageArea,
    /// Lines above the text.
    pub header: Vec<HeaderLine>,
    /// The text.
    pub layout: Arc<MessageLayout>,
    /// Rows for the text.
    pub body_rows: usize,
    /// A row with keys stands below the text.
    pub has_footer: bool,
}

impl MessagePane {
    /// Waits for another entry's text.
    pub fn request(&mut self, entry: EntryIx) {
        if self.requested != Some(entry) {
            self.requested = Some(entry);
            (self.top, self.unfold, self.current_match) = (0, false, None);
        }
    }

    /// Takes the text that was waited for, or why it cannot be read.
    pub fn set_text(&mut self, text: Result<Arc<MessageText>, String>) {
        self.current_match = None;
        match text {
            Ok(text) => (self.text, self.error) = (Some(text), None),
            Err(error) => (self.text, self.error) = (None, Some(error)),
        }
    }

    /// An empty pane that looks at messages in the same way.
    #[must_use]
    pub fn cleared(&self) -> Self {
        Self { wrap: self.wrap, hide_thinking: self.hide_thinking, ..Self::default() }
    }

    /// What is shown in this room: beside the facts of the full screen a change is a diff unless it is
    /// switched off; where nothing changes, a diff is the text.
    pub fn effective_view(&self, zoom: bool) -> MessageView {
        let changes = self.text.as_ref().is_some_and(|text| text.planned_text.is_some());
        match self.view {
            MessageView::Raw => MessageView::Raw,
            MessageView::Diff if changes => MessageView::Diff,
            MessageView::Text if zoom && changes && !self.hide_diff => MessageView::Diff,
            _ => MessageView::Text,
        }
    }

    /// Shows a view from its top.
    pub fn show(&mut self, view: MessageView) {
        (self.view, self.hide_diff, self.top) = (view, false, 0);
    }

    /// Before and after, or the text again.
    pub fn toggle_diff(&mut self, zoom: bool) {
        let on = self.effective_view(zoom) != MessageView::Diff;
        self.view = if on { MessageView::Diff } else { MessageView::Text };
        self.hide_diff = !on;
        self.top = 0;
    }

    /// The raw entry, or the text again.
    pub fn toggle_raw(&mut self) {
        self.view = if self.view == MessageView::Raw { MessageView::Text } else { MessageView::Raw };
        self.top = 0;
    }

    /// Long lines wrap, or are cut. The line at the top stays there.
    pub fn toggle_wrap(&mut self, room: MessageArea) {
        self.change_keeping_line(room, |pane| pane.wrap = !pane.wrap);
    }

    /// Thinking is shown, or not.
    pub fn toggle_thinking(&mut self, room: MessageArea) {
        self.change_keeping_line(room, |pane| pane.hide_thinking = !pane.hide_thinking);
    }

    /// What leaves the prompt is shown whole, or folded.
    pub fn toggle_unfold(&mut self, room: MessageArea) {
        self.change_keeping_line(room, |pane| pane.unfold = !pane.unfold);
    }

    /// Changes the look and keeps the share of the text above the top.
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

    /// Whether the facts stand beside the text: on the full screen, from 100 columns on.
    pub fn has_side_facts(&self, room: MessageArea) -> bool {
        room.zoom && room.columns >= 98
    }

    fn view_options(&self, room: MessageArea) -> ViewOptions {
        let view = self.effective_view(room.zoom);
        let wide = self.has_side_facts(room);
        let two = wide && view == MessageView::Diff;
        let beside = if wide { room.columns.saturating_sub(FACTS_COLUMNS + 2) } else { room.columns };
        let columns = if two {
            // A side loses its hairline, two blanks and the column of the scrollbar.
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

    /// The message laid out for this room; none before it was read.
    pub fn layout(&self, room: MessageArea) -> Option<Arc<MessageLayout>> {
        let (text, look) = (self.text.as_ref()?, self.view_options(room));
        let known = self.layout.as_ref().filter(|shown| shown.matches(text, look));
        Some(known.map_or_else(|| Arc::new(MessageLayout::new(text, look)), Arc::clone))
    }

    /// Lays the message out for this room once, so that drawing it costs only the rows in sight.
    pub fn update_layout(&mut self, room: MessageArea) {
        let shown = self.layout(room);
        let same = matches!((&self.layout, &shown), (Some(old), Some(new)) if Arc::ptr_eq(old, new));
        if !same {
            // Its row was one of the old layout.
            self.current_match = None;
        }
        self.layout = shown;
    }

    /// Scrolls by rows.
    pub fn scroll_by(&mut self, by: isize, height: usize, rows: usize) {
        self.top = self.top.saturating_add_signed(by).min(rows.saturating_sub(height));
    }

    /// Goes to the match after the top, or before it, around the ends.
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
    /// Where the message stands now.
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

    /// The message pane as it stands now; none before a message was read.
    pub fn message_screen(&self) -> Option<MessageScreen> {
        let room = self.message_area();
        let shown = self.message.layout(room)?;
        let head = header_lines(self, &shown.message, room);
        let foot = !room.zoom && room.rows >= 14;
        let body_rows = room.rows.saturating_sub(head.len() + usize::from(foot));
        Some(MessageScreen { area: room, header: head, layout: shown, body_rows, has_footer: foot })
    }

    /// Lays the message out once for the room it has now; call it after anything changed.
    pub fn update_message_layout(&mut self) {
        let room = self.message_area();
        self.message.update_layout(room);
        if let Some(screen) = self.message_screen() {
            self.message.scroll_by(0, screen.body_rows, screen.layout.rows());
        }
    }

    /// Scrolls the message by rows.
    pub fn scroll_message(&mut self, by: isize) {
        self.with_message(|pane, height, shown| pane.scroll_by(by, height, shown.rows()));
    }

    /// Changes how the message is looked at, for the room it has now.
    pub fn change_message_view(&mut self, change: impl FnOnce(&mut MessagePane, MessageArea)) {
        let room = self.message_area();
        change(&mut self.message, room);
    }

    /// Searches the message and goes to the first match from the top of the screen on. What is folded is
    /// unfolded when only that holds the words. Answers how many rows hold them.
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

    /// The next match in the message, or the one before.
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
