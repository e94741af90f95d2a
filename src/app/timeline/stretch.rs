//! The calls that are seen, and which of them stand in which column. A column has two columns of dots.

use std::ops::Range;

/// The fewest calls that fill the screen.
const LEAST: usize = 8;

/// A stretch of the calls: all of them, or so many from one on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stretch {
    from: usize,
    /// How many; none while all are seen.
    count: Option<usize>,
}

impl Stretch {
    /// The calls that are seen of so many.
    pub fn seen(&self, calls: usize) -> Range<usize> {
        let count = self.count.unwrap_or(calls).min(calls);
        let from = self.from.min(calls - count);
        from..from + count
    }

    /// Whether all calls are seen.
    pub fn is_whole(&self, calls: usize) -> bool {
        self.seen(calls).len() == calls
    }

    /// Half as many calls, the cursor where it was on the screen.
    pub(super) fn zoom_in(&mut self, cursor: usize, calls: usize) {
        let count = self.seen(calls).len();
        if count > LEAST {
            self.resize((count / 2).max(LEAST), cursor, calls);
        }
    }

    /// Twice as many calls.
    pub(super) fn zoom_out(&mut self, cursor: usize, calls: usize) {
        self.resize(self.seen(calls).len() * 2, cursor, calls);
    }

    fn resize(&mut self, count: usize, cursor: usize, calls: usize) {
        let seen = self.seen(calls);
        if count >= calls {
            *self = Self::default();
            return;
        }
        let before = cursor.saturating_sub(seen.start) * count / seen.len().max(1);
        *self = Self { from: cursor.saturating_sub(before), count: Some(count) };
        self.keep(cursor, calls);
    }

    /// Brings the cursor into sight, with some calls around it.
    pub(super) fn keep(&mut self, cursor: usize, calls: usize) {
        let Some(count) = self.count.map(|count| count.min(calls)) else { return };
        let margin = count / 8;
        let from = self.seen(calls).start;
        let highest = cursor.saturating_sub(margin);
        let lowest = (cursor + margin + 1).saturating_sub(count).min(highest);
        self.from = from.clamp(lowest, highest).min(calls - count);
    }

    /// The stretch on so many columns.
    pub fn grid(&self, calls: usize, columns: u16) -> Grid {
        Grid { seen: self.seen(calls), columns: usize::from(columns) }
    }
}

/// Calls in columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    /// The calls that are seen.
    pub seen: Range<usize>,
    columns: usize,
}

impl Grid {
    fn dots(&self) -> usize {
        self.columns * 2
    }

    /// The calls of a column of dots: several, or one that takes several columns.
    pub fn calls_of_dot(&self, dot: usize) -> Range<usize> {
        let (count, dots) = (self.seen.len(), self.dots().max(1));
        let from = dot * count / dots;
        let to = (from + 1).max((dot + 1) * count / dots);
        self.seen.start + from..self.seen.start + to.min(count)
    }

    /// The calls of a column.
    pub fn calls(&self, column: usize) -> Range<usize> {
        self.calls_of_dot(column * 2).start..self.calls_of_dot(column * 2 + 1).end
    }

    /// The column of a call: the middle one where it takes several.
    pub fn column(&self, call: usize) -> usize {
        let (count, dots) = (self.seen.len().max(1), self.dots());
        let at = call.saturating_sub(self.seen.start).min(count - 1);
        let last = ((at + 1) * dots).div_ceil(count).saturating_sub(1);
        let first = (at * dots).div_ceil(count).min(last);
        usize::midpoint(first, last) / 2
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn zooming_keeps_the_cursor_in_sight_and_ends_at_a_few_calls() {
        let mut stretch = Stretch::default();
        stretch.zoom_in(90, 100);
        assert_eq!(stretch.seen(100), 47..97);
        for _ in 0..9 {
            stretch.zoom_in(90, 100);
        }
        assert_eq!(stretch.seen(100).len(), LEAST);
        assert!(stretch.seen(100).contains(&90));
        for _ in 0..9 {
            stretch.zoom_out(90, 100);
        }
        assert_eq!(stretch.seen(100), 0..100);
    }

    proptest! {
        #[test]
        fn every_call_that_is_seen_stands_in_the_columns_and_in_its_own(
            calls in 1_usize..3_000, columns in 1_u16..300, cursor in 0_usize..3_000, zooms in 0_usize..6,
        ) {
            let cursor = cursor.min(calls - 1);
            let mut stretch = Stretch::default();
            (0..zooms).for_each(|_| stretch.zoom_in(cursor, calls));
            let grid = stretch.grid(calls, columns);
            prop_assert!(grid.seen.contains(&cursor));
            let dots = usize::from(columns) * 2;
            let mut next = grid.seen.start;
            for dot in 0..dots {
                let here = grid.calls_of_dot(dot);
                prop_assert!(!here.is_empty() && here.start <= next && here.end >= next, "{dot} {here:?} {next}");
                next = here.end;
            }
            prop_assert_eq!(next, grid.seen.end);
            for call in grid.seen.clone() {
                let column = grid.column(call);
                prop_assert!(column < usize::from(columns) && grid.calls(column).contains(&call));
            }
        }
    }
}
