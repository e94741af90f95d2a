//! What a row of a transcript is, and what decides which rows there are.

use std::collections::{HashMap, HashSet};

use crate::context::Context;
use crate::ids::EntryIx;
use crate::store::index::Index;
use crate::transcript::Tree;

/// Which entries get a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Filter {
    /// Messages and summaries.
    #[default]
    Conversation,
    /// Without tool calls and results.
    NoTools,
    /// User turns alone.
    Turns,
    /// Labelled entries.
    Labelled,
    /// Everything, bookkeeping of the gateway included.
    Everything,
}

impl Filter {
    /// Every filter, in the order of cycling.
    pub const ALL: [Self; 5] =
        [Self::Conversation, Self::NoTools, Self::Turns, Self::Labelled, Self::Everything];

    /// Its word on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Conversation => "conversation",
            Self::NoTools => "no tools",
            Self::Turns => "user turns",
            Self::Labelled => "labelled",
            Self::Everything => "everything",
        }
    }

    /// The filter `steps` further, around the end.
    #[must_use]
    pub fn cycle(self, steps: isize) -> Self {
        let at = Self::ALL.iter().position(|filter| *filter == self).unwrap_or(0) as isize;
        Self::ALL[(at + steps).rem_euclid(Self::ALL.len() as isize) as usize]
    }
}

/// What a row stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RowKind {
    /// Its entry.
    Entry,
    /// A user turn and all that follows up to the next, folded into one row.
    Turn {
        /// Entries in it.
        entries: u32,
    },
    /// What a compaction summarised, or a reset left behind: its entry is the compaction or the reset.
    Compacted {
        /// Entries in it.
        entries: u32,
        /// Its entries follow as rows.
        open: bool,
    },
    /// A branch that left the active path: its entry is the first of it.
    Branch {
        /// Entries in it.
        entries: u32,
        /// Its entries follow as rows.
        open: bool,
    },
    /// The line where a planned compaction would cut: its entry is the first one kept.
    Cut,
}

/// What is drawn to the left of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rail {
    /// Nothing: before the first turn.
    None,
    /// A user turn starts.
    Dot,
    /// On the rail of its turn, with an arm: the model speaks.
    Tick,
    /// On the rail of its turn: what a tool returned.
    Line,
    /// The last row of its turn.
    End,
    /// A branch leaves.
    Fork,
}

/// A row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TranscriptRow {
    /// The entry it shows.
    pub entry: EntryIx,
    /// What it stands for.
    pub kind: RowKind,
    /// 0 on the active path, deeper in branches.
    pub depth: u16,
    /// What is drawn to its left.
    pub rail: Rail,
    /// The first message of the context it stands for.
    pub message: Option<usize>,
    /// Messages of the context it stands for: one for an entry, more for a folded turn.
    pub messages: u32,
}

/// What is folded and what is open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folds {
    /// User turns folded into one row.
    pub turns: HashSet<EntryIx>,
    /// Branches whose entries are shown, by their first entry.
    pub branches: HashSet<EntryIx>,
    /// The full history: what a compaction summarised is shown.
    pub history: bool,
}

/// Everything rows are made from.
#[derive(Debug, Clone, Copy)]
pub struct RowInputs<'a> {
    /// Sizes.
    pub index: &'a Index,
    /// Tree.
    pub tree: &'a Tree,
    /// Context of the leaf looked at.
    pub context: &'a Context,
    /// Labels by entry.
    pub labels: &'a HashMap<EntryIx, String>,
    /// Folds.
    pub folds: &'a Folds,
    /// Filter.
    pub filter: Filter,
}
