//! The map: one cell per pair of values, coloured by the selected measure.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::Span;

use super::{View, label, short_name, value_of};
use crate::app::screens::compare::{CompareFocus, MapMetric};
use crate::format::{format_number, format_short, format_short_usd, round_tokens};
use crate::report::sweep::Axis;
use crate::text;
use crate::ui::session_columns;
use crate::ui::theme::{HEAT_LEVELS, Role};
use crate::ui::widgets::{apply_style, on_title, put, put_right, title};
use crate::units::Tokens;

/// Label of the cell with the current settings.
const NOW: &str = "now";

const LEGEND_LEVEL_WIDTH: u16 = 7;

impl View<'_> {
    pub(super) fn map(&self, buf: &mut Buffer) {
        let area = self.places.map;
        let (down, across) = self.screen.shown_axes();
        let (Some(down), false) = (down, area.is_empty()) else { return };
        let focused = self.screen.focus == CompareFocus::Map;
        let down_words = format!("{} ↓", short_name(down));
        match across {
            Some(across) => {
                let end = title(self.theme, buf, area, &format!("{} →", short_name(across)), focused);
                let words = [self.span(Role::Muted, down_words)];
                on_title(buf, area.y, end, area.right().saturating_sub(1), &words);
            }
            None => {
                title(self.theme, buf, area, &down_words, focused);
            }
        }
        self.labels(down, across, buf);
        let levels = self.levels();
        let (rows, columns) = (self.grid.rows, self.grid.columns);
        for row in rows.0..rows.0 + rows.1 {
            for column in columns.0..columns.0 + columns.1 {
                let place = self.grid.cell(row, column).map(|place| place.intersection(area));
                let Some((place, number)) = place.zip(self.screen.cell_at(row, column)) else { continue };
                self.cell(number, levels, place, buf);
            }
        }
        self.legend(levels, buf);
    }

    /// Draws the values along both sides: bold at the cursor, with arrows towards hidden values.
    fn labels(&self, down: &Axis, across: Option<&Axis>, buf: &mut Buffer) {
        let area = self.places.map;
        let style = |selected: bool| {
            if selected { self.theme.bold(Role::Bright) } else { self.theme.style(Role::Muted) }
        };
        let at = |axis: usize| self.screen.point.get(axis).copied();
        let (rows, columns) = (self.grid.rows, self.grid.columns);
        for column in columns.0..columns.0 + columns.1 {
            let point = across.and_then(|axis| Some((axis, axis.points.get(column)?)));
            let Some(((axis, point), cell)) = point.zip(self.grid.cell(rows.0, column)) else {
                continue;
            };
            let words = text::truncate(&label(axis, point), 8).0.clone();
            let from = cell.x + cell.width.saturating_sub(text::width(&words) as u16) / 2;
            put(
                buf,
                (from, cell.y.saturating_sub(1)),
                cell.right().min(area.right()),
                &words,
                style(at(1) == Some(column)),
            );
        }
        for row in rows.0..rows.0 + rows.1 {
            let Some((point, cell)) = down.points.get(row).zip(self.grid.cell(row, columns.0)) else {
                continue;
            };
            let y = cell.y + cell.height / 2;
            let words = [Span::styled(label(down, point), style(at(0) == Some(row)))];
            put_right(buf, y, area.x + 1, cell.x.saturating_sub(2), &words);
        }
        self.overflow_signs(buf);
    }

    /// Draws the arrows towards hidden values.
    fn overflow_signs(&self, buf: &mut Buffer) {
        let area = self.places.map;
        let style = self.theme.style(Role::Ghost);
        let (down, across) = self.screen.shown_axes();
        let count = |axis: Option<&Axis>| axis.map_or(1, |axis| axis.points.len());
        let (rows, columns) = (self.grid.rows, self.grid.columns);
        let y = self.grid.cells.y.saturating_sub(1);
        if columns.0 > 0 {
            put(buf, (self.grid.cells.x.saturating_sub(2), y), area.right(), "←", style);
        }
        if columns.0 + columns.1 < count(across) {
            put(buf, (area.right().saturating_sub(1), y), area.right(), "→", style);
        }
        if rows.0 > 0 {
            put(buf, (area.x + 1, y), area.right(), "↑", style);
        }
        let last = self.grid.cell(rows.0 + rows.1.saturating_sub(1), columns.0).map(Rect::bottom);
        if let Some(y) = last.filter(|y| rows.0 + rows.1 < count(down) && *y < area.bottom()) {
            put(buf, (area.x + 1, y), area.right(), "↓", style);
        }
    }

    /// Computes the levels from the cells that fit and are already known.
    fn levels(&self) -> Levels {
        let measure = self.screen.metric;
        let cells = self.screen.sweep_state.cells.iter().flatten();
        Levels::from_values(cells.filter(|cell| self.fits(cell)).filter_map(|cell| measure.value_of(cell)))
    }

    fn cell(&self, number: usize, levels: Levels, area: Rect, buf: &mut Buffer) {
        let selected = self.screen.selected() == Some(number);
        let cell = self.screen.cell(number);
        let measure = self.screen.metric;
        let does_not_fit = cell.is_some_and(|cell| !self.fits(cell));
        let level = cell.and_then(|cell| measure.value_of(cell)).map(|value| levels.level(value));
        let mut style = self.theme.style(Role::Muted);
        if let Some(level) = level {
            let (fill, ink) = self.theme.heat_colours((!does_not_fit).then_some(level));
            style = Style::new().bg(fill).fg(ink);
            apply_style(buf, area, style);
        }
        if does_not_fit || selected {
            style = style.add_modifier(Modifier::BOLD);
        }
        let mut words = cell.map_or_else(|| session_columns::FREE.to_owned(), |cell| value_of(measure, cell));
        if does_not_fit {
            // The frame needs the blank after the sign where the number is long.
            let fits_framed = text::width(&words) + 4 <= usize::from(area.width);
            let gap = if selected && !fits_framed { "" } else { " " };
            words = format!("{}{gap}{words}", session_columns::ALERT);
        } else if let Some(level) = level.filter(|_| self.theme.uses_letters() && levels.has_several()) {
            words = format!("{} {words}", session_columns::EIGHTHS_UP[level]);
        }
        let now = self.screen.baseline_cell() == Some(number);
        let middle = area.y + area.height / 2;
        if now && area.height < 3 {
            let x = if selected { area.right() - 1 } else { area.x };
            put(buf, (x, middle), area.right(), session_columns::OFF, style);
        }
        let from = area.x + (area.width.saturating_sub(text::width(&words) as u16)).div_ceil(2);
        put(buf, (from, middle), area.right(), &words, style);
        if selected {
            frame(area, style, now, buf);
        }
        if now && area.height >= 3 {
            let from = area.x + (area.width - NOW.len() as u16) / 2;
            put(buf, (from, area.bottom() - 1), area.right(), NOW, style.remove_modifier(Modifier::BOLD));
        }
    }

    /// Draws the upper end of each level, and the colour of cells that do not fit.
    fn legend(&self, levels: Levels, buf: &mut Buffer) {
        let area = self.places.map;
        let rows = self.grid.rows;
        let last = self.grid.cell(rows.0 + rows.1.saturating_sub(1), self.grid.columns.0);
        let Some(last) = last.filter(|_| self.grid.legend) else { return };
        let y = (last.bottom() + 1).min(area.bottom().saturating_sub(1));
        if y < last.bottom() {
            return;
        }
        let mut x = self.grid.cells.x;
        let measure = self.screen.metric;
        let end_of = |level: usize| match measure {
            MapMetric::Peak | MapMetric::Cleared => format_short(round_tokens(Tokens(levels.end(level)))),
            MapMetric::Cost => format_short_usd(levels.end(level), false),
            MapMetric::Overflows => format_number(round_tokens(Tokens(levels.end(level)))),
        };
        let count = if levels.has_several() { HEAT_LEVELS } else { 0 };
        for level in 0..count {
            let place = Rect { x, y, width: LEGEND_LEVEL_WIDTH, height: 1 };
            if place.right() > area.right() {
                return;
            }
            let (fill, ink) = self.theme.heat_colours(Some(level));
            let style = Style::new().bg(fill).fg(ink);
            apply_style(buf, place, style);
            let sign = if self.theme.uses_letters() { session_columns::EIGHTHS_UP[level] } else { "" };
            let less = if level == 0 { "<" } else { "" };
            put(buf, (x + 1, y), place.right(), &format!("{sign}{less}{}", end_of(level)), style);
            x += LEGEND_LEVEL_WIDTH;
        }
        let place = Rect { x, y, width: LEGEND_LEVEL_WIDTH + 1, height: 1 };
        let any = self.screen.sweep_state.cells.iter().flatten().any(|cell| !self.fits(cell));
        if any && place.right() <= area.right() {
            let (fill, ink) = self.theme.heat_colours(None);
            let style = Style::new().bg(fill).fg(ink).add_modifier(Modifier::BOLD);
            apply_style(buf, place, style);
            put(buf, (x + 1, y), place.right(), &format!("{} over", session_columns::ALERT), style);
        }
    }
}

/// Draws a round frame around a tall cell and brackets around a flat one. There the sign of the current settings
/// (`now`) replaces the right bracket.
fn frame(area: Rect, style: Style, now: bool, buf: &mut Buffer) {
    let (left, right, bottom) = (area.x, area.right().saturating_sub(1), area.bottom().saturating_sub(1));
    if area.height < 3 {
        put(buf, (left, area.y), area.right(), "[", style);
        if !now {
            put(buf, (right, area.y), area.right(), "]", style);
        }
        return;
    }
    for x in left + 1..right {
        put(buf, (x, area.y), area.right(), session_columns::LIGHT, style);
        put(buf, (x, bottom), area.right(), session_columns::LIGHT, style);
    }
    for y in area.y + 1..bottom {
        put(buf, (left, y), area.right(), session_columns::LINE, style);
        put(buf, (right, y), area.right(), session_columns::LINE, style);
    }
    for (at, sign) in
        [((left, area.y), "╭"), ((right, area.y), "╮"), ((left, bottom), "╰"), ((right, bottom), "╯")]
    {
        put(buf, at, area.right(), sign, style);
    }
}

// Levels of a measure: equal intervals with round ends that cover all values. For example, 71k to 170k has six levels
// of 20k from 60k on, so the legend shows 80k, 100k and so on.

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Levels {
    from: f64,
    step: f64,
}

impl Levels {
    /// Covers the finite values; with fewer than two distinct ones, everything is in the lowest level.
    pub(super) fn from_values(values: impl Iterator<Item = f64>) -> Self {
        let (least, most) = values
            .filter(|value| value.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| {
                (least.min(value), most.max(value))
            });
        if most <= least || !least.is_finite() {
            return Self { from: if least.is_finite() { least } else { 0.0 }, step: 0.0 };
        }
        let mut step = round_up((most - least) / HEAT_LEVELS as f64);
        // Rounding the start down may leave the largest value outside, so widen the levels until they cover it.
        while (least / step).floor() * step + step * HEAT_LEVELS as f64 <= most {
            step = round_up(step * 1.01);
        }
        Self { from: (least / step).floor() * step, step }
    }

    /// Returns the level of a value, from 0 to [`HEAT_LEVELS`] - 1.
    pub(super) fn level(&self, value: f64) -> usize {
        if self.step == 0.0 {
            return 0;
        }
        (((value - self.from) / self.step).max(0.0).floor() as usize).min(HEAT_LEVELS - 1)
    }

    pub(super) fn has_several(&self) -> bool {
        self.step > 0.0
    }

    pub(super) fn end(&self, level: usize) -> f64 {
        self.from + self.step * (level + 1) as f64
    }
}

/// Rounds up to 1, 2, 2.5 or 5 times a power of ten.
fn round_up(number: f64) -> f64 {
    let scale = 10_f64.powf(number.log10().floor());
    let sizes = [1.0, 2.0, 2.5, 5.0, 10.0];
    sizes
        .into_iter()
        .map(|size| size * scale)
        .find(|size| *size >= number * (1.0 - 1e-9))
        .unwrap_or(10.0 * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_round_ends_and_hold_everything() {
        let levels = Levels::from_values([71e3, 99e3, 128e3, 170e3].into_iter());
        assert_eq!((levels.end(0), levels.end(5)), (80e3, 180e3));
        assert_eq!([71e3, 79e3, 80e3, 170e3].map(|value| levels.level(value)), [0, 0, 1, 5]);
        // Steps of 0.5 from 6.5 would end at 9.5.
        let costs = Levels::from_values([6.71, 9.6].into_iter());
        assert_eq!((costs.end(0), costs.level(6.71), costs.level(9.6)), (7.0, 0, 3));
    }

    #[test]
    fn a_single_value_has_the_lowest_level() {
        for values in [&[][..], &[5.0], &[5.0, 5.0], &[f64::NAN]] {
            let levels = Levels::from_values(values.iter().copied());
            assert!(!levels.has_several() && levels.level(5.0) == 0, "{values:?}");
        }
    }
}
