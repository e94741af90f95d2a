//! The curves of the timeline, the thresholds behind them, and the column of the cursor.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use super::View;
use crate::context::tokens_before::TokensBefore;
use crate::format::{format_short_tokens, round_tokens};
use crate::report::timeline::TraceKind;
use crate::session::budget_marks::{Threshold, ThresholdMark};
use crate::ui::session_columns;
use crate::ui::theme::{BackgroundRole, Role};
use crate::ui::widgets::{apply_style, put, put_spans};
use crate::units::Tokens;

/// Thresholds in the order in which they claim a row of the labels.
const PRIORITY: [Threshold; 5] =
    [Threshold::Window, Threshold::Compact, Threshold::Hard, Threshold::Soft, Threshold::Flush];

/// Columns of dots per call from which vertical lines have full thickness.
const APART: usize = 4;

/// The vertical scale: the tokens of the top row.
pub(super) struct Scale {
    pub(super) top: Tokens,
}

impl Scale {
    pub(super) fn share(&self, tokens: Tokens) -> f64 {
        (tokens / self.top).clamp(0.0, 1.0)
    }
}

impl View<'_> {
    pub(super) fn chart(&self, buf: &mut Buffer) {
        let chart = self.places.chart;
        if chart.is_empty() {
            return;
        }
        let marks = self.timeline.thresholds();
        let scale = self.scale(&marks);
        self.lines(&marks, &scale, buf);
        let gaps = self.gaps(buf);
        apply_style(buf, self.cursor_area(), self.theme.background(BackgroundRole::Selected));
        // A cell with both curves shows the simulated one.
        for trace in self.timeline.visible_traces() {
            let mut dots = Dots::new(chart);
            let thick = if *trace == TraceKind::Simulated { 2 } else { 1 };
            // Thick vertical lines would fill the space between close calls.
            let wide =
                if usize::from(chart.width) * 2 >= self.grid.visible.len() * APART { thick } else { 1 };
            dots.step_line(&self.heights(*trace, &scale), thick, wide);
            let calls = self.timeline.trace(*trace);
            let over = |column| calls[self.grid.calls_at(column)].iter().any(|call| call.overflowed);
            let role = |column| if over(column) { Role::Danger } else { Self::role(*trace) };
            dots.draw(|column| self.theme.style(role(column)), buf);
        }
        self.signs(&scale, &gaps, buf);
        self.cursor(buf);
    }

    /// Scales the chart slightly above the largest value.
    fn scale(&self, marks: &[ThresholdMark]) -> Scale {
        let marked = Tokens(marks.iter().map(|mark| mark.tokens).max().unwrap_or(0) as f64);
        Scale { top: (marked.max(self.timeline.peak_tokens()) * 1.03).max(Tokens(1.0)) }
    }

    /// Returns the height of each column of dots: the largest prompt of its calls.
    fn heights(&self, trace: TraceKind, scale: &Scale) -> Vec<f64> {
        let calls = self.timeline.trace(trace);
        let largest = |dot| {
            calls[self.grid.calls_at_dot(dot)]
                .iter()
                .map(|call| call.expected)
                .fold(Tokens::ZERO, Tokens::max)
        };
        (0..usize::from(self.places.chart.width) * 2).map(|dot| scale.share(largest(dot))).collect()
    }

    /// Returns the row of `tokens`.
    pub(super) fn row(&self, scale: &Scale, tokens: Tokens) -> u16 {
        let chart = self.places.chart;
        let dots = f64::from(chart.height) * 4.0 - 1.0;
        let dot = ((1.0 - scale.share(tokens)) * dots).round();
        (chart.y + (dot / 4.0) as u16).min(chart.bottom() - 1)
    }

    /// Draws the thresholds as dashed lines with labels in the margin. Labels of thresholds on one row move to
    /// neighbouring rows.
    fn lines(&self, marks: &[ThresholdMark], scale: &Scale, buf: &mut Buffer) {
        let chart = self.places.chart;
        let mut named: Vec<u16> = Vec::new();
        for threshold in PRIORITY {
            let Some(mark) = marks.iter().find(|mark| mark.threshold == threshold) else { continue };
            let y = self.row(scale, Tokens(mark.tokens as f64));
            let window = threshold == Threshold::Window;
            let line = self.theme.style(if window { Role::Danger } else { Role::Faint });
            if !named.contains(&y) || window {
                for x in chart.left()..chart.right() {
                    put(buf, (x, y), chart.right(), session_columns::DASHES, line);
                }
            }
            let rows = [Some(y), y.checked_add(1), y.checked_sub(1)];
            let free = |row: &u16| (chart.top()..chart.bottom()).contains(row) && !named.contains(row);
            if let Some(row) = rows.into_iter().flatten().find(free) {
                named.push(row);
                let role = if window { Role::Danger } else { Role::Muted };
                let place = (self.places.threshold_labels.x, row);
                put(
                    buf,
                    place,
                    self.places.threshold_labels.right(),
                    &self.label(mark),
                    self.theme.style(role),
                );
            }
        }
        let zero = (self.places.threshold_labels.x, self.places.markers.y);
        put_spans(
            buf,
            zero,
            self.places.threshold_labels.right(),
            &[Span::styled("0", self.theme.style(Role::Muted))],
        );
    }

    fn label(&self, mark: &ThresholdMark) -> String {
        if self.places.threshold_labels.width < 14 {
            return mark.threshold.label().to_owned();
        }
        format!("{} {}", format_short_tokens(mark.tokens, mark.threshold.is_exact()), mark.threshold.label())
    }

    fn cursor_area(&self) -> ratatui::layout::Rect {
        let chart = self.places.chart;
        ratatui::layout::Rect {
            x: self.cursor_column(),
            width: 1,
            height: chart.height + self.places.markers.height,
            ..chart
        }
    }

    /// Draws the cursor through the cells of its column without a curve.
    fn cursor(&self, buf: &mut Buffer) {
        let area = self.cursor_area();
        for y in area.top()..area.bottom() {
            let empty = buf.cell((area.x, y)).is_some_and(|cell| is_background(cell.symbol()));
            if empty {
                put(buf, (area.x, y), area.right(), session_columns::LINE, self.theme.style(Role::Focus));
            }
        }
        let axis = (area.x, self.places.axis.y);
        put(buf, axis, area.right(), session_columns::POINTER, self.theme.style(Role::Focus));
    }

    /// Returns the tokens of a call, which position signs on the curve.
    pub(super) fn tokens_at(&self, trace: TraceKind, call: usize) -> Tokens {
        self.timeline.trace(trace).get(call).map_or(Tokens::ZERO, |call| call.expected)
    }

    /// Formats the tokens before and after a compaction.
    pub(super) fn compaction_text(before: TokensBefore, after: (Tokens, bool)) -> String {
        let words = |tokens: Tokens, estimated: bool| format_short_tokens(round_tokens(tokens), !estimated);
        format!(
            "{} {} {}",
            words(before.tokens, before.is_estimate),
            session_columns::ARROW,
            words(after.0, after.1)
        )
    }
}

/// Whether a cell is empty or part of a background line.
pub(super) fn is_background(symbol: &str) -> bool {
    matches!(symbol, " " | session_columns::DASHES | session_columns::OLD_MARK)
}

// Curves in braille: each cell has two columns and four rows of dots.

/// Bits of a cell's dots, by column from the top.
const BITS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

pub(super) struct Dots {
    area: Rect,
    cells: Vec<u8>,
}

impl Dots {
    pub(super) fn new(area: Rect) -> Self {
        Self { area, cells: vec![0; usize::from(area.width) * usize::from(area.height)] }
    }

    fn rows(&self) -> usize {
        usize::from(self.area.height) * 4
    }

    fn set(&mut self, column: usize, row: usize) {
        let at = row / 4 * usize::from(self.area.width) + column / 2;
        if let Some(cell) = self.cells.get_mut(at).filter(|_| row < usize::from(self.area.height) * 4) {
            *cell |= BITS[column % 2][row % 4];
        }
    }

    /// Draws a step line through heights of 0 to 1, one per column of dots. It is `thick` dots high, and its vertical
    /// parts are `wide` columns wide.
    pub(super) fn step_line(&mut self, heights: &[f64], thick: usize, wide: usize) {
        let last = self.rows().saturating_sub(1);
        let row = |height: f64| ((1.0 - height.clamp(0.0, 1.0)) * last as f64).round() as usize;
        let mut before = None;
        for (column, height) in heights.iter().enumerate() {
            let here = row(*height);
            let from = before.unwrap_or(here);
            for row in here.min(from)..=here.max(from) {
                (column..(column + wide).min(heights.len())).for_each(|column| self.set(column, row));
            }
            for under in 1..thick {
                self.set(column, (here + under).min(last));
            }
            before = Some(here);
        }
    }

    /// Writes the dots over the cells, each column in its style.
    pub(super) fn draw(&self, style: impl Fn(usize) -> Style, buf: &mut Buffer) {
        let width = usize::from(self.area.width);
        for (at, bits) in self.cells.iter().enumerate().filter(|(_, bits)| **bits != 0) {
            let place = (self.area.x + (at % width) as u16, self.area.y + (at / width) as u16);
            let sign = char::from_u32(0x2800 + u32::from(*bits)).unwrap_or(' ');
            put(buf, place, self.area.right(), sign.encode_utf8(&mut [0; 4]), style(at % width));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(heights: &[f64], thick: usize) -> Vec<String> {
        let area = Rect::new(0, 0, 4, 2);
        let mut buf = Buffer::empty(area);
        let mut dots = Dots::new(area);
        dots.step_line(heights, thick, 1);
        dots.draw(|_| Style::new(), &mut buf);
        (0..2).map(|y| (0..4).map(|x| buf[(x, y)].symbol()).collect()).collect()
    }

    #[test]
    fn a_step_is_joined_by_a_vertical_line_and_heights_are_clamped() {
        assert_eq!(drawn(&[0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 2.0], 1), ["  ⡏⠉", "⣀⣀⡇ "]);
        assert_eq!(drawn(&[1.0; 8], 2), ["⠛⠛⠛⠛", "    "]);
        assert_eq!(drawn(&[-1.0; 8], 2), ["    ", "⣀⣀⣀⣀"]);
    }
}
