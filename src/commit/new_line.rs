//! One line to append to a session file.

use crate::ids::EntryIx;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLine {
    pub id: String,
    /// The copied entry; `None` for labels, a new compaction and our own record.
    pub copy_of: Option<EntryIx>,
    /// Without its line end.
    pub text: String,
}
