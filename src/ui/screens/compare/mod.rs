//! The comparison screen: a map of two settings, the best trade-offs, cost against peak, and the selected cell.

mod foot;
mod list;
mod map;
pub(super) mod sides;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use crate::app::App;
use crate::app::screens::compare::layout::{CompareLayout, MapGrid};
use crate::app::screens::compare::{CompareScreen, MapMetric};
use crate::format::{
    format_number, format_short, format_short_estimate, format_short_tokens, format_short_usd, format_usd,
    quantity, round_tokens,
};
use crate::report::sweep::{Axis, AxisPoint, Cell, Sweep};
use crate::ui::session_columns;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{clear, note, on_title, put, put_facts, put_facts_right, put_right, title};
use crate::units::{Millis, Tokens};

struct View<'a> {
    app: &'a App,
    theme: &'a Theme,
    screen: &'a CompareScreen,
    places: CompareLayout,
    grid: MapGrid,
}

pub(in crate::ui) fn draw(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
    clear(theme, buf, area);
    let screen = &app.compare_screen;
    let error = screen.sweep_state.error.as_ref().or(app.replay_state.error.as_ref());
    if let Some(error) = error {
        title(theme, buf, area, "Compare", true);
        return note(theme, "Cannot compare settings", error, area, buf);
    }
    if screen.sweep_state.sweep.as_ref().is_some_and(|sweep| sweep.recorded.calls == 0) {
        title(theme, buf, area, "Compare", true);
        let why = "The path to this leaf has no model call, answered or refused.";
        return note(theme, "No calls recorded", why, area, buf);
    }
    if screen.sweep_state.axes.is_empty() {
        title(theme, buf, area, "Compare", true);
        let (what, why) = match app.replay_state.recording {
            Some(_) => (
                "Choosing settings to vary…",
                "clawscope picks those that matter most here; v a chooses your own.",
            ),
            None => ("Reading…", ""),
        };
        return note(theme, what, why, area, buf);
    }
    let view = View { app, theme, screen, places: app.compare_layout(), grid: app.compare_grid() };
    view.head(buf);
    view.map(buf);
    view.list(buf);
    view.scatter(buf);
    view.foot(buf);
}

impl View<'_> {
    fn sweep(&self) -> Option<&Sweep> {
        self.screen.sweep_state.sweep.as_deref()
    }

    fn span(&self, role: Role, words: impl Into<String>) -> Span<'static> {
        Span::styled(words.into(), self.theme.style(role))
    }

    /// Whether every call of a cell fits and leaves the headroom free. Headroom counts only once all cells are known.
    fn fits(&self, cell: &Cell) -> bool {
        self.sweep().map_or(cell.overflows() == 0, |sweep| sweep.fits(cell))
    }

    fn selected(&self) -> Option<&Cell> {
        self.screen.cell(self.screen.selected()?)
    }
}

/// Shortens a setting's key to its last part.
fn short_name(axis: &Axis) -> &str {
    axis.key().rsplit('.').next().unwrap_or(axis.key())
}

/// Formats a value next to the map: whole thousands as `20k`.
fn label(axis: &Axis, point: &AxisPoint) -> String {
    match point.number {
        Some(number) if number >= 10_000.0 && point.text.parse() == Ok(number) && number % 1000.0 == 0.0 => {
            format_short(number as u64)
        }
        _ => axis.shown_text(point).to_owned(),
    }
}

/// Formats a cell's measure in a few columns; a dash if it is unknown.
fn value_of(measure: MapMetric, cell: &Cell) -> String {
    match measure {
        MapMetric::Peak => peak(cell),
        MapMetric::Cleared => left_out(cell),
        MapMetric::Cost => {
            let is_estimated = cell.totals.cost_breakdown.is_estimated();
            cell.cost().map_or_else(dash, |cost| format_short_usd(cost, is_estimated))
        }
        MapMetric::Overflows => format_number(cell.overflows() as i64),
    }
}

fn dash() -> String {
    crate::ui::session_columns::UNKNOWN.to_owned()
}

/// Formats the largest prompt of a cell.
fn peak(cell: &Cell) -> String {
    format_short_tokens(round_tokens(cell.peak()), cell.totals.peak_is_measured)
}

/// Formats the messages that prompts lacked and needed again; a dash where they are not counted.
fn regret(cell: &Cell) -> String {
    cell.regret.map_or_else(dash, |regret| format_number(regret.needed as i64))
}

fn regret_role(cell: &Cell) -> Role {
    if cell.regret.is_some_and(|regret| regret.needed > 0) { Role::Warn } else { Role::Muted }
}

/// Formats the tokens that a call leaves out on average.
fn left_out(cell: &Cell) -> String {
    match round_tokens(cell.cleared_tokens_per_call()) {
        0 => "0".to_owned(),
        tokens => format_short_estimate(tokens),
    }
}

/// Delay before progress shows.
const SLOW_MS: Millis = Millis(150.0);
/// Columns of a terminal from which the progress has a bar and names the counted items.
const BAR_COLUMNS: u16 = 80;

impl View<'_> {
    fn head(&self, buf: &mut Buffer) {
        let area = self.places.header;
        let end = area.right().saturating_sub(1);
        let start = put_facts_right(buf, area.y, area.x + area.width / 3, end, &[self.verdict()]);
        let facts = [
            vec![Span::styled(self.screen.metric.label(), self.theme.bold(Role::Bright))],
            self.counts(),
            self.headroom(),
            self.fixed_settings(),
        ];
        put_facts(buf, (area.x + 1, area.y), start.saturating_sub(2), &facts);
    }

    /// Returns the number of combinations, or the progress while they are replayed.
    fn counts(&self) -> Vec<Span<'static>> {
        let (known, all) = self.screen.progress();
        let count = quantity(all as u64, "combination");
        if self.sweep().is_some() {
            return vec![self.span(Role::Muted, count)];
        }
        if self.app.now_ms - self.screen.requested_ms < SLOW_MS {
            return vec![self.span(Role::Muted, count)];
        }
        if self.places.header.width < BAR_COLUMNS {
            let words = format!("{} of {}", format_number(known as i64), format_number(all as i64));
            return vec![self.span(Role::Warn, words)];
        }
        let words = format!("{} of {count}", format_number(known as i64));
        let cells = 12;
        let full = (known * cells).checked_div(all).unwrap_or(0);
        let bar = |sign: &str, times: usize| sign.repeat(times);
        vec![
            self.span(Role::Warn, format!("replaying {words} ")),
            self.span(Role::Focus, bar(session_columns::HEAVY, full)),
            self.span(Role::Faint, bar(session_columns::LIGHT, cells - full)),
        ]
    }

    /// Returns the tokens that every prompt must leave free.
    fn headroom(&self) -> Vec<Span<'static>> {
        let free = self.sweep().map(|sweep| sweep.headroom).filter(|tokens| *tokens > Tokens::ZERO);
        let words = free.map(|tokens| format!("leaving {} free", format_short(round_tokens(tokens))));
        words.map(|words| vec![self.span(Role::Text, words)]).unwrap_or_default()
    }

    /// Returns the settings that the map does not show, with their fixed values.
    fn fixed_settings(&self) -> Vec<Span<'static>> {
        let axes = self.screen.sweep_state.axes.iter().zip(&self.screen.point).skip(2);
        let words: Vec<String> = axes
            .map(|(axis, at)| format!("{} {}", short_name(axis), label(axis, &axis.points[*at])))
            .collect();
        if words.is_empty() {
            Vec::new()
        } else {
            vec![self.span(Role::Text, format!("with {}", words.join(", ")))]
        }
    }

    /// Summarises the smallest change.
    fn verdict(&self) -> Vec<Span<'static>> {
        let Some(sweep) = self.sweep() else { return Vec::new() };
        let Some(cell) = sweep.smallest_fitting else {
            let least = sweep.cells.iter().map(crate::report::sweep::Cell::overflows).min().unwrap_or(0);
            // If every call fits, only the headroom is missing.
            let words = match least {
                0 => format!("{} None of these leaves that much free", session_columns::ALERT),
                1 => {
                    format!("{} None of these help: at least 1 call still overflows", session_columns::ALERT)
                }
                _ => format!(
                    "{} None of these help: at least {} calls still overflow",
                    session_columns::ALERT,
                    format_number(least as i64)
                ),
            };
            return vec![self.span(Role::Danger, words)];
        };
        if cell == sweep.current {
            let peak = peak(&sweep.cells[cell]);
            if sweep.caveat().is_some() {
                let refused = quantity(sweep.recorded.overflows as u64, "recorded call");
                let words = format!("{} fits now, but {refused} did not", session_columns::ALERT);
                return vec![self.span(Role::Warn, words)];
            }
            return vec![self.span(Role::User, format!("{} fits now, peak {peak}", session_columns::PASSED))];
        }
        let at = sweep.grid.points_of(cell);
        let moved = sweep.axes.iter().zip(at).filter(|(axis, at)| *at != axis.current);
        let words: Vec<String> = moved
            .map(|(axis, at)| format!("{} {}", short_name(axis), label(axis, &axis.points[at])))
            .collect();
        vec![
            self.span(Role::Muted, "smallest change "),
            Span::styled(words.join(", "), self.theme.bold(Role::Plan)),
        ]
    }
}

/// Rows that the plot needs.
const MIN_ROWS: u16 = 4;
/// Columns of the peak labels.
const LABEL_WIDTH: u16 = 7;

impl View<'_> {
    fn scatter(&self, buf: &mut Buffer) {
        let area = self.places.scatter;
        if area.height < MIN_ROWS + 3 {
            return;
        }
        let from = title(self.theme, buf, area, "Cost against peak", false);
        let sign = |sign: &'static str, role: Role| Span::styled(sign, self.theme.style(role));
        let legend = [
            sign(session_columns::SELECTED_POINT, Role::Bright),
            self.span(Role::Muted, " selected  "),
            sign(session_columns::ON, Role::Plan),
            self.span(Role::Muted, " best  "),
            sign(session_columns::FREE, Role::Muted),
            self.span(Role::Muted, " other"),
        ];
        on_title(buf, area.y, from, area.right().saturating_sub(1), &legend);
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
            (true, _) => (session_columns::SELECTED_POINT, self.theme.bold(Role::Bright)),
            (_, true) => (session_columns::ON, self.theme.style(Role::Plan)),
            _ if cell.overflows() > 0 => (session_columns::FREE, self.theme.style(Role::Danger)),
            _ => (session_columns::FREE, self.theme.style(Role::Muted)),
        }
    }

    /// Draws both axes with their end values.
    fn axes(&self, plot: Rect, costs: ValueRange, peaks: ValueRange, buf: &mut Buffer) {
        let (line, words) = (self.theme.style(Role::Faint), Role::Muted);
        for y in plot.top()..plot.bottom() {
            put(buf, (plot.x, y), plot.right(), session_columns::LINE, line);
        }
        put(buf, (plot.x, plot.bottom()), plot.right(), session_columns::END, line);
        for x in plot.x + 1..plot.right() {
            put(buf, (x, plot.bottom()), plot.right(), session_columns::LIGHT, line);
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
