//! The sessions pane: the list in its order, filtered while typing, with the cursor on a session.

use std::collections::{HashMap, HashSet};

use crate::app::scroll::Scroll;
pub use crate::app::session_rows::{ItemRow, SessionRow};
use crate::app::session_rows::{RowInput, folds, session_rows};
use crate::format::wall_clock;
use crate::ids::SessionKey;
use crate::session::SessionItem;
use crate::session::family::{Families, Rollup};
use crate::session::order::{SessionOrder, SortColumn};
use crate::session::query::{MatchedWord, SessionQuery};
use crate::session::query_term::QueryError;
use crate::session::search_text::SearchText;
use crate::units::Moment;

#[derive(Debug, Clone, Default)]
pub struct SessionsPane {
    /// Every session, grouped by agent.
    pub items: Vec<SessionItem>,
    /// The rows that match the filter.
    pub rows: Vec<SessionRow>,
    /// Words and conditions, see [`SessionQuery`]; empty shows every session.
    pub filter: String,
    pub order: SessionOrder,
    /// Cursor over `rows`.
    pub scroll: Scroll,
    /// Words of the filter to highlight.
    pub words: Vec<MatchedWord>,
    /// The problem with the filter, if it has one.
    pub problem: Option<QueryError>,
    /// Sessions whose sub-agents are hidden, and jobs whose runs are shown.
    pub folded: HashSet<SessionKey>,
    /// The parents and children of sessions.
    pub families: Families,
    /// Usage of each session with its sub-agents.
    pub rollups: Vec<Rollup>,
    /// The time that ages are measured from.
    pub now_ms: Moment,
    /// Texts to filter by; empty until a filter is typed.
    texts: Vec<SearchText>,
    /// The best match of the filter.
    best: Option<usize>,
    /// The day of the headings.
    day: i64,
}

impl SessionsPane {
    /// Shows a new list; the cursor stays on its session.
    pub fn set_items(&mut self, items: Vec<SessionItem>, height: usize) {
        let at = self.selected().map(|item| item.key.clone());
        self.items = items;
        self.families = Families::with_jobs(&self.items);
        self.rollups = self.families.rollups(&self.items);
        self.texts.clear();
        self.arrange_at(at, height);
    }

    /// Updates some sessions; the cursor stays on its session.
    pub fn update_items(&mut self, news: Vec<SessionItem>, height: usize) {
        let at = self.selected().map(|item| item.key.clone());
        let mut news: HashMap<SessionKey, SessionItem> =
            news.into_iter().map(|item| (item.key.clone(), item)).collect();
        let (mut is_moved, mut is_regrouped, mut is_changed) = (false, false, false);
        for (at, known) in self.items.iter_mut().enumerate() {
            if news.is_empty() {
                break;
            }
            if let Some(item) = news.remove(&known.key).filter(|item| known != item) {
                is_moved |= known.sort_key() != item.sort_key();
                is_regrouped |= !Families::are_same(known, &item);
                is_changed = true;
                *known = item;
                if let Some(text) = self.texts.get_mut(at) {
                    *text = SearchText::new(known);
                }
            }
        }
        if is_moved {
            let groups = self.items.chunk_by_mut(|a, b| a.agent == b.agent);
            groups.for_each(|group| group.sort_by(|a, b| a.sort_key().cmp(&b.sort_key())));
            self.texts.clear();
        }
        // A long list is counted piece by piece, and most pieces leave its rows as they are.
        if is_moved || is_regrouped {
            self.families = Families::with_jobs(&self.items);
        }
        if is_changed {
            self.rollups = self.families.rollups(&self.items);
        }
        if is_moved || is_regrouped || is_changed && self.is_flat() {
            self.arrange_at(at, height);
        }
    }

    /// Changes the filter and selects its best match; without a filter, the session `open`.
    pub fn set_filter(&mut self, text: &str, open: Option<&SessionKey>, height: usize) {
        text.clone_into(&mut self.filter);
        self.arrange();
        let best = self.best.and_then(|at| self.items.get(at)).map(|item| item.key.clone());
        match best.as_ref().filter(|_| !self.words.is_empty()).or(open) {
            Some(key) if self.select(key, height) => {}
            _ => self.move_to_first(height),
        }
    }

    /// Changes the order; the cursor stays on its session.
    pub fn set_order(&mut self, order: SessionOrder, height: usize) {
        let at = self.selected().map(|item| item.key.clone());
        self.order = order;
        self.arrange_at(at, height);
    }

    /// Requests new headings with the next event, as another time zone has other days.
    pub(super) fn expire_headings(&mut self) {
        self.day = i64::MIN;
    }

    /// Builds the headings again after midnight.
    pub fn update_day(&mut self, now_ms: Moment, height: usize) {
        self.now_ms = now_ms;
        if self.day != wall_clock(now_ms).day() {
            let at = self.selected().map(|item| item.key.clone());
            self.arrange_at(at, height);
        }
    }

    fn arrange_at(&mut self, at: Option<SessionKey>, height: usize) {
        self.arrange();
        let is_selected = at.is_some_and(|key| self.select(&key, height));
        if !is_selected {
            self.scroll.move_to(self.scroll.cursor, self.rows.len(), height);
            self.skip_headings(1, height);
        }
    }

    /// Builds the rows.
    fn arrange(&mut self) {
        let query = SessionQuery::parse(&self.filter);
        if !query.is_empty() && self.texts.len() != self.items.len() {
            self.texts = self.items.iter().map(SearchText::new).collect();
        }
        let selection = (!query.is_empty()).then(|| query.select(&self.items, &self.texts, self.now_ms));
        let found: Option<Vec<usize>> =
            selection.as_ref().map(|selection| selection.found.iter().map(|(at, _)| *at).collect());
        self.rows = session_rows(&RowInput {
            items: &self.items,
            families: &self.families,
            found: found.as_deref(),
            order: self.order,
            folded: &self.folded,
            now_ms: self.now_ms,
        });
        self.day = wall_clock(self.now_ms).day();
        let selection = selection.unwrap_or_default();
        self.best = selection.best();
        self.words = selection.words;
        self.problem = query.problem.or(selection.problem);
    }

    /// Whether the list has no trees: in an order over all agents, and while a filter is on.
    pub fn is_flat(&self) -> bool {
        self.order.column != SortColumn::Age || !self.filter.is_empty()
    }

    /// Counts the visible sessions.
    pub fn session_count(&self) -> usize {
        self.rows.iter().filter(|row| matches!(row, SessionRow::Item(_))).count()
    }

    pub fn selected(&self) -> Option<&SessionItem> {
        self.items.get(self.selected_row()?.at)
    }

    fn selected_row(&self) -> Option<ItemRow> {
        match self.rows.get(self.scroll.cursor)? {
            SessionRow::Item(row) => Some(*row),
            SessionRow::Agent { .. } | SessionRow::Days(_) | SessionRow::Gap => None,
        }
    }

    /// Moves the cursor to a session and unfolds the sessions above it; returns whether the list shows it.
    pub fn select(&mut self, key: &SessionKey, height: usize) -> bool {
        let Some(wanted) = self.items.iter().position(|item| item.key == *key) else { return false };
        if self.unfold_above(wanted) {
            self.arrange();
        }
        let is_wanted = |row: &SessionRow| matches!(row, SessionRow::Item(row) if row.at == wanted);
        let at = self.rows.iter().position(is_wanted);
        if let Some(at) = at {
            self.scroll.move_to(at, self.rows.len(), height);
        }
        at.is_some()
    }

    /// Unfolds the ancestors of a session; returns whether one of them was folded.
    fn unfold_above(&mut self, at: usize) -> bool {
        let mut above = self.families.parent(at);
        let mut is_unfolded = false;
        while let Some(parent) = above {
            if self.folds(parent) {
                self.toggle(parent);
                is_unfolded = true;
            }
            above = self.families.parent(parent);
        }
        is_unfolded
    }

    /// Folds or unfolds the selected session; without sub-agents, folds its parent.
    pub fn toggle_fold(&mut self, height: usize) {
        let Some(row) = self.selected_row() else { return };
        let has_children = !self.families.children(row.at).is_empty();
        let parent = self.families.parent(row.at);
        let Some(at) = has_children.then_some(row.at).or(parent) else { return };
        self.toggle(at);
        let key = self.items[at].key.clone();
        self.arrange_at(Some(key), height);
    }

    fn folds(&self, at: usize) -> bool {
        folds(&self.items, &self.families, &self.folded, at)
    }

    fn toggle(&mut self, at: usize) {
        let key = &self.items[at].key;
        if !self.folded.remove(key) {
            self.folded.insert(key.clone());
        }
    }

    /// Folds the selected session, or moves to its parent.
    pub fn collapse(&mut self, height: usize) {
        let Some(row) = self.selected_row() else { return };
        let has_children = !self.families.children(row.at).is_empty();
        if has_children && row.hidden == 0 {
            self.toggle_fold(height);
        } else if let Some(parent) = self.families.parent(row.at) {
            let key = self.items[parent].key.clone();
            self.select(&key, height);
        }
    }

    /// Folds or unfolds every session with sub-agents.
    pub fn fold_all(&mut self, fold: bool, height: usize) {
        let root = self.selected_row().map(|row| {
            let mut at = row.at;
            while let Some(parent) = self.families.parent(at).filter(|_| fold) {
                at = parent;
            }
            self.items[at].key.clone()
        });
        let with_children = (0..self.items.len()).filter(|at| !self.families.children(*at).is_empty());
        let toggled = with_children.filter(|at| self.families.job(*at, &self.items).is_some() != fold);
        self.folded = toggled.map(|at| self.items[at].key.clone()).collect();
        self.arrange_at(root, height);
    }

    /// Moves the cursor over sessions; skips headings.
    pub fn move_by(&mut self, by: isize, height: usize) {
        self.scroll.move_by(by, self.rows.len(), height);
        self.skip_headings(by, height);
    }

    fn move_to_first(&mut self, height: usize) {
        self.scroll.move_to(0, self.rows.len(), height);
        self.skip_headings(1, height);
    }

    /// Moves the cursor from a heading to the next session in the direction of `by`, or back at the end of the list.
    fn skip_headings(&mut self, by: isize, height: usize) {
        let is_session = |row: &SessionRow| matches!(row, SessionRow::Item(_));
        let (before, after) = self.rows.split_at(self.scroll.cursor.min(self.rows.len()));
        let up = before.iter().rposition(is_session);
        let down = after.iter().position(is_session).map(|at| at + before.len());
        let here = if by < 0 && down != Some(self.scroll.cursor) { up.or(down) } else { down.or(up) };
        if let Some(row) = here {
            self.scroll.move_to(row, self.rows.len(), height);
        }
    }
}
