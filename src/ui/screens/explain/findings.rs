//! Other failed calls, the evidence of the verdict, and further findings.

use ratatui::buffer::Buffer;

use super::view::View;
use crate::app::screens::explain::ExplainRow;
use crate::app::screens::explain::page::{OTHER_CALL_COLUMNS, PlacedBlock, content_columns};
use crate::format::time_of_day;
use crate::ui::glyphs;
use crate::ui::theme::Role;
use crate::ui::widgets::put;

pub(super) fn draw(view: &View<'_>, placed: &PlacedBlock, _: u16, buf: &mut Buffer) {
    for row in &placed.rows {
        let x = content_columns(row.area).0;
        match row.row {
            ExplainRow::Finding(_) => view.lines(row, x, Role::Bright, buf),
            _ => view.lines(row, x + 2, Role::Text, buf),
        }
        view.entry(row, buf);
    }
}

/// Draws the other failed calls: time, kind and the provider's words.
pub(super) fn draw_events(view: &View<'_>, placed: &PlacedBlock, _: u16, buf: &mut Buffer) {
    for row in &placed.rows {
        let ExplainRow::OtherCall(at) = row.row else { continue };
        let Some(overflow) = view.explanation.overflows.get(at) else { continue };
        let ((x, end), y) = (content_columns(row.area), row.area.y);
        put(buf, (x, y), end, glyphs::ALERT, view.theme.style(Role::Danger));
        let when = time_of_day(overflow.time_ms, view.app.now_ms).unwrap_or_default();
        put(buf, (x + 2, y), end, &when, view.theme.style(Role::Muted));
        put(buf, (x + 20, y), end, overflow.kind.as_str(), view.theme.style(Role::Danger));
        view.lines(row, x + OTHER_CALL_COLUMNS, Role::Text, buf);
        view.entry(row, buf);
    }
}
