//! A cursor in a scrolling list: pure arithmetic on rows.

/// Rows that stay visible around the cursor.
const MARGIN: usize = 3;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Scroll {
    pub cursor: usize,
    /// First visible row.
    pub top: usize,
}

impl Scroll {
    /// Moves the cursor by rows, within the list, and scrolls it into view.
    pub fn move_by(&mut self, by: isize, len: usize, height: usize) {
        self.move_to(self.cursor.saturating_add_signed(by), len, height);
    }

    /// Moves the cursor to a row, or to the last row.
    pub fn move_to(&mut self, row: usize, len: usize, height: usize) {
        self.cursor = row.min(len.saturating_sub(1));
        self.keep_visible(len, height);
    }

    /// Scrolls like the wheel; the cursor moves only to stay visible.
    pub fn scroll_by(&mut self, by: isize, len: usize, height: usize) {
        self.top = self.top.saturating_add_signed(by).min(len.saturating_sub(height));
        let margin = margin(height);
        let last = (self.top + height).saturating_sub(1 + margin);
        let first = if self.top == 0 { 0 } else { self.top + margin };
        let last = if self.top + height >= len { len.saturating_sub(1) } else { last };
        self.cursor = self.cursor.clamp(first.min(last), last.max(first)).min(len.saturating_sub(1));
    }

    /// Scrolls so that the cursor is visible.
    pub fn keep_visible(&mut self, len: usize, height: usize) {
        let margin = margin(height);
        let highest = self.cursor.saturating_sub(margin);
        let lowest = (self.cursor + margin + 1).saturating_sub(height);
        self.top = self.top.clamp(lowest.min(highest), highest.max(lowest));
        self.top = self.top.min(len.saturating_sub(height));
    }
}

fn margin(height: usize) -> usize {
    MARGIN.min(height.saturating_sub(1) / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn moves(steps: &[(isize, usize, usize)]) {
        let mut scroll = Scroll::default();
        for (by, cursor, top) in steps {
            scroll.move_by(*by, 100, 10);
            assert_eq!((scroll.cursor, scroll.top), (*cursor, *top), "after {by}");
        }
    }

    #[test]
    fn scrolling_keeps_three_rows_beyond_the_cursor_visible() {
        moves(&[(6, 6, 0), (1, 7, 1), (50, 57, 51), (-1, 56, 51), (-4, 52, 49)]);
    }

    #[test]
    fn the_ends_of_the_list_stop_the_cursor() {
        moves(&[(-1, 0, 0), (1000, 99, 90), (1, 99, 90), (-2000, 0, 0)]);
    }

    #[test]
    fn the_wheel_takes_the_cursor_along_only_at_the_edge() {
        let mut scroll = Scroll { cursor: 5, top: 0 };
        scroll.scroll_by(1, 100, 10);
        assert_eq!(scroll, Scroll { cursor: 5, top: 1 });
        scroll.scroll_by(5, 100, 10);
        assert_eq!(scroll, Scroll { cursor: 9, top: 6 });
    }

    #[test]
    fn an_empty_list_and_no_height_do_not_panic() {
        let mut scroll = Scroll { cursor: 5, top: 3 };
        scroll.move_by(1, 0, 0);
        scroll.scroll_by(1, 0, 0);
        assert_eq!(scroll, Scroll { cursor: 0, top: 0 });
    }
}
