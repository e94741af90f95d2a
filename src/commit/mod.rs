//! A plan → a new branch in the session file, or a compaction that ends the active one. The only writer of session files: it appends, under the
//! gateway's own lock, after checking that the file is as it was read; nothing that stands there is
//! ever edited (store H, P).
//!
//! [`prepare`] and [`prepare_undo`] say exactly what would be appended and write nothing;
//! [`write`](write()) appends it under a journal, reads it back and compares it with what was said. What a kill, a power
//! failure or a full disk broke off is told by [`unfinished`] and settled by [`settle`].

mod append;
mod appended;
mod check;
mod clock;
mod compaction;
mod copy;
mod disk;
mod draft;
mod edits;
mod encode;
mod journal;
mod labels;
mod lock;
mod lock_state;
mod owner;
mod pairs;
mod planned;
mod prepare;
mod random;
mod readback;
mod receipt;
mod recover;
mod refusal;
mod request;
mod snapshot;
mod undo;
mod verify;
mod write;

pub use appended::{Appended, CompactionMembers};
pub use clock::{Clock, SystemClock};
pub use copy::Remap;
pub use disk::{Disk, SystemDisk};
pub use journal::{journal_of, journals_in};
pub use labels::Labels;
pub use lock_state::{LockState, StaleReason, lock_path, lock_state};
pub use planned::{PlannedMessage, index_with};
pub use prepare::{NewLine, Prepared, prepare};
pub use random::RandomIds;
pub use receipt::{Receipt, ReceiptKind, in_force, receipt_kind, receipts};
pub use recover::{Extent, Outcome, Settled, Unfinished, settle, unfinished};
pub use refusal::{CommitError, Refusal};
pub use request::{
    CommitRequest, PlannedCompaction, Provenance, SessionStanding, StepRecord, Transcript, UndoRequest,
    UndoTarget, Way,
};
pub use undo::prepare_undo;
pub use write::{Written, write, write_on};
