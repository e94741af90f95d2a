//! Everything the screen shows.

use std::sync::Arc;

use crate::app::branches::{BranchesScreen, CommitsScreen};
use crate::app::breakdown::BreakdownScreen;
use crate::app::compare::CompareScreen;
use crate::app::effect::PendingWrite;
use crate::app::estimators::EstimatorsScreen;
use crate::app::event::{StoreListing, WritePreview};
use crate::app::explain::ExplainScreen;
use crate::app::keymap::Keymap;
use crate::app::layout::{Layout, LayoutInput, Pane, layout};
use crate::app::message::MessagePane;
use crate::app::plan_totals::PlanTotals;
use crate::app::policies::PoliciesScreen;
use crate::app::recovery::RecoveryScreen;
use crate::app::replay_state::ReplayState;
use crate::app::scroll::Scroll;
use crate::app::sessions::SessionsPane;
use crate::app::summary_dialog::SummaryStage;
use crate::app::target::Target;
use crate::app::timeline::TimelineScreen;
use crate::app::transcript::TranscriptPane;
use crate::app::tuning::TuningPane;
use crate::diagnostic::Diagnostic;
use crate::ids::{EntryIx, Epoch, SessionKey};
use crate::inspect::summary_job::SummaryResult;
use crate::inspect::summary_writer::SummaryWriter;
use crate::inspect::{LoadedSession, SessionViewKey};
use crate::js::Value;
use crate::plan::Plan;
use crate::policy::edit::Edit;
use crate::policy::{MessageFate, Policy, PolicySet};
use crate::redact::SecretDisplay;

/// How a person wants it, from config and flags.
#[derive(Debug, Clone)]
pub struct Options {
    /// Keys.
    pub keymap: Keymap,
    /// Changed values flash; otherwise they stay marked until the next key.
    pub motion: bool,
    /// The mouse is taken.
    pub mouse: bool,
    /// Names of the themes, in the order of cycling.
    pub themes: Vec<String>,
    /// The theme in force.
    pub theme: usize,
    /// Who writes summaries.
    pub summarizer: SummaryWriter,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            keymap: Keymap::standard(),
            motion: true,
            mouse: true,
            themes: vec!["dark".into(), "light".into(), "mono".into()],
            theme: 0,
            summarizer: SummaryWriter::default(),
        }
    }
}

/// What is in the status line for a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toast {
    /// The words.
    pub text: String,
    /// It says that something failed or was refused.
    pub is_error: bool,
    /// When it goes, ms.
    pub until_ms: i64,
}

/// What the last key changed: marked for a moment, then quiet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flash {
    /// Messages of the context whose numbers changed.
    pub messages: Vec<usize>,
    /// The tuning row that was moved.
    pub setting: Option<usize>,
    /// The plan's total changed.
    pub total: bool,
    /// When it goes, ms; 0 when there is none.
    pub until_ms: i64,
}

/// One line being typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineInput {
    /// What it is for.
    pub purpose: InputPurpose,
    /// The text so far.
    pub text: String,
    /// Cursor, in characters.
    pub cursor: usize,
    /// What was expected, when the text does not fit.
    pub error: Option<String>,
}

/// What a line is typed for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InputPurpose {
    /// Filter the sessions; every key applies it.
    #[default]
    Filter,
    /// Search the transcript; enter starts it.
    Search,
    /// Search in the message.
    Find,
    /// The value of the focused setting.
    Setting,
    /// What the comparison varies.
    Axes,
    /// What it leaves free of the window.
    Headroom,
}

/// Something over the main screen.
#[derive(Debug, Clone)]
pub enum Overlay {
    /// The keys that work.
    Help {
        /// First visible row.
        top: usize,
    },
    /// Actions by name.
    Palette {
        /// What was typed.
        text: String,
        /// The action under the cursor, of those that match.
        selected: usize,
    },
    /// What was found while reading.
    Findings {
        /// Cursor.
        scroll: Scroll,
    },
    /// The steps and what each does.
    Policies(PoliciesScreen),
    /// Every estimator beside what was counted.
    Estimators(EstimatorsScreen),
    /// What is in the window.
    Breakdown(Box<BreakdownScreen>),
    /// What the gateway tries after an overflow.
    Recovery(RecoveryScreen),
    /// Why it overflowed.
    Explain(ExplainScreen),
    /// What was committed.
    Commits(CommitsScreen),
    /// Two branches.
    Branches(BranchesScreen),
    /// Call by call: [`App::timeline_screen`].
    Timeline,
    /// Settings side by side: [`App::compare_screen`].
    Compare,
    /// The confirmation before a write.
    Write(WriteDialog),
}

/// The dialog of a commit or an undo.
#[derive(Debug, Clone)]
pub struct WriteDialog {
    /// What would be written.
    pub write: PendingWrite,
    /// How far it is.
    pub stage: WriteStage,
    /// The first line that is seen of its summary.
    pub top: usize,
}

/// How far a write is.
#[derive(Debug, Clone)]
pub enum WriteStage {
    /// Waiting for the session to be read again, so that what is asked about is what stands there now.
    Waiting,
    /// Its summary is being made, or offered.
    Summarising(SummaryStage),
    /// There is no summary, so nothing is written: why.
    SummaryFailed(String),
    /// Being checked.
    Checking,
    /// Waiting for y or n.
    Confirming(WritePreview),
    /// Being written.
    Writing,
    /// Refused or failed: why, and that nothing was touched.
    Refused(String),
}

/// The live state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateMode {
    /// Changes on disk appear by themselves.
    Live,
    /// The person scrolled up, or paused: changes are noted, the view stays.
    Paused {
        /// Changes that came meanwhile.
        changes: u32,
    },
}

/// A session that is being read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loading {
    /// Which one.
    pub key: SessionKey,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes in all; 0 while unknown.
    pub bytes_total: u64,
    /// When it began, ms: progress shows only after a while.
    pub started_ms: i64,
}

/// What a message was asked for with.
pub(super) type MessageRequest = (Epoch, EntryIx, Option<MessageFate>, Option<Vec<Edit>>);

/// The whole state.
#[derive(Debug, Clone)]
pub struct App {
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// How the person wants it.
    pub options: Options,
    /// The store as listed; items live in `sessions`.
    pub listing: Option<StoreListing>,
    /// Why the store could not be listed.
    pub store_error: Option<String>,
    /// The focused pane.
    pub focus: Pane,
    /// The focused pane takes the whole screen.
    pub zoom: bool,
    /// Sessions.
    pub sessions: SessionsPane,
    /// The open session.
    pub transcript: Option<TranscriptPane>,
    /// The session that is being read.
    pub loading: Option<Loading>,
    /// Why a session could not be opened: its key, and the words.
    pub open_error: Option<(SessionKey, String)>,
    /// The message under the cursor.
    pub message: MessagePane,
    /// Which prompt the main view shows.
    pub target: Target,
    /// Settings.
    pub tuning: TuningPane,
    /// Numbers over all messages, as of the session and plan that are shown.
    pub plan_totals: PlanTotals,
    /// Whose failed calls were counted, and how many there are.
    pub(super) failed_calls: Option<(SessionViewKey, u64)>,
    /// The open session is being read again: what is known of it may be older than the file.
    pub is_refreshing: bool,
    /// The session under the tuned settings that no step has, while there are some.
    pub(super) assumed_session: Option<Arc<LoadedSession>>,
    /// The plan of the tuned settings, while the preview is on.
    pub plan: Option<Arc<Plan>>,
    /// The summary that was made last; the preview counts its length until the cut changes.
    pub summary: Option<Arc<SummaryResult>>,
    /// Steps that are switched on and wait for texts to be read: the plan is told without them.
    pub waiting_policies: PolicySet,
    /// The texts of this reading could not be read.
    pub details_failed: bool,
    /// What configured steps would save with the gates open, tokens, each on its own; none where it cannot be measured.
    pub policy_savings: Vec<(Policy, Option<u64>)>,
    /// Replays of the open session.
    pub replay_state: ReplayState,
    /// What the timeline shows of them, kept while it is closed.
    pub timeline_screen: TimelineScreen,
    /// What the comparison shows, kept while it is closed.
    pub compare_screen: CompareScreen,
    /// What is over the screen.
    pub overlay: Option<Overlay>,
    /// The line being typed.
    pub input: Option<LineInput>,
    /// The status line's message.
    pub toast: Option<Toast>,
    /// What the last key changed.
    pub flash: Flash,
    /// Whether changes appear.
    pub update_mode: UpdateMode,
    /// Folders that are looked at now and then, and why, where the system does not tell of their changes.
    pub polling_reason: Option<String>,
    /// The mouse holds a slider.
    pub(super) is_dragging: bool,
    /// Newest reading.
    pub epoch: Epoch,
    /// The message that was asked for last: reading, entry, its fate and how the plan makes its text.
    pub(super) requested_message: Option<MessageRequest>,
    /// The reading whose texts were asked for last.
    pub(super) requested_details: Option<SessionViewKey>,
    /// The tuned values that the plan was made with, while one is shown.
    pub(super) planned_values: Option<Vec<Value>>,
    /// The moment a timer was asked for last, ms.
    pub(super) next_timer_ms: Option<i64>,
    /// The time of the last event, ms.
    pub now_ms: i64,
    /// Whether titles and rows show the secrets of their texts.
    pub secrets: SecretDisplay,
}

impl App {
    /// The state before anything is known.
    pub fn new(options: Options, size: (u16, u16)) -> Self {
        Self {
            size,
            options,
            listing: None,
            store_error: None,
            focus: Pane::Transcript,
            zoom: false,
            sessions: SessionsPane::default(),
            transcript: None,
            loading: None,
            open_error: None,
            message: MessagePane::default(),
            target: Target::default(),
            tuning: TuningPane::default(),
            plan_totals: PlanTotals::default(),
            failed_calls: None,
            is_refreshing: false,
            assumed_session: None,
            plan: None,
            summary: None,
            waiting_policies: PolicySet::NONE,
            details_failed: false,
            policy_savings: Vec::new(),
            replay_state: ReplayState::default(),
            timeline_screen: TimelineScreen::default(),
            compare_screen: CompareScreen::default(),
            overlay: None,
            input: None,
            toast: None,
            flash: Flash::default(),
            update_mode: UpdateMode::Live,
            polling_reason: None,
            is_dragging: false,
            epoch: Epoch::default(),
            requested_message: None,
            requested_details: None,
            planned_values: None,
            next_timer_ms: None,
            now_ms: 0,
            secrets: SecretDisplay::Hidden,
        }
    }

    /// Where everything stands now.
    pub fn layout(&self) -> Layout {
        layout(&LayoutInput {
            width: self.size.0,
            height: self.size.1,
            has_plan: self.plan.is_some(),
            focus: self.focus,
            zoom: self.zoom,
            tuning_rows: self.tuning.max_line_count() as u16,
        })
    }

    /// The open session as the main view shows it.
    pub fn displayed_session(&self) -> Option<&Arc<LoadedSession>> {
        self.transcript.as_ref().map(|pane| &pane.session)
    }

    /// Findings of the store, then those of the open session: the order the list of findings counts in.
    pub fn findings(&self) -> impl Iterator<Item = &Diagnostic> {
        let store = self.listing.iter().flat_map(|listing| &listing.findings);
        store.chain(self.transcript.iter().flat_map(|pane| &pane.findings))
    }

    /// The entry under the transcript's cursor.
    pub fn selected_entry(&self) -> Option<EntryIx> {
        self.transcript.as_ref()?.selected().map(|row| row.entry)
    }

    /// Whether something flashes at this moment.
    pub fn is_flashing(&self) -> bool {
        self.flash.until_ms > self.now_ms
    }
}
