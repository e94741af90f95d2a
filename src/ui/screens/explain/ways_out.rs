//! The changes of the branch that end what the verdict found: one row each, which opens the dialog of a commit.

use ratatui::buffer::Buffer;

use super::view::View;
use crate::app::screens::explain::page::{PlacedBlock, content_columns};
use crate::ui::glyphs;
use crate::ui::theme::Role;
use crate::ui::widgets::put;

pub(super) fn draw(view: &View<'_>, placed: &PlacedBlock, _: u16, buf: &mut Buffer) {
    for row in &placed.rows {
        let (x, end) = content_columns(row.area);
        put(buf, (x, row.area.y), end, glyphs::ARROW, view.theme.style(Role::Plan));
        view.lines(row, x + 2, Role::Bright, buf);
    }
}
