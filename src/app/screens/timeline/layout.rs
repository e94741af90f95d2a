//! The layout of the timeline, computed from its size alone, so that mouse and drawing agree.

use ratatui::layout::Rect;

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
    let cache_lane = take_last(1);
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
        assert_eq!((wide.cache_lane, at(79, 29).cache_lane), (rect(2, 18, 59, 1), rect(2, 20, 66, 1)));
        assert_eq!((wide.bars_title, wide.bars), (rect(0, 19, 80, 1), rect(2, 20, 59, 4)));
        assert_eq!((wide.call, wide.setting), (rect(0, 24, 80, 3), rect(0, 27, 80, 2)));
        let narrow = at(79, 29);
        assert_eq!((narrow.header, narrow.title), (rect(0, 1, 79, 2), rect(0, 3, 79, 1)));
        assert_eq!((narrow.chart, narrow.threshold_labels), (rect(2, 4, 66, 14), rect(70, 4, 9, 14)));
        assert_eq!((narrow.bars_title, narrow.bars), (rect(0, 21, 79, 1), rect(2, 22, 66, 2)));
        assert_eq!((narrow.call, narrow.setting), (rect(0, 24, 79, 3), rect(0, 27, 79, 1)));
        let low = at(79, 23);
        assert_eq!((low.bars_title.height, low.bars.height, low.chart), (0, 0, rect(2, 4, 66, 11)));
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
