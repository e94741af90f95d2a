//! The transcript pane: the rows of the open session with cursor, folds, search and the excerpts read so far.

mod marker_row;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::app::compaction_marker::CompactionMarker;
use crate::app::scroll::Scroll;
use crate::context::budget::running_totals;
use crate::context::rows::{Filter, Folds, RowInputs, RowKind, TranscriptRow, build_rows};
use crate::diagnostic::Diagnostic;
use crate::ids::{EntryIx, Epoch};
use crate::plan::Plan;
use crate::policy::{Fate, MessageFate};
use crate::session::LoadedSession;
use crate::session::message::excerpt::Excerpt;
use crate::session::overflow::Overflow;
use crate::session::search::SearchQuery;
use crate::store::entry::Role;
use crate::transcript::tree::resolve_labels;

/// The progress of a search, which the search itself changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SearchState {
    /// The number of entries, from the first, that were requested.
    pub(super) requested: usize,
    pub(super) is_pending: bool,
    /// Whether the answer moves the cursor, as the person just started the search.
    pub(super) moves_cursor: bool,
}

#[derive(Debug, Clone)]
pub struct TranscriptPane {
    /// The session on display: at its own leaf, or as of the failed call.
    pub session: Arc<LoadedSession>,
    /// The session at its own leaf.
    pub active_session: Arc<LoadedSession>,
    /// The overflow that explain is about, if any.
    pub failed_overflow: Option<Overflow>,
    pub rows: Vec<TranscriptRow>,
    /// Cursor over `rows`.
    pub scroll: Scroll,
    /// The cut of a planned compaction.
    pub compaction_marker: Option<CompactionMarker>,
    pub folds: Folds,
    /// The filter that selects which entries get rows.
    pub filter: Filter,
    /// Whether the cursor stays on the last row when entries arrive.
    pub follow: bool,
    /// The searched words.
    pub query: String,
    /// The same, compiled to mark them in the rows.
    pub marked_words: SearchQuery,
    /// Entries that contain them, in file order.
    pub matches: Vec<EntryIx>,
    pub(super) search: SearchState,
    /// The epoch since which entries were only appended: answers computed under it or later are still valid.
    pub(super) appended_since: Epoch,
    pub labels: HashMap<EntryIx, String>,
    /// Excerpts read so far.
    pub excerpts: HashMap<EntryIx, Excerpt>,
    /// Entries whose excerpts were requested.
    pub requested_excerpts: HashSet<EntryIx>,
    /// Tokens of each message by the count of the next prompt, after the plan if there is one.
    pub tokens: Vec<u64>,
    /// Prompt tokens up to and including each message.
    pub running_totals: Vec<u64>,
    /// The largest message in tokens, before the plan: the scale of the thin bars.
    pub largest: u64,
    /// Problems found in the transcript.
    pub diagnostics: Vec<Diagnostic>,
    /// Entries that arrived with the last change on disk.
    pub new_entries: HashSet<EntryIx>,
    /// The first entry that arrived since the end was last visible.
    pub(super) unseen_from: Option<EntryIx>,
}

/// A match of the search.
pub(super) struct FoundMatch {
    pub(super) entry: EntryIx,
    /// From 1.
    pub(super) number: usize,
    pub(super) is_wrapped: bool,
}

/// Tokens and fate of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TranscriptRowTokens {
    /// Tokens before the plan: by the count of the next prompt, or the recorded prompt before a compaction.
    pub before: u64,
    /// Tokens after it.
    pub after: u64,
    /// Prompt tokens up to and including this row, after the plan.
    pub running_total: u64,
    /// The strongest fate among the row's messages.
    pub fate: Option<Fate>,
    /// Messages with that fate.
    pub fate_count: usize,
    /// Whether its position protects it from pruning.
    pub is_protected: bool,
}

impl TranscriptPane {
    /// Shows a session with the cursor on its last row.
    pub fn new(session: Arc<LoadedSession>, height: usize) -> Self {
        let mut pane = Self {
            labels: resolve_labels(&session.index, &session.tree),
            appended_since: session.epoch,
            diagnostics: session.diagnostics(),
            search: SearchState::default(),
            active_session: Arc::clone(&session),
            failed_overflow: None,
            session,
            rows: Vec::new(),
            compaction_marker: None,
            scroll: Scroll::default(),
            folds: Folds::default(),
            filter: Filter::default(),
            follow: true,
            query: String::new(),
            marked_words: SearchQuery::new(""),
            matches: Vec::new(),
            excerpts: HashMap::new(),
            requested_excerpts: HashSet::new(),
            tokens: Vec::new(),
            running_totals: Vec::new(),
            largest: 0,
            new_entries: HashSet::new(),
            unseen_from: None,
        };
        pane.rebuild_rows(height);
        pane.scroll.move_to(usize::MAX, pane.rows.len(), height);
        pane
    }

    /// Whether a reading has the entries on display at their places, and perhaps more: the file only grew.
    pub(super) fn is_continued_by(&self, session: &LoadedSession) -> bool {
        session.extends_epoch.is_some_and(|before| before >= self.appended_since)
    }

    /// Shows a newer reading of the same entries, or the session at another leaf; keeps cursor, folds and excerpts.
    pub fn refresh(&mut self, session: Arc<LoadedSession>, height: usize) {
        let known = self.session.index.entries.len();
        let added = known..session.index.entries.len();
        self.unseen_from = self.unseen_from.or((!added.is_empty()).then_some(EntryIx(known as u32)));
        self.new_entries = added.map(|at| EntryIx(at as u32)).collect();
        self.requested_excerpts.clear();
        self.diagnostics = session.diagnostics();
        self.labels = resolve_labels(&session.index, &session.tree);
        self.session = session;
        self.rebuild_rows(height);
        if self.follow {
            self.scroll.move_to(usize::MAX, self.rows.len(), height);
        }
    }

    /// Rebuilds the rows; the cursor keeps its entry and its line of the screen. On an entry that is gone it stays at the
    /// end if it was there.
    pub fn rebuild_rows(&mut self, height: usize) {
        let at = self.selected().map(|row| (row.entry, annotation_kind(row)));
        let line = self.scroll.cursor.saturating_sub(self.scroll.top);
        let was_at_end = self.scroll.cursor + 1 == self.rows.len();
        self.rows = build_rows(&RowInputs {
            index: &self.session.index,
            tree: &self.session.tree,
            context: &self.session.context,
            labels: &self.labels,
            folds: &self.folds,
            filter: self.filter,
        });
        self.place_compaction_marker(self.compaction_marker, height);
        if let Some((entry, was)) = at {
            let same = |row: &TranscriptRow| row.entry == entry && annotation_kind(row) == was;
            let row = self.rows.iter().position(same).or_else(|| self.row_of_entry(entry));
            let row = row.unwrap_or(if was_at_end { usize::MAX } else { self.scroll.cursor });
            self.scroll.top = row.saturating_sub(line);
            self.scroll.move_to(row, self.rows.len(), height);
        }
    }

    /// Updates tokens under a plan, or without one, and places the cut of its compaction.
    pub fn apply_plan(&mut self, plan: Option<&Plan>, height: usize) {
        let (context, prompt) = (&self.session.context, &self.session.next_prompt);
        self.tokens = match plan {
            Some(plan) => {
                (0..context.messages.len()).map(|at| prompt.tokens_after(context, plan, at)).collect()
            }
            None => prompt.message_tokens.clone(),
        };
        self.running_totals = match plan {
            Some(plan) => plan.running_totals(prompt.fixed_tokens, &self.tokens),
            None => running_totals(prompt.fixed_tokens, self.tokens.iter().copied()),
        };
        self.largest = (0..context.messages.len()).map(|at| prompt.whole_tokens_of(at)).max().unwrap_or(0);
        let marker = plan.and_then(|plan| CompactionMarker::from_plan(&self.session, plan));
        self.place_compaction_marker(marker, height);
    }

    pub fn selected(&self) -> Option<&TranscriptRow> {
        self.rows.get(self.scroll.cursor)
    }

    /// Returns the row that shows an entry, or the fold that hides it.
    pub fn row_of_entry(&self, entry: EntryIx) -> Option<usize> {
        self.rows.iter().position(|row| row.entry == entry && !annotation_kind(row).0).or_else(|| {
            let at = self.session.context.position(entry)?;
            self.rows.iter().position(|row| {
                row.message.is_some_and(|first| (first..first + row.messages as usize).contains(&at))
            })
        })
    }

    pub fn row_tokens(&self, row: &TranscriptRow, plan: Option<&Plan>) -> TranscriptRowTokens {
        let Some(first) = row.message else { return self.off_context_tokens(row) };
        let range = first..(first + row.messages as usize).min(self.tokens.len());
        let sum = |tokens: &[u64]| tokens.get(range.clone()).map_or(0, |tokens| tokens.iter().sum());
        let whole = || range.clone().map(|at| self.session.next_prompt.whole_tokens_of(at)).sum();
        let fates = plan.map_or(&[][..], |plan| fates_of(row, plan));
        let fate = strongest(fates).map(|message| message.fate);
        TranscriptRowTokens {
            before: if plan.is_some() { whole() } else { sum(&self.tokens) },
            after: sum(&self.tokens),
            running_total: range
                .end
                .checked_sub(1)
                .and_then(|at| self.running_totals.get(at))
                .copied()
                .unwrap_or(0),
            fate,
            fate_count: fates.iter().filter(|message| Some(message.fate) == fate).count(),
            is_protected: plan.is_some_and(|plan| first >= plan.pruning.cutoff),
        }
    }

    /// The fate that the row under the cursor shows, with its reason.
    pub fn selected_fate<'a>(&self, plan: &'a Plan) -> Option<&'a MessageFate> {
        strongest(fates_of(self.selected()?, plan))
    }

    /// Returns the size of a row off the context; it has no running total.
    fn off_context_tokens(&self, row: &TranscriptRow) -> TranscriptRowTokens {
        let size = self.session.index.entry(row.entry).message;
        let tokens = size.map_or(0, |size| self.session.next_prompt.tokens_off_context(&size));
        TranscriptRowTokens { before: tokens, after: tokens, ..TranscriptRowTokens::default() }
    }

    /// Returns the entries within a screen of the visible rows whose excerpts were not requested, and marks them as
    /// requested.
    pub fn missing_excerpts(&mut self, height: usize) -> Vec<EntryIx> {
        let from = self.scroll.top.saturating_sub(height);
        let rows = self.rows.iter().skip(from).take(height * 3).map(|row| row.entry);
        let requested = &mut self.requested_excerpts;
        let excerpts = &self.excerpts;
        rows.filter(|entry| !excerpts.contains_key(entry) && requested.insert(*entry)).collect()
    }

    /// Toggles the fold under the cursor; an entry folds its turn.
    pub fn toggle_fold(&mut self, height: usize) {
        let Some(row) = self.selected().copied() else { return };
        match row.kind {
            RowKind::Branch { .. } => toggle(&mut self.folds.branches, row.entry),
            RowKind::Compacted { .. } => self.folds.history = !self.folds.history,
            RowKind::Turn { .. } => toggle(&mut self.folds.turns, row.entry),
            RowKind::Cut => return,
            RowKind::Entry => {
                let Some(turn) = self.turn_of(self.scroll.cursor) else { return };
                toggle(&mut self.folds.turns, turn);
                self.rebuild_rows(height);
                if let Some(at) = self.row_of_entry(turn) {
                    self.scroll.move_to(at, self.rows.len(), height);
                }
                return;
            }
        }
        self.rebuild_rows(height);
    }

    /// Returns the user turn of a row.
    pub fn turn_of(&self, row: usize) -> Option<EntryIx> {
        let rows = self.rows.get(..=row)?;
        rows.iter()
            .rev()
            .find(|row| row.depth == 0 && !annotation_kind(row).0 && self.role(row.entry) == Some(Role::User))
            .map(|row| row.entry)
    }

    /// Folds every user turn.
    pub fn fold_all(&mut self, height: usize) {
        let users = self.session.context.path.iter().copied();
        self.folds.turns = users.filter(|ix| self.role(*ix) == Some(Role::User)).collect();
        self.rebuild_rows(height);
    }

    pub fn unfold_all(&mut self, height: usize) {
        self.folds.turns.clear();
        self.folds.history = true;
        let forks = self.rows.iter().filter(|row| matches!(row.kind, RowKind::Branch { .. }));
        self.folds.branches.extend(forks.map(|row| row.entry).collect::<Vec<_>>());
        self.rebuild_rows(height);
    }

    /// Returns the next row in a direction that satisfies `test`.
    pub fn find_row(&self, forward: bool, test: impl Fn(&TranscriptRow) -> bool) -> Option<usize> {
        let at = self.scroll.cursor;
        if forward {
            (at + 1..self.rows.len()).find(|row| test(&self.rows[*row]))
        } else {
            (0..at).rev().find(|row| test(&self.rows[*row]))
        }
    }

    /// Moves to an entry and opens the folds that hide it.
    pub fn reveal(&mut self, entry: EntryIx, height: usize) {
        if let Some(turn) = self.hiding_turn(entry) {
            self.folds.turns.remove(&turn);
            self.rebuild_rows(height);
        }
        if self.row_of_entry(entry).is_none() {
            self.folds.history |= self.session.context.path.contains(&entry);
            self.open_branch_of(entry);
            self.filter = Filter::Everything;
            self.rebuild_rows(height);
        }
        if let Some(at) = self
            .rows
            .iter()
            .position(|row| row.entry == entry && !annotation_kind(row).0)
            .or_else(|| self.row_of_entry(entry))
        {
            self.scroll.move_to(at, self.rows.len(), height);
            self.follow = at + 1 == self.rows.len();
        }
    }

    /// Returns the next match in a direction, wrapping at the ends. Matches are in the order of the path; those of other
    /// branches come last. A new search finds the row under the cursor too, prefers the path, and wraps to the first
    /// message that is sent. Going back skips matches inside the row under the cursor.
    pub(super) fn next_match(&self, forward: bool, is_new: bool) -> Option<FoundMatch> {
        let context = &self.session.context;
        let places: HashMap<EntryIx, usize> = context.path.iter().copied().zip(0..).collect();
        let place = |entry: &EntryIx| places.get(entry).map_or((1, entry.index()), |at| (0, *at));
        let mut matches = self.matches.clone();
        matches.sort_by_key(place);
        let on_path = matches.partition_point(|entry| place(entry).0 == 0);
        let end = if is_new && on_path > 0 { on_path } else { matches.len() };
        let here = self.selected().map(|row| place(&row.entry));
        let row = self.selected().filter(|row| row.kind == RowKind::Entry).map(|_| self.scroll.cursor);
        let is_after = |entry: &EntryIx| Some(place(entry)) > here || is_new && Some(place(entry)) == here;
        let is_before = |entry: &EntryIx| {
            Some(place(entry)) < here && (row.is_none() || self.row_of_entry(*entry) != row)
        };
        let sent = context.messages.iter().map(|message| place(&message.entry)).min().filter(|_| is_new);
        let (next, wrapped) = if forward {
            (
                matches[..end].iter().position(is_after),
                matches.iter().position(|entry| Some(place(entry)) >= sent),
            )
        } else {
            (matches.iter().rposition(is_before), matches.len().checked_sub(1))
        };
        let at = next.or(wrapped).unwrap_or(0);
        let entry = *matches.get(at)?;
        Some(FoundMatch { entry, number: at + 1, is_wrapped: next.is_none() })
    }

    fn hiding_turn(&self, entry: EntryIx) -> Option<EntryIx> {
        let path = &self.session.context.path;
        let at = path.iter().position(|ix| *ix == entry)?;
        path[..=at]
            .iter()
            .rev()
            .find(|ix| self.role(**ix) == Some(Role::User))
            .copied()
            .filter(|turn| *turn != entry && self.folds.turns.contains(turn))
    }

    /// Opens every branch between an entry and the active path.
    fn open_branch_of(&mut self, entry: EntryIx) {
        let tree = &self.session.tree;
        let active: HashSet<EntryIx> = self.session.context.path.iter().copied().collect();
        let mut at = entry;
        for _ in 0..=self.session.index.entries.len() {
            let Some(parent) = tree.parent(at) else { break };
            let first_child = tree.children(parent).first() == Some(&at);
            if !first_child || active.contains(&parent) {
                self.folds.branches.insert(at);
            }
            at = parent;
        }
        self.folds.branches.insert(at);
    }

    fn role(&self, entry: EntryIx) -> Option<Role> {
        self.session.index.entry(entry).role()
    }
}

/// Returns whether a row is an annotation rather than an entry, and whether it is a cut.
fn annotation_kind(row: &TranscriptRow) -> (bool, bool) {
    (matches!(row.kind, RowKind::Branch { .. } | RowKind::Cut), row.kind == RowKind::Cut)
}

fn toggle(set: &mut HashSet<EntryIx>, entry: EntryIx) {
    if !set.remove(&entry) {
        set.insert(entry);
    }
}

/// The fates of a row's messages; none for a row off the context.
pub(in crate::app) fn fates_of<'a>(row: &TranscriptRow, plan: &'a Plan) -> &'a [MessageFate] {
    let fates = plan.fates();
    let range = row.message.map(|first| first..(first + row.messages as usize).min(fates.len()));
    range.and_then(|range| fates.get(range)).unwrap_or_default()
}

/// The fate whose sign a row shows, with its reason.
fn strongest(fates: &[MessageFate]) -> Option<&MessageFate> {
    fates.iter().max_by_key(|message| fate_rank(message.fate))
}

/// Ranks fates: the highest one marks a row of several messages.
fn fate_rank(fate: Fate) -> u8 {
    match fate {
        Fate::Kept => 0,
        Fate::Protected => 1,
        Fate::SoftTrimmed => 2,
        Fate::Truncated => 3,
        Fate::Cleared => 4,
        Fate::Summarised => 5,
        Fate::Dropped => 6,
    }
}
