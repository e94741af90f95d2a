//! A document with a cursor over its rows.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::app::screens::doc_page::{DocPage, MARGIN};
use crate::ui::theme::{BackgroundRole, Role, Theme};
use crate::ui::widgets::{put, put_doc_line, row_at, scrollbar};
use crate::ui::{frame_box, session_columns};

pub(super) fn draw_doc(theme: &Theme, page: &DocPage, list: Rect, buf: &mut Buffer) {
    let lines = page.lines(usize::from(list.width.saturating_sub(MARGIN)));
    let rows: Vec<_> = page.doc.rows().collect();
    let top = page.top.min(lines.len().saturating_sub(usize::from(list.height)));
    let mut last = None;
    for (y, line) in (list.y..list.bottom()).zip(&lines[top..]) {
        if line.row == Some(page.selected) {
            frame_box::selected(theme, buf, row_at(list, y), theme.background(BackgroundRole::Selected));
        }
        let row = line.row.filter(|row| last.replace(*row) != Some(*row)).and_then(|row| rows.get(row));
        if let Some(row) = row.filter(|row| row.is_heading) {
            let sign = if page.folded.contains(row.title()) {
                session_columns::FOLDED
            } else {
                session_columns::OPEN
            };
            put(buf, (list.x + 1, y), list.right(), sign, theme.style(Role::Ghost));
        }
        put_doc_line(theme, line, (list.x + 3, y), list.right().saturating_sub(1), buf);
    }
    scrollbar(theme, buf, Rect { width: list.width.saturating_sub(1), ..list }, top, lines.len());
}
