//! Requests of the state machine to the shell. They are plain values: the machine does no IO, tests compare them, and
//! the runtime performs them.

use std::path::PathBuf;
use std::sync::Arc;

use crate::app::screens::compare::SweepQuery;
use crate::commit::{ReadPrefix, ReceiptKind, UndoTarget};
use crate::config::RowVariable;
use crate::config::presets::Preset;
use crate::export::Format;
use crate::gateway::ruleset::RulesetChoice;
use crate::ids::{EntryIx, Epoch, SessionKey};
use crate::plan::Plan;
use crate::policy::PolicySet;
use crate::replay::Settings;
use crate::report::regret::RegretTexts;
use crate::report::timeline::RecordedSession;
use crate::session::fullness_alert::FullnessAlert;
use crate::session::overflow::Overflow;
use crate::session::{LoadedSession, ManualChange};
use crate::units::Moment;
use crate::write::summary::job::{SummaryCallsRequest, SummaryResult};

/// A write to a session file: a plan as a new branch, a change that a person chose, or the previous branch as the
/// active one.
#[derive(Debug, Clone)]
pub enum PendingWrite {
    Commit {
        session: Arc<LoadedSession>,
        plan: Arc<Plan>,
        /// The finished summary of the plan's compaction.
        summary: Option<Arc<SummaryResult>>,
    },
    ByHand {
        session: Arc<LoadedSession>,
        change: ManualChange,
    },
    Undo {
        session: Arc<LoadedSession>,
        target: UndoTarget,
    },
}

impl PendingWrite {
    pub fn session(&self) -> &Arc<LoadedSession> {
        match self {
            Self::Commit { session, .. } | Self::ByHand { session, .. } | Self::Undo { session, .. } => {
                session
            }
        }
    }

    pub fn kind(&self) -> ReceiptKind {
        match self {
            Self::Commit { .. } | Self::ByHand { .. } => ReceiptKind::Commit,
            Self::Undo { .. } => ReceiptKind::Undo,
        }
    }
}

/// A command of the person, ready to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramRun {
    pub name: String,
    /// The program and its arguments.
    pub words: Vec<String>,
    /// The values of the row, for the environment.
    pub variables: Vec<(RowVariable, String)>,
}

/// A request to the shell.
#[derive(Debug, Clone)]
pub enum Effect {
    /// Lists the sessions of the changed paths again, or the whole store.
    RefreshListing {
        paths: Vec<PathBuf>,
    },
    ListSessions {
        /// Whether to list the built-in demo store instead.
        demo: bool,
    },
    /// Reads every store under these rules from now on.
    UseRuleset(RulesetChoice),
    /// Opens a session; the newest request wins.
    OpenSession {
        key: SessionKey,
    },
    /// Reads the entries added to the open session.
    RefreshSession {
        /// The known state, which the new entries extend.
        session: Arc<LoadedSession>,
    },
    /// Loads the open session as of a call; the newest request wins.
    LoadSessionAtCall {
        /// The session at its own leaf.
        session: Arc<LoadedSession>,
        overflow: Box<Overflow>,
    },
    /// Reads excerpts for rows.
    ReadExcerpts {
        session: Arc<LoadedSession>,
        entries: Vec<EntryIx>,
    },
    /// Reads a message, and its text after the plan.
    ReadMessage {
        session: Arc<LoadedSession>,
        entry: EntryIx,
        plan: Option<Arc<Plan>>,
    },
    /// Reads body-derived data for policies that sizes cannot decide; the newest request wins.
    LoadDetails {
        session: Arc<LoadedSession>,
    },
    /// Predicts the calls that the summary of a planned compaction takes; the newest request wins.
    PredictSummaryCalls {
        session: Arc<LoadedSession>,
        request: SummaryCallsRequest,
    },
    /// Reads the heaviest blocks of these entries.
    ReadBlocks {
        session: Arc<LoadedSession>,
        entries: Vec<EntryIx>,
    },
    /// Finds entries that contain all these words.
    Search {
        session: Arc<LoadedSession>,
        query: String,
        /// The first entry to search; earlier ones were searched already.
        from: EntryIx,
    },
    /// Searches every session of the store; [`super::event::Event::StoreSearch`] answers. The newest request wins.
    SearchStore {
        query: String,
        /// Increases with every request.
        request_id: u64,
    },
    /// Stops the running search over the store.
    StopStoreSearch,
    /// Reads every transcript for its problems; the newest request wins.
    FindProblems {
        request_id: u64,
    },
    StopProblems,
    /// Computes the estimates of a session; [`super::event::Event::FoldedReport`] answers.
    ComputeEstimates {
        session: Arc<LoadedSession>,
    },
    /// Remembers that the program was introduced.
    RememberIntroduction,
    /// Stops the estimates, as their screen is closed.
    StopEstimates,
    /// Reads the recorded recovery from the last overflow.
    ReadRecovery {
        session: Arc<LoadedSession>,
    },
    /// Writes the summary of a plan's compaction; [`super::event::Event::Summary`] answers. The newest request wins.
    Summarise {
        session: Arc<LoadedSession>,
        plan: Arc<Plan>,
        /// Whether the person agreed to send the conversation out of the program; otherwise only the cost is
        /// estimated.
        consented: bool,
    },
    /// Stops the running summary.
    StopSummary,
    Explain {
        session: Arc<LoadedSession>,
    },
    /// Reads the commits of a session.
    ReadCommits {
        session: Arc<LoadedSession>,
    },
    /// Reads the store's record of a session.
    ReadRecord {
        key: SessionKey,
    },
    CompareBranches {
        session: Arc<LoadedSession>,
        /// The last entries of both branches. `None` selects the leaf before the last commit, and the active leaf.
        leaves: [Option<EntryIx>; 2],
    },
    /// Settles an interrupted commit.
    RepairCommit {
        path: PathBuf,
    },
    /// Reads a session for replays; [`super::event::Event::Recording`] answers. A running read may finish before the
    /// newest request starts.
    ReadRecording {
        session: Arc<LoadedSession>,
        /// The policies of any replay.
        policies: PolicySet,
        /// An older recording of the session, which the new one extends.
        previous: Option<Arc<RecordedSession>>,
    },
    /// Replays a session. A running replay may finish before the newest request starts, so that the view follows a
    /// slider that moves steadily.
    Replay {
        recording: Arc<RecordedSession>,
        /// The settings of the simulated trace; `None` replays only the recorded trace.
        settings: Option<Box<Settings>>,
        /// Increases with every request.
        request_id: u64,
    },
    /// Finds the messages that prompts lacked and that were needed again; [`super::event::Event::Regret`] answers. A running
    /// search may finish before the newest request starts.
    FindRegret {
        recording: Arc<RecordedSession>,
        /// The settings of the simulated trace; `None` for the recorded one.
        settings: Option<Box<Settings>>,
        /// The texts from before entries were added.
        known: Option<Arc<RegretTexts>>,
        /// Increases with every request.
        request_id: u64,
    },
    /// Replays a session over a grid of settings; [`super::event::Event::Sweep`] answers. The newest request wins.
    Sweep {
        recording: Arc<RecordedSession>,
        query: Box<SweepQuery>,
        /// Increases with every request.
        request_id: u64,
    },
    /// Stops the running sweep.
    StopSweep,
    /// Checks a write without writing.
    PreviewWrite(PendingWrite),
    /// Writes the previewed change.
    Write {
        pending: PendingWrite,
        /// The bytes of the file when the preview was made.
        read: Option<ReadPrefix>,
    },
    /// Copies text to the clipboard.
    Copy {
        text: String,
        /// A noun for the text, shown in the toast.
        label: &'static str,
    },
    ShowInPager(String),
    /// Runs a command of the person.
    RunCommand {
        run: ProgramRun,
        /// Whether the program takes the terminal; otherwise a toast shows how it ended.
        takes_terminal: bool,
    },
    /// Reads the presets; [`super::event::Event::Presets`] answers.
    ReadPresets,
    /// Writes a preset and replaces one of the same name.
    SavePreset(Preset),
    DeletePreset(String),
    /// Saves text to a new file in the working directory.
    SaveFile {
        /// The file name; a number is added when it is taken.
        name: String,
        text: String,
    },
    /// Exports a session without its secrets to a new file in the working directory.
    Export {
        format: Format,
        session: Arc<LoadedSession>,
        plan: Option<Arc<Plan>>,
        /// The finished summary of the plan's compaction.
        summary: Option<Arc<SummaryResult>>,
    },
    /// Saves the screen as a picture in a new file, without the secrets of the open session.
    SaveScreen {
        /// The open session, whose secrets are masked.
        session: Option<Arc<LoadedSession>>,
    },
    /// Raises an alert outside the screen: bell, notification, program.
    Alert(FullnessAlert),
    /// Captures the mouse, or leaves it to the terminal.
    CaptureMouse(bool),
    /// Shows times in UTC, or in the local zone.
    ShowUtc(bool),
    /// Requests a [`super::event::Event::Timer`] at this moment.
    SetTimer(Moment),
    /// Drops requests of older epochs.
    DropStale {
        epoch: Epoch,
    },
    Quit,
}
