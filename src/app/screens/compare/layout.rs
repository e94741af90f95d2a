//! The layout of the comparison, computed without drawing, so that mouse and drawing agree.

use ratatui::layout::Rect;

use crate::app::screens::compare::CompareScreen;
use crate::app::state::App;

/// Columns from which the list is next to the map and a scatter plot below the list.
const WIDE: u16 = 110;
/// The fewest columns of the list next to the map.
const MIN_LIST_COLUMNS: u16 = 46;
/// Columns of a cell, and between two cells.
const CELL_COLUMNS: u16 = 8;
const CELL_GAP: u16 = 1;
/// Rows of a tall cell.
const TALL_CELL_ROWS: u16 = 3;
/// The most and the fewest trade-offs below the map; a title and a header are above them.
const MAX_LIST_ROWS: u16 = 7;
const MIN_LIST_ROWS: u16 = 3;
const LIST_HEADER_ROWS: u16 = 2;

/// The rectangles of the comparison; those without room are empty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompareLayout {
    /// Title and progress.
    pub header: Rect,
    /// The map with its title line.
    pub map: Rect,
    /// The list with its title line.
    pub list: Rect,
    /// Cost against peak, with its title line.
    pub scatter: Rect,
    /// The cell under the cursor, with its hairline.
    pub footer: Rect,
}

/// The grid of visible cells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MapGrid {
    pub cells: Rect,
    /// Rows of one cell.
    pub height: u16,
    /// Rows between two cells.
    pub gap: u16,
    /// The first visible row, and the number of visible rows.
    pub rows: (usize, usize),
    /// The first visible column, and the number of visible columns.
    pub columns: (usize, usize),
    /// Whether the legend fits below the cells.
    pub legend: bool,
}

impl MapGrid {
    /// Returns the area of a cell; `None` when it is not visible.
    pub fn cell(&self, row: usize, column: usize) -> Option<Rect> {
        let inside = |at: usize, (first, count): (usize, usize)| {
            at.checked_sub(first).filter(|at| *at < count).map(|at| at as u16)
        };
        let (row, column) = (inside(row, self.rows)?, inside(column, self.columns)?);
        Some(Rect {
            x: self.cells.x + column * (CELL_COLUMNS + CELL_GAP),
            y: self.cells.y + row * (self.height + self.gap),
            width: CELL_COLUMNS,
            height: self.height,
        })
    }

    /// Returns the row and the column of the cell at a position.
    pub fn hit(&self, x: u16, y: u16) -> Option<(usize, usize)> {
        let rows = self.rows.0..self.rows.0 + self.rows.1;
        let holds = |row: usize, column: usize| {
            self.cell(row, column).is_some_and(|cell| cell.contains(ratatui::layout::Position { x, y }))
        };
        rows.flat_map(|row| {
            (self.columns.0..self.columns.0 + self.columns.1).map(move |column| (row, column))
        })
        .find(|(row, column)| holds(*row, *column))
    }
}

/// Returns the first and the number of `room` visible items, around item `at`.
fn visible_range(at: usize, len: usize, room: usize) -> (usize, usize) {
    let room = room.clamp(1, len.max(1));
    (at.saturating_sub(room / 2).min(len.saturating_sub(room)), room.min(len))
}

/// Lays out the comparison. `labels` is the width of the row labels.
pub fn layout_compare(area: Rect, rows: usize, columns: usize, labels: u16) -> CompareLayout {
    let roomy = area.height >= 26;
    let foot_height = if roomy { 4 } else { 3 }.min(area.height);
    let head = Rect { height: 1.min(area.height), ..area };
    let top = head.bottom() + u16::from(roomy);
    let foot_y = area.bottom().saturating_sub(foot_height).max(top);
    let foot = Rect { y: foot_y, height: area.bottom().saturating_sub(foot_y), ..area };
    let body = Rect { y: top, height: foot_y.saturating_sub(top), ..area };
    let mut places = CompareLayout { header: head, footer: foot, ..CompareLayout::default() };
    if area.width >= WIDE {
        let wanted = labels + 3 + columns as u16 * (CELL_COLUMNS + CELL_GAP);
        let width = wanted.clamp(area.width / 2, area.width - MIN_LIST_COLUMNS);
        places.map = Rect { width, ..body };
        let right = Rect { x: body.x + width, width: body.width - width, ..body };
        let list = (right.height / 2)
            .clamp(LIST_HEADER_ROWS + MIN_LIST_ROWS, LIST_HEADER_ROWS + 10)
            .min(right.height);
        places.list = Rect { height: list, ..right };
        places.scatter = Rect { y: right.y + list, height: right.height - list, ..right };
        return places;
    }
    let map_rows = 2 + rows as u16;
    let spare = body.height.saturating_sub(map_rows);
    let list =
        spare.clamp(LIST_HEADER_ROWS + MIN_LIST_ROWS, LIST_HEADER_ROWS + MAX_LIST_ROWS).min(body.height / 2);
    places.map = Rect { height: body.height - list, ..body };
    places.list = Rect { y: body.y + places.map.height, height: list, ..body };
    places
}

impl App {
    pub fn compare_layout(&self) -> CompareLayout {
        let layout = self.layout();
        let y = layout.header.bottom();
        let area = Rect { x: 0, y, width: self.size.0, height: layout.status.y.saturating_sub(y) };
        let (rows, columns) = self.compare_screen.map_size();
        layout_compare(area, rows, columns, self.compare_screen.label_width())
    }

    pub fn compare_grid(&self) -> MapGrid {
        self.compare_screen.map_grid(self.compare_layout().map)
    }
}

impl CompareScreen {
    fn map_size(&self) -> (usize, usize) {
        let (down, across) = self.shown_axes();
        (down.map_or(1, |axis| axis.points.len()), across.map_or(1, |axis| axis.points.len()))
    }

    /// Columns of the row labels, 4 to 10.
    pub fn label_width(&self) -> u16 {
        let (down, _) = self.shown_axes();
        let axis = down.into_iter();
        let texts = axis.flat_map(|axis| axis.points.iter().map(|point| axis.shown_text(point)));
        texts.map(|text| text.chars().count()).max().unwrap_or(4).clamp(4, 10) as u16
    }

    fn map_grid(&self, map: Rect) -> MapGrid {
        let (rows, columns) = self.map_size();
        let left = map.x + 2 + self.label_width() + 2;
        // Below the title line and the column labels.
        let roomy = map.height >= 4 * rows as u16 + 5;
        let y = map.y + 2 + u16::from(roomy);
        let room = (map.right().saturating_sub(left), map.bottom().saturating_sub(y));
        let legend = room.1 > rows as u16 + 1;
        let room = (room.0, room.1.saturating_sub(if legend { 2 } else { 0 }));
        let fits = |height: u16, gap: u16| rows as u16 * (height + gap) <= room.1 + gap;
        let (height, gap) = [(TALL_CELL_ROWS, 1), (TALL_CELL_ROWS, 0), (1, 1)]
            .into_iter()
            .find(|(h, g)| fits(*h, *g))
            .unwrap_or((1, 0));
        let at = |axis: usize| self.point.get(axis).copied().unwrap_or(0);
        let per_row = usize::from((room.1 + gap) / (height + gap).max(1));
        let per_column = usize::from((room.0 + CELL_GAP) / (CELL_COLUMNS + CELL_GAP));
        MapGrid {
            cells: Rect { x: left, y, width: room.0, height: room.1 },
            height,
            gap,
            rows: visible_range(at(0), rows, per_row),
            columns: visible_range(at(1), columns, per_column),
            legend,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_110_columns_the_list_moves_under_the_map_and_the_scatter_plot_disappears() {
        let at = |width, height| layout_compare(Rect { x: 0, y: 1, width, height }, 6, 6, 4);
        let wide = at(130, 34);
        assert!(wide.list.x >= wide.map.right() && wide.scatter.height > 6, "{wide:?}");
        for (width, height) in [(80, 22), (60, 18), (109, 50)] {
            let narrow = at(width, height);
            assert!(narrow.scatter.is_empty() && narrow.list.y == narrow.map.bottom(), "{narrow:?}");
            assert!(narrow.map.height >= 8 && narrow.list.height >= 4, "{narrow:?}");
        }
    }

    #[test]
    fn no_size_panics_or_overlaps() {
        for width in 1..180 {
            for height in 0..60 {
                let area = Rect { x: 0, y: 1, width, height };
                let places = layout_compare(area, 9, 9, 6);
                for part in [places.header, places.map, places.list, places.scatter, places.footer] {
                    assert!(
                        part.bottom() <= area.bottom().max(area.y) && part.right() <= width,
                        "{width}x{height}"
                    );
                }
                assert!(places.map.bottom() <= places.footer.y, "{width}x{height}");
            }
        }
    }

    #[test]
    fn the_visible_range_contains_the_cursor() {
        for len in 1..40 {
            for at in 0..len {
                let (first, count) = visible_range(at, len, 7);
                assert!(first <= at && at < first + count && first + count <= len, "{at} of {len}");
            }
        }
    }
}
