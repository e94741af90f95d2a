//! Whether an import of transcripts into a database kept them: every file that an import took, or should have taken, is
//! compared with its session in the database (sqlite A6, E).

mod compare;
mod dead;
mod differs;
mod importer;
mod known;
mod matching;
mod pairs;
mod record;

use std::path::PathBuf;

use rayon::prelude::*;

pub use compare::{Comparison, Fault, FaultKind};
pub use differs::{Difference, Held};

use crate::store::survey::Store;
use pairs::Work;

/// What was compared, and what could not be.
#[derive(Debug, Default)]
pub struct Migration {
    /// Files with their sessions, in the order of the store.
    pub pairs: Vec<Pair>,
    /// Files that stand alone, in the same order.
    pub alone: Vec<Alone>,
    /// Sessions in databases that no file is left of.
    pub without_file: u64,
    /// Transcripts that were reset or deleted before an import, which takes none of those.
    pub archives: u64,
}

/// A file and its session in a database.
#[derive(Debug)]
pub struct Pair {
    /// The agent.
    pub agent: String,
    /// The session's key in the database.
    pub key: String,
    /// The session id.
    pub session: String,
    /// The file.
    pub file: PathBuf,
    /// The database.
    pub database: PathBuf,
    /// The import moved the file aside.
    pub is_put_away: bool,
    /// What was found, or why one of them cannot be read.
    pub result: std::io::Result<Comparison>,
}

/// A file without a session in a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alone {
    /// The agent.
    pub agent: String,
    /// The session id, as far as the file tells.
    pub session: String,
    /// The file.
    pub file: PathBuf,
    /// Why.
    pub why: Why,
}

/// Why a file has no session in a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The import of 2026.8 moves files aside that no row of a session names, and does not take them.
    SetAside,
    /// The agent has no database: nothing was imported.
    NoDatabase,
    /// An import put the file away, and the database that should hold it is not there.
    DatabaseGone,
    /// The agent's database cannot be read.
    Unreadable,
    /// The database knows no such session.
    Lost,
}

impl Why {
    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::SetAside => "set-aside",
            Self::NoDatabase => "no-database",
            Self::DatabaseGone => "database-gone",
            Self::Unreadable => "unreadable",
            Self::Lost => "lost",
        }
    }

    /// Whether the session is lost as far as the database goes.
    pub fn is_fault(self) -> bool {
        matches!(self, Self::DatabaseGone | Self::Lost)
    }
}

/// Compares every transcript of a store with its import.
pub fn check(store: &Store) -> Migration {
    let Work { pairs, alone, without_file, archives } = pairs::of(store);
    let pairs = pairs.into_par_iter().map(pairs::Candidate::compared).collect();
    Migration { pairs, alone, without_file, archives }
}
