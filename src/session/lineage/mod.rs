//! Whose history a transcript holds, and whether it is all there: the parent that it was copied from, the files before
//! and after it under the same key, and the entries of its own file that the active branch does not reach.

mod branches;
mod inherited;
mod relatives;

use crate::session::lineage::branches::{find_cut_off, find_hidden_branch};
use crate::session::lineage::relatives::{find_continuations, find_id_mismatch, find_predecessor};
use crate::store::discovery::Store;
use crate::store::index::Index;
use crate::store::session::Session;
use crate::transcript::Tree;

pub(super) use branches::missing_parent;
pub use branches::{CutOff, HiddenBranch};
pub use inherited::{Inherited, inherited_calls};
pub use relatives::{Continuation, IdMismatch, Predecessor};

/// The lineage of one session. Each part is absent where nothing is odd.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lineage {
    /// The record names another session id than the file.
    pub id_mismatch: Option<IdMismatch>,
    /// The history was copied from another session.
    pub inherited: Option<Inherited>,
    /// The file that held the conversation before a reset.
    pub predecessor: Option<Predecessor>,
    /// Transcripts that continue this one and that no record names, oldest first.
    pub continuations: Vec<Continuation>,
    /// A longer branch that a dead end at the file's end hides.
    pub hidden_branch: Option<HiddenBranch>,
    /// The active branch begins at an entry whose parent is not in the file.
    pub cut_off: Option<CutOff>,
}

impl Lineage {
    /// Finds the lineage of a session from its record, its file and the other sessions of the store.
    pub(super) fn new(store: &Store, session: &Session, index: &Index, tree: &Tree) -> Self {
        Self {
            id_mismatch: find_id_mismatch(session, index),
            inherited: Inherited::find(session, index),
            predecessor: find_predecessor(store, session, index),
            continuations: find_continuations(store, session, index),
            ..Self::within_file(index, tree)
        }
    }

    /// Finds the parts that the transcript itself shows.
    pub(super) fn within_file(index: &Index, tree: &Tree) -> Self {
        Self {
            hidden_branch: find_hidden_branch(index, tree),
            cut_off: find_cut_off(index, tree),
            ..Self::default()
        }
    }
}
