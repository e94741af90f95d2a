//! The full-screen timeline: a cursor over the calls, the visible range of calls, and a strip with one setting to
//! tune while watching.

pub mod viewport;

use std::sync::Arc;

use ratatui::layout::Rect;

use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::layout::Pane;
use crate::app::state::{App, Overlay};
use crate::report::timeline::Timeline;
use crate::store::entry::Role;

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

/// Rows of the area from which the cost has a strip, and from which its traces have two rows each and the screen
/// blank lines. The area excludes the header and the status line.
const STRIP_MIN_ROWS: u16 = 24 - CHROME_ROWS;
const TALL_MIN_ROWS: u16 = 30 - CHROME_ROWS;
const CHROME_ROWS: u16 = 2;
/// Columns from which the thresholds show their names next to their numbers.
const WIDE_MIN_COLUMNS: u16 = 80;

/// The rectangles of the timeline; those of height 0 are not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimelineLayout {
    pub area: Rect,
    /// The replayed session, and the totals of both traces.
    pub header: Rect,
    /// The title line above the curves.
    pub title: Rect,
    /// The curves.
    pub chart: Rect,
    /// Names of the thresholds, next to the curves.
    pub threshold_labels: Rect,
    /// The row of signs below the curves.
    pub markers: Rect,
    /// The times.
    pub axis: Rect,
    /// The strip that shows how each call read the prompt cache.
    pub cache_lane: Rect,
    /// The title line of the bars.
    pub bars_title: Rect,
    /// The bars, one trace above the other.
    pub bars: Rect,
    /// The selected call; its first line is the title.
    pub call: Rect,
    /// The tuned setting, with a title line of policies if there is room.
    pub setting: Rect,
}

pub fn layout_timeline(area: Rect) -> TimelineLayout {
    let mut next = area.y;
    let mut end = area.bottom();
    let row = |y: u16, height: u16| Rect { y, height, ..area };
    let tall = area.height >= TALL_MIN_ROWS;
    let mut take = |height: u16| {
        let height = height.min(area.bottom().saturating_sub(next));
        next += height;
        row(next - height, height)
    };
    let head = take(2);
    if tall {
        take(1);
    }
    let title = take(1);
    let mut take_last = |height: u16| {
        let height = height.min(end.saturating_sub(next));
        end -= height;
        row(end, height)
    };
    let setting = take_last(if tall { 2 } else { 1 });
    let call = take_last(3);
    let traces = match area.height {
        TALL_MIN_ROWS.. => 4,
        STRIP_MIN_ROWS.. => 2,
        _ => 0,
    };
    let bars = take_last(traces);
    let bars_title = take_last(traces.min(1));
    let cache_lane = take_last(u16::from(tall));
    let axis = take_last(1);
    let signs = take_last(1);
    let margin = if area.width >= WIDE_MIN_COLUMNS { 17 } else { 9 };
    let left = area.x + 2;
    let width = area.width.saturating_sub(margin + 4).max(1);
    let body = Rect { x: left, y: next, width, height: end.saturating_sub(next) };
    let plot = |area: Rect| Rect { x: left, width, ..area };
    TimelineLayout {
        area,
        header: head,
        title,
        chart: body,
        threshold_labels: Rect {
            x: body.right() + 2,
            width: area.right().saturating_sub(body.right() + 2),
            ..body
        },
        markers: plot(signs),
        axis: plot(axis),
        cache_lane: plot(cache_lane),
        bars_title,
        bars: plot(bars),
        call,
        setting,
    }
}

impl TimelineLayout {
    /// Returns the column of the curves at a position in the curves, the signs, the axis, the cache or the bars.
    pub fn column_at(&self, column: u16, row: u16) -> Option<usize> {
        let inside = |area: &Rect| area.contains((column, row).into());
        let areas = [self.chart, self.markers, self.axis, self.cache_lane, self.bars];
        areas.iter().any(inside).then(|| usize::from(column - self.chart.x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(width: u16, height: u16) -> TimelineLayout {
        layout_timeline(Rect { x: 0, y: 1, width, height: height - CHROME_ROWS })
    }

    #[test]
    fn the_cost_folds_under_24_rows_and_the_curves_never_do() {
        assert_eq!([at(130, 36).bars.height, at(80, 24).bars.height, at(60, 20).bars.height], [4, 2, 0]);
        assert!([at(130, 36), at(80, 24), at(60, 20)].iter().all(|places| places.chart.height >= 8));
    }

    #[test]
    fn no_size_panics_or_overlaps() {
        for width in 1..200 {
            for height in 2..60 {
                let places = at(width, height);
                let parts = [
                    places.header,
                    places.title,
                    places.chart,
                    places.markers,
                    places.axis,
                    places.cache_lane,
                    places.bars_title,
                    places.bars,
                    places.call,
                    places.setting,
                ];
                for pair in parts.windows(2) {
                    assert!(pair[0].bottom() <= pair[1].y || pair[1].is_empty(), "{width}x{height} {pair:?}");
                }
                assert!(places.setting.bottom() < height.max(2), "{width}x{height}");
            }
        }
    }

    #[test]
    fn from_80_columns_the_thresholds_have_names_and_from_30_rows_the_parts_have_blanks() {
        let rect = |x, y, width, height| Rect { x, y, width, height };
        let wide = at(80, 30);
        assert_eq!((wide.header, wide.title), (rect(0, 1, 80, 2), rect(0, 4, 80, 1)), "a blank between them");
        assert_eq!((wide.chart, wide.threshold_labels), (rect(2, 5, 59, 11), rect(63, 5, 17, 11)));
        assert_eq!((wide.markers, wide.axis), (rect(2, 16, 59, 1), rect(2, 17, 59, 1)));
        assert_eq!((wide.cache_lane, at(79, 29).cache_lane.height), (rect(2, 18, 59, 1), 0));
        assert_eq!((wide.bars_title, wide.bars), (rect(0, 19, 80, 1), rect(2, 20, 59, 4)));
        assert_eq!((wide.call, wide.setting), (rect(0, 24, 80, 3), rect(0, 27, 80, 2)));
        let narrow = at(79, 29);
        assert_eq!((narrow.header, narrow.title), (rect(0, 1, 79, 2), rect(0, 3, 79, 1)));
        assert_eq!((narrow.chart, narrow.threshold_labels), (rect(2, 4, 66, 15), rect(70, 4, 9, 15)));
        assert_eq!((narrow.bars_title, narrow.bars), (rect(0, 21, 79, 1), rect(2, 22, 66, 2)));
        assert_eq!((narrow.call, narrow.setting), (rect(0, 24, 79, 3), rect(0, 27, 79, 1)));
        let low = at(79, 23);
        assert_eq!((low.bars_title.height, low.bars.height, low.chart), (0, 0, rect(2, 4, 66, 12)));
    }

    #[test]
    fn only_curves_signs_times_and_bars_react_to_the_pointer() {
        let places = at(80, 30);
        let column = |x, y| places.column_at(x, y);
        for y in [places.chart.y, places.markers.y, places.axis.y, places.cache_lane.y, places.bars.y] {
            assert_eq!(
                [column(2, y), column(12, y), column(60, y)],
                [Some(0), Some(10), Some(58)],
                "row {y}"
            );
            assert_eq!([column(1, y), column(61, y)], [None; 2], "row {y}");
        }
        for y in [places.header.y, places.title.y, places.bars_title.y, places.call.y, places.setting.y] {
            assert_eq!(column(12, y), None, "row {y}");
        }
    }
}
