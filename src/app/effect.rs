//! What the machine asks of the shell. Values: tests read them, the runtime performs them.

use std::path::PathBuf;
use std::sync::Arc;

use crate::app::compare::SweepQuery;
use crate::commit::UndoTarget;
use crate::export::Format;
use crate::gateway::ruleset::RulesetChoice;
use crate::ids::{EntryIx, Epoch, SessionKey};
use crate::inspect::LoadedSession;
use crate::inspect::overflow::Overflow;
use crate::inspect::summary_calls::SummaryCallsRequest;
use crate::inspect::summary_job::SummaryResult;
use crate::inspect::timeline::RecordedSession;
use crate::plan::Plan;
use crate::policy::PolicySet;
use crate::replay::Settings;

/// A request to write: a plan as a new branch, or the branch before as the active one.
#[derive(Debug, Clone)]
pub enum PendingWrite {
    /// Commit a plan.
    Commit {
        /// The session.
        session: Arc<LoadedSession>,
        /// The plan.
        plan: Arc<Plan>,
        /// The summary that was made for its compaction.
        summary: Option<Arc<SummaryResult>>,
    },
    /// Undo a commit.
    Undo {
        /// The session.
        session: Arc<LoadedSession>,
        /// Which one.
        target: UndoTarget,
    },
}

/// Something to do.
#[derive(Debug, Clone)]
pub enum Effect {
    /// List again what changed at these paths: the sessions they belong to, or the whole store.
    RefreshListing {
        /// The paths.
        paths: Vec<PathBuf>,
    },
    /// List the store; `demo` opens the embedded one.
    ListSessions {
        /// The embedded demo store instead.
        demo: bool,
    },
    /// Read every store by these rules from now on.
    UseRuleset(RulesetChoice),
    /// Open a session. The newest request wins.
    OpenSession {
        /// The session.
        key: SessionKey,
    },
    /// Read what was added to the open session.
    RefreshSession {
        /// What is known of it.
        session: Arc<LoadedSession>,
    },
    /// Look at the open session as it was when a call was made. The newest request wins.
    LoadSessionAtCall {
        /// The session at its own leaf.
        session: Arc<LoadedSession>,
        /// The call.
        overflow: Box<Overflow>,
    },
    /// Read texts for rows.
    ReadExcerpts {
        /// The session.
        session: Arc<LoadedSession>,
        /// The entries.
        entries: Vec<EntryIx>,
    },
    /// Read a message, with what the plan makes of it.
    ReadMessage {
        /// The session.
        session: Arc<LoadedSession>,
        /// The entry.
        entry: EntryIx,
        /// The plan shown.
        plan: Option<Arc<Plan>>,
    },
    /// Read what steps that look at more than sizes ask for. The newest request wins.
    LoadDetails {
        /// The session.
        session: Arc<LoadedSession>,
    },
    /// Tell the calls that a planned compaction's summary takes. The newest request wins.
    PredictSummaryCalls {
        /// The session.
        session: Arc<LoadedSession>,
        /// The settings.
        request: SummaryCallsRequest,
    },
    /// Name the heaviest blocks of these entries.
    ReadBlocks {
        /// The session.
        session: Arc<LoadedSession>,
        /// The entries.
        entries: Vec<EntryIx>,
    },
    /// Find entries that hold all these words.
    Search {
        /// The session.
        session: Arc<LoadedSession>,
        /// The words.
        query: String,
        /// The first entry to look at; those before it have been searched.
        from: EntryIx,
    },
    /// Make the estimates of a session; the answer comes as [`super::event::Event::Estimates`].
    ComputeEstimates {
        /// The session.
        session: Arc<LoadedSession>,
    },
    /// Nobody looks at estimates any more.
    StopEstimates,
    /// Read what the transcript records of its last overflow.
    ReadRecovery {
        /// The session.
        session: Arc<LoadedSession>,
    },
    /// Make the summary of a plan's compaction; the answers come as [`super::event::Event::Summary`]. The newest request
    /// wins.
    Summarise {
        /// The session.
        session: Arc<LoadedSession>,
        /// The plan.
        plan: Arc<Plan>,
        /// The person agreed that the conversation leaves the program; without that it is only told what it takes.
        consented: bool,
    },
    /// Nobody waits for a summary any more.
    StopSummary,
    /// Explain a session.
    Explain {
        /// The session.
        session: Arc<LoadedSession>,
    },
    /// Read what was committed to a session.
    ReadCommits {
        /// The session.
        session: Arc<LoadedSession>,
    },
    /// Compare two branches of a session.
    CompareBranches {
        /// The session.
        session: Arc<LoadedSession>,
        /// The entries they end at; none: where the last commit came from, and the active leaf.
        leaves: [Option<EntryIx>; 2],
    },
    /// Settle the commit to a transcript that was broken off.
    RepairCommit {
        /// The transcript.
        path: PathBuf,
    },
    /// Read a session for replays; the answer comes as [`super::event::Event::Recording`]. A running reading may finish, the
    /// newest request is next.
    ReadRecording {
        /// The session.
        session: Arc<LoadedSession>,
        /// Steps of any replay.
        policies: PolicySet,
        /// A recording of it from before entries were added.
        previous: Option<Arc<RecordedSession>>,
    },
    /// Replay a session. A running replay may finish, so that a slider that moves steadily is followed; the newest request
    /// is next.
    Replay {
        /// The session.
        recording: Arc<RecordedSession>,
        /// Settings of the simulated lane, where there is to be one.
        settings: Option<Box<Settings>>,
        /// Which request it is; they only count up.
        request_id: u64,
    },
    /// Replay a session over a grid of settings; the answers come as [`super::event::Event::Sweep`]. The newest request wins.
    Sweep {
        /// The session.
        recording: Arc<RecordedSession>,
        /// The cells.
        query: Box<SweepQuery>,
        /// Which request it is; they only count up.
        request_id: u64,
    },
    /// Nobody waits for cells any more.
    StopSweep,
    /// Check what a write would do, without writing.
    PreviewWrite(PendingWrite),
    /// Write.
    Write(PendingWrite),
    /// Put text on the clipboard.
    Copy {
        /// The text.
        text: String,
        /// What it is, for the toast.
        label: &'static str,
    },
    /// Show text in the pager.
    ShowInPager(String),
    /// Save text to a new file in the working directory.
    SaveFile {
        /// The file's name; a number is added when it is taken.
        name: String,
        /// The text.
        text: String,
    },
    /// Write a session as a document, without its secrets, to a new file in the working directory.
    Export {
        /// The form.
        format: Format,
        /// The session.
        session: Arc<LoadedSession>,
        /// The plan shown.
        plan: Option<Arc<Plan>>,
        /// The summary that was made for its compaction.
        summary: Option<Arc<SummaryResult>>,
    },
    /// Save the screen as it is drawn, without secrets of the open session, as a picture in a new file.
    SaveScreen {
        /// The open session.
        session: Option<Arc<LoadedSession>>,
    },
    /// Take the mouse or leave it to the terminal.
    CaptureMouse(bool),
    /// Send a [`super::event::Event::Timer`] at this moment (ms).
    SetTimer(i64),
    /// Drop what was asked under older epochs.
    DropStale {
        /// The newest epoch.
        epoch: Epoch,
    },
    /// Leave.
    Quit,
}
