//! Searching the transcript: asked once for the whole, and then for what was added.

use std::sync::Arc;

use crate::app::effect::Effect;
use crate::app::layout::Pane;
use crate::app::state::App;
use crate::app::transcript::TranscriptPane;
use crate::ids::{EntryIx, Epoch};

/// How far a search is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Search {
    /// Entries from the first on that were searched, or are being searched.
    asked: usize,
    /// An answer is awaited.
    running: bool,
    /// The answer moves the cursor: a person waits for it.
    jumps: bool,
}

impl App {
    /// Looks for words in the whole transcript.
    pub(super) fn search(&mut self, query: String) -> Vec<Effect> {
        let Some(pane) = &mut self.transcript else { return Vec::new() };
        pane.matches.clear();
        pane.query = query;
        pane.search = Search { jumps: true, ..Search::default() };
        pane.search_on()
    }

    /// Takes matches. Those of an older reading count as long as the file has only grown since.
    pub(super) fn found(
        &mut self,
        epoch: Epoch,
        query: &str,
        from: EntryIx,
        matches: Vec<EntryIx>,
    ) -> Vec<Effect> {
        let height = self.height(Pane::Transcript);
        let fits = |pane: &&mut TranscriptPane| pane.query == query && epoch >= pane.since;
        let Some(pane) = self.transcript.as_mut().filter(fits) else { return Vec::new() };
        pane.matches.retain(|entry| *entry < from);
        pane.matches.extend(matches);
        pane.search.running = false;
        let jumps = std::mem::take(&mut pane.search.jumps);
        let effects = pane.search_on();
        if !jumps {
            return effects;
        }
        let at = pane.selected().map(|row| row.entry);
        let first = pane.matches.iter().find(|entry| Some(**entry) >= at).or(pane.matches.first());
        match first.copied() {
            Some(entry) => pane.reveal(entry, height),
            None => self.toast(format!("no entry holds “{query}”"), false),
        }
        effects
    }
}

impl TranscriptPane {
    /// Asks for the entries that were not searched yet, one answer at a time.
    pub(super) fn search_on(&mut self) -> Vec<Effect> {
        let entries = self.inspection.index.entries.len();
        if self.query.trim().is_empty() || self.search.running || self.search.asked >= entries {
            return Vec::new();
        }
        let from = EntryIx(self.search.asked as u32);
        self.search.running = true;
        self.search.asked = entries;
        let inspection = Arc::clone(&self.inspection);
        vec![Effect::Search { inspection, query: self.query.clone(), from }]
    }
}
