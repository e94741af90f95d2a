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
    /// Whether the last key was about the setting below the curves, so that enter edits it.
    pub on_setting: bool,
    /// The entry to select as soon as the calls are known.
    pub(super) requested_entry: Option<EntryIx>,
}

/// The keys of the timeline for the status line.
pub(in crate::app) fn hints(screen: &TimelineScreen) -> Vec<Hint> {
    vec![
        (&[Action::Left, Action::Right], "call"),
        (&[Action::NextMatch], "overflow"),
        if screen.on_setting { (&[Action::Open], "type a value") } else { GO_TO_ENTRY },
        (&[Action::Back], "back"),
        (&[Action::Zoom], "zoom"),
        (&[Action::Less, Action::More], "adjust"),
        (&[Action::Down, Action::Up], "setting"),
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
