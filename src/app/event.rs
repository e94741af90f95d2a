//! What happens: keys, and the answers to what was asked of the shell.

use std::path::PathBuf;
use std::sync::Arc;

use crossterm::event::{KeyEvent, MouseEvent};

use crate::app::compare::SweepUpdate;
use crate::diagnostic::Diagnostic;
use crate::explain::Explanation;
use crate::gateway::ruleset::RulesetChoice;
use crate::ids::{EntryIx, Epoch, SessionKey};
use crate::inspect::breakdown::HeavyBlocks;
use crate::inspect::commit_list::CommitRecord;
use crate::inspect::compare::BranchComparison;
use crate::inspect::estimators::Estimates;
use crate::inspect::excerpt::Excerpt;
use crate::inspect::message::MessageText;
use crate::inspect::recovery::RecoveryView;
use crate::inspect::summary_calls::{SummaryCalls, SummaryCallsRequest};
use crate::inspect::summary_job::SummaryResult;
use crate::inspect::summary_writer::SummaryEstimate;
use crate::inspect::timeline::{RecordedSession, Timeline};
pub use crate::inspect::write::{CheckStatus, WriteOutcome, WritePreview};
use crate::inspect::{ContextDetails, LoadedSession, SessionItem, SessionViewKey};
use crate::summarize::SummaryProgress;

/// The sessions of a store, as listed.
#[derive(Debug, Clone, Default)]
pub struct StoreListing {
    /// The store's place as a person would write it: `~/.openclaw`, or `demo store`.
    pub store_label: String,
    /// The ruleset in force, and what settled it.
    pub ruleset: RulesetChoice,
    /// Agents.
    pub agent_count: usize,
    /// Sessions, grouped by agent and newest first within a group.
    pub items: Vec<SessionItem>,
    /// What was found while reading.
    pub findings: Vec<Diagnostic>,
    /// Why the gateway runs on an empty configuration: file, line, column, and what is wrong.
    pub config_error: Option<String>,
    /// It is the embedded demo store.
    pub demo: bool,
}

/// What is said of a summary on its way.
#[derive(Debug, Clone)]
pub enum SummaryUpdate {
    /// It would take this; nobody was asked yet.
    Offered(SummaryEstimate),
    /// A call begins, or is tried again.
    Calling(SummaryProgress),
    /// It was made.
    Finished(Arc<SummaryResult>),
    /// There is none: why.
    Failed(String),
}

/// Something that happened.
#[derive(Debug, Clone)]
pub enum Event {
    /// A key.
    Key(KeyEvent),
    /// The mouse.
    Mouse(MouseEvent),
    /// Pasted text.
    Paste(String),
    /// The terminal has a new size.
    Resize {
        /// Columns.
        width: u16,
        /// Rows.
        height: u16,
    },
    /// A moment that was asked for has come.
    Timer,
    /// The store was listed.
    Listed(Box<StoreListing>),
    /// The store could not be listed.
    ListFailed(String),
    /// Sessions of the list changed on disk; what was counted of them is older.
    ItemsChanged(Vec<SessionItem>),
    /// More is known of sessions of the list.
    ItemsCounted(Vec<SessionItem>),
    /// How far the reading of a transcript is, in bytes.
    OpenProgress {
        /// The session.
        key: SessionKey,
        /// Bytes read.
        done: u64,
        /// Bytes in all.
        total: u64,
    },
    /// A session was opened, or read again.
    Opened(Box<LoadedSession>),
    /// The open session could not be read again; what is known of it stays.
    RefreshFailed(String),
    /// A session could not be opened.
    OpenFailed {
        /// The session.
        key: SessionKey,
        /// What is wrong, and what to do.
        error: String,
    },
    /// Texts for rows.
    Excerpts {
        /// The reading they belong to.
        epoch: Epoch,
        /// Texts by entry.
        items: Vec<(EntryIx, Excerpt)>,
    },
    /// The session as it was when its failed call was made.
    SessionAtCall {
        /// The reading it belongs to.
        epoch: Epoch,
        /// It; none where the call has no place in the tree.
        session: Option<Arc<LoadedSession>>,
    },
    /// The message asked for.
    Message {
        /// The reading it belongs to.
        epoch: Epoch,
        /// The entry.
        entry: EntryIx,
        /// Its text, or what is wrong.
        text: Result<Arc<MessageText>, String>,
    },
    /// What steps ask for that look at more than sizes.
    Details {
        /// The session they were read of.
        subject: SessionViewKey,
        /// It, or what is wrong.
        details: Result<Arc<ContextDetails>, String>,
    },
    /// The calls that a planned compaction's summary takes.
    SummaryCalls {
        /// What was asked.
        request: SummaryCallsRequest,
        /// They, or why there are none.
        calls: Result<SummaryCalls, String>,
    },
    /// The heaviest blocks of heavy messages.
    Blocks {
        /// The reading they belong to.
        epoch: Epoch,
        /// Blocks by entry.
        blocks: HeavyBlocks,
    },
    /// Entries that hold the words searched for.
    SearchMatches {
        /// The reading they belong to.
        epoch: Epoch,
        /// What was searched for.
        query: String,
        /// The first entry that was looked at.
        from: EntryIx,
        /// Matches in file order.
        matches: Vec<EntryIx>,
    },
    /// How far the estimates are, in bytes.
    EstimateProgress {
        /// The reading they belong to.
        epoch: Epoch,
        /// Bytes read.
        done: u64,
        /// Bytes in all.
        total: u64,
    },
    /// The estimates asked for, or why there are none.
    Estimates {
        /// The reading they belong to.
        epoch: Epoch,
        /// The estimates.
        estimates: Result<Arc<Estimates>, String>,
    },
    /// The recovery asked for.
    Recovery {
        /// The reading it belongs to.
        epoch: Epoch,
        /// It, or what is wrong.
        recovery: Result<Arc<RecoveryView>, String>,
    },
    /// What became of the summary that was asked for.
    Summary {
        /// The reading it belongs to.
        epoch: Epoch,
        /// What is said of it.
        update: SummaryUpdate,
    },
    /// The explanation asked for.
    Explanation {
        /// The reading it belongs to.
        epoch: Epoch,
        /// It, or what is wrong.
        explanation: Result<Arc<Explanation>, String>,
    },
    /// What was committed, newest first.
    Commits {
        /// The reading it belongs to.
        epoch: Epoch,
        /// It, or what is wrong.
        commits: Result<Arc<Vec<CommitRecord>>, String>,
    },
    /// The branches that were to be compared.
    BranchesCompared {
        /// The reading they belong to.
        epoch: Epoch,
        /// They, or what is wrong.
        comparison: Result<Arc<BranchComparison>, String>,
    },
    /// What became of a commit that was broken off.
    Repaired(Result<String, String>),
    /// What was read for replays.
    Recording {
        /// The reading it belongs to.
        epoch: Epoch,
        /// It, or what is wrong.
        recording: Result<Arc<RecordedSession>, String>,
    },
    /// A replay.
    Replayed {
        /// The request it answers.
        request_id: u64,
        /// It.
        timeline: Arc<Timeline>,
    },
    /// What is said of the cells that were asked for.
    Sweep {
        /// Which request it answers.
        request_id: u64,
        /// It.
        update: SweepUpdate,
    },
    /// What a commit would write, or why it would be refused.
    WritePreviewed(Result<WritePreview, String>),
    /// What was written, or why nothing was.
    Written(Result<WriteOutcome, String>),
    /// Something was done that is worth a line.
    Notice(String),
    /// Something failed that is worth a line.
    Failure(String),
    /// Files changed on disk.
    FilesChanged(Vec<PathBuf>),
    /// Folders are looked at now and then, as the system does not tell of their changes: which, and why. None when it
    /// tells of all.
    PollingChanged(Option<String>),
}
