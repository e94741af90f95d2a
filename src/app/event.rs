//! What happens: keys, and the answers to what was asked of the shell.

use std::path::PathBuf;
use std::sync::Arc;

use crossterm::event::{KeyEvent, MouseEvent};

use crate::app::compare::SweepSaid;
use crate::error::Finding;
use crate::explain::Explanation;
use crate::gateway::ruleset::Chosen;
use crate::ids::{EntryIx, Epoch, SessionKey};
use crate::inspect::breakdown::Blocks;
use crate::inspect::commits::Committed;
use crate::inspect::compare::Comparison;
use crate::inspect::estimators::Estimates;
use crate::inspect::excerpt::Excerpt;
use crate::inspect::making::Made;
use crate::inspect::message::MessageText;
use crate::inspect::recovery::RecoveryView;
use crate::inspect::summary_calls::{CallsAsked, SummaryCalls};
use crate::inspect::timeline::{Recording, Timeline};
pub use crate::inspect::write::{Check, WritePreview, Written};
use crate::inspect::writer::Offer;
use crate::inspect::{Closer, Inspection, SessionItem, Subject};
use crate::summarize::Progress;

/// The sessions of a store, as listed.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// The store's place as a person would write it: `~/.openclaw`, or `demo store`.
    pub place: String,
    /// The ruleset in force, and what settled it.
    pub ruleset: Chosen,
    /// Agents.
    pub agents: usize,
    /// Sessions, grouped by agent and newest first within a group.
    pub items: Vec<SessionItem>,
    /// What was found while reading.
    pub findings: Vec<Finding>,
    /// Why the gateway runs on an empty configuration: file, line, column, and what is wrong.
    pub config_error: Option<String>,
    /// It is the embedded demo store.
    pub demo: bool,
}

/// What is said of a summary on its way.
#[derive(Debug, Clone)]
pub enum SummarySaid {
    /// It would take this; nobody was asked yet.
    Offered(Offer),
    /// A call begins, or is tried again.
    Calling(Progress),
    /// It was made.
    Made(Arc<Made>),
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
    Listed(Box<Listing>),
    /// The store could not be listed.
    ListFailed(String),
    /// Sessions of the list changed on disk; what was counted of them is older.
    Relisted(Vec<SessionItem>),
    /// More is known of sessions of the list.
    Counted(Vec<SessionItem>),
    /// How far the reading of a transcript is, in bytes.
    Progress {
        /// The session.
        key: SessionKey,
        /// Bytes read.
        done: u64,
        /// Bytes in all.
        total: u64,
    },
    /// A session was opened, or read again.
    Opened(Box<Inspection>),
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
    LookedAtCall {
        /// The reading it belongs to.
        epoch: Epoch,
        /// It; none where the call has no place in the tree.
        inspection: Option<Arc<Inspection>>,
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
    Texts {
        /// The session they were read of.
        subject: Subject,
        /// It, or what is wrong.
        closer: Result<Arc<Closer>, String>,
    },
    /// The calls that a planned compaction's summary takes.
    Calls {
        /// What was asked.
        asked: CallsAsked,
        /// They, or why there are none.
        told: Result<SummaryCalls, String>,
    },
    /// The heaviest blocks of heavy messages.
    Blocks {
        /// The reading they belong to.
        epoch: Epoch,
        /// Blocks by entry.
        blocks: Blocks,
    },
    /// Entries that hold the words searched for.
    Found {
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
    Estimating {
        /// The reading they belong to.
        epoch: Epoch,
        /// Bytes read.
        done: u64,
        /// Bytes in all.
        total: u64,
    },
    /// The estimates asked for, or why there are none.
    Estimated {
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
        view: Result<Arc<RecoveryView>, String>,
    },
    /// What became of the summary that was asked for.
    Summary {
        /// The reading it belongs to.
        epoch: Epoch,
        /// What is said of it.
        said: SummarySaid,
    },
    /// The explanation asked for.
    Explained {
        /// The reading it belongs to.
        epoch: Epoch,
        /// It, or what is wrong.
        view: Result<Arc<Explanation>, String>,
    },
    /// What was committed, newest first.
    Commits {
        /// The reading it belongs to.
        epoch: Epoch,
        /// It, or what is wrong.
        view: Result<Arc<Vec<Committed>>, String>,
    },
    /// The branches that were to be compared.
    BranchesCompared {
        /// The reading they belong to.
        epoch: Epoch,
        /// They, or what is wrong.
        view: Result<Arc<Comparison>, String>,
    },
    /// What became of a commit that was broken off.
    Repaired(Result<String, String>),
    /// What was read for replays.
    Recording {
        /// The reading it belongs to.
        epoch: Epoch,
        /// It, or what is wrong.
        recording: Result<Arc<Recording>, String>,
    },
    /// A replay.
    Replayed {
        /// The request it answers.
        request: u64,
        /// It.
        timeline: Arc<Timeline>,
    },
    /// What is said of the cells that were asked for.
    Swept {
        /// Which request it answers.
        request: u64,
        /// It.
        said: SweepSaid,
    },
    /// What a commit would write, or why it would be refused.
    Prepared(Result<WritePreview, String>),
    /// What was written, or why nothing was.
    Written(Result<Written, String>),
    /// Something was done that is worth a line.
    Said(String),
    /// Something failed that is worth a line.
    Failed(String),
    /// Files changed on disk.
    Changed(Vec<PathBuf>),
    /// Folders are looked at now and then, as the system does not tell of their changes: which, and why. None when it
    /// tells of all.
    Polled(Option<String>),
}
