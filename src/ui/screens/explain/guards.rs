//! The guards before the call in the order in which they run: the state of each, and the reason.

use ratatui::buffer::Buffer;
use ratatui::style::Style;
use ratatui::text::Span;

use super::view::View;
use crate::app::screens::explain::ExplainRow;
use crate::app::screens::explain::page::{GUARD_COLUMNS, PlacedBlock, PlacedRow, content_columns};
use crate::format::format_short_tokens;
use crate::report::explain::{GuardReport, GuardState};
use crate::ui::glyphs;
use crate::ui::theme::Role;
use crate::ui::widgets::{on_title, put};

/// The states in the order of the legend.
const LEGEND: [GuardState; 5] =
    [GuardState::Acted, GuardState::Blocked, GuardState::NotDue, GuardState::Failed, GuardState::NotSet];

/// Draws the guards; the legend is on the title line if it fits.
pub(super) fn draw(view: &View<'_>, placed: &PlacedBlock, after: u16, buf: &mut Buffer) {
    let end = content_columns(placed.area).1;
    let mut legend = Vec::new();
    for state in LEGEND {
        let (sign, style) = sign(view, state);
        legend.extend([Span::styled(sign, style), view.muted(format!(" {}  ", state.as_str()))]);
    }
    legend.pop();
    legend.push(view.muted(format!(" {}", GuardState::NotSet.as_str())));
    on_title(buf, placed.area.y, after, end, &legend);
    for row in &placed.rows {
        if let ExplainRow::Guard(at) = row.row
            && let Some(guard) = view.explanation.guards.get(at)
        {
            self::guard(view, guard, row, buf);
        }
    }
}

fn guard(view: &View<'_>, guard: &GuardReport, row: &PlacedRow, buf: &mut Buffer) {
    let ((x, end), y) = (content_columns(row.area), row.area.y);
    let (sign, style) = sign(view, guard.state);
    put(buf, (x, y), end, sign, style);
    put(buf, (x + 2, y), end, guard.kind.as_str(), view.theme.style(Role::Text));
    let state = guard.missing_tokens.map_or_else(
        || guard.state.as_str().to_owned(),
        |by| format!("{} below", format_short_tokens(by, !guard.missing_is_estimate)),
    );
    put(buf, (x + GUARD_COLUMNS.0, y), end, &state, style);
    if row.area.height == 1 {
        view.lines(row, x + GUARD_COLUMNS.0 + GUARD_COLUMNS.1, Role::Muted, buf);
    } else {
        let below = ratatui::layout::Rect { y: y + 1, height: row.area.height - 1, ..row.area };
        view.lines(&PlacedRow { area: below, ..row.clone() }, x + 2, Role::Muted, buf);
    }
    view.entry(row, buf);
}

fn sign(view: &View<'_>, state: GuardState) -> (&'static str, Style) {
    let (sign, role) = match state {
        GuardState::Acted => (glyphs::ON, Role::User),
        GuardState::Blocked | GuardState::FreedNothing => (glyphs::BLOCKED, Role::Warn),
        GuardState::NotDue => (glyphs::OFF, Role::Muted),
        GuardState::Failed => (glyphs::REFUSED, Role::Danger),
        GuardState::NotSet => (glyphs::FREE, Role::Muted),
    };
    (sign, view.theme.style(role))
}
