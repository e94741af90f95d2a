//! The message pane: the text of the entry under the transcript's cursor, how it is looked at, and how far
//! it is scrolled. What is shown, and so where scrolling ends, is told without drawing.

use std::sync::Arc;

use crate::app::body::Form;
use crate::app::layout::{Breadth, Pane};
use crate::app::message_head::{HeadLine, head};
use crate::app::shown::{Look, Shown};
use crate::app::state::App;
use crate::ids::EntryIx;
use crate::inspect::message::MessageText;

/// Columns of the facts beside a message on the full screen.
pub const FACTS_COLUMNS: usize = 30;
/// Text is never wider, however wide the screen is.
const WIDEST: usize = 100;

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
    pub wanted: Option<EntryIx>,
    /// The message, once it was read.
    pub text: Option<Arc<MessageText>>,
    /// Why it could not be read.
    pub error: Option<String>,
    /// How it is shown.
    pub view: MessageView,
    /// The full screen shows the text alone, though the plan changes it.
    pub plain: bool,
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
    pub found: Option<Match>,
    /// The last layout; laid out again when it is another message or another look.
    shown: Option<Arc<Shown>>,
}

/// A row that holds the words searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match {
    /// Which of them, counted from 0.
    pub at: usize,
    /// How many there are.
    pub count: usize,
    /// The row of the text.
    pub row: usize,
}

/// Where the message stands: columns inside the edges of the pane, rows below its title line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
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
    pub room: Room,
    /// Lines above the text.
    pub head: Vec<HeadLine>,
    /// The text.
    pub shown: Arc<Shown>,
    /// Rows for the text.
    pub body_rows: usize,
    /// A row with keys stands below the text.
    pub foot: bool,
}

impl MessagePane {
    /// Waits for another entry's text.
    pub fn want(&mut self, entry: EntryIx) {
        if self.wanted != Some(entry) {
            self.wanted = Some(entry);
            (self.top, self.unfold, self.found) = (0, false, None);
        }
    }

    /// Takes the text that was waited for, or why it cannot be read.
    pub fn take(&mut self, text: Result<Arc<MessageText>, String>) {
        self.found = None;
        match text {
            Ok(text) => (self.text, self.error) = (Some(text), None),
            Err(error) => (self.text, self.error) = (None, Some(error)),
        }
    }

    /// An empty pane that looks at messages in the same way.
    #[must_use]
    pub fn for_another_session(&self) -> Self {
        Self { wrap: self.wrap, hide_thinking: self.hide_thinking, ..Self::default() }
    }

    /// What is shown in this room: beside the facts of the full screen a change is a diff unless it is
    /// switched off; where nothing changes, a diff is the text.
    pub fn effective_view(&self, zoom: bool) -> MessageView {
        let changes = self.text.as_ref().is_some_and(|text| text.after.is_some());
        match self.view {
            MessageView::Raw => MessageView::Raw,
            MessageView::Diff if changes => MessageView::Diff,
            MessageView::Text if zoom && changes && !self.plain => MessageView::Diff,
            _ => MessageView::Text,
        }
    }

    /// Shows a view from its top.
    pub fn show(&mut self, view: MessageView) {
        (self.view, self.plain, self.top) = (view, false, 0);
    }

    /// Before and after, or the text again.
    pub fn toggle_diff(&mut self, zoom: bool) {
        let on = self.effective_view(zoom) != MessageView::Diff;
        self.view = if on { MessageView::Diff } else { MessageView::Text };
        self.plain = !on;
        self.top = 0;
    }

    /// The raw entry, or the text again.
    pub fn toggle_raw(&mut self) {
        self.view = if self.view == MessageView::Raw { MessageView::Text } else { MessageView::Raw };
        self.top = 0;
    }

    /// Long lines wrap, or are cut. The line at the top stays there.
    pub fn toggle_wrap(&mut self, room: Room) {
        self.keeping_line(room, |pane| pane.wrap = !pane.wrap);
    }

    /// Thinking is shown, or not.
    pub fn toggle_thinking(&mut self, room: Room) {
        self.keeping_line(room, |pane| pane.hide_thinking = !pane.hide_thinking);
    }

    /// What leaves the prompt is shown whole, or folded.
    pub fn toggle_unfold(&mut self, room: Room) {
        self.keeping_line(room, |pane| pane.unfold = !pane.unfold);
    }

    /// Changes the look and keeps the share of the text above the top.
    fn keeping_line(&mut self, room: Room, change: impl FnOnce(&mut Self)) {
        let number =
            |shown: &Shown, row: usize| shown.at(row).and_then(|(line, _)| shown.body.number_from(line));
        let before = self.shown(room).and_then(|shown| number(&shown, self.top));
        change(self);
        let Some(shown) = self.shown(room) else { return };
        let row = before.filter(|_| self.top > 0).and_then(|number| shown.row_of_number(number));
        self.top = row.unwrap_or(self.top).min(shown.rows().saturating_sub(1));
        self.found = None;
        self.shown = Some(shown);
    }

    /// Whether the facts stand beside the text: on the full screen, from 100 columns on.
    pub fn stands_beside(&self, room: Room) -> bool {
        room.zoom && room.columns >= 98
    }

    fn look(&self, room: Room) -> Look {
        let view = self.effective_view(room.zoom);
        let wide = self.stands_beside(room);
        let two = wide && view == MessageView::Diff;
        let beside = if wide { room.columns.saturating_sub(FACTS_COLUMNS + 2) } else { room.columns };
        let columns = if two {
            // A side loses its hairline, two blanks and the column of the scrollbar.
            let right = (room.columns + 2 - FACTS_COLUMNS) / 2;
            (room.columns + 2 - FACTS_COLUMNS - right - 3, right - 3)
        } else {
            (beside.min(WIDEST), 0)
        };
        let form = Form { view, two, end: wide, hide_thinking: self.hide_thinking, unfold: self.unfold };
        Look { form, wrap: self.wrap, columns }
    }

    /// The message laid out for this room; none before it was read.
    pub fn shown(&self, room: Room) -> Option<Arc<Shown>> {
        let (text, look) = (self.text.as_ref()?, self.look(room));
        let known = self.shown.as_ref().filter(|shown| shown.is(text, look));
        Some(known.map_or_else(|| Arc::new(Shown::new(text, look)), Arc::clone))
    }

    /// Lays the message out for this room once, so that drawing it costs only the rows in sight.
    pub fn prepare(&mut self, room: Room) {
        let shown = self.shown(room);
        let same = matches!((&self.shown, &shown), (Some(old), Some(new)) if Arc::ptr_eq(old, new));
        if !same {
            // Its row was one of the old layout.
            self.found = None;
        }
        self.shown = shown;
    }

    /// Scrolls by rows.
    pub fn step(&mut self, by: isize, height: usize, rows: usize) {
        self.top = self.top.saturating_add_signed(by).min(rows.saturating_sub(height));
    }

    /// Goes to the match after the top, or before it, around the ends.
    fn go_to_match(&mut self, forward: bool, height: usize, shown: &Shown) {
        let rows = shown.find(&self.query);
        let Some(last) = rows.len().checked_sub(1) else {
            self.found = None;
            return;
        };
        let next = match (self.found.filter(|found| found.count == rows.len()).map(|found| found.at), forward)
        {
            (Some(at), true) if at == last => 0,
            (Some(at), true) => at + 1,
            (Some(at), false) => at.checked_sub(1).unwrap_or(last),
            (None, true) => rows.iter().position(|row| *row >= self.top).unwrap_or(0),
            (None, false) => rows.iter().rposition(|row| *row < self.top).unwrap_or(last),
        };
        let row = rows[next];
        self.found = Some(Match { at: next, count: rows.len(), row });
        if row < self.top || row >= self.top + height {
            let third = row.saturating_sub(height / 3);
            self.top = third.min(shown.rows().saturating_sub(height));
        }
    }
}

impl App {
    /// Where the message stands now.
    pub fn message_room(&self) -> Room {
        let layout = self.layout();
        let area = layout.message;
        // A hairline and a blank on the left, a blank on the right.
        let edges = if area.x > 0 { 3 } else { 2 };
        Room {
            columns: usize::from(area.width).saturating_sub(edges),
            rows: layout.rows(Pane::Message),
            zoom: self.zoom && self.focus == Pane::Message && layout.breadth != Breadth::TooSmall,
        }
    }

    /// The message pane as it stands now; none before a message was read.
    pub fn message_screen(&self) -> Option<MessageScreen> {
        let room = self.message_room();
        let shown = self.message.shown(room)?;
        let head = head(self, &shown.message, room);
        let foot = !room.zoom && room.rows >= 14;
        let body_rows = room.rows.saturating_sub(head.len() + usize::from(foot));
        Some(MessageScreen { room, head, shown, body_rows, foot })
    }

    /// Lays the message out once for the room it has now; call it after anything changed.
    pub fn prepare_message(&mut self) {
        let room = self.message_room();
        self.message.prepare(room);
        if let Some(screen) = self.message_screen() {
            self.message.step(0, screen.body_rows, screen.shown.rows());
        }
    }

    /// Scrolls the message by rows.
    pub fn step_message(&mut self, by: isize) {
        self.with_message(|pane, height, shown| pane.step(by, height, shown.rows()));
    }

    /// Changes how the message is looked at, for the room it has now.
    pub fn look_at_message(&mut self, change: impl FnOnce(&mut MessagePane, Room)) {
        let room = self.message_room();
        change(&mut self.message, room);
    }

    /// Searches the message and goes to the first match from the top of the screen on. What is folded is
    /// unfolded when only that holds the words. Answers how many rows hold them.
    pub fn find_in_message(&mut self, query: &str) -> usize {
        query.clone_into(&mut self.message.query);
        self.message.found = None;
        let count = |app: &Self| app.message_screen().map_or(0, |screen| screen.shown.find(query).len());
        let folded = count(self);
        if folded == 0 && !query.is_empty() && !self.message.unfold {
            self.message.unfold = true;
            if count(self) == 0 {
                self.message.unfold = false;
            }
        }
        self.next_in_message(true);
        self.message.found.map_or(0, |found| found.count)
    }

    /// The next match in the message, or the one before.
    pub fn next_in_message(&mut self, forward: bool) {
        self.with_message(|pane, height, shown| pane.go_to_match(forward, height, shown));
    }

    fn with_message(&mut self, act: impl FnOnce(&mut MessagePane, usize, &Shown)) {
        let Some(screen) = self.message_screen() else { return };
        act(&mut self.message, screen.body_rows, &screen.shown);
        self.message.shown = Some(screen.shown);
    }
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
