//! Actions on the list of sessions: filter, order, folds, and the record of a session.

use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::effect_error::EffectError;
use crate::app::layout::Pane;
use crate::app::screens::record::RecordScreen;
use crate::app::state::{App, Overlay};
use crate::doc::Doc;
use crate::ids::SessionKey;
use crate::session::order::SessionOrder;

impl App {
    /// Filters the sessions; an empty text clears the filter and selects the open session.
    pub(super) fn filter_sessions(&mut self, text: &str) {
        let loading = self.opening.loading.as_ref().map(|loading| loading.key.clone());
        let open = loading.or_else(|| Some(self.displayed_session()?.item.key.clone()));
        let height = self.pane_height(Pane::Sessions);
        self.sessions.set_filter(text, open.as_ref(), height);
    }

    /// Opens the selected session after a filter was typed, or explains why no session is selected.
    pub(super) fn submit_session_filter(&mut self) -> Vec<Effect> {
        if let Some(problem) = self.sessions.problem.clone() {
            self.show_toast(problem.to_string(), true);
        }
        self.dispatch(Action::Open)
    }

    pub(super) fn sort_by_next_column(&mut self) {
        let column = self.sessions.order.column.next();
        self.set_session_order(SessionOrder { column, reversed: false });
    }

    pub(super) fn reverse_order(&mut self) {
        let order = self.sessions.order;
        self.set_session_order(SessionOrder { reversed: !order.reversed, ..order });
    }

    fn set_session_order(&mut self, order: SessionOrder) {
        let height = self.pane_height(Pane::Sessions);
        self.sessions.set_order(order, height);
    }

    pub(super) fn fold_sessions(&mut self, action: Action) {
        let height = self.pane_height(Pane::Sessions);
        match action {
            Action::Fold => self.sessions.toggle_fold(height),
            Action::Left => self.sessions.collapse(height),
            Action::Less => self.sessions.fold_all(true, height),
            Action::More => self.sessions.fold_all(false, height),
            _ => {}
        }
    }

    pub(super) fn on_record(&mut self, key: &SessionKey, doc: Result<Doc, EffectError>) {
        let size = RecordScreen::page_size(&self.screen_context());
        let open = self.views.find_mut(|view| match view {
            Overlay::Record(screen) if screen.key == *key => Some(screen),
            _ => None,
        });
        if let Some(screen) = open {
            screen.set_doc(doc, size);
        }
    }

    /// Requests the record of an open screen again after the store was listed.
    pub(super) fn refresh_record(&mut self) -> Vec<Effect> {
        let open = self.views.find_mut(|view| match view {
            Overlay::Record(screen) => Some(screen),
            _ => None,
        });
        open.map(|screen| screen.requests()).unwrap_or_default()
    }
}
