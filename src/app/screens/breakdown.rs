//! The window contents screen: a document whose sections fold, and a way from a line to its message.

mod screen;

use crate::app::state::{App, Overlay};
use crate::report::breakdown::HeavyBlocks;
pub use screen::{BreakdownScreen, FOOTER_ROWS};

impl App {
    fn breakdown_mut(&mut self) -> Option<&mut BreakdownScreen> {
        self.views.find_mut(|view| match view {
            Overlay::Breakdown(screen) => Some(&mut **screen),
            _ => None,
        })
    }

    pub(in crate::app) fn on_blocks(&mut self, blocks: HeavyBlocks) {
        let size = BreakdownScreen::page_size(&self.screen_context());
        let Some(session) = self.displayed_session().cloned() else { return };
        if let Some(screen) = self.breakdown_mut() {
            screen.add_blocks(blocks, &session, size);
        }
    }
}
