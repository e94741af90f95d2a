//! The rows of the list of hits.

use std::collections::HashSet;

use crate::ids::SessionKey;
use crate::session::search::SessionHits;

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

pub(super) fn build_rows(sessions: &[SessionHits], expanded: &HashSet<SessionKey>) -> Vec<SearchRow> {
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
