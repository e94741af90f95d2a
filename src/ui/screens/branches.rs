//! The branches of a session: its commits, or two branches side by side.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::app::screens::branches::BranchesScreen;
use crate::ui::screens::doc_page::draw_doc;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{clear, note, on_title, title};

pub(in crate::ui) fn draw(theme: &Theme, screen: &BranchesScreen, area: Rect, buf: &mut Buffer) {
    clear(theme, buf, area);
    let (name, failure) = match screen.comparison {
        Some(_) => ("Two branches", "Cannot compare the branches"),
        None => ("Branches", "Cannot list the commits"),
    };
    let after = title(theme, buf, area, name, true);
    let page = match screen.page() {
        Some(Ok(page)) => page,
        Some(Err(error)) => return note(theme, failure, &error.to_string(), area, buf),
        None => return note(theme, "Reading…", "", area, buf),
    };
    if page.row().is_none() {
        return note(theme, &page.doc.headline, "c writes a plan as a new branch.", area, buf);
    }
    let headline = [Span::styled(page.doc.headline.as_str(), theme.style(Role::Muted))];
    on_title(buf, area.y, after, area.right().saturating_sub(1), &headline);
    draw_doc(theme, page, Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area }, buf);
}
