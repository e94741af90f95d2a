//! The names of sessions and entries, and the count of changes that a result is checked against.

use std::fmt;

/// Position of an entry in its transcript, counted over entries (the header is none), in file order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryIx(pub u32);

impl EntryIx {
    /// As an index into a slice of entries.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Rises on every change of what is loaded; a result computed under an older epoch is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Epoch(pub u64);

impl Epoch {
    /// The epoch after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// Routing key of a session, as written in `sessions.json` (store D), or the synthetic key of a
/// transcript that no row names (store G2).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionKey(pub String);

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where new entry ids come from: random for a commit, derived from the line for an old file that is
/// migrated in memory (store L5), counted in tests.
pub trait IdSource {
    /// The next id. `line` is the line it is for, counted from 1; `taken` tells ids that are in use.
    fn next_id(&mut self, line: u64, taken: &dyn Fn(&str) -> bool) -> String;
}

/// Ids derived from the line: the same file always gets the same ids.
#[derive(Debug, Clone, Copy, Default)]
pub struct LineIds;

impl IdSource for LineIds {
    fn next_id(&mut self, line: u64, _taken: &dyn Fn(&str) -> bool) -> String {
        format!("v1-{line}")
    }
}
