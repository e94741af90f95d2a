//! The breakdown screen: the document of the window, and a sentence about the selected row.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::app::App;
use crate::app::screens::breakdown::{BreakdownScreen, FOOTER_ROWS};
use crate::app::screens::doc_page::DocPage;
use crate::text;
use crate::ui::screens::doc_page::draw_doc;
use crate::ui::session_columns;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{clear, on_title, put, title};

pub(in crate::ui) fn draw(app: &App, theme: &Theme, screen: &BreakdownScreen, buf: &mut Buffer) {
    let area = app.layout().below_bars(app.size);
    clear(theme, buf, area);
    let from = title(theme, buf, area, "What is in the window", true);
    let end = area.right().saturating_sub(1);
    let headline = shorten_headline(&screen.page.doc.headline, usize::from(end.saturating_sub(from + 2)));
    on_title(buf, area.y, from, end, &[Span::styled(headline, theme.style(Role::Muted))]);
    let list = Rect { y: area.y + 1, height: area.height.saturating_sub(1 + FOOTER_ROWS), ..area };
    draw_doc(theme, &screen.page, list, buf);
    let foot = Rect { y: list.bottom(), height: FOOTER_ROWS.min(area.height), ..area };
    draw_foot(theme, &screen.page, foot, buf);
}

/// Leaves out the lead of the sum, then the facts behind it, until the rest fits.
fn shorten_headline(headline: &str, columns: usize) -> &str {
    let sum = headline.split_once(": ").map_or(headline, |(_, sum)| sum);
    let ends = sum.match_indices(" · ").map(|(at, _)| &sum[..at]).collect::<Vec<_>>();
    let mut forms = [headline, sum].into_iter().chain(ends.into_iter().rev());
    forms.find(|form| text::width(form) <= columns).unwrap_or_default()
}

fn draw_foot(theme: &Theme, page: &DocPage, area: Rect, buf: &mut Buffer) {
    for x in area.left()..area.right() {
        put(buf, (x, area.y), area.right(), session_columns::LIGHT, theme.style(Role::Faint));
    }
    let words = page
        .row()
        .map_or_else(String::new, |row| if row.note.is_empty() { row.text() } else { row.note.clone() });
    let lines = text::wrap(&words, usize::from(area.width.saturating_sub(3)));
    for (y, line) in (area.y + 1..area.bottom()).zip(&lines) {
        put(buf, (area.x + 1, y), area.right() - 2, line, theme.style(Role::Text));
    }
}
