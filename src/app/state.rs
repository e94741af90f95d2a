//! The state behind every screen: one [`App`] value, changed only by [`App::update`] and read by drawing. It holds
//! no handles and does no IO, so a test can build any state and compare it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::app::action::Action;
use crate::app::alerts::Alerts;
use crate::app::event::StoreListing;
use crate::app::jump_list::JumpList;
use crate::app::keymap::Keymap;
use crate::app::layout::{Border, Layout, LayoutInput, Pane, PaneSizes, layout};
use crate::app::line_editor::LineEditor;
use crate::app::logged_command::LoggedCommand;
use crate::app::message::MessagePane;
pub(super) use crate::app::place::{PendingPlace, Place, PlaceRow};
use crate::app::plan_totals::PlanTotals;
use crate::app::regret::RegretState;
use crate::app::remote_store::RemoteStore;
use crate::app::replay_state::ReplayState;
pub use crate::app::screens::Overlay;
use crate::app::screens::compare::CompareScreen;
use crate::app::screens::search::{PendingHit, SearchScreen};
use crate::app::screens::timeline::TimelineScreen;
pub use crate::app::screens::write::{WriteDialog, WriteStage};
use crate::app::sessions::SessionsPane;
use crate::app::target::Target;
use crate::app::transcript::TranscriptPane;
use crate::app::tuning::TuningPane;
use crate::app::tuning_history::{History, TuningState};
use crate::app::view_stack::ViewStack;
use crate::config::CustomCommand;
use crate::config::presets::PresetFile;
use crate::diagnostic::Diagnostic;
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
use crate::units::Bytes;
use crate::write::summary::job::SummaryResult;
use crate::write::summary::writer::SummaryWriter;

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
    /// The way to the store, if it is on another machine.
    pub remote_store: Option<RemoteStore>,
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
            remote_store: None,
        }
    }
}

/// A message that the status line shows for a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toast {
    pub text: String,
    /// Whether it reports a failure or a refusal.
    pub is_error: bool,
    /// Whether it only says why nothing happens; a note has no sign.
    pub is_note: bool,
    /// When it disappears, ms.
    pub until_ms: i64,
}

/// Values that the last key changed, highlighted for a moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flash {
    /// Messages of the context whose numbers changed.
    pub messages: Vec<usize>,
    /// The tuning row that moved.
    pub setting: Option<usize>,
    /// Whether the plan's total changed.
    pub total: bool,
    /// When the highlight ends, ms; 0 without one.
    pub until_ms: i64,
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

/// Whether changes on disk appear at once.
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

/// A session that is loading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loading {
    pub key: SessionKey,
    pub bytes_read: Bytes,
    /// 0 while unknown.
    pub bytes_total: Bytes,
    /// When loading started, ms; progress shows only after a delay.
    pub started_ms: i64,
}

/// The time after which a read counts as slow, ms.
const SLOW_READ_MS: i64 = 150;

/// The inputs of a message text: epoch, entry, its fate and the plan's edits. Equal inputs need no second request.
pub(super) type MessageRequest = (Epoch, EntryIx, Option<MessageFate>, Option<Vec<Edit>>);

/// The state of the program.
#[derive(Debug, Clone)]
pub struct App {
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    pub options: Options,
    /// The listed store; its items are moved to `sessions`.
    pub listing: Option<StoreListing>,
    /// Why listing the store failed.
    pub store_error: Option<String>,
    pub focus: Pane,
    /// Whether the focused pane fills the screen.
    pub zoom: bool,
    /// Columns and rows that the person added to panes.
    pub pane_sizes: PaneSizes,
    pub sessions: SessionsPane,
    /// The open session.
    pub transcript: Option<TranscriptPane>,
    /// The session that is loading.
    pub loading: Option<Loading>,
    /// The session that failed to open, and why.
    pub open_error: Option<(SessionKey, String)>,
    pub message: MessagePane,
    /// The prompt that the main view shows.
    pub target: Target,
    pub tuning: TuningPane,
    /// The changes of settings to undo and redo, session by session.
    pub(super) tuning_histories: HashMap<SessionKey, History<TuningState>>,
    /// The setting whose slider this event moves.
    pub(super) moved_setting: Option<SettingId>,
    /// Whether this event undoes or redoes a change, and so is not itself a change.
    pub(super) is_undoing: bool,
    /// The state to bring back once the store is read under its rules.
    pub(super) restored_tuning: Option<TuningState>,
    /// The rules that the person chose on the screen.
    pub(super) chosen_ruleset: Option<RulesetChoice>,
    /// Totals over all messages of the displayed session and plan.
    pub plan_totals: PlanTotals,
    /// Cache of the number of failed calls, with its key.
    pub(super) failed_calls: Option<(SessionViewKey, u64)>,
    /// Whether the open session is being read again; until then, its state may be older than the file.
    pub is_refreshing: bool,
    /// The session under changed settings that belong to no policy, if any changed.
    pub(super) assumed_session: Option<Arc<LoadedSession>>,
    /// The plan under the tuned settings, while the preview is on.
    pub plan: Option<Arc<Plan>>,
    /// The last finished summary; the preview uses its length until the compaction's cut changes.
    pub summary: Option<Arc<SummaryResult>>,
    /// Enabled policies that wait for texts; the plan leaves them out.
    pub waiting_policies: PolicySet,
    /// Whether reading the texts of this epoch failed.
    pub details_failed: bool,
    /// Tokens that each configured policy would save alone with open gates; `None` when that cannot be measured.
    pub policy_savings: Vec<(Policy, Option<u64>)>,
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
    /// The hit whose session is being opened.
    pub(super) pending_hit: Option<PendingHit>,
    /// Whether going back leads to the hits, as one of them was opened.
    pub(super) returns_to_search: bool,
    /// Screens, windows and dialogs over the main screen.
    pub views: ViewStack<Overlay>,
    /// The marked rows of each session, by letter.
    pub(super) marks: HashMap<SessionKey, BTreeMap<char, PlaceRow>>,
    /// The presets of the person, as last read.
    pub presets: Vec<PresetFile>,
    /// Actions run from the palette, the last first.
    pub(super) recent_actions: Vec<Action>,
    /// Places to go back and forward to.
    pub(super) jumps: JumpList<Place>,
    /// The command lines of what was done, oldest first.
    pub(super) commands: Arc<Vec<LoggedCommand>>,
    /// The place to show once its session is open.
    pub(super) pending_place: Option<PendingPlace>,
    /// Whether the cursor of the sessions pane opens one session after the other.
    pub(super) is_walking_sessions: bool,
    /// The line that a person is typing.
    pub input: Option<LineInput>,
    /// The number typed before a movement.
    pub count: Option<usize>,
    pub toast: Option<Toast>,
    pub flash: Flash,
    pub update_mode: UpdateMode,
    pub(super) alerts: Alerts,
    /// Which folders are polled and why, where the system does not report their changes.
    pub polling_reason: Option<String>,
    /// Whether the mouse is dragging a slider.
    pub(super) is_dragging: bool,
    /// The border that the mouse is dragging.
    pub(super) dragged_border: Option<Border>,
    /// The newest epoch.
    pub epoch: Epoch,
    /// The last requested message, so that it is not requested twice.
    pub(super) requested_message: Option<MessageRequest>,
    /// The session view whose details were requested last.
    pub(super) requested_details: Option<SessionViewKey>,
    /// The tuned values behind the plan, while one is shown.
    pub(super) planned_values: Option<Vec<Value>>,
    /// The last requested timer, ms.
    pub(super) next_timer_ms: Option<i64>,
    /// The time of the last event, ms.
    pub now_ms: i64,
    /// Whether titles and rows show secrets.
    pub secrets: SecretDisplay,
}

impl App {
    /// Creates the state before anything is loaded.
    pub fn new(options: Options, size: (u16, u16)) -> Self {
        Self {
            alerts: Alerts::new(options.alerts.clone()),
            size,
            options,
            listing: None,
            store_error: None,
            focus: Pane::Transcript,
            zoom: false,
            pane_sizes: PaneSizes::default(),
            sessions: SessionsPane::default(),
            transcript: None,
            loading: None,
            open_error: None,
            message: MessagePane::default(),
            target: Target::default(),
            tuning: TuningPane::default(),
            tuning_histories: HashMap::new(),
            moved_setting: None,
            is_undoing: false,
            restored_tuning: None,
            chosen_ruleset: None,
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
            regret: RegretState::default(),
            timeline_screen: TimelineScreen::default(),
            compare_screen: CompareScreen::default(),
            search_screen: SearchScreen::default(),
            pending_hit: None,
            returns_to_search: false,
            views: ViewStack::default(),
            marks: HashMap::new(),
            presets: Vec::new(),
            recent_actions: Vec::new(),
            jumps: JumpList::default(),
            commands: Arc::default(),
            pending_place: None,
            is_walking_sessions: false,
            input: None,
            count: None,
            toast: None,
            flash: Flash::default(),
            update_mode: UpdateMode::Live,
            polling_reason: None,
            is_dragging: false,
            dragged_border: None,
            epoch: Epoch::default(),
            requested_message: None,
            requested_details: None,
            planned_values: None,
            next_timer_ms: None,
            now_ms: 0,
            secrets: SecretDisplay::Hidden,
        }
    }

    /// Computes the current layout.
    pub fn layout(&self) -> Layout {
        layout(&LayoutInput {
            width: self.size.0,
            height: self.size.1,
            has_plan: self.plan.is_some(),
            focus: self.focus,
            zoom: self.zoom,
            tuning_rows: self.tuning.max_line_count() as u16,
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

    /// Returns the problems of the store, then those of the open session. The cursor of the list counts in this
    /// order.
    pub fn findings(&self) -> impl Iterator<Item = &Diagnostic> {
        let store = self.listing.iter().flat_map(|listing| &listing.findings);
        store.chain(self.transcript.iter().flat_map(|pane| &pane.findings))
    }

    /// Returns the entry under the transcript's cursor.
    pub fn selected_entry(&self) -> Option<EntryIx> {
        self.transcript.as_ref()?.selected().map(|row| row.entry)
    }

    /// Whether a session has been loading long enough to show its progress instead of the panes of the last one.
    pub fn is_opening_slowly(&self) -> bool {
        self.loading.as_ref().is_some_and(|loading| self.now_ms - loading.started_ms >= SLOW_READ_MS)
    }

    pub fn is_flashing(&self) -> bool {
        self.flash.until_ms > self.now_ms
    }
}
