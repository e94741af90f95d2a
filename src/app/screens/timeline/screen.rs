//! The state of the timeline screen: the selected call, the visible range, and the choice of bars or text.

use crate::app::action::Action;
use crate::app::screens::hint::{GO_TO_ENTRY, Hint};
use crate::app::screens::timeline::viewport::Viewport;
use crate::ids::EntryIx;

/// The metric of the bars below the curves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BarMetric {
    /// The cost of each call.
    #[default]
    Cost,
    /// Prompt tokens of each call that were not read from the cache.
    Cache,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct TimelineScreen {
    /// The selected call, from 0.
    pub cursor: usize,
    pub viewport: Viewport,
    pub bar_metric: BarMetric,
    /// Whether the timeline is text instead of curves.
    pub as_sentences: bool,
    /// First visible line of that text.
    pub top: usize,
    /// Whether the setting below the curves has the focus, and not the calls.
    pub on_setting: bool,
    /// The entry to select as soon as the calls are known.
    pub(super) requested_entry: Option<EntryIx>,
}

/// The keys of the timeline for the status line.
pub(in crate::app) fn hints(screen: &TimelineScreen) -> Vec<Hint> {
    let (moves, open, other): (Hint, Hint, _) = if screen.on_setting {
        ((&[Action::Down, Action::Up], "setting"), (&[Action::Open], "type a value"), "calls")
    } else {
        ((&[Action::Left, Action::Right], "call"), GO_TO_ENTRY, "settings")
    };
    vec![
        moves,
        (&[Action::NextMatch], "overflow"),
        open,
        (&[Action::Back], "back"),
        (&[Action::NextPane], other),
        (&[Action::Zoom], "zoom"),
        (&[Action::Less, Action::More], "adjust"),
        (&[Action::TogglePolicy], "on/off"),
        (&[Action::ViewMenu], "view"),
    ]
}

impl TimelineScreen {
    pub(super) fn move_to(&mut self, call: usize, calls: usize) {
        self.cursor = call.min(calls.saturating_sub(1));
        self.viewport.keep_visible(self.cursor, calls);
    }
}
