//! Parts of [`App`](crate::app::state::App): fields that change together and mean nothing apart. Each starts empty.

use std::collections::HashMap;
use std::sync::Arc;

use crate::app::action::Action;
use crate::app::event::StoreListing;
use crate::app::jump_list::JumpList;
use crate::app::layout::Border;
use crate::app::place::{JumpTarget, PendingJump};
use crate::app::plan_totals::PlanTotals;
use crate::app::screens::search::PendingHit;
use crate::app::tuning_history::{History, TuningState};
use crate::ids::{EntryIx, Epoch, SessionKey};
use crate::js::Value;
use crate::plan::Plan;
use crate::policy::edit::Edit;
use crate::policy::settings::SettingId;
use crate::policy::{MessageFate, Policy, PolicySet};
use crate::session::{LoadedSession, SessionViewKey};
use crate::units::{Bytes, Moment};
use crate::write::summary::job::SummaryResult;

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
