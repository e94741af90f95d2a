//! Cost against peak: one dot per cell, larger for the best trade-offs.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::View;
use crate::format::{format_short, format_usd, round_tokens};
use crate::report::sweep::Cell;
use crate::ui::glyphs;
use crate::ui::theme::Role;
use crate::ui::widgets::{put, put_right, title};
use crate::units::Tokens;

/// Rows that the plot needs.
const MIN_ROWS: u16 = 4;
/// Columns of the peak labels.
const LABEL_WIDTH: u16 = 7;

impl View<'_> {
    pub(super) fn scatter(&self, buf: &mut Buffer) {
        let area = self.places.scatter;
        if area.height < MIN_ROWS + 3 {
            return;
        }
        title(self.theme, buf, area, "Cost against peak", false);
        let cells: Vec<(usize, &Cell)> = (0..)
            .zip(&self.screen.sweep_state.cells)
            .filter_map(|(at, cell)| Some((at, cell.as_ref()?)))
            .collect();
        let priced: Vec<(usize, f64, f64, &Cell)> = cells
            .iter()
            .filter_map(|(at, cell)| Some((*at, cell.cost()?, cell.peak().get(), *cell)))
            .collect();
        if priced.is_empty() {
            let words = if cells.is_empty() { "" } else { "the model has no price" };
            put(buf, (area.x + 3, area.y + 2), area.right(), words, self.theme.style(Role::Muted));
            return;
        }
        let plot = Rect {
            x: area.x + 3 + LABEL_WIDTH,
            y: area.y + 1,
            width: area.width.saturating_sub(LABEL_WIDTH + 6),
            height: area.height - 3,
        };
        let costs = ValueRange::from_values(priced.iter().map(|(_, cost, ..)| *cost));
        let peaks = ValueRange::from_values(priced.iter().map(|(_, _, peak, _)| *peak));
        self.axes(plot, costs, peaks, buf);
        let best = self.screen.trade_offs();
        let selected = self.screen.selected();
        // Draw the best and the selected cell last, so that they cover others in the same place.
        let rank = |at: usize| (Some(at) == selected, best.contains(&at));
        let mut ordered = priced;
        ordered.sort_by_key(|(at, ..)| rank(*at));
        for (at, cost, peak, cell) in ordered {
            let x = plot.x + 1 + costs.position(cost, plot.width.saturating_sub(2));
            let y = plot.bottom() - 1 - peaks.position(peak, plot.height - 1);
            let (sign, style) = self.point(rank(at), cell);
            put(buf, (x, y), plot.right(), sign, style);
        }
    }

    fn point(&self, (selected, best): (bool, bool), cell: &Cell) -> (&'static str, Style) {
        match (selected, best) {
            (true, _) => (glyphs::SELECTED_POINT, self.theme.bold(Role::Bright)),
            (_, true) => (glyphs::ON, self.theme.style(Role::Plan)),
            _ if cell.overflows() > 0 => (glyphs::FREE, self.theme.style(Role::Danger)),
            _ => (glyphs::FREE, self.theme.style(Role::Muted)),
        }
    }

    /// Draws both axes with their end values.
    fn axes(&self, plot: Rect, costs: ValueRange, peaks: ValueRange, buf: &mut Buffer) {
        let (line, words) = (self.theme.style(Role::Faint), Role::Muted);
        for y in plot.top()..plot.bottom() {
            put(buf, (plot.x, y), plot.right(), glyphs::LINE, line);
        }
        put(buf, (plot.x, plot.bottom()), plot.right(), glyphs::END, line);
        for x in plot.x + 1..plot.right() {
            put(buf, (x, plot.bottom()), plot.right(), glyphs::LIGHT, line);
        }
        let left = plot.x.saturating_sub(1);
        let label = |y: u16, text: String, buf: &mut Buffer| {
            put_right(buf, y, left.saturating_sub(LABEL_WIDTH), left, &[self.span(words, text)]);
        };
        label(plot.y, format_short(round_tokens(Tokens(peaks.max))), buf);
        if peaks.max > peaks.min {
            label(plot.bottom() - 1, format_short(round_tokens(Tokens(peaks.min))), buf);
        }
        let y = plot.bottom() + 1;
        put(buf, (plot.x, y), plot.right(), &format_usd(costs.min), self.theme.style(words));
        if costs.max > costs.min {
            put_right(buf, y, plot.x + 8, plot.right(), &[self.span(words, format_usd(costs.max))]);
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct ValueRange {
    min: f64,
    max: f64,
}

impl ValueRange {
    fn from_values(numbers: impl Iterator<Item = f64>) -> Self {
        let (min, max) =
            numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), number| (a.min(number), b.max(number)));
        Self { min, max }
    }

    /// Maps a number to one of `places` positions; to the middle if the range is empty.
    fn position(self, number: f64, places: u16) -> u16 {
        let share = if self.max > self.min { (number - self.min) / (self.max - self.min) } else { 0.5 };
        (share.clamp(0.0, 1.0) * f64::from(places)).round() as u16
    }
}
