//! The rows of a transcript view and the options that select them.

use std::collections::{HashMap, HashSet};

use crate::context::Context;
use crate::ids::EntryIx;
use crate::store::index::Index;
use crate::transcript::Tree;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Filter {
    /// Messages and summaries.
    #[default]
    Conversation,
    /// No tool calls and results.
    NoTools,
    /// Only user turns, and failed calls.
    Turns,
    /// Only labelled entries, and user turns.
    Labelled,
    /// All entries, including the gateway's bookkeeping.
    Everything,
}

impl Filter {
    /// All filters, in the order of cycling.
    pub const ALL: [Self; 5] =
        [Self::Conversation, Self::NoTools, Self::Turns, Self::Labelled, Self::Everything];

    /// The label on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Conversation => "conversation",
            Self::NoTools => "no tools",
            Self::Turns => "user turns",
            Self::Labelled => "labelled entries",
            Self::Everything => "everything",
        }
    }

    /// Returns the filter `steps` further, wrapping around.
    #[must_use]
    pub fn cycle(self, steps: isize) -> Self {
        let at = Self::ALL.iter().position(|filter| *filter == self).unwrap_or(0) as isize;
        Self::ALL[(at + steps).rem_euclid(Self::ALL.len() as isize) as usize]
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RowKind {
    Entry,
    /// A user turn with everything up to the next, folded into one row.
    Turn {
        entries: u32,
    },
    /// The entries before a compaction or reset; the row's entry is the compaction or reset.
    Compacted {
        entries: u32,
        /// Its entries follow as rows.
        open: bool,
    },
    /// A branch that leaves the active path; the row's entry is its first.
    Branch {
        entries: u32,
        /// Its entries follow as rows.
        open: bool,
    },
    /// The line where a planned compaction cuts; the row's entry is the first one kept.
    Cut,
}

/// The symbol to the left of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rail {
    /// Nothing: before the first turn.
    None,
    /// Start of a user turn.
    Dot,
    /// A message of the model: an arm on the rail of its turn.
    Tick,
    /// A tool result: the plain rail of its turn.
    Line,
    /// The last row of its turn.
    End,
    /// A branch leaves.
    Fork,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TranscriptRow {
    pub entry: EntryIx,
    pub kind: RowKind,
    /// 0 on the active path, more in branches.
    pub depth: u16,
    pub rail: Rail,
    /// Index of the row's first context message.
    pub message: Option<usize>,
    /// Number of context messages: 1 for an entry, more for a folded turn.
    pub messages: u32,
}

/// The folded and opened groups of a view.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folds {
    /// User turns that are folded into one row.
    pub turns: HashSet<EntryIx>,
    /// Opened branches, by their first entry.
    pub branches: HashSet<EntryIx>,
    /// Full history: the entries before a compaction are shown.
    pub history: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct RowInputs<'a> {
    pub index: &'a Index,
    pub tree: &'a Tree,
    /// Context of the viewed leaf.
    pub context: &'a Context,
    pub labels: &'a HashMap<EntryIx, String>,
    pub folds: &'a Folds,
    pub filter: Filter,
}
