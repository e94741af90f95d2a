//! The inputs of every block of the explain screen.

use ratatui::text::Span;

use crate::app::App;
use crate::app::screens::explain::ExplainScreen;
use crate::report::explain::Explanation;
use crate::session::LoadedSession;
use crate::ui::theme::{Role, Theme};

pub(super) struct View<'a> {
    pub(super) app: &'a App,
    pub(super) theme: &'a Theme,
    pub(super) screen: &'a ExplainScreen,
    pub(super) explanation: &'a Explanation,
    pub(super) session: &'a LoadedSession,
}

impl View<'_> {
    pub(super) fn muted<'s>(&self, words: impl Into<String>) -> Span<'s> {
        Span::styled(words.into(), self.theme.style(Role::Muted))
    }
}
