//! The explain screen: headline and advice, then a page with one block per question, and the configuration patch in the
//! foot. The page is rendered whole and copied from the scroll position, so that blocks need not know about scrolling.

mod call;
mod course;
mod head;
mod patch;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::app::App;
use crate::app::screens::explain::page::{
    DOC_INDENT, ExplainBlock, ExplainPage, PlacedBlock, content_columns,
};
use crate::app::screens::explain::{ExplainRow, ExplainScreen, FoldedReport};
use crate::ui::theme::{BackgroundRole, Role, Theme};
use crate::ui::widgets::{clear, content_left, note, put, put_doc_line, row_at, scrollbar, title};
use crate::ui::{frame_box, session_columns};
use head::View;

pub(in crate::ui) fn draw(app: &App, theme: &Theme, screen: &ExplainScreen, area: Rect, buf: &mut Buffer) {
    clear(theme, buf, area);
    let explanation = match &screen.result {
        Some(Ok(explanation)) => explanation,
        Some(Err(error)) => return note(theme, "Cannot explain this session", &error.to_string(), area, buf),
        None => return note(theme, "Reading…", "", area, buf),
    };
    let Some(session) = app.displayed_session() else { return };
    let view = View { app, theme, screen, explanation, session };
    let (above, foot) = (screen.headline_rows(app.size), screen.footer_rows(app.size));
    head::draw(&view, Rect { height: above.min(area.height), ..area }, buf);
    let page = screen.page(app.size);
    let height = area.height.saturating_sub(above + foot);
    let list = Rect { y: area.y + above.min(area.height), height, ..area };
    let top = screen.scroll.top.min(usize::from(page.height.saturating_sub(list.height)));
    copy_visible(&view.render_page(&page, area.width), top as u16, list, buf);
    scrollbar(theme, buf, list, top, usize::from(page.height));
    patch::draw(&view, Rect { y: list.bottom(), height: foot.min(area.height), ..area }, buf);
}

/// Copies the visible lines of a page, from line `top` on.
fn copy_visible(paper: &Buffer, top: u16, list: Rect, buf: &mut Buffer) {
    for position in list.intersection(buf.area).positions() {
        if let Some(cell) = paper.cell((position.x - list.x, top + position.y - list.y)) {
            buf[position] = cell.clone();
        }
    }
}

impl View<'_> {
    /// Renders the page at its full height.
    fn render_page(&self, page: &ExplainPage, width: u16) -> Buffer {
        let area = Rect::new(0, 0, width, page.height);
        let mut paper = Buffer::empty(area);
        clear(self.theme, &mut paper, area);
        for placed in &page.blocks {
            self.block(placed, &mut paper);
        }
        paper
    }

    fn block(&self, placed: &PlacedBlock, buf: &mut Buffer) {
        let name = self.block_name(placed.block);
        let chosen = self.screen.selected();
        let focused = placed.rows.iter().find(|placed| Some(placed.row) == chosen);
        let after = title(self.theme, buf, placed.area, &name, focused.is_some());
        if let Some(row) = focused {
            self.select(row.area, buf);
        }
        match placed.block {
            ExplainBlock::Chart => course::draw(self, placed, after, buf),
            ExplainBlock::Call => call::draw(self, placed, after, buf),
            ExplainBlock::NextPrompt => call::draw_fill(self, placed, after, buf),
            ExplainBlock::Answer(_) => self.doc(placed, 0, buf),
            ExplainBlock::Folded(report) => self.folded(report, placed, buf),
        }
    }

    /// Draws a report that opens in place: its headline, and below it its document.
    fn folded(&self, report: FoldedReport, placed: &PlacedBlock, buf: &mut Buffer) {
        let Some(head) = placed.rows.first() else { return };
        let (x, end) = content_columns(head.area);
        let sign =
            if self.screen.folded(report).is_open { session_columns::OPEN } else { session_columns::FOLDED };
        put(buf, (x, head.area.y), end, sign, self.theme.style(Role::Muted));
        for (y, line) in (head.area.y..).zip(&head.lines) {
            put(buf, (x + DOC_INDENT, y), end, line, self.theme.style(Role::Text));
        }
        self.doc(placed, DOC_INDENT, buf);
    }

    /// Draws the document at the end of a block.
    fn doc(&self, placed: &PlacedBlock, indent: u16, buf: &mut Buffer) {
        let (x, end) = content_columns(placed.area);
        let head = placed.rows.iter().find(|row| matches!(row.row, ExplainRow::Headline(_)));
        let first = head.map_or(placed.area.y + 1, |head| head.area.bottom());
        for (y, line) in (first..).zip(&placed.doc) {
            put_doc_line(self.theme, line, (x + indent, y), end, buf);
        }
    }

    fn block_name(&self, block: ExplainBlock) -> String {
        let name = match block {
            ExplainBlock::Chart => "What happened",
            ExplainBlock::Call => "The refused call",
            ExplainBlock::NextPrompt => "What fills the window",
            ExplainBlock::Answer(_) => self.screen.doc(block).map_or("", |doc| &doc.headline),
            ExplainBlock::Folded(FoldedReport::Recovery) => "Recovery",
            ExplainBlock::Folded(FoldedReport::Estimators) => "Estimators",
        };
        name.to_owned()
    }

    fn select(&self, area: Rect, buf: &mut Buffer) {
        let left = content_left(area);
        let inside = Rect { x: left, width: area.right().saturating_sub(left), ..area };
        for y in area.top()..area.bottom() {
            frame_box::selected(
                self.theme,
                buf,
                row_at(inside, y),
                self.theme.background(BackgroundRole::Selected),
            );
        }
    }
}
