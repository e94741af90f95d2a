//! Turns a plan into a new branch in the session file, or a compaction at the end of the active one. This is the only
//! writer of session files: it only appends, under the gateway's own lock, after checking that the file is the one that
//! was read, and never edits existing bytes (store H, P).
//!
//! [`prepare`] and [`prepare_undo`] return the exact lines to append and write nothing; [`write`](write()) appends them
//! under a journal, reads them back and compares them with the preparation. After a kill, a power failure or a full
//! disk, [`find_interrupted`] finds the interrupted commit and [`recover_commit`] finishes it.

mod activate;
mod append;
mod check;
mod compaction;
mod copy;
mod disk;
mod expected;
mod journal;
mod journal_trust;
mod lock;
mod lock_state;
mod prepare;
mod process;
mod random;
mod read_prefix;
mod receipt;
mod recover;
mod refusal;
mod request;
mod session_folder;
mod snapshot;
mod verify;
mod write;

pub use activate::{Labels, prepare_branch, prepare_undo};
pub use check::refuse_lines;
pub use copy::Remap;
pub use disk::{Disk, SystemDisk, remove_copy, write_private};
pub use expected::{Difference, ExpectedMessage, NewLine, index_with_lines};
pub use journal::{transcript_for_journal, transcripts_with_journal};
pub use journal_trust::JournalFault;
pub use lock::{Clock, SystemClock};
pub use lock_state::{LockState, StaleReason, lock_path, lock_state};
pub use prepare::{PreparedCommit, is_editable, prepare, stored_replacement};
pub use random::RandomIds;
pub use read_prefix::ReadPrefix;
pub use receipt::{
    Receipt, ReceiptKind, active_record_ids, committed_prompt, own_entries, read_receipt, receipt_kind,
    receipts,
};
pub use recover::{
    InterruptedCommit, RecoveredCommit, RecoveryOutcome, WrittenExtent, find_interrupted, recover_commit,
};
pub use refusal::{CommitError, Refusal};
pub use request::{
    BranchRequest, CommitMethod, CommitProvenance, CommitRequest, PlannedCompaction, PolicyRecord,
    TranscriptInput, TranscriptStatus, UndoRequest, UndoTarget,
};
pub use session_folder::{Place, SessionFolder};
pub use write::{FollowingEntries, WriteResult, write, write_to_disk};
