//! The state of the message pane: the text, the view options, the scroll position and the search in the message.

use std::sync::Arc;

use crate::app::effect_error::EffectError;
use crate::app::message::view::{MessageArea, MessageView};
use crate::app::message_body::BodyOptions;
use crate::app::message_layout::{MessageLayout, ViewOptions};
use crate::ids::EntryIx;
use crate::session::message::MessageText;
use crate::units::{Millis, Moment};

/// Columns of the facts next to a full-screen message.
pub const FACTS_COLUMNS: usize = 30;
/// The time for which the last message stays while the next one is read: most reads are shorter.
const KEPT_MS: Millis = Millis(120.0);
/// The widest text, in columns: longer lines are hard to read on a wide screen.
const MAX_TEXT_COLUMNS: usize = 100;

#[derive(Debug, Clone, Default)]
pub struct MessagePane {
    /// The requested entry.
    pub requested: Option<EntryIx>,
    /// The time of the request.
    requested_ms: Moment,
    /// The message, once it is read.
    pub text: Option<Arc<MessageText>>,
    /// The last message of the same session, shown for a moment while the next one is read.
    previous_text: Option<Arc<MessageText>>,
    /// The reason that reading it failed.
    pub error: Option<String>,
    pub view: MessageView,
    /// Whether the full screen shows the text instead of the diff of a changed message.
    pub hide_diff: bool,
    /// First visible row.
    pub top: usize,
    /// Columns hidden on the left of lines that do not wrap.
    pub left: usize,
    /// Whether long lines wrap.
    pub wrap: bool,
    pub hide_thinking: bool,
    /// Whether the folded cut of a diff is unfolded.
    pub unfold: bool,
    /// The searched words.
    pub query: String,
    /// The current match of the search.
    pub current_match: Option<SearchMatch>,
    /// The words to find in an entry once its text is read.
    pending_words: Option<(EntryIx, String)>,
    /// The last layout, valid for one message and one set of view options.
    pub(super) layout: Option<Arc<MessageLayout>>,
}

/// A row that contains the searched words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchMatch {
    /// Index among the matches, from 0.
    pub index: usize,
    /// The number of matches.
    pub count: usize,
    pub row: usize,
    /// Columns hidden on the left of this row, if it does not wrap: only this row moves to show the words.
    pub left: usize,
}

impl MessagePane {
    /// Requests another entry's text, and resets scroll, folds and search when the entry changes.
    pub fn request(&mut self, entry: EntryIx, now_ms: Moment) {
        if self.requested != Some(entry) {
            self.requested = Some(entry);
            self.requested_ms = now_ms;
            self.previous_text = self.text.take().or(self.previous_text.take());
            self.error = None;
            (self.top, self.left, self.unfold, self.current_match) = (0, 0, false, None);
        }
    }

    /// The message to show: the requested one, or for a moment the last one.
    pub fn visible_text(&self) -> Option<&Arc<MessageText>> {
        self.text.as_ref().or(self.previous_text.as_ref())
    }

    /// Whether the requested message is still being read after the last one has disappeared.
    pub fn is_reading(&self, now_ms: Moment) -> bool {
        self.text.is_none() && self.error.is_none() && now_ms - self.requested_ms >= KEPT_MS
    }

    /// The time at which the last message disappears, if it is shown.
    pub(in crate::app) fn expires_ms(&self) -> Option<Moment> {
        (self.text.is_none() && self.previous_text.is_some()).then_some(self.requested_ms + KEPT_MS)
    }

    /// Forgets the last message once its time is over.
    pub(in crate::app) fn clear_expired(&mut self, now_ms: Moment) {
        if self.expires_ms().is_some_and(|at| at <= now_ms) {
            self.previous_text = None;
        }
    }

    /// Finds words in an entry as soon as its text is there.
    pub fn find_when_read(&mut self, entry: EntryIx, words: String) {
        self.pending_words = Some((entry, words));
    }

    /// Takes the words to find, when the text of their entry was read.
    pub fn take_pending_words(&mut self) -> Option<String> {
        let read = self.text.as_ref().map(|text| text.entry);
        self.pending_words.take_if(|(entry, _)| Some(*entry) == read).map(|(_, words)| words)
    }

    /// Stores the requested text, or why reading it failed.
    pub fn set_text(&mut self, text: Result<Arc<MessageText>, EffectError>) {
        self.current_match = None;
        self.previous_text = None;
        match text {
            Ok(text) => (self.text, self.error) = (Some(text), None),
            Err(error) => (self.text, self.error) = (None, Some(error.to_string())),
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
        let changes = self.visible_text().is_some_and(|text| text.planned_text.is_some());
        match self.view {
            MessageView::Raw => MessageView::Raw,
            MessageView::Diff if changes => MessageView::Diff,
            MessageView::Text if zoom && changes && !self.hide_diff => MessageView::Diff,
            _ => MessageView::Text,
        }
    }

    /// Switches to a view and scrolls to its top.
    pub fn show(&mut self, view: MessageView) {
        (self.view, self.hide_diff, self.top, self.left) = (view, false, 0, 0);
    }

    pub fn toggle_diff(&mut self, zoom: bool) {
        let on = self.effective_view(zoom) != MessageView::Diff;
        self.view = if on { MessageView::Diff } else { MessageView::Text };
        self.hide_diff = !on;
        (self.top, self.left) = (0, 0);
    }

    pub fn toggle_raw(&mut self) {
        self.view = if self.view == MessageView::Raw { MessageView::Text } else { MessageView::Raw };
        (self.top, self.left) = (0, 0);
    }

    /// Toggles wrapping; the line at the top stays there.
    pub fn toggle_wrap(&mut self, room: MessageArea) {
        self.left = 0;
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

    /// Whether the facts are next to the text: on the full screen from 100 columns (98 inside the edges).
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
        let (text, look) = (self.visible_text()?, self.view_options(room));
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

    /// Scrolls lines that do not wrap by columns, up to the end of the widest one on the screen; returns whether it
    /// moved.
    pub(super) fn scroll_sideways(&mut self, by: isize, height: usize, shown: &MessageLayout) -> bool {
        let reach = self.left.saturating_add_signed(by);
        let hidden = shown.columns_beyond(self.top..self.top + height, reach);
        let left = reach.min(self.left.max(hidden));
        let match_moves = self.current_match.as_mut().is_some_and(|found| {
            let is_visible = (self.top..self.top + height).contains(&found.row);
            is_visible && left != std::mem::replace(&mut found.left, left)
        });
        left != std::mem::replace(&mut self.left, left) || match_moves
    }

    /// Returns the columns hidden on the left of a row that does not wrap.
    pub fn left_of(&self, row: usize) -> usize {
        self.current_match.filter(|found| found.row == row).map_or(self.left, |found| found.left)
    }

    /// Moves to the next match after the top, or the previous one before it, wrapping at the ends.
    pub(super) fn go_to_match(&mut self, forward: bool, height: usize, shown: &MessageLayout) {
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
        let left = match shown.match_columns(row, &self.query) {
            Some((from, columns)) if from.start < self.left || self.left + columns < from.end => {
                from.end.saturating_sub(columns * 2 / 3)
            }
            _ => self.left,
        };
        self.current_match = Some(SearchMatch { index: next, count: rows.len(), row, left });
        if row < self.top || row >= self.top + height {
            let third = row.saturating_sub(height / 3);
            self.top = third.min(shown.rows().saturating_sub(height));
        }
    }
}
