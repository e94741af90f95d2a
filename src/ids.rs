//! The names of sessions and entries, and the epoch that reveals outdated results.

use std::fmt;

/// Position of an entry in its transcript, in file order; the header does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryIx(pub u32);

impl EntryIx {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Increases with every change of the loaded data; a result computed under an older epoch is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Epoch(pub u64);

impl Epoch {
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// Routing key of a session, as written in `sessions.json` (store D), or the synthetic key of a transcript without a
/// row (store G2).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct SessionKey(pub String);

crate::units::schema_of!(SessionKey, String);

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Lets a value be a word in JSON: the text that one of its methods returns.
macro_rules! word_in_json {
    ($name:ty, $method:ident) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.$method())
            }
        }

        crate::units::schema_of!($name, str);
    };
}
pub(crate) use word_in_json;

/// The source of new entry ids: random for a commit, derived from the line for an old file that is migrated in memory
/// (store L5), counted in tests.
pub trait IdSource {
    /// Returns the next id. `line` is its line, counted from 1; `taken` returns whether an id is in use.
    fn next_id(&mut self, line: u64, taken: &dyn Fn(&str) -> bool) -> String;
}

/// Derives ids from the line, so the same file always gets the same ids.
#[derive(Debug, Clone, Copy, Default)]
pub struct LineIds;

impl IdSource for LineIds {
    fn next_id(&mut self, line: u64, _taken: &dyn Fn(&str) -> bool) -> String {
        format!("v1-{line}")
    }
}
