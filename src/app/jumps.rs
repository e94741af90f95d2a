//! Going back to where a jump started, and forward again; places that look like the one on the screen are skipped. A jump leads from a screen or a search to an entry, from a
//! screen to the panes, or to another session.

use crate::app::effect::Effect;
use crate::app::layout::Pane;
use crate::app::place::{JumpRow, JumpTarget, PendingJump};
use crate::app::screens::Overlay;
use crate::app::scroll::Scroll;
use crate::app::state::App;
use crate::ids::SessionKey;

impl App {
    /// Returns the place on the screen; `None` without a session. The hits of a search may be there before the first
    /// session is.
    fn current_place(&self) -> Option<JumpTarget> {
        let pane = self.transcript.as_ref();
        let shown = pane.map(|pane| &pane.session.item.key);
        let session = shown.or(self.opening.loading.as_ref().map(|loading| &loading.key))?.clone();
        let mut views = self.views.clone();
        // Dialogs apply only to the moment in which they were opened.
        views.retain(|view| !view.is_dialog());
        Some(JumpTarget {
            session,
            epoch: pane.map(|pane| pane.session.epoch).unwrap_or_default(),
            row: pane.and_then(JumpRow::of),
            folds: pane.map(|pane| pane.folds.clone()).unwrap_or_default(),
            filter: pane.map(|pane| pane.filter).unwrap_or_default(),
            target: self.target,
            focus: self.focus,
            zoom: self.zoom,
            views,
            timeline: self.timeline_screen.clone(),
            search: (self.search_screen.query.text().to_owned(), self.search_screen.scroll),
        })
    }

    /// Remembers the place on the screen before a jump.
    pub(super) fn record_jump(&mut self) {
        if let Some(place) = self.current_place() {
            self.navigation.jumps.record(place);
        }
    }

    /// Closes every screen for the panes below, and remembers them.
    pub(super) fn leave_screens(&mut self) {
        if self.page().is_some() {
            self.record_jump();
        }
        self.views.clear();
    }

    /// Remembers the session that another one replaces. A walk through the list counts once.
    pub(super) fn record_session_change(&mut self, key: &SessionKey) {
        let another = self.displayed_session().is_some_and(|shown| shown.item.key != *key);
        if another && !self.navigation.is_walking_sessions {
            self.record_jump();
        }
        self.navigation.is_walking_sessions = self.focus == Pane::Sessions;
    }

    /// Goes back or forward by one jump; a place that no longer exists is skipped.
    pub(super) fn jump(&mut self, is_forward: bool) -> Vec<Effect> {
        // While a session loads, the screen still shows the one before.
        let here = match (&self.navigation.pending_place, &self.opening.loading) {
            (Some(pending), _) => Some(pending.place.clone()),
            (None, Some(_)) => None,
            (None, None) => self.current_place(),
        };
        let (sessions, transcript) = (&self.sessions.items, &self.transcript);
        let exists = |place: &JumpTarget| match transcript {
            Some(pane) if pane.session.item.key == place.session => place.is_in(pane),
            _ => sessions.iter().any(|item| item.key == place.session),
        };
        let leads_away = |place: &JumpTarget| here.as_ref().is_none_or(|here| !place.looks_like(here));
        let is_target = |place: &JumpTarget| exists(place) && leads_away(place);
        let Some(place) = self.navigation.jumps.step(is_forward, here.clone(), is_target) else {
            let words = if is_forward { "no later place" } else { "no earlier place" };
            self.show_note(words.into());
            return Vec::new();
        };
        self.input = None;
        self.navigation.pending_place = None;
        self.navigation.returns_to_search = false;
        if self.displayed_session().is_some_and(|shown| shown.item.key == place.session) {
            self.opening.loading = None;
            return self.arrive(place);
        }
        self.views.clear();
        let height = self.pane_height(Pane::Sessions);
        self.sessions.select(&place.session, height);
        let effects = self.load_session(place.session.clone());
        self.navigation.pending_place = Some(PendingJump { place, is_forward });
        effects
    }

    /// Goes to the place that the opened session was loaded for, or to the next one if it no longer exists.
    pub(super) fn arrive_pending(&mut self) -> Vec<Effect> {
        let Some(PendingJump { place, is_forward }) = self.navigation.pending_place.take() else {
            return Vec::new();
        };
        let Some(pane) = self.transcript.as_ref().filter(|pane| pane.session.item.key == place.session)
        else {
            return Vec::new();
        };
        if place.is_in(pane) { self.arrive(place) } else { self.jump(is_forward) }
    }

    /// Shows a place of the open session.
    fn arrive(&mut self, place: JumpTarget) -> Vec<Effect> {
        let height = self.pane_height(Pane::Sessions);
        self.sessions.select(&place.session, height);
        self.views = place.views;
        (self.focus, self.zoom) = (place.focus, place.zoom);
        self.timeline_screen = place.timeline;
        let mut effects =
            if self.target == place.target { Vec::new() } else { self.show_target(place.target) };
        if self.is_store_search_open() {
            effects.extend(self.return_to_hits(&place.search));
        }
        let height = self.pane_height(Pane::Transcript);
        if let Some(pane) = &mut self.transcript {
            (pane.folds, pane.filter) = (place.folds, place.filter);
            pane.rebuild_rows(height);
            if let Some(row) = &place.row {
                row.restore(pane, height);
            }
        }
        self.keep_cursors_visible();
        let is_outdated = self.displayed_session().is_some_and(|shown| shown.epoch != place.epoch);
        if is_outdated {
            effects.extend(self.refresh_screens());
        } else {
            let context = self.screen_context();
            let waiting = self.views.iter().filter(|view| view.is_waiting());
            effects.extend(waiting.flat_map(|view| view.requests(&context)));
        }
        effects
    }

    /// Selects the hit that a place was left from, or searches for its words again.
    fn return_to_hits(&mut self, (query, scroll): &(String, Scroll)) -> Vec<Effect> {
        let effects = self.start_store_search(query);
        if effects.is_empty() {
            self.search_screen.scroll = *scroll;
            let context = self.screen_context();
            self.search_screen.move_by(0, &context);
        }
        effects
    }

    /// The screen that going back leads to, for the status line.
    pub fn screen_behind(&self) -> Option<&Overlay> {
        self.navigation.jumps.previous()?.screen()
    }
}
