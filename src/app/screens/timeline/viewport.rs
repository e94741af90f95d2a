//! The visible calls and their columns. A column has two columns of braille dots.

use std::ops::Range;

use crate::app::action::Action;
use crate::app::screens::hint::{GO_TO_ENTRY, Hint};
use crate::ids::EntryIx;

/// The fewest calls that fill the screen.
const MIN_CALLS: usize = 8;

/// A range of the calls: all, or a number of them from one on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Viewport {
    from: usize,
    /// `None` shows all calls.
    count: Option<usize>,
}

impl Viewport {
    /// Returns the visible calls among `calls`.
    pub fn visible(&self, calls: usize) -> Range<usize> {
        let count = self.count.unwrap_or(calls).min(calls);
        let from = self.from.min(calls - count);
        from..from + count
    }

    pub fn shows_all(&self, calls: usize) -> bool {
        self.visible(calls).len() == calls
    }

    /// Shows half as many calls, and all again after the fewest; the cursor keeps its place on the screen.
    pub(super) fn zoom(&mut self, cursor: usize, calls: usize) {
        let count = self.visible(calls).len();
        let next = if count > MIN_CALLS { (count / 2).max(MIN_CALLS) } else { calls };
        self.resize(next, cursor, calls);
    }

    fn resize(&mut self, count: usize, cursor: usize, calls: usize) {
        let seen = self.visible(calls);
        if count >= calls {
            *self = Self::default();
            return;
        }
        let before = cursor.saturating_sub(seen.start) * count / seen.len().max(1);
        *self = Self { from: cursor.saturating_sub(before), count: Some(count) };
        self.keep_visible(cursor, calls);
    }

    /// Scrolls so that the cursor and some calls around it are visible.
    pub(super) fn keep_visible(&mut self, cursor: usize, calls: usize) {
        let Some(count) = self.count.map(|count| count.min(calls)) else { return };
        let margin = count / 8;
        let from = self.visible(calls).start;
        let highest = cursor.saturating_sub(margin);
        let lowest = (cursor + margin + 1).saturating_sub(count).min(highest);
        self.from = from.clamp(lowest, highest).min(calls - count);
    }

    /// Spreads the visible calls over `columns`.
    pub fn call_columns(&self, calls: usize, columns: u16) -> CallColumns {
        CallColumns { visible: self.visible(calls), columns: usize::from(columns) }
    }
}

/// The visible calls in columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallColumns {
    pub visible: Range<usize>,
    columns: usize,
}

impl CallColumns {
    fn dot_columns(&self) -> usize {
        self.columns * 2
    }

    /// Returns the calls of a dot column: several, or one that spans several dot columns.
    pub fn calls_at_dot(&self, dot: usize) -> Range<usize> {
        let (count, dots) = (self.visible.len(), self.dot_columns().max(1));
        let from = dot * count / dots;
        let to = (from + 1).max((dot + 1) * count / dots);
        self.visible.start + from..self.visible.start + to.min(count)
    }

    pub fn calls_at(&self, column: usize) -> Range<usize> {
        self.calls_at_dot(column * 2).start..self.calls_at_dot(column * 2 + 1).end
    }

    /// Returns the column of a call; the middle one when it spans several.
    pub fn column_of(&self, call: usize) -> usize {
        let (count, dots) = (self.visible.len().max(1), self.dot_columns());
        let at = call.saturating_sub(self.visible.start).min(count - 1);
        let last = ((at + 1) * dots).div_ceil(count).saturating_sub(1);
        let first = (at * dots).div_ceil(count).min(last);
        usize::midpoint(first, last) / 2
    }
}

/// The metric of the bars below the curves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BarMetric {
    /// The cost of each call.
    #[default]
    Cost,
    /// Prompt tokens of each call that were not read from the cache.
    Cache,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct TimelineScreen {
    /// The selected call, from 0.
    pub cursor: usize,
    pub viewport: Viewport,
    pub bar_metric: BarMetric,
    /// Whether the timeline is text instead of curves.
    pub as_sentences: bool,
    /// First visible line of that text.
    pub top: usize,
    /// Whether the setting below the curves has the focus, and not the calls.
    pub on_setting: bool,
    /// The entry to select as soon as the calls are known.
    pub(super) requested_entry: Option<EntryIx>,
}

/// The keys of the timeline for the status line.
pub(in crate::app) fn hints(screen: &TimelineScreen) -> Vec<Hint> {
    let (moves, open, other): (Hint, Hint, _) = if screen.on_setting {
        ((&[Action::Down, Action::Up], "setting"), (&[Action::Open], "type a value"), "calls")
    } else {
        ((&[Action::Left, Action::Right], "call"), GO_TO_ENTRY, "settings")
    };
    vec![
        moves,
        (&[Action::NextMatch], "overflow"),
        open,
        (&[Action::Back], "back"),
        (&[Action::NextPane], other),
        (&[Action::Zoom], "zoom"),
        (&[Action::Less, Action::More], "adjust"),
        (&[Action::TogglePolicy], "on/off"),
        (&[Action::ViewMenu], "view"),
    ]
}

impl TimelineScreen {
    pub(super) fn move_to(&mut self, call: usize, calls: usize) {
        self.cursor = call.min(calls.saturating_sub(1));
        self.viewport.keep_visible(self.cursor, calls);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn zooming_keeps_the_cursor_in_sight_and_ends_at_a_few_calls() {
        let mut stretch = Viewport::default();
        stretch.zoom(90, 100);
        assert_eq!(stretch.visible(100), 47..97);
        for _ in 0..3 {
            stretch.zoom(90, 100);
        }
        assert_eq!(stretch.visible(100).len(), MIN_CALLS);
        assert!(stretch.visible(100).contains(&90));
        stretch.zoom(90, 100);
        assert_eq!(stretch.visible(100), 0..100);
    }

    proptest! {
        #[test]
        fn every_visible_call_is_in_the_column_that_it_maps_to(
            calls in 1_usize..3_000, columns in 1_u16..300, cursor in 0_usize..3_000, zooms in 0_usize..6,
        ) {
            let cursor = cursor.min(calls - 1);
            let mut stretch = Viewport::default();
            (0..zooms).for_each(|_| stretch.zoom(cursor, calls));
            let grid = stretch.call_columns(calls, columns);
            prop_assert!(grid.visible.contains(&cursor));
            let dots = usize::from(columns) * 2;
            let mut next = grid.visible.start;
            for dot in 0..dots {
                let here = grid.calls_at_dot(dot);
                prop_assert!(!here.is_empty() && here.start <= next && here.end >= next, "{dot} {here:?} {next}");
                next = here.end;
            }
            prop_assert_eq!(next, grid.visible.end);
            for call in grid.visible.clone() {
                let column = grid.column_of(call);
                prop_assert!(column < usize::from(columns) && grid.calls_at(column).contains(&call));
            }
        }
    }

    #[test]
    fn calls_share_columns_and_a_single_call_spans_several() {
        let few = Viewport::default().call_columns(3, 6);
        let dots = (0..12).map(|dot| few.calls_at_dot(dot)).collect::<Vec<_>>();
        assert_eq!(dots, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2].map(|call| call..call + 1));
        assert_eq!(
            (0..6).map(|column| few.calls_at(column)).collect::<Vec<_>>(),
            [0, 0, 1, 1, 2, 2].map(|call| call..call + 1)
        );
        assert_eq!([0, 1, 2].map(|call| few.column_of(call)), [0, 2, 4]);
        let many = Viewport::default().call_columns(10, 2);
        assert_eq!((0..4).map(|dot| many.calls_at_dot(dot)).collect::<Vec<_>>(), [0..2, 2..5, 5..7, 7..10]);
        assert_eq!([many.calls_at(0), many.calls_at(1)], [0..5, 5..10]);
        assert_eq!([0, 4, 5, 9].map(|call| many.column_of(call)), [0, 0, 1, 1]);
    }

    #[test]
    fn the_cursor_keeps_an_eighth_of_the_calls_around_it_in_sight() {
        let mut shown = Viewport { from: 40, count: Some(16) };
        let mut seen = |cursor: usize| {
            shown.keep_visible(cursor, 100);
            shown.visible(100)
        };
        assert_eq!(seen(42), 40..56);
        assert_eq!(seen(41), 39..55);
        assert_eq!(seen(52), 39..55);
        assert_eq!(seen(53), 40..56);
        assert_eq!(seen(0), 0..16);
        assert_eq!(seen(99), 84..100);
        let mut out = Viewport { from: 40, count: Some(16) };
        out.zoom(48, 100);
        assert_eq!((out.visible(100), out.shows_all(100)), (44..52, false));
        out.zoom(48, 100);
        assert!(out.shows_all(100));
    }
}
