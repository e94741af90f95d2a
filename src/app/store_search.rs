//! Searches every session while the person types, opens a session at a hit, and returns to the list of hits.

use std::collections::HashSet;
use std::sync::Arc;

use crate::app::action::{Action, ScreenKind};
use crate::app::effect::Effect;
use crate::app::layout::{Pane, WidthClass};
use crate::app::message_layout::occurrences;
use crate::app::screens::context::Outcome;
use crate::app::screens::search::{MIN_LIVE_BYTES, PendingHit, SearchRow, StoreSearchUpdate, VISIBLE_HITS};
use crate::app::state::{App, InputPurpose, LineInput, Overlay};
use crate::app::transcript::SearchState;
use crate::ids::{EntryIx, SessionKey};
use crate::redact::SecretDisplay;
use crate::session::LoadedSession;
use crate::session::search::entry_at;

impl App {
    pub(super) fn is_store_search_open(&self) -> bool {
        self.views.iter().any(|view| matches!(view, Overlay::Search))
    }

    /// Opens the line for the words; the last ones are in it.
    pub(super) fn type_store_search(&mut self) {
        let text = self.search_screen.query.text().to_owned();
        self.input = Some(LineInput::new(InputPurpose::StoreSearch, text));
    }

    /// Searches again for the last words when their search was stopped before its end or files changed since.
    pub(super) fn resume_store_search(&mut self) -> Vec<Effect> {
        let text = self.search_screen.query.text().to_owned();
        self.start_store_search(&text)
    }

    /// Searches for the text typed so far.
    pub(super) fn search_while_typing(&mut self) -> Vec<Effect> {
        let Some(input) = &self.input else { return Vec::new() };
        let text = input.line.text().to_owned();
        let text = if text.trim().len() < MIN_LIVE_BYTES { "" } else { &text };
        self.start_store_search(text)
    }

    /// Searches for a text, unless it is the one whose hits are shown.
    pub(super) fn start_store_search(&mut self, text: &str) -> Vec<Effect> {
        let screen = &mut self.search_screen;
        let is_known = screen.is_running || (screen.totals.is_some() && !screen.store_changed);
        if screen.query.text().trim() == text.trim() && (is_known || text.trim().is_empty()) {
            return Vec::new();
        }
        if screen.start(text.trim(), self.now_ms) {
            let request_id = screen.request_id;
            vec![Effect::SearchStore { query: text.trim().to_owned(), request_id }]
        } else {
            vec![Effect::StopStoreSearch]
        }
    }

    /// The first esc leaves the typed words; without hits, it closes the screen too.
    pub(super) fn escape_store_search(&mut self) {
        if self.search_screen.query.is_empty() {
            self.views.pop();
        }
    }

    pub(super) fn on_store_search(&mut self, update: StoreSearchUpdate) {
        let update = match update {
            StoreSearchUpdate::Found(mut found) => {
                // The list may be restricted to an agent.
                let listed: HashSet<&SessionKey> = self.sessions.items.iter().map(|item| &item.key).collect();
                found.retain(|session| listed.contains(&session.key));
                StoreSearchUpdate::Found(found)
            }
            finished @ StoreSearchUpdate::Finished(_) => finished,
        };
        let height = self.search_screen.list_rows(&self.screen_context());
        self.search_screen.update(update, self.now_ms, height);
    }

    /// Stops a search whose screen was closed.
    pub(super) fn stop_store_search(&mut self) -> Option<Effect> {
        let is_left = self.search_screen.is_running
            && !self.is_store_search_open()
            && !self.navigation.returns_to_search;
        is_left.then(|| {
            self.search_screen.is_running = false;
            Effect::StopStoreSearch
        })
    }

    pub(super) fn dispatch_store_search(&mut self, action: Action) -> Option<Vec<Effect>> {
        match action {
            Action::Show(ScreenKind::Search) | Action::Search => self.type_store_search(),
            Action::Open => return Some(self.open_hit()),
            Action::Fold => {
                let context = self.screen_context();
                self.search_screen.toggle_expanded(&context);
            }
            Action::Copy => {
                let screen = &self.search_screen;
                let hit = screen.selected_hit();
                let text =
                    hit.map(|(_, hit)| hit.text.with_secrets(&screen.query, self.secrets).into_owned());
                return Some(self.follow(Outcome::copy(text, "hit")));
            }
            Action::Left | Action::Right | Action::Less | Action::More => {}
            _ => return None,
        }
        Some(Vec::new())
    }

    /// Opens the session of the hit under the cursor, at the hit.
    fn open_hit(&mut self) -> Vec<Effect> {
        let screen = &self.search_screen;
        let row = screen.rows.get(screen.scroll.cursor).copied();
        if let (Some(SearchRow::More(_)), Some((session, _))) = (row, screen.selected()) {
            // The hits beyond the kept ones are counted only.
            if screen.is_expanded(session) || session.hits.len() <= VISIBLE_HITS {
                return Vec::new();
            }
            let context = self.screen_context();
            self.search_screen.toggle_expanded(&context);
            return Vec::new();
        }
        let Some((session, hit)) = screen.selected_hit() else { return Vec::new() };
        let text = hit.text.with_secrets(&screen.query, SecretDisplay::Shown);
        let words = find_words(screen.query.text(), &text);
        let pending = PendingHit { key: session.key.clone(), offset: hit.offset, id: hit.id.clone(), words };
        // One jump from the hit to its entry, over any number of sessions that it opens.
        self.record_jump();
        self.views.clear();
        self.navigation.returns_to_search = true;
        self.open_at(pending)
    }

    /// Selects the row of the list that was clicked; a click on the selected row opens it.
    pub(super) fn click_hit(&mut self, column: u16, row: u16) -> Vec<Effect> {
        let context = self.screen_context();
        let list = self.search_screen.list_area(&context);
        if !list.contains((column, row).into()) {
            return Vec::new();
        }
        let at = self.search_screen.scroll.top + usize::from(row - list.y);
        if at == self.search_screen.scroll.cursor {
            return self.open_hit();
        }
        let by = at as isize - self.search_screen.scroll.cursor as isize;
        self.search_screen.move_by(by, &context);
        Vec::new()
    }

    /// Moves to the hit after its session was opened, and marks the words in transcript and message.
    pub(super) fn go_to_pending_hit(&mut self) -> Vec<Effect> {
        let Some(key) = self.displayed_session().map(|open| open.item.key.clone()) else { return Vec::new() };
        let Some(pending) = self.navigation.pending_hit.take_if(|pending| pending.key == key) else {
            return Vec::new();
        };
        let entry = self.displayed_session().and_then(|session| find_entry(session, &pending));
        if pending.words.is_empty() {
            if let Some(entry) = entry {
                self.show_entry(entry);
            }
            return Vec::new();
        }
        let Some(entry) = entry else {
            self.show_toast("The message is no longer in the transcript. Search again.".into(), true);
            return Vec::new();
        };
        self.show_entry(entry);
        if self.layout().width_class <= WidthClass::Tabs {
            self.focus_pane(Pane::Message);
        }
        self.message.find_when_read(entry, pending.words);
        if let Some(words) = self.message.take_pending_words() {
            self.find_and_show(&words);
        }
        let query = self.search_screen.query.text().to_owned();
        let Some(pane) = &mut self.transcript else { return Vec::new() };
        pane.matches.clear();
        pane.set_query(query);
        pane.search = SearchState::default();
        pane.continue_search()
    }

    /// Finds words in the message, and wraps its lines when the first match is beyond the edge.
    pub(super) fn find_and_show(&mut self, words: &str) {
        self.update_message_layout();
        self.find_in_message(words);
        let found = self.message.current_match;
        let shown = self.message_screen().map(|screen| screen.layout);
        if found.zip(shown).is_some_and(|(found, shown)| shown.is_cut_off(found.row, words)) {
            self.message.wrap = true;
            self.update_message_layout();
            self.find_in_message(words);
        }
    }

    /// Shows the hits again after one of them was opened; returns whether it did.
    pub(super) fn return_to_search(&mut self) -> bool {
        let returns = std::mem::take(&mut self.navigation.returns_to_search);
        if returns {
            self.navigation.pending_hit = None;
            self.views.push(Overlay::Search);
        }
        returns
    }
}

/// Finds the entry at the hit's place in the file, else by its id: the file may have been written again.
fn find_entry(session: &Arc<LoadedSession>, pending: &PendingHit) -> Option<EntryIx> {
    let index = &session.index;
    let at = entry_at(index, pending.offset).filter(|entry| index.display_id(*entry) == pending.id);
    at.or_else(|| session.tree.find_by_text(index, &pending.id))
}

/// Returns the words to find in the message: all of them if they are together there, else the longest.
fn find_words(query: &str, text: &str) -> String {
    let is_together = text.lines().any(|line| !occurrences(line, query).is_empty());
    let longest = query.split_whitespace().max_by_key(|word| word.len()).unwrap_or_default();
    if is_together { query.to_owned() } else { longest.to_owned() }
}
