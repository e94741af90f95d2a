//! The search over every session: the hits, ranked by session, with a cursor. [`crate::app::App::search_screen`] keeps
//! them while the screen is closed.

use std::collections::HashSet;

use ratatui::layout::Rect;

use crate::app::action::{Action, ScreenKind};
use crate::app::screens::context::ScreenContext;
use crate::app::screens::hint::{CLOSE, Hint, MOVE};
use crate::app::scroll::Scroll;
use crate::ids::SessionKey;
use crate::session::search::{SearchHit, SearchQuery, SearchTotals, SessionHits};
use crate::units::{Millis, Moment};

/// Rows above the list: the query, a blank and the title.
const HEADER_ROWS: u16 = 3;

/// Bytes of the shortest query that is searched while it is typed. A wide character has as many.
pub const MIN_LIVE_BYTES: usize = 2;

/// Columns from which the message is next to the list, not below it.
pub const WIDE: u16 = 100;

/// Returns the rectangles of the list and of the message with its title. A note takes the last row.
pub(super) fn areas(body: Rect, has_note: bool) -> (Rect, Rect) {
    let height = body.height.saturating_sub(HEADER_ROWS + u16::from(has_note)).max(1);
    let both = Rect { y: body.y + HEADER_ROWS, height, ..body };
    if both.width >= WIDE {
        let width = both.width * 2 / 5;
        let list = Rect { width: both.width - width, ..both };
        return (list, Rect { x: list.right(), y: both.y - 1, width, height: height + 1 });
    }
    let below = height * 2 / 5;
    let list = Rect { height: height - below, ..both };
    (list, Rect { y: list.bottom(), height: below, ..both })
}

/// A hit whose session is being opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::app) struct PendingHit {
    pub(in crate::app) key: SessionKey,
    /// Offset of the entry's line.
    pub(in crate::app) offset: u64,
    /// The entry's id.
    pub(in crate::app) id: String,
    /// The words that the message highlights.
    pub(in crate::app) words: String,
}

/// Progress of a search over the store.
#[derive(Debug, Clone)]
pub enum StoreSearchUpdate {
    /// Sessions with hits.
    Found(Vec<SessionHits>),
    Finished(SearchTotals),
}

#[derive(Debug, Clone)]
pub struct SearchScreen {
    pub query: SearchQuery,
    /// Increases with every request.
    pub request_id: u64,
    /// The sessions with hits, ranked.
    pub sessions: Vec<SessionHits>,
    /// `None` until the search is finished.
    pub totals: Option<SearchTotals>,
    pub is_running: bool,
    /// Whether files changed after the search started, so that its hits may be out of date.
    pub store_changed: bool,
    /// The start of the search.
    pub started_ms: Moment,
    /// The time that the search took.
    pub elapsed_ms: Option<Millis>,
    pub rows: Vec<SearchRow>,
    pub scroll: Scroll,
    /// Whether the person moved the cursor; until then it stays on the first hit.
    has_moved: bool,
    /// Sessions that show every hit.
    expanded: HashSet<SessionKey>,
}

impl Default for SearchScreen {
    fn default() -> Self {
        Self {
            query: SearchQuery::new(""),
            request_id: 0,
            sessions: Vec::new(),
            totals: None,
            is_running: false,
            store_changed: false,
            started_ms: Moment::ZERO,
            elapsed_ms: None,
            rows: Vec::new(),
            scroll: Scroll::default(),
            has_moved: false,
            expanded: HashSet::new(),
        }
    }
}

impl SearchScreen {
    /// Starts over with a query; returns whether it must be searched for.
    pub(in crate::app) fn start(&mut self, text: &str, now_ms: Moment) -> bool {
        let query = SearchQuery::new(text);
        let is_running = !query.is_empty();
        let request_id = self.request_id + 1;
        *self = Self { query, request_id, is_running, started_ms: now_ms, ..Self::default() };
        is_running
    }

    /// Adds an answer of the running search.
    pub(in crate::app) fn update(&mut self, update: StoreSearchUpdate, now_ms: Moment, height: usize) {
        match update {
            StoreSearchUpdate::Found(found) => {
                self.sessions.extend(found);
                self.sessions.sort_by_cached_key(SessionHits::rank);
                self.rebuild_rows(height);
            }
            StoreSearchUpdate::Finished(totals) => {
                self.totals = Some(totals);
                self.is_running = false;
                self.elapsed_ms = Some(now_ms - self.started_ms);
            }
        }
    }

    /// Rebuilds the rows; the cursor keeps its hit, or stays on the first one.
    fn rebuild_rows(&mut self, height: usize) {
        let at = self.place().filter(|_| self.has_moved);
        self.rows = build_rows(&self.sessions, &self.expanded);
        let row = match at {
            Some(place) => self.rows.iter().position(|row| self.place_of(*row) == Some(place.clone())),
            None => self.rows.iter().position(|row| matches!(row, SearchRow::Hit(..))),
        };
        self.scroll.move_to(row.unwrap_or(0), self.rows.len(), height);
        if !self.has_moved {
            self.scroll.top = 0;
        }
    }

    fn place(&self) -> Option<(SessionKey, Option<u64>)> {
        self.place_of(*self.rows.get(self.scroll.cursor)?)
    }

    /// Returns the session of a row, and the offset of its hit.
    fn place_of(&self, row: SearchRow) -> Option<(SessionKey, Option<u64>)> {
        let (session, hit) = match row {
            SearchRow::Session(at) => (at, None),
            SearchRow::Hit(at, hit) => (at, Some(hit)),
            SearchRow::More(at) => (at, Some(usize::MAX)),
            SearchRow::Gap => return None,
        };
        let session = self.sessions.get(session)?;
        let offset = hit.map(|hit| session.hits.get(hit).map_or(u64::MAX, |hit| hit.offset));
        Some((session.key.clone(), offset))
    }

    /// Returns the session under the cursor, and the position of its hit there: the first one on the session's row.
    pub fn selected(&self) -> Option<(&SessionHits, usize)> {
        let (session, hit) = match *self.rows.get(self.scroll.cursor)? {
            SearchRow::Session(at) => (at, 0),
            SearchRow::Hit(at, hit) => (at, hit),
            SearchRow::More(at) => (at, VISIBLE_HITS),
            SearchRow::Gap => return None,
        };
        let session = self.sessions.get(session)?;
        Some((session, hit.min(session.hits.len().saturating_sub(1))))
    }

    pub fn selected_hit(&self) -> Option<(&SessionHits, &SearchHit)> {
        let (session, hit) = self.selected()?;
        Some((session, session.hits.get(hit)?))
    }

    /// Returns the number of all hits.
    pub fn hit_count(&self) -> usize {
        self.sessions.iter().map(|session| session.count).sum()
    }

    pub fn is_expanded(&self, session: &SessionHits) -> bool {
        self.expanded.contains(&session.key)
    }

    /// Moves the cursor by rows and skips the gaps between sessions.
    pub(in crate::app) fn move_by(&mut self, by: isize, context: &ScreenContext) {
        self.has_moved |= by != 0;
        let height = self.list_rows(context);
        self.scroll.move_by(by, self.rows.len(), height);
        if self.rows.get(self.scroll.cursor) == Some(&SearchRow::Gap) {
            self.scroll.move_by(if by < 0 { -1 } else { 1 }, self.rows.len(), height);
        }
    }

    /// Shows every kept hit of the session under the cursor, or the first ones again.
    pub(in crate::app) fn toggle_expanded(&mut self, context: &ScreenContext) {
        let Some((session, _)) = self.selected() else { return };
        let key = session.key.clone();
        if !self.expanded.remove(&key) {
            self.expanded.insert(key.clone());
        }
        self.has_moved = true;
        let before = self.rows.get(self.scroll.cursor).copied();
        let height = self.list_rows(context);
        self.rebuild_rows(height);
        if let Some(SearchRow::More(at)) = before {
            let first_new = SearchRow::Hit(at, VISIBLE_HITS);
            let row = self.rows.iter().position(|row| *row == first_new);
            self.scroll.move_to(row.unwrap_or(self.scroll.cursor), self.rows.len(), height);
        }
    }

    pub(in crate::app) fn list_area(&self, context: &ScreenContext) -> Rect {
        self.areas(context.body()).0
    }

    /// Returns the rectangles of the list and of the message with its title.
    pub fn areas(&self, body: Rect) -> (Rect, Rect) {
        areas(body, self.unread_count() > 0)
    }

    /// Rows of the list.
    pub fn list_rows(&self, context: &ScreenContext) -> usize {
        usize::from(self.list_area(context).height)
    }

    pub fn unread_count(&self) -> usize {
        self.totals.as_ref().map_or(0, |totals| totals.unread.len())
    }

    /// Returns the keys for the status line.
    pub fn hints(&self) -> Vec<Hint> {
        let search: Hint = (
            &[Action::Show(ScreenKind::Search)],
            if self.query.is_empty() { "search" } else { "new search" },
        );
        if self.rows.is_empty() {
            return vec![search, CLOSE];
        }
        let more = self.selected().filter(|(session, _)| session.hits.len() > VISIBLE_HITS);
        let mut hints = vec![MOVE, (&[Action::Open], "open")];
        hints.extend(more.map(|(session, _)| {
            let word = if self.is_expanded(session) { "fewer" } else { "more" };
            (&[Action::Fold][..], word)
        }));
        hints.extend([(&[Action::Copy][..], "copy"), search, CLOSE]);
        hints
    }
}

// The rows of the list of hits.

/// Hits that a session shows until the person expands it.
pub const VISIBLE_HITS: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchRow {
    /// A session, by its position among the ranked ones.
    Session(usize),
    /// A hit of that session.
    Hit(usize, usize),
    /// The count of its hits that are not shown.
    More(usize),
    /// A blank row before the next session.
    Gap,
}

fn build_rows(sessions: &[SessionHits], expanded: &HashSet<SessionKey>) -> Vec<SearchRow> {
    let mut rows = Vec::new();
    for (at, session) in sessions.iter().enumerate() {
        if at > 0 {
            rows.push(SearchRow::Gap);
        }
        rows.push(SearchRow::Session(at));
        let shown = if expanded.contains(&session.key) { usize::MAX } else { VISIBLE_HITS };
        let shown = shown.min(session.hits.len());
        rows.extend((0..shown).map(|hit| SearchRow::Hit(at, hit)));
        if session.count > shown {
            rows.push(SearchRow::More(at));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_shows_its_first_hits_until_it_is_expanded() {
        let hit = crate::session::search::SearchHit {
            offset: 0,
            line: 1,
            id: "a".into(),
            time_ms: None,
            role: "user",
            part: "text",
            tool: None,
            text: crate::session::search::HitText::default(),
            is_on_branch: true,
        };
        let of = |key: &str, kept, count| SessionHits {
            key: SessionKey(key.into()),
            updated_ms: None,
            hits: vec![hit.clone(); kept],
            count,
            branch_count: count,
        };
        let sessions = [of("one", 10, 12), of("two", 1, 1)];
        let rows = build_rows(&sessions, &HashSet::new());
        assert_eq!(rows.len(), 1 + VISIBLE_HITS + 1 + 1 + 2);
        assert_eq!(
            rows[9..],
            [SearchRow::More(0), SearchRow::Gap, SearchRow::Session(1), SearchRow::Hit(1, 0)]
        );
        let rows = build_rows(&sessions, &HashSet::from([SessionKey("one".into())]));
        assert_eq!(rows[10..12], [SearchRow::Hit(0, 9), SearchRow::More(0)]);
    }
}
