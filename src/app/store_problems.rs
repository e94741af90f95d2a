//! The problems of the whole store: transcripts are read while the screen is open, and a row opens its session.

use crate::app::effect::Effect;
use crate::app::layout::Pane;
use crate::app::screens::problems::{ProblemsUpdate, StoreProblems};
use crate::app::screens::search::PendingHit;
use crate::app::state::{App, Overlay};
use crate::diagnostic::Diagnostic;
use crate::ids::SessionKey;

impl App {
    /// Returns the problems of the store, then those of the open session, then those of all others, with their session.
    /// The cursor of the list counts in this order. What other sessions share with the open one, such as the files of a
    /// workspace, is listed once.
    pub fn problems(&self) -> impl Iterator<Item = (&Diagnostic, Option<&SessionKey>)> {
        let store = self.store.listing.iter().flat_map(|listing| &listing.diagnostics);
        let open = self.active_session().map(|session| &session.item.key);
        let own = self.transcript.as_ref().map_or(&[][..], |pane| &pane.diagnostics);
        let is_other =
            move |(key, found): &&(SessionKey, Diagnostic)| Some(key) != open && !own.contains(found);
        let others = self.problems.found().iter().filter(is_other);
        let store = store.map(|found| (found, None));
        store
            .chain(own.iter().map(move |found| (found, open)))
            .chain(others.map(|(key, found)| (found, Some(key))))
    }

    /// Reads every transcript, unless that was done and no file changed since.
    pub(super) fn start_problems(&mut self) -> Vec<Effect> {
        let known = &self.problems;
        if known.is_running || (known.is_complete && !known.is_outdated) {
            return Vec::new();
        }
        let request_id = known.request_id + 1;
        self.problems = StoreProblems::new(request_id);
        vec![Effect::FindProblems { request_id }]
    }

    pub(super) fn on_problems(&mut self, update: ProblemsUpdate) {
        match update {
            ProblemsUpdate::Found(sessions) => {
                let row = self.selected_problem();
                self.problems.add(sessions);
                self.keep_problem(row);
            }
            ProblemsUpdate::Finished => {
                (self.problems.is_running, self.problems.is_complete) = (false, true);
            }
        }
    }

    /// The text of the problem under the cursor; each problem is listed once.
    fn selected_problem(&self) -> Option<String> {
        let cursor = self.views.find(|view| match view {
            Overlay::Problems(screen) => Some(screen.scroll.cursor),
            _ => None,
        })?;
        self.problems().nth(cursor).map(|(found, _)| found.to_string())
    }

    /// Keeps the cursor on its problem, at its place on the screen, while rows are added above.
    fn keep_problem(&mut self, text: Option<String>) {
        let at = text.and_then(|text| self.problems().position(|(found, _)| found.to_string() == text));
        let context = self.screen_context();
        let screen = self.views.find_mut(|view| match view {
            Overlay::Problems(screen) => Some(screen),
            _ => None,
        });
        if let (Some(at), Some(screen)) = (at, screen) {
            screen.scroll.top += at.saturating_sub(screen.scroll.cursor);
            screen.scroll.cursor = at;
            screen.move_by(0, &context);
        }
    }

    /// Stops the reading when the screen was closed.
    pub(super) fn stop_problems(&mut self) -> Option<Effect> {
        let is_left =
            self.problems.is_running && !self.views.iter().any(|view| matches!(view, Overlay::Problems(_)));
        is_left.then(|| {
            self.problems.is_running = false;
            Effect::StopProblems
        })
    }

    /// Opens the session of a problem at its entry.
    pub(super) fn open_problem(&mut self, at: usize) -> Vec<Effect> {
        let Some((found, key)) = self.problems().nth(at) else { return Vec::new() };
        let of_file = || self.sessions.items.iter().find(|item| item.path.as_ref() == Some(&found.path));
        let key = key.cloned().or_else(|| Some(of_file()?.key.clone()));
        let id = found.subject.clone().unwrap_or_default();
        let Some(key) = key else {
            self.show_note("this problem is in the store, not in a session".into());
            return Vec::new();
        };
        let pending = PendingHit { key, offset: 0, id, words: String::new() };
        self.record_jump();
        self.views.clear();
        self.focus_pane(Pane::Transcript);
        self.open_at(pending)
    }

    /// Opens a session at an entry.
    pub(super) fn open_at(&mut self, pending: PendingHit) -> Vec<Effect> {
        let key = pending.key.clone();
        let is_open = self.opening.loading.is_none()
            && self.displayed_session().is_some_and(|session| session.item.key == key);
        self.navigation.pending_hit = Some(pending);
        let height = self.pane_height(Pane::Sessions);
        self.sessions.select(&key, height);
        if is_open { self.go_to_pending_hit() } else { self.load_session(key) }
    }
}
