//! The state behind every screen: one [`App`] value, changed only by [`App::update`] and read by drawing. It holds
//! no handles and does no IO, so a test can build any state and compare it.

use std::collections::HashMap;
use std::sync::Arc;

use crate::app::action::Action;
use crate::app::alerts::Alerts;
use crate::app::copied_store::CopiedStore;
use crate::app::event::StoreListing;
use crate::app::jump_list::JumpList;
use crate::app::keymap::Keymap;
use crate::app::layout::{Border, Layout, LayoutInput, Pane, PaneSizes, layout};
use crate::app::line_editor::LineEditor;
use crate::app::message::MessagePane;
use crate::app::place::{JumpTarget, PendingJump};
use crate::app::plan_totals::PlanTotals;
use crate::app::policy_effects::PolicyEffects;
use crate::app::regret::RegretState;
use crate::app::replay_state::ReplayState;
use crate::app::screens::compare::CompareScreen;
use crate::app::screens::problems::StoreProblems;
use crate::app::screens::search::{PendingHit, SearchScreen};
use crate::app::screens::timeline::TimelineScreen;
use crate::app::sessions::SessionsPane;
use crate::app::target::Target;
use crate::app::transcript::TranscriptPane;
use crate::app::tuning::TuningPane;
use crate::app::tuning_history::{History, TuningState};
use crate::app::view_stack::ViewStack;
use crate::config::CustomCommand;
use crate::config::presets::PresetFile;
use crate::gateway::ruleset::RulesetChoice;
use crate::ids::{EntryIx, Epoch, SessionKey};
use crate::js::Value;
use crate::plan::Plan;
use crate::policy::edit::Edit;
use crate::policy::settings::SettingId;
use crate::policy::{MessageFate, Policy, PolicySet};
use crate::redact::SecretDisplay;
use crate::session::fullness_alert::AlertLevels;
use crate::session::{LoadedSession, SessionViewKey};
use crate::units::{Bytes, Millis, Moment};
use crate::write::summary::job::{SummaryResult, SummaryWriter};

pub use crate::app::screens::Overlay;
pub use crate::app::screens::write::{WriteDialog, WriteStage};

/// The person's preferences, from config and flags.
#[derive(Debug, Clone)]
pub struct Options {
    pub keymap: Keymap,
    /// Whether changed values flash; otherwise they stay marked until the next key.
    pub motion: bool,
    /// Whether clawscope captures the mouse.
    pub mouse: bool,
    /// Theme names, in cycling order.
    pub themes: Vec<String>,
    /// The active theme, as an index into `themes`.
    pub theme: usize,
    pub summarizer: SummaryWriter,
    /// The person's own commands; [`Action::Custom`] counts in this order.
    pub commands: Vec<CustomCommand>,
    /// Problems of the settings that do not keep the program from running.
    pub warnings: Vec<String>,
    /// Shares of the window at which a session alerts.
    pub alerts: AlertLevels,
    /// Whether times are in UTC instead of the local zone.
    pub utc: bool,
    /// The name of the local zone.
    pub zone_name: String,
    /// Whether the first screen introduces the program.
    pub introduces: bool,
    /// The origin of the store, if it is a copy from another machine.
    pub copied_store: Option<CopiedStore>,
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
            commands: Vec::new(),
            warnings: Vec::new(),
            alerts: AlertLevels::default(),
            utc: true,
            zone_name: "UTC".to_owned(),
            introduces: false,
            copied_store: None,
        }
    }
}

/// A message that the status line shows for a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Toast {
    pub text: String,
    pub kind: ToastKind,
    /// The time at which it disappears.
    pub until_ms: Moment,
}

/// The kind of a message in the status line, which decides its sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToastKind {
    Done,
    /// Why a key does nothing now; without a sign.
    Note,
    /// Something that the person did not ask for.
    Alert,
    /// A request was refused or failed.
    Refused,
}

/// Values that the last key changed, highlighted for a moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Flash {
    /// Messages of the context whose numbers changed.
    pub messages: Vec<usize>,
    /// The tuning row that moved.
    pub setting: Option<usize>,
    /// Whether the plan's total changed.
    pub total: bool,
    /// The end of the highlight; 0 without one.
    pub until_ms: Moment,
}

/// A line that a person is typing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineInput {
    pub purpose: InputPurpose,
    pub line: LineEditor,
    /// The expected form, when the text is not valid.
    pub error: Option<String>,
}

impl LineInput {
    /// Creates a line with the cursor at its end.
    pub fn new(purpose: InputPurpose, text: String) -> Self {
        Self { purpose, line: LineEditor::new(text), error: None }
    }
}

/// The use of a typed line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InputPurpose {
    /// Filters the sessions with every key.
    #[default]
    Filter,
    /// Searches the transcript on enter.
    Search,
    /// Searches inside the message.
    Find,
    /// Searches every session with every key.
    StoreSearch,
    /// Sets the focused setting.
    Setting,
    /// Sets the axes of the comparison.
    Axes,
    /// Sets the tokens that the comparison keeps free of the window.
    Headroom,
}

/// The handling of changes on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateMode {
    /// Changes on disk appear at once.
    Live,
    /// The person scrolled up or paused: changes are counted and the view stays.
    Paused {
        /// Changes since then.
        changes: u32,
    },
}

/// The time after which a read counts as slow.
const SLOW_READ_MS: Millis = Millis(150.0);

/// The state of the program.
#[derive(Debug, Clone)]
pub struct App {
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    pub options: Options,
    pub store: ListedStore,
    pub focus: Pane,
    /// Whether the focused pane fills the screen.
    pub zoom: bool,
    /// Columns and rows that the person added to panes.
    pub pane_sizes: PaneSizes,
    pub sessions: SessionsPane,
    pub opening: Opening,
    /// The open session.
    pub transcript: Option<TranscriptPane>,
    pub message: MessagePane,
    /// The prompt that the main view shows.
    pub target: Target,
    pub tuning: TuningPane,
    pub(super) undo: TuningUndo,
    /// The rules that the person chose on the screen.
    pub(super) chosen_ruleset: Option<RulesetChoice>,
    pub preview: PreviewState,
    pub policy_effects: PolicyEffects,
    /// Cache of the number of failed calls, with its key.
    pub(super) failed_calls: Option<(SessionViewKey, u64)>,
    /// Replays of the open session.
    pub replay_state: ReplayState,
    /// Messages of the open session that prompts lacked and that were needed again.
    pub regret: RegretState,
    /// Kept while the timeline is closed.
    pub timeline_screen: TimelineScreen,
    /// Kept while the comparison is closed.
    pub compare_screen: CompareScreen,
    /// Kept while the search over every session is closed.
    pub search_screen: SearchScreen,
    /// The problems of transcripts, kept while the screen is closed.
    pub problems: StoreProblems,
    /// Screens, windows and dialogs over the main screen.
    pub views: ViewStack<Overlay>,
    pub navigation: Navigation,
    /// The presets of the person, as last read.
    pub presets: Vec<PresetFile>,
    pub history: ActionHistory,
    /// The line that a person is typing.
    pub input: Option<LineInput>,
    /// The number typed before a movement.
    pub count: Option<usize>,
    pub toast: Option<Toast>,
    /// The alert that waits until the notice of what the person did has been visible.
    pub(super) waiting_alert: Option<String>,
    pub flash: Flash,
    pub update_mode: UpdateMode,
    pub(super) alerts: Alerts,
    pub(super) drag: Drag,
    /// The newest epoch.
    pub epoch: Epoch,
    pub(super) requests: Requests,
    /// The time of the last event.
    pub now_ms: Moment,
    /// The display of secrets in titles and rows.
    pub secrets: SecretDisplay,
}

impl App {
    /// Creates the state before anything is loaded.
    pub fn new(options: Options, size: (u16, u16)) -> Self {
        Self {
            alerts: Alerts::new(options.alerts.clone()),
            size,
            options,
            store: ListedStore::default(),
            focus: Pane::Transcript,
            zoom: false,
            pane_sizes: PaneSizes::default(),
            sessions: SessionsPane::default(),
            opening: Opening::default(),
            transcript: None,
            message: MessagePane::default(),
            target: Target::default(),
            tuning: TuningPane::default(),
            undo: TuningUndo::default(),
            chosen_ruleset: None,
            preview: PreviewState::default(),
            policy_effects: PolicyEffects::default(),
            failed_calls: None,
            replay_state: ReplayState::default(),
            regret: RegretState::default(),
            timeline_screen: TimelineScreen::default(),
            compare_screen: CompareScreen::default(),
            search_screen: SearchScreen::default(),
            problems: StoreProblems::default(),
            views: ViewStack::default(),
            navigation: Navigation::default(),
            presets: Vec::new(),
            history: ActionHistory::default(),
            input: None,
            count: None,
            toast: None,
            waiting_alert: None,
            flash: Flash::default(),
            update_mode: UpdateMode::Live,
            drag: Drag::default(),
            epoch: Epoch::default(),
            requests: Requests::default(),
            now_ms: Moment::ZERO,
            secrets: SecretDisplay::Hidden,
        }
    }

    /// Computes the current layout.
    pub fn layout(&self) -> Layout {
        layout(&LayoutInput {
            width: self.size.0,
            height: self.size.1,
            has_plan: self.preview.plan.is_some(),
            focus: self.focus,
            zoom: self.zoom,
            tuning_rows: self.tuning.max_line_count() as u16,
            policies: &self.tuning.visible_policies,
            resized: self.pane_sizes,
        })
    }

    pub fn displayed_session(&self) -> Option<&Arc<LoadedSession>> {
        self.transcript.as_ref().map(|pane| &pane.session)
    }

    /// The screen, window or dialog that gets the keys.
    pub fn overlay(&self) -> Option<&Overlay> {
        self.views.top()
    }

    /// The screen that hides the main one, even below a window or dialog.
    pub fn page(&self) -> Option<&Overlay> {
        self.views.visible(Overlay::is_dialog).0
    }

    /// Returns the entry under the transcript's cursor.
    pub fn selected_entry(&self) -> Option<EntryIx> {
        self.transcript.as_ref()?.selected().map(|row| row.entry)
    }

    /// Whether a session has been loading long enough to show its progress instead of the panes of the last one.
    pub fn is_opening_slowly(&self) -> bool {
        self.opening.loading.as_ref().is_some_and(|loading| self.now_ms - loading.started_ms >= SLOW_READ_MS)
    }

    pub fn is_flashing(&self) -> bool {
        self.flash.until_ms > self.now_ms
    }
}

// Parts of [`App`](crate::app::state::App): fields that change together and mean nothing apart. Each starts empty.

/// The store, as last listed.
#[derive(Debug, Clone, Default)]
pub struct ListedStore {
    /// Its items are moved to the sessions pane.
    pub listing: Option<StoreListing>,
    /// The reason that listing it failed.
    pub error: Option<String>,
    /// The polled folders with the reason, where the system does not report their changes.
    pub polling_reason: Option<String>,
}

/// A session that is loading.
#[derive(Debug, Clone, PartialEq)]
pub struct Loading {
    pub key: SessionKey,
    pub bytes_read: Bytes,
    /// 0 while unknown.
    pub bytes_total: Bytes,
    /// The start of loading; progress shows only after a delay.
    pub started_ms: Moment,
}

/// Reading the open session, or the one that is to be open.
#[derive(Debug, Clone, Default)]
pub struct Opening {
    pub loading: Option<Loading>,
    /// The session that failed to open, and why.
    pub error: Option<(SessionKey, String)>,
    /// Whether the open session is being read again; until then, its state may be older than the file.
    pub is_refreshing: bool,
    /// Whether a write of this program has not been read yet: the session on display is at the leaf before it, and no
    /// verdict on it holds.
    pub awaits_write: bool,
}

/// The preview: the plan under the tuned settings, and all that follows from it.
#[derive(Debug, Clone, Default)]
pub struct PreviewState {
    /// `None` while the preview is off.
    pub plan: Option<Arc<Plan>>,
    /// Totals over all messages of the displayed session and plan.
    pub totals: PlanTotals,
    /// The last finished summary; the preview uses its length until the compaction's cut changes.
    pub summary: Option<Arc<SummaryResult>>,
    /// Enabled policies that wait for texts; the plan leaves them out.
    pub waiting_policies: PolicySet,
    /// Enabled policies that do not act at the failed call; the plan leaves them out.
    pub left_out: PolicySet,
    /// Whether reading the texts of this epoch failed.
    pub details_failed: bool,
    /// Tokens that each configured policy would save alone with open gates; `None` when that cannot be measured.
    pub policy_savings: Vec<(Policy, Option<u64>)>,
    /// The tuned values behind the plan, while one is shown.
    pub(super) planned_values: Option<Vec<Value>>,
    /// The session under changed settings that belong to no policy, if any changed.
    pub(super) assumed_session: Option<Arc<LoadedSession>>,
}

/// Changes of settings to undo and redo.
#[derive(Debug, Clone, Default)]
pub(super) struct TuningUndo {
    pub(super) histories: HashMap<SessionKey, History<TuningState>>,
    /// The setting whose slider this event moves.
    pub(super) moved_setting: Option<SettingId>,
    /// Whether this event undoes or redoes a change, and so is not itself a change.
    pub(super) is_undoing: bool,
    /// The state to bring back once the store is read under its rules.
    pub(super) restored: Option<TuningState>,
}

/// Places for jumps: visited, or waiting for their session to open.
#[derive(Debug, Clone, Default)]
pub struct Navigation {
    /// Places of the way back and forward.
    pub(super) jumps: JumpList<JumpTarget>,
    /// The place to show once its session is open.
    pub(super) pending_place: Option<PendingJump>,
    /// The hit whose session is being opened.
    pub(super) pending_hit: Option<PendingHit>,
    /// Whether going back leads to the hits, as one of them was opened.
    pub(super) returns_to_search: bool,
    /// The call from which a commit was requested, while going back from its diff leads to its question.
    pub(super) returns_to_commit: Option<Target>,
    /// Whether the cursor of the sessions pane opens one session after the other.
    pub(super) is_walking_sessions: bool,
}

/// The actions so far, for the palette.
#[derive(Debug, Clone, Default)]
pub struct ActionHistory {
    /// Actions run from the palette, the last first.
    pub(super) recent_actions: Vec<Action>,
}

/// The element that the mouse is dragging.
#[derive(Debug, Clone, Default)]
pub(super) struct Drag {
    pub(super) is_on_slider: bool,
    pub(super) border: Option<Border>,
}

/// The inputs of a message text: epoch, entry, its fate and the plan's edits. Equal inputs need no second request.
pub(super) type MessageRequest = (Epoch, EntryIx, Option<MessageFate>, Option<Vec<Edit>>);

/// The last requests, so that nothing is requested twice.
#[derive(Debug, Clone, Default)]
pub(super) struct Requests {
    pub(super) message: Option<MessageRequest>,
    /// The session view whose details were requested.
    pub(super) details: Option<SessionViewKey>,
    /// The last requested timer.
    pub(super) next_timer_ms: Option<Moment>,
}
