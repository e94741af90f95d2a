//! What the machine asks of the shell. Values: tests read them, the runtime performs them.

use std::path::PathBuf;
use std::sync::Arc;

use crate::app::compare::SweepAsked;
use crate::commit::UndoTarget;
use crate::export::Format;
use crate::gateway::ruleset::Chosen;
use crate::ids::{EntryIx, Epoch, SessionKey};
use crate::inspect::Inspection;
use crate::inspect::making::Made;
use crate::inspect::overflow::Overflow;
use crate::inspect::summary_calls::CallsAsked;
use crate::inspect::timeline::Recording;
use crate::plan::Plan;
use crate::policy::StepSet;
use crate::replay::Settings;

/// A request to write: a plan as a new branch, or the branch before as the active one.
#[derive(Debug, Clone)]
pub enum Write {
    /// Commit a plan.
    Commit {
        /// The session.
        inspection: Arc<Inspection>,
        /// The plan.
        plan: Arc<Plan>,
        /// The summary that was made for its compaction.
        made: Option<Arc<Made>>,
    },
    /// Undo a commit.
    Undo {
        /// The session.
        inspection: Arc<Inspection>,
        /// Which one.
        target: UndoTarget,
    },
}

/// Something to do.
#[derive(Debug, Clone)]
pub enum Effect {
    /// List again what changed at these paths: the sessions they belong to, or the whole store.
    Relist {
        /// The paths.
        paths: Vec<PathBuf>,
    },
    /// List the store; `demo` opens the embedded one.
    List {
        /// The embedded demo store instead.
        demo: bool,
    },
    /// Read every store by these rules from now on.
    Follow(Chosen),
    /// Open a session. The newest request wins.
    Open {
        /// The session.
        key: SessionKey,
    },
    /// Read what was added to the open session.
    Refresh {
        /// What is known of it.
        inspection: Arc<Inspection>,
    },
    /// Look at the open session as it was when a call was made. The newest request wins.
    LookAtCall {
        /// The session at its own leaf.
        inspection: Arc<Inspection>,
        /// The call.
        overflow: Box<Overflow>,
    },
    /// Read texts for rows.
    ReadExcerpts {
        /// The session.
        inspection: Arc<Inspection>,
        /// The entries.
        entries: Vec<EntryIx>,
    },
    /// Read a message, with what the plan makes of it.
    ReadMessage {
        /// The session.
        inspection: Arc<Inspection>,
        /// The entry.
        entry: EntryIx,
        /// The plan shown.
        plan: Option<Arc<Plan>>,
    },
    /// Read what steps that look at more than sizes ask for. The newest request wins.
    ReadTexts {
        /// The session.
        inspection: Arc<Inspection>,
    },
    /// Tell the calls that a planned compaction's summary takes. The newest request wins.
    TellCalls {
        /// The session.
        inspection: Arc<Inspection>,
        /// The settings.
        asked: CallsAsked,
    },
    /// Name the heaviest blocks of these entries.
    ReadBlocks {
        /// The session.
        inspection: Arc<Inspection>,
        /// The entries.
        entries: Vec<EntryIx>,
    },
    /// Find entries that hold all these words.
    Search {
        /// The session.
        inspection: Arc<Inspection>,
        /// The words.
        query: String,
        /// The first entry to look at; those before it have been searched.
        from: EntryIx,
    },
    /// Make the estimates of a session; the answer comes as [`super::event::Event::Estimated`].
    Estimate {
        /// The session.
        inspection: Arc<Inspection>,
    },
    /// Nobody looks at estimates any more.
    StopEstimates,
    /// Read what the transcript records of its last overflow.
    ReadRecovery {
        /// The session.
        inspection: Arc<Inspection>,
    },
    /// Make the summary of a plan's compaction; the answers come as [`super::event::Event::Summary`]. The newest request
    /// wins.
    Summarise {
        /// The session.
        inspection: Arc<Inspection>,
        /// The plan.
        plan: Arc<Plan>,
        /// The person agreed that the conversation leaves the program; without that it is only told what it takes.
        agreed: bool,
    },
    /// Nobody waits for a summary any more.
    StopSummary,
    /// Explain a session.
    Explain {
        /// The session.
        inspection: Arc<Inspection>,
    },
    /// Read what was committed to a session.
    ReadCommits {
        /// The session.
        inspection: Arc<Inspection>,
    },
    /// Compare two branches of a session.
    CompareBranches {
        /// The session.
        inspection: Arc<Inspection>,
        /// The entries they end at; none: where the last commit came from, and the active leaf.
        leaves: [Option<EntryIx>; 2],
    },
    /// Settle the commit to a transcript that was broken off.
    Repair {
        /// The transcript.
        path: PathBuf,
    },
    /// Read a session for replays; the answer comes as [`super::event::Event::Recording`]. A running reading may finish, the
    /// newest request is next.
    ReadRecording {
        /// The session.
        inspection: Arc<Inspection>,
        /// Steps of any replay.
        steps: StepSet,
        /// A recording of it from before entries were added.
        known: Option<Arc<Recording>>,
    },
    /// Replay a session. A running replay may finish, so that a slider that moves steadily is followed; the newest request
    /// is next.
    Replay {
        /// The session.
        recording: Arc<Recording>,
        /// Settings of the simulated lane, where there is to be one.
        settings: Option<Box<Settings>>,
        /// Which request it is; they only count up.
        request: u64,
    },
    /// Replay a session over a grid of settings; the answers come as [`super::event::Event::Swept`]. The newest request wins.
    Sweep {
        /// The session.
        recording: Arc<Recording>,
        /// The cells.
        asked: Box<SweepAsked>,
        /// Which request it is; they only count up.
        request: u64,
    },
    /// Nobody waits for cells any more.
    StopSweep,
    /// Check what a write would do, without writing.
    Prepare(Write),
    /// Write.
    Write(Write),
    /// Put text on the clipboard.
    Copy {
        /// The text.
        text: String,
        /// What it is, for the toast.
        what: &'static str,
    },
    /// Show text in the pager.
    Page(String),
    /// Save text to a new file in the working directory.
    Save {
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
        inspection: Arc<Inspection>,
        /// The plan shown.
        plan: Option<Arc<Plan>>,
        /// The summary that was made for its compaction.
        made: Option<Arc<Made>>,
    },
    /// Save the screen as it is drawn, without secrets of the open session, as a picture in a new file.
    SaveScreen {
        /// The open session.
        inspection: Option<Arc<Inspection>>,
    },
    /// Take the mouse or leave it to the terminal.
    Mouse(bool),
    /// Send a [`super::event::Event::Timer`] at this moment (ms).
    TimerAt(i64),
    /// Drop what was asked under older epochs.
    Forget {
        /// The newest epoch.
        epoch: Epoch,
    },
    /// Leave.
    Quit,
}
