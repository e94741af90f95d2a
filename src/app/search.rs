//! Searches the transcript: once in full, then only in added entries.

use std::sync::Arc;

use crate::app::effect::Effect;
use crate::app::layout::Pane;
use crate::app::state::App;
use crate::app::transcript::{FoundMatch, SearchState, TranscriptPane};
use crate::format::format_number;
use crate::ids::EntryIx;
use crate::session::query::SessionQuery;
use crate::session::search::SearchQuery;

impl App {
    pub(super) fn start_search(&mut self, query: String) -> Vec<Effect> {
        let Some(pane) = &mut self.transcript else { return Vec::new() };
        pane.matches.clear();
        pane.set_query(query);
        pane.search = SearchState { moves_cursor: true, ..SearchState::default() };
        pane.continue_search()
    }

    /// Adds matches.
    pub(super) fn on_search_matches(
        &mut self,
        query: &str,
        from: EntryIx,
        matches: Vec<EntryIx>,
    ) -> Vec<Effect> {
        let Some(pane) = self.transcript.as_mut() else { return Vec::new() };
        pane.matches.retain(|entry| *entry < from);
        pane.matches.extend(matches);
        pane.search.is_pending = false;
        let jumps = std::mem::take(&mut pane.search.moves_cursor);
        let effects = pane.continue_search();
        if !jumps {
            return effects;
        }
        if let Some(found) = pane.next_match(true, true) {
            self.record_jump();
            self.show_match(&found);
        } else {
            let is_filter = query.contains(':') && SessionQuery::parse(query).has_condition();
            let place = if is_filter { "; in the sessions pane it filters the list" } else { "" };
            self.show_note(format!("no match for “{query}”{place}"));
        }
        effects
    }

    /// Moves to a match and says which one it is.
    pub(super) fn show_match(&mut self, found: &FoundMatch) {
        let height = self.pane_height(Pane::Transcript);
        let Some(pane) = &mut self.transcript else { return };
        pane.reveal(found.entry, height);
        let [number, count] = [found.number, pane.matches.len()].map(format_number);
        let wrapped = if found.is_wrapped { ", wrapped" } else { "" };
        self.show_note(format!("match {number} of {count}{wrapped}"));
    }

    /// Moves from the row under the cursor to a found entry.
    pub(super) fn reveal_found(&mut self, entry: EntryIx) {
        self.record_jump();
        let height = self.pane_height(Pane::Transcript);
        if let Some(pane) = &mut self.transcript {
            pane.reveal(entry, height);
        }
    }
}

impl TranscriptPane {
    pub(super) fn set_query(&mut self, query: String) {
        self.marked_words = SearchQuery::new(&query);
        self.query = query;
    }

    /// Requests the entries that were not searched yet, one request at a time.
    pub(super) fn continue_search(&mut self) -> Vec<Effect> {
        let entries = self.session.index.entries.len();
        if self.query.trim().is_empty() || self.search.is_pending || self.search.requested >= entries {
            return Vec::new();
        }
        let from = EntryIx(self.search.requested as u32);
        self.search.is_pending = true;
        self.search.requested = entries;
        let loaded = Arc::clone(&self.session);
        vec![Effect::Search { session: loaded, query: self.query.clone(), from }]
    }
}
