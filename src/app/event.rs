//! Inputs of the state machine: keys, mouse, changed files, and the answers to earlier [`super::effect::Effect`]s. An
//! answer carries the epoch or the request that it belongs to, so that the machine can drop stale ones.

use std::path::PathBuf;
use std::sync::Arc;

use crossterm::event::{KeyEvent, MouseEvent};

use crate::app::effect_error::EffectError;
use crate::app::regret::FoundRegret;
use crate::app::screens::compare::SweepUpdate;
use crate::app::screens::explain::FoldedReport;
use crate::app::screens::problems::ProblemsUpdate;
use crate::app::screens::search::StoreSearchUpdate;
use crate::config::presets::PresetFile;
use crate::diagnostic::Diagnostic;
use crate::doc::Doc;
use crate::gateway::ruleset::RulesetChoice;
use crate::ids::{EntryIx, Epoch, SessionKey};
use crate::report::breakdown::HeavyBlocks;
use crate::report::commits::CommitList;
use crate::report::compare::BranchComparison;
use crate::report::explain::Explanation;
use crate::report::timeline::{RecordedSession, Timeline};
use crate::session::message::MessageText;
use crate::session::message::excerpt::Excerpt;
use crate::session::{ContextDetails, LoadedSession, SessionItem, SessionViewKey};
use crate::summarize::SummaryProgress;
use crate::units::Bytes;
pub use crate::write::request::{CheckStatus, WriteOutcome, WritePreview};
use crate::write::summary::job::{SummaryCalls, SummaryCallsRequest, SummaryEstimate, SummaryResult};

/// A listed store.
#[derive(Debug, Clone, Default)]
pub struct StoreListing {
    /// The store's path as a person would write it: `~/.openclaw`, or `demo store`.
    pub store_label: String,
    /// The path that `--store` takes; `None` for the demo store in the program.
    pub store_path: Option<PathBuf>,
    /// The active ruleset and the source that chose it.
    pub ruleset: RulesetChoice,
    pub agent_count: usize,
    /// Grouped by agent; newest first within a group.
    pub items: Vec<SessionItem>,
    /// Problems found while reading the store.
    pub diagnostics: Vec<Diagnostic>,
    /// The reason that the gateway falls back to an empty configuration: file, line, column and problem.
    pub config_error: Option<String>,
    pub demo: bool,
    /// The gateway store that is missing, where the demo store replaces it.
    pub missing_store: Option<String>,
}

/// Progress of a summary.
#[derive(Debug, Clone)]
pub enum SummaryUpdate {
    /// The estimated calls; nothing was sent yet.
    Offered(SummaryEstimate),
    /// A call starts or is retried.
    Calling(SummaryProgress),
    Finished(Arc<SummaryResult>),
    /// The reason that there is no summary.
    Failed(String),
}

/// An input of the state machine.
#[derive(Debug, Clone)]
pub enum Event {
    Key(KeyEvent),
    Mouse(MouseEvent),
    Paste(String),
    Resize {
        width: u16,
        height: u16,
    },
    /// The moment requested with [`super::effect::Effect::SetTimer`] has come.
    Timer,
    Listed(Box<StoreListing>),
    ListFailed(String),
    /// Listed sessions that changed on disk; their counts may be outdated until they are counted again.
    ItemsChanged(Vec<SessionItem>),
    /// Updated session counts.
    ItemsCounted(Vec<SessionItem>),
    /// Progress of opening a transcript, in bytes.
    OpenProgress {
        key: SessionKey,
        done: Bytes,
        total: Bytes,
    },
    /// A session was opened or read again.
    Opened(Box<LoadedSession>),
    /// Reading the open session again failed; the known state stays.
    RefreshFailed(String),
    OpenFailed {
        key: SessionKey,
        /// The problem and its remedy.
        error: String,
    },
    /// Excerpts for transcript rows.
    Excerpts {
        epoch: Epoch,
        items: Vec<(EntryIx, Excerpt)>,
    },
    /// The session as of its failed call.
    SessionAtCall {
        epoch: Epoch,
        /// `None` when the call has no place in the tree.
        session: Option<Arc<LoadedSession>>,
    },
    /// The text of the requested message.
    Message {
        epoch: Epoch,
        entry: EntryIx,
        /// The text, or why reading it failed.
        text: Result<Arc<MessageText>, EffectError>,
    },
    /// Body-derived data for policies that sizes cannot decide.
    Details {
        /// The session view that the details were read for.
        subject: SessionViewKey,
        /// The details, or why reading them failed.
        details: Result<Arc<ContextDetails>, EffectError>,
    },
    /// The calls that the summary of a planned compaction takes.
    SummaryCalls {
        request: SummaryCallsRequest,
        /// The calls, or why predicting them failed.
        calls: Result<SummaryCalls, EffectError>,
    },
    /// The heaviest blocks of heavy messages.
    Blocks {
        epoch: Epoch,
        blocks: HeavyBlocks,
    },
    /// Entries that contain the searched words.
    SearchMatches {
        epoch: Epoch,
        query: String,
        /// The first entry that this search covered.
        from: EntryIx,
        /// In file order.
        matches: Vec<EntryIx>,
    },
    /// Progress of a search over every session.
    StoreSearch {
        /// The request that this answers.
        request_id: u64,
        update: StoreSearchUpdate,
    },
    /// Progress of reading every transcript for its problems.
    Problems {
        /// The request that this answers.
        request_id: u64,
        update: ProblemsUpdate,
    },
    /// Progress of the estimates, in bytes.
    EstimateProgress {
        epoch: Epoch,
        done: Bytes,
        total: Bytes,
    },
    /// A requested report of the explain screen.
    FoldedReport {
        epoch: Epoch,
        report: FoldedReport,
        /// Its document, or why it failed.
        doc: Result<Arc<Doc>, EffectError>,
    },
    /// Progress of the requested summary.
    Summary {
        epoch: Epoch,
        update: SummaryUpdate,
    },
    /// The requested explanation.
    Explanation {
        epoch: Epoch,
        /// The explanation, or why it failed.
        explanation: Result<Arc<Explanation>, EffectError>,
    },
    /// Commits of the session.
    Commits {
        epoch: Epoch,
        /// Its commits, or why reading them failed.
        commits: Result<Arc<CommitList>, EffectError>,
    },
    /// The record of a session.
    Record {
        key: SessionKey,
        doc: Result<Doc, EffectError>,
    },
    /// The requested comparison of two branches.
    BranchesCompared {
        epoch: Epoch,
        /// The comparison, or why it failed.
        comparison: Result<Arc<BranchComparison>, EffectError>,
    },
    /// The outcome of settling an interrupted commit.
    Repaired(Result<String, EffectError>),
    /// A session read for replays.
    Recording {
        epoch: Epoch,
        /// The recording, or why reading it failed.
        recording: Result<Arc<RecordedSession>, EffectError>,
    },
    /// The timeline of a finished replay.
    Replayed {
        /// The request that this answers.
        request_id: u64,
        timeline: Arc<Timeline>,
    },
    /// The messages that prompts lacked and that were needed again.
    Regret {
        epoch: Epoch,
        /// The request that this answers.
        request_id: u64,
        found: Result<Arc<FoundRegret>, EffectError>,
    },
    /// Progress of a sweep.
    Sweep {
        /// The request that this answers.
        request_id: u64,
        update: SweepUpdate,
    },
    /// The effect of a write, or why it would be refused.
    WritePreviewed(Result<WritePreview, EffectError>),
    /// The outcome of a write, or why nothing was written.
    Written(Result<WriteOutcome, EffectError>),
    /// The presets of the person, sorted by name.
    Presets(Vec<PresetFile>),
    /// A success for the status line.
    Notice(String),
    /// A failure for the status line.
    Failure(String),
    FilesChanged(Vec<PathBuf>),
    /// The polled folders with the reason: the system does not report their changes. `None` when it reports all.
    PollingChanged(Option<String>),
}
