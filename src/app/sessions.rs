//! The sessions pane: sessions grouped by agent, filtered while typing.

use std::collections::HashMap;

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use crate::app::scroll::Scroll;
use crate::ids::SessionKey;
use crate::session::SessionItem;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionRow {
    /// An agent's heading.
    Agent(String),
    /// A session, as an index into [`SessionsPane::items`].
    Item(usize),
    /// A blank row between agents.
    Gap,
}

#[derive(Debug, Clone, Default)]
pub struct SessionsPane {
    /// Every session, grouped by agent.
    pub items: Vec<SessionItem>,
    /// The rows that match the filter.
    pub rows: Vec<SessionRow>,
    /// A fuzzy pattern; empty shows every session.
    pub filter: String,
    /// Cursor over `rows`.
    pub scroll: Scroll,
}

impl SessionsPane {
    /// Shows a new list; the cursor stays on its session.
    pub fn set_items(&mut self, items: Vec<SessionItem>, height: usize) {
        let at = self.selected().map(|item| item.key.clone());
        self.items = items;
        self.refilter(height);
        if let Some(key) = at {
            self.select(&key, height);
        }
    }

    /// Updates some sessions. Returns whether one of them must move in the order.
    pub fn update_items(&mut self, news: Vec<SessionItem>) -> bool {
        let mut news: HashMap<SessionKey, SessionItem> =
            news.into_iter().map(|item| (item.key.clone(), item)).collect();
        let mut is_moved = false;
        for known in &mut self.items {
            if let Some(item) = news.remove(&known.key) {
                is_moved |= known.sort_key() != item.sort_key();
                *known = item;
            }
        }
        is_moved
    }

    /// Sorts the sessions of each agent again; the cursor stays on its session.
    pub fn sort(&mut self, height: usize) {
        let at = self.selected().map(|item| item.key.clone());
        let groups = self.items.chunk_by_mut(|a, b| a.agent == b.agent);
        groups.for_each(|group| group.sort_by(|a, b| a.sort_key().cmp(&b.sort_key())));
        self.refilter(height);
        if let Some(key) = at {
            self.select(&key, height);
        }
    }

    pub fn refilter(&mut self, height: usize) {
        let pattern = Pattern::parse(&self.filter, CaseMatching::Smart, Normalization::Smart);
        let mut matcher = Matcher::new(Config::DEFAULT);
        let mut characters = Vec::new();
        let mut matches = |item: &SessionItem| {
            let text = format!(
                "{} {} {} {} {} {}",
                item.display_name(),
                item.title,
                item.key,
                item.id,
                item.kind,
                item.model
            );
            pattern.score(Utf32Str::new(&text, &mut characters), &mut matcher).is_some()
        };
        self.rows.clear();
        let mut agent = None;
        for (at, item) in self.items.iter().enumerate() {
            if !self.filter.is_empty() && !matches(item) {
                continue;
            }
            if agent != Some(&item.agent) {
                if agent.is_some() {
                    self.rows.push(SessionRow::Gap);
                }
                self.rows.push(SessionRow::Agent(item.agent.clone()));
                agent = Some(&item.agent);
            }
            self.rows.push(SessionRow::Item(at));
        }
        self.scroll.move_to(self.scroll.cursor, self.rows.len(), height);
        self.skip_headings(1, height);
    }

    /// Counts the visible sessions.
    pub fn session_count(&self) -> usize {
        self.rows.iter().filter(|row| matches!(row, SessionRow::Item(_))).count()
    }

    pub fn selected(&self) -> Option<&SessionItem> {
        match self.rows.get(self.scroll.cursor)? {
            SessionRow::Item(at) => self.items.get(*at),
            SessionRow::Agent(_) | SessionRow::Gap => None,
        }
    }

    pub fn select(&mut self, key: &SessionKey, height: usize) {
        let at = self.rows.iter().position(
            |row| matches!(row, SessionRow::Item(at) if self.items.get(*at).is_some_and(|item| item.key == *key)),
        );
        if let Some(at) = at {
            self.scroll.move_to(at, self.rows.len(), height);
        }
    }

    /// Moves the cursor over sessions; skips headings.
    pub fn move_by(&mut self, by: isize, height: usize) {
        self.scroll.move_by(by, self.rows.len(), height);
        self.skip_headings(by, height);
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
