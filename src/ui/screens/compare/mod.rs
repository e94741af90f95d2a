//! The comparison screen: a map of two settings, the best trade-offs, cost against peak, and the selected cell.

mod foot;
mod head;
mod list;
mod map;
mod scatter;
pub(super) mod sides;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::app::App;
use crate::app::screens::compare::layout::{CompareLayout, MapGrid};
use crate::app::screens::compare::{CompareScreen, MapMetric};
use crate::format::{format_number, format_short, format_short_estimate, format_short_tokens, round_tokens};
use crate::report::cost::format_cost;
use crate::report::sweep::{Axis, AxisPoint, Cell, Sweep};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{clear, note, title};

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
fn label(point: &AxisPoint) -> String {
    match point.number {
        Some(number) if number >= 10_000.0 && point.text.parse() == Ok(number) && number % 1000.0 == 0.0 => {
            format_short(number as u64)
        }
        _ => point.text.clone(),
    }
}

/// Formats a cell's measure in a few columns; a dash if it is unknown.
fn value_of(measure: MapMetric, cell: &Cell) -> String {
    match measure {
        MapMetric::Peak => peak(cell),
        MapMetric::Cleared => left_out(cell),
        MapMetric::Cost => format_cost(&cell.totals.cost_breakdown).unwrap_or_else(dash),
        MapMetric::Overflows => format_number(cell.overflows() as i64),
    }
}

fn dash() -> String {
    crate::ui::glyphs::UNKNOWN.to_owned()
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
