//! The border between the program and its screens: the state that they read, and their answers to actions.

use std::sync::Arc;

use ratatui::layout::Rect;

use crate::app::effect::Effect;
use crate::app::layout::Layout;
use crate::ids::{EntryIx, SessionKey};
use crate::js::Value;
use crate::plan::Plan;
use crate::policy::settings::SettingId;
use crate::session::{LoadedSession, ManualChange};

/// The state of the program that screens read.
#[derive(Debug)]
pub struct ScreenContext {
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    pub layout: Layout,
    /// The displayed session.
    pub session: Option<Arc<LoadedSession>>,
    /// The session at its own leaf.
    pub active_session: Option<Arc<LoadedSession>>,
    pub plan: Option<Arc<Plan>>,
    pub selected_entry: Option<EntryIx>,
    /// The session under the cursor of the list, else the displayed one.
    pub selected_session: Option<SessionKey>,
    /// The problems of the store and the session.
    pub problem_count: usize,
}

impl ScreenContext {
    /// The rectangle between header and status line.
    pub fn body(&self) -> Rect {
        let y = self.layout.header.bottom();
        Rect { x: 0, y, width: self.size.0, height: self.body_rows() }
    }

    /// Rows between header and status line.
    pub fn body_rows(&self) -> u16 {
        self.layout.above_status(self.size).bottom().saturating_sub(self.layout.header.bottom())
    }
}

/// The answer of a screen to an action.
#[derive(Debug)]
pub enum Outcome {
    /// The screen has no use for the action.
    Ignored,
    Done,
    Close,
    /// Closes every screen and moves to an entry of the transcript.
    GoTo(EntryIx),
    /// A message for the status line.
    Say(&'static str),
    Copy {
        text: String,
        /// A noun for the text.
        label: &'static str,
    },
    /// Opens the dialog for a change of the branch.
    ByHand(ManualChange),
    /// Requests data.
    Request(Vec<Effect>),
    /// Closes every screen and sets values of the tuning pane.
    Apply(Vec<(SettingId, Value)>),
    /// The program decides, as the screen shows state of the main screen.
    Program(ProgramScreen),
}

impl Outcome {
    /// Moves to an entry, or closes the screen without one.
    pub fn go_to(entry: Option<EntryIx>) -> Self {
        entry.map_or(Self::Close, Self::GoTo)
    }

    /// Copies a text, if there is one.
    pub fn copy(text: Option<String>, label: &'static str) -> Self {
        text.filter(|text| !text.is_empty()).map_or(Self::Done, |text| Self::Copy { text, label })
    }
}

/// A screen over state that outlives it: the settings, the replay, the sweep, a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramScreen {
    Problems,
    Help,
    Search,
    Timeline,
    Compare,
}
