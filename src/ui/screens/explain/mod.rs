//! The explain screen: headline and advice, then a page with one block per question, and the configuration patch in the
//! foot. The page is rendered whole and copied from the scroll position, so that blocks need not know about scrolling.

mod advice;
mod call;
mod counts;
mod course;
mod estimators;
mod findings;
mod guards;
mod head;
mod parts;
mod patch;
mod recovery;
mod view;
mod ways_out;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::app::App;
use crate::app::screens::explain::ExplainScreen;
use crate::app::screens::explain::page::{ExplainBlock, ExplainPage, PlacedBlock};
use crate::ui::frame_box;
use crate::ui::theme::{BackgroundRole, Theme};
use crate::ui::widgets::{clear, content_left, note, row_at, scrollbar, title};
use view::View;

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
        let draw = match placed.block {
            ExplainBlock::Chart => course::draw,
            ExplainBlock::Call => call::draw,
            ExplainBlock::NextPrompt => call::draw_fill,
            ExplainBlock::Parts => parts::draw,
            ExplainBlock::Guards => guards::draw,
            ExplainBlock::Counts => counts::draw,
            ExplainBlock::WaysOut => ways_out::draw,
            ExplainBlock::Advice => advice::draw,
            ExplainBlock::OtherCalls => findings::draw_events,
            ExplainBlock::Findings => findings::draw,
            ExplainBlock::Recovery => recovery::draw,
            ExplainBlock::Estimators => estimators::draw,
        };
        draw(self, placed, after, buf);
    }

    fn block_name(&self, block: ExplainBlock) -> String {
        let name = match block {
            ExplainBlock::Chart => "What happened",
            ExplainBlock::Call => "The refused call",
            ExplainBlock::NextPrompt => "What fills the window",
            ExplainBlock::Parts => "What made it large",
            ExplainBlock::Guards => "Why nothing prevented it",
            ExplainBlock::Counts => "Who counted what",
            ExplainBlock::WaysOut => "Ways out",
            ExplainBlock::Advice => return self.explanation.advice_headline().1,
            ExplainBlock::OtherCalls => "Other calls that overflowed",
            ExplainBlock::Findings if self.explanation.has_overflowed() => "Evidence and other findings",
            ExplainBlock::Findings => "Findings",
            ExplainBlock::Recovery => "Recovery",
            ExplainBlock::Estimators => "Estimators",
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
