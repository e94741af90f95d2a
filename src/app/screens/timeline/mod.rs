//! The full-screen timeline: a cursor over the calls, the visible range of calls, and a strip with one setting to
//! tune while watching.

pub mod layout;
pub mod viewport;

use std::sync::Arc;

use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::layout::Pane;
use crate::app::state::{App, Overlay};
use crate::report::timeline::Timeline;
use crate::store::entry::Role;
use layout::{TimelineLayout, layout_timeline};
pub use viewport::{BarMetric, TimelineScreen};

/// Calls per shift key.
const SKIPPED_CALLS: isize = 10;

impl App {
    pub fn timeline(&self) -> Option<&Arc<Timeline>> {
        self.replay_state.timeline.as_ref()
    }

    /// Whether keys are about the settings: on the timeline about those below the curves.
    pub fn is_tuning_focused(&self) -> bool {
        match self.overlay() {
            Some(Overlay::Timeline) => self.timeline_screen.on_setting,
            _ => self.focus == Pane::Tuning,
        }
    }

    pub fn timeline_layout(&self) -> TimelineLayout {
        let layout = self.layout();
        let y = layout.header.bottom();
        let height = layout.status.y.saturating_sub(y);
        layout_timeline(ratatui::layout::Rect { x: 0, y, width: self.size.0, height })
    }

    /// Moves the cursor of the opened timeline to the call of the transcript's selected row.
    pub(in crate::app) fn start_timeline(&mut self) {
        self.timeline_screen.requested_entry = self.selected_entry();
        self.timeline_screen.on_setting = false;
        self.go_to_requested_entry();
    }

    /// Selects the call of the requested entry, once the calls are known.
    fn go_to_requested_entry(&mut self) {
        let Some(timeline) = self.replay_state.timeline.as_ref().filter(|timeline| !timeline.is_empty())
        else {
            return;
        };
        let calls = timeline.len();
        if let Some(entry) = self.timeline_screen.requested_entry.take() {
            let next = timeline.calls().partition_point(|call| call.entry < entry);
            // A result belongs to the call that requested it, any other entry to the call that it is sent with.
            let known = timeline.session().index.entries.get(entry.index());
            let result = known.is_some_and(|entry| entry.role() == Some(Role::ToolResult));
            let at = if result { next.saturating_sub(1) } else { next };
            self.timeline_screen.move_to(at, calls);
        }
    }

    /// Keeps the cursor on its call after a new replay, or on the last call if it was there.
    pub(in crate::app) fn keep_timeline_cursor(&mut self, before: Option<&Timeline>) {
        let calls = self.replay_state.timeline.as_ref().map_or(0, |timeline| timeline.len());
        let was_last = before.is_some_and(|before| self.timeline_screen.cursor + 1 >= before.len());
        let call = if was_last { calls } else { self.timeline_screen.cursor };
        self.timeline_screen.move_to(call, calls);
        self.go_to_requested_entry();
    }

    /// Handles an action of the timeline; returns whether it is one.
    pub(in crate::app) fn dispatch_timeline(&mut self, action: Action) -> bool {
        let calls = self.timeline().map_or(0, |timeline| timeline.len());
        let seen = self.timeline_screen.viewport.visible(calls).len() as isize;
        if self.timeline_screen.as_sentences && self.scroll_sentences(action) {
            return true;
        }
        let on_setting = self.timeline_screen.on_setting;
        match action {
            Action::NextPane | Action::PreviousPane => self.timeline_screen.on_setting = !on_setting,
            Action::Down if on_setting => self.move_setting_focus(1),
            Action::Up if on_setting => self.move_setting_focus(-1),
            Action::InWords => {
                self.timeline_screen.as_sentences = !self.timeline_screen.as_sentences;
                self.timeline_screen.top = 0;
            }
            Action::Right | Action::Down => self.move_timeline_cursor(1),
            Action::Left | Action::Up => self.move_timeline_cursor(-1),
            Action::FarRight => self.move_timeline_cursor(SKIPPED_CALLS),
            Action::FarLeft => self.move_timeline_cursor(-SKIPPED_CALLS),
            Action::Top => self.move_timeline_cursor(isize::MIN / 2),
            Action::Bottom => self.move_timeline_cursor(isize::MAX / 2),
            Action::PageDown => self.move_timeline_cursor(seen.max(1)),
            Action::PageUp => self.move_timeline_cursor(-seen.max(1)),
            Action::HalfPageDown => self.move_timeline_cursor((seen / 2).max(1)),
            Action::HalfPageUp => self.move_timeline_cursor(-(seen / 2).max(1)),
            Action::NextMatch => self.go_to_overflow(true),
            Action::PreviousMatch => self.go_to_overflow(false),
            Action::Zoom => self.timeline_screen.viewport.zoom(self.timeline_screen.cursor, calls),
            Action::CostOrCache => {
                self.timeline_screen.bar_metric = match self.timeline_screen.bar_metric {
                    BarMetric::Cost => BarMetric::Cache,
                    BarMetric::Cache => BarMetric::Cost,
                };
            }
            Action::Open if on_setting => self.edit_setting(),
            Action::Open => self.go_to_timeline_entry(),
            _ => return false,
        }
        true
    }

    /// Scrolls the text; returns whether the action does that.
    fn scroll_sentences(&mut self, action: Action) -> bool {
        let page = usize::from(self.timeline_layout().area.height.saturating_sub(2)).max(1) as isize;
        let by = match action {
            Action::Down => 1,
            Action::Up => -1,
            Action::HalfPageDown => page / 2,
            Action::HalfPageUp => -page / 2,
            Action::PageDown => page,
            Action::PageUp => -page,
            Action::Top => isize::MIN / 2,
            Action::Bottom => isize::MAX / 2,
            _ => return false,
        };
        let last = self.sentence_lines().len().saturating_sub(page as usize);
        let screen = &mut self.timeline_screen;
        screen.top = screen.top.saturating_add_signed(by).min(last);
        true
    }

    /// The timeline as wrapped lines of text.
    pub fn sentence_lines(&self) -> Vec<String> {
        let width = usize::from(self.size.0.saturating_sub(4)).max(20);
        let sentences = self.timeline().map(|timeline| timeline.describe()).unwrap_or_default();
        sentences.iter().flat_map(|line| crate::text::wrap(line, width)).collect()
    }

    /// The timeline as text to copy.
    pub(in crate::app) fn timeline_text(&self) -> Option<String> {
        Some(self.timeline()?.describe().join("\n"))
    }

    /// Handles the wheel: moves along the calls, or scrolls the text.
    pub(in crate::app) fn scroll_timeline(&mut self, by: isize) {
        if self.timeline_screen.as_sentences {
            let action = if by > 0 { Action::Down } else { Action::Up };
            (0..by.abs()).for_each(|_| {
                self.scroll_sentences(action);
            });
        } else {
            self.move_timeline_cursor(by);
        }
    }

    pub(in crate::app) fn move_timeline_cursor(&mut self, by: isize) {
        let calls = self.timeline().map_or(0, |timeline| timeline.len());
        self.timeline_screen.move_to(self.timeline_screen.cursor.saturating_add_signed(by), calls);
    }

    /// Focuses another setting of the policy.
    fn move_setting_focus(&mut self, by: isize) {
        let height = self.pane_height(Pane::Tuning);
        self.tuning.move_by(by, height);
        self.replan(false);
    }

    fn go_to_overflow(&mut self, forward: bool) {
        let Some(timeline) = self.timeline() else { return };
        let (calls, cursor) = (timeline.len(), self.timeline_screen.cursor);
        let overflows = |call: &usize| timeline.overflows_at(*call);
        let found = if forward {
            (cursor + 1..calls).chain(0..cursor.min(calls)).find(overflows)
        } else {
            (0..cursor.min(calls)).rev().chain((cursor + 1..calls).rev()).find(overflows)
        };
        let here = timeline.overflows_at(cursor);
        match found {
            Some(call) => self.timeline_screen.move_to(call, calls),
            None if here => self.show_note("no other call overflowed".into()),
            None => self.show_note("every prompt fits".into()),
        }
    }

    /// Closes the timeline and moves to the entry of the selected call.
    fn go_to_timeline_entry(&mut self) {
        let call = self.timeline().and_then(|timeline| timeline.calls().get(self.timeline_screen.cursor));
        match call.map(|call| call.entry) {
            Some(entry) => self.go_to_entry(entry),
            None => drop(self.views.pop()),
        }
    }

    /// Handles a click on the setting strip: toggles a policy or moves the slider.
    fn click_setting_strip(&mut self, column: u16, row: u16) {
        let strip = self.timeline_layout().setting;
        let layout = self.layout().with_tuning(strip);
        if row + 1 < strip.bottom() {
            let spots = layout.policy_spots(&self.tuning.visible_policies, self.tuning.policy);
            match spots.into_iter().find(|(_, columns)| columns.contains(&column)) {
                Some((step, _)) if step == self.tuning.policy => self.toggle_policy(),
                Some((step, _)) => self.focus_policy(step),
                None => {}
            }
        } else if layout.slider_track().contains(&column)
            && let Some(at) = self.tuning.focused_row()
        {
            self.drag.is_on_slider = self.tuning.unit(at).is_some();
            self.drag_setting_strip(column);
        }
    }

    pub(in crate::app) fn drag_setting_strip(&mut self, column: u16) {
        let track = self.layout().with_tuning(self.timeline_layout().setting).slider_track();
        self.drag_slider_on(track, column);
    }

    /// Handles a click: selects a call; a click on the selected column opens its entry.
    pub(in crate::app) fn click_timeline(&mut self, column: u16, row: u16) -> Vec<Effect> {
        let places = self.timeline_layout();
        if !self.timeline_screen.as_sentences && places.setting.contains((column, row).into()) {
            self.click_setting_strip(column, row);
            return Vec::new();
        }
        let calls = self.timeline().map_or(0, |timeline| timeline.len());
        let graphic = calls > 0 && !self.timeline_screen.as_sentences;
        let Some(cell) = places.column_at(column, row).filter(|_| graphic) else { return Vec::new() };
        let grid = self.timeline_screen.viewport.call_columns(calls, places.chart.width);
        let mut here = grid.calls_at(cell);
        if here.contains(&self.timeline_screen.cursor) {
            self.go_to_timeline_entry();
            return Vec::new();
        }
        let call =
            here.clone().find(|call| grid.column_of(*call) == cell).or(here.next()).unwrap_or_default();
        self.timeline_screen.move_to(call, calls);
        Vec::new()
    }
}
