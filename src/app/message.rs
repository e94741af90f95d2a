//! The message pane: the text of the entry under the transcript's cursor, its view options and its scroll position.
//! The pane computes its layout without drawing, so that keys know where scrolling ends.

mod pane;
mod view;

use std::sync::Arc;

use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::layout::{Pane, WidthClass};
use crate::app::message_header::{HeaderLine, header_lines};
use crate::app::message_layout::MessageLayout;
use crate::app::state::App;
pub use pane::{FACTS_COLUMNS, MessagePane, SearchMatch};
pub use view::{MessageArea, MessageView};

/// Columns per step to the side.
const SIDEWAYS_COLUMNS: isize = 8;

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
        if self.is_opening_slowly() {
            return None;
        }
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

    /// Scrolls long lines by `steps`; without anything hidden on the left, going left leads to the transcript.
    pub(super) fn scroll_message_sideways(&mut self, steps: isize) -> Vec<Effect> {
        let is_match_moved = self.message.current_match.is_some_and(|found| found.left > 0);
        if steps < 0 && self.message.left == 0 && !is_match_moved {
            return self.dispatch(Action::FocusTranscript);
        }
        let mut moved = false;
        self.with_message(|pane, height, shown| {
            moved = pane.scroll_sideways(steps * SIDEWAYS_COLUMNS, height, shown);
        });
        if !moved {
            self.show_note("no line reaches beyond the pane".into());
        }
        Vec::new()
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
