//! The window contents screen: foldable sections, a cursor, and a way from a line to its message.

mod screen;

use ratatui::layout::Rect;

use crate::app::state::{App, Overlay};
use crate::report::breakdown::HeavyBlocks;
pub use screen::{BreakdownScreen, FOOTER_ROWS};

impl App {
    pub fn breakdown_area(&self) -> Rect {
        self.layout().below_bars(self.size)
    }

    fn breakdown_mut(&mut self) -> Option<&mut BreakdownScreen> {
        self.views.find_mut(|view| match view {
            Overlay::Breakdown(screen) => Some(&mut **screen),
            _ => None,
        })
    }

    pub(in crate::app) fn on_blocks(&mut self, blocks: HeavyBlocks) {
        let height = BreakdownScreen::list_rows(&self.screen_context());
        let Some(session) = self.displayed_session().cloned() else { return };
        if let Some(screen) = self.breakdown_mut() {
            screen.add_blocks(blocks, &session, height);
        }
    }
}
