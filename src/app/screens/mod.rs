//! The registry of screens. A screen is one file here with its state, keys and footer, one file of the same name in
//! `ui/screens` that draws it, a [`ScreenKind`] with its key, and a line in each `match` of this file.

pub mod branches;
pub mod breakdown;
pub mod compare;
pub mod context;
pub mod doc_page;
pub mod explain;
pub mod help;
pub mod hint;
pub mod letters;
pub mod palette;
mod palette_row;
pub mod problems;
pub mod record;
pub(super) mod ruleset_rows;
pub mod search;
pub mod timeline;
pub mod welcome;
pub mod write;

use crate::app::action::{Action, ScreenKind};
use crate::app::effect::Effect;
use crate::app::keymap::KeyContext;
use branches::BranchesScreen;
use breakdown::BreakdownScreen;
use context::{Outcome, ProgramScreen, ScreenContext};
use explain::ExplainScreen;
use help::{HelpArea, HelpScreen};
use hint::{CLOSE, Hint};
use letters::KeyMenu;
use palette::PaletteScreen;
use problems::ProblemsScreen;
use record::RecordScreen;
use write::WriteDialog;

/// A screen, window or dialog over the main screen.
#[derive(Debug, Clone)]
pub enum Overlay {
    Help(Box<HelpScreen>),
    Palette(PaletteScreen),
    /// Problems found while reading.
    Problems(ProblemsScreen),
    /// The parts of the window.
    Breakdown(Box<BreakdownScreen>),
    /// The explanation of the session's overflow.
    Explain(ExplainScreen),
    Branches(BranchesScreen),
    /// The session record.
    Record(RecordScreen),
    /// Its state is in [`crate::app::App::search_screen`].
    Search,
    /// Its state is in [`crate::app::App::timeline_screen`].
    Timeline,
    /// Its state is in [`crate::app::App::compare_screen`].
    Compare,
    /// Waits for a letter.
    Letters(KeyMenu),
    /// Introduces the program; any key closes it.
    Welcome,
    /// The confirmation before a write.
    Write(WriteDialog),
}

impl Overlay {
    /// Creates a screen, or returns why it cannot open.
    pub(super) fn open(
        kind: ScreenKind,
        context: &ScreenContext,
        help: impl FnOnce() -> HelpScreen,
        palette: impl FnOnce() -> PaletteScreen,
    ) -> Result<Self, &'static str> {
        let session = context.session.as_ref().ok_or("no transcript is open");
        Ok(match kind {
            ScreenKind::Help => Self::Help(Box::new(help())),
            ScreenKind::Palette => Self::Palette(palette()),
            ScreenKind::Problems => Self::Problems(ProblemsScreen::default()),
            ScreenKind::Breakdown => {
                Self::Breakdown(Box::new(BreakdownScreen::new(session?, context.plan.as_deref())))
            }
            ScreenKind::Explain => session.map(|_| Self::Explain(ExplainScreen::default()))?,
            ScreenKind::Branches => session.map(|_| Self::Branches(BranchesScreen::open(context)))?,
            ScreenKind::Record => Self::Record(RecordScreen::open(context)?),
            ScreenKind::Search => Self::Search,
            ScreenKind::Timeline => session.map(|_| Self::Timeline)?,
            ScreenKind::Compare => session.map(|_| Self::Compare)?,
        })
    }

    /// Returns the kind whose key opens and closes this screen; `None` for a dialog.
    pub fn kind(&self) -> Option<ScreenKind> {
        Some(match self {
            Self::Help(_) => ScreenKind::Help,
            Self::Palette(_) => ScreenKind::Palette,
            Self::Problems(_) => ScreenKind::Problems,
            Self::Breakdown(_) => ScreenKind::Breakdown,
            Self::Explain(_) => ScreenKind::Explain,
            Self::Branches(_) => ScreenKind::Branches,
            Self::Record(_) => ScreenKind::Record,
            Self::Search => ScreenKind::Search,
            Self::Timeline => ScreenKind::Timeline,
            Self::Compare => ScreenKind::Compare,
            Self::Letters(_) | Self::Welcome | Self::Write(_) => return None,
        })
    }

    /// Whether the screen below stays visible around it.
    pub fn is_dialog(&self) -> bool {
        matches!(self, Self::Help(_) | Self::Palette(_) | Self::Letters(_) | Self::Welcome | Self::Write(_))
    }

    /// Returns the title for the header, if the screen hides the session line.
    pub fn page_title(&self) -> Option<&'static str> {
        match self {
            Self::Search => Some("Search"),
            Self::Timeline => Some("Timeline"),
            Self::Explain(_) => Some("Explain"),
            _ => None,
        }
    }

    /// Whether the screen has requested data that did not arrive yet.
    pub(super) fn is_waiting(&self) -> bool {
        match self {
            Self::Breakdown(screen) => screen.blocks.is_empty(),
            Self::Explain(screen) => screen.is_waiting(),
            Self::Branches(screen) => screen.is_waiting(),
            Self::Record(screen) => screen.page.is_none(),
            Self::Help(_)
            | Self::Palette(_)
            | Self::Letters(_)
            | Self::Welcome
            | Self::Problems(_)
            | Self::Timeline
            | Self::Search
            | Self::Compare
            | Self::Write(_) => false,
        }
    }

    /// Whether the screen shows nothing without a session.
    pub(super) fn needs_session(&self) -> bool {
        matches!(self, Self::Breakdown(_))
    }

    pub fn key_context(&self) -> KeyContext {
        match self {
            Self::Write(_) => KeyContext::Dialog,
            Self::Help(_) => KeyContext::Help,
            Self::Timeline => KeyContext::Timeline,
            Self::Compare => KeyContext::Compare,
            _ => KeyContext::List,
        }
    }

    /// Returns the keys for the status line.
    pub fn hints(&self) -> Vec<Hint> {
        match self {
            Self::Help(screen) => screen.hints(),
            Self::Palette(_) => PaletteScreen::hints(),
            Self::Problems(_) => ProblemsScreen::hints(),
            Self::Breakdown(screen) => screen.hints(),
            Self::Explain(screen) => screen.hints(),
            Self::Branches(screen) => screen.hints(),
            Self::Record(_) => RecordScreen::hints(),
            // The program adds those of its state.
            Self::Search | Self::Timeline | Self::Letters(_) | Self::Welcome => vec![CLOSE],
            Self::Compare => compare::hints(),
            Self::Write(dialog) => dialog.hints(),
        }
    }

    /// Returns the rule behind the selected row; empty if no rule decides it.
    pub(super) fn cited_rule(&self) -> &'static str {
        match self {
            Self::Explain(screen) => screen.cited_rule(),
            Self::Help(_)
            | Self::Palette(_)
            | Self::Letters(_)
            | Self::Welcome
            | Self::Problems(_)
            | Self::Breakdown(_)
            | Self::Branches(_)
            | Self::Record(_)
            | Self::Search
            | Self::Timeline
            | Self::Compare
            | Self::Write(_) => "",
        }
    }

    /// Requests the data of a screen that was just opened.
    pub(super) fn requests(&self, context: &ScreenContext) -> Vec<Effect> {
        match self {
            Self::Record(screen) => return screen.requests(),
            Self::Palette(_) => return vec![Effect::ReadPresets],
            _ => {}
        }
        let (Some(shown), Some(active)) = (context.session.clone(), context.active_session.clone()) else {
            return Vec::new();
        };
        match self {
            Self::Breakdown(screen) => screen.requests(shown),
            Self::Explain(screen) => {
                let reads =
                    [Effect::Explain { session: active.clone() }, Effect::ReadRecovery { session: active }];
                reads.into_iter().chain(screen.estimate_request(context)).collect()
            }
            Self::Branches(screen) => screen.requests(&active),
            Self::Help(_)
            | Self::Palette(_)
            | Self::Letters(_)
            | Self::Welcome
            | Self::Problems(_)
            | Self::Record(_)
            | Self::Search
            | Self::Timeline
            | Self::Compare
            | Self::Write(_) => Vec::new(),
        }
    }

    /// Drops what was read from a session whose entries are no longer those on display.
    pub(super) fn forget_entries(&mut self) {
        match self {
            Self::Explain(screen) => *screen = ExplainScreen::default(),
            Self::Branches(screen) => *screen = BranchesScreen::default(),
            // The window's contents are made anew at once, and a dialog refuses to write to another file.
            Self::Breakdown(_)
            | Self::Write(_)
            | Self::Help(_)
            | Self::Palette(_)
            | Self::Letters(_)
            | Self::Welcome
            | Self::Problems(_)
            | Self::Record(_)
            | Self::Search
            | Self::Timeline
            | Self::Compare => {}
        }
    }

    /// Drops the verdict on a branch that a write left; the screen keeps its folds.
    pub(super) fn forget_verdict(&mut self) {
        if let Self::Explain(screen) = self {
            screen.forget_result();
        }
    }

    /// Requests the data again after the session was read again or another one was opened.
    pub(super) fn refresh(&mut self, context: &ScreenContext) -> Vec<Effect> {
        if let Self::Breakdown(screen) = self {
            screen.refresh(context);
        }
        self.requests(context)
    }

    /// Returns the rows of a page; `None` for a screen that scrolls with the focused pane.
    pub(super) fn page_rows(&self, context: &ScreenContext) -> Option<usize> {
        match self {
            Self::Breakdown(_) => Some(BreakdownScreen::page_size(context).lines),
            Self::Explain(screen) => Some(screen.page_rows(context.size)),
            Self::Branches(_) => Some(BranchesScreen::page_size(context).lines),
            Self::Record(_) => Some(RecordScreen::page_size(context).lines),
            Self::Search => Some(usize::from(search::areas(context.body(), false).0.height)),
            Self::Write(_) => Some(write::SUMMARY_PAGE),
            Self::Help(_) => Some(HelpArea::new(context.size).rows),
            Self::Palette(_)
            | Self::Letters(_)
            | Self::Welcome
            | Self::Problems(_)
            | Self::Timeline
            | Self::Compare => None,
        }
    }

    /// Moves the cursor or scrolls by rows; 0 keeps the cursor visible after the terminal was resized.
    pub(super) fn move_by(&mut self, by: isize, context: &ScreenContext) -> Outcome {
        match self {
            Self::Help(_) => return Outcome::Program(ProgramScreen::Help),
            Self::Palette(_) | Self::Letters(_) | Self::Welcome => {}
            Self::Problems(screen) => screen.move_by(by, context),
            Self::Breakdown(screen) => screen.move_by(by, context),
            Self::Explain(screen) => screen.move_by(by, context.size),
            Self::Branches(screen) => screen.move_by(by, context),
            Self::Record(screen) => screen.move_by(by, context),
            Self::Search => return Outcome::Program(ProgramScreen::Search),
            Self::Timeline => return Outcome::Program(ProgramScreen::Timeline),
            Self::Compare => return Outcome::Program(ProgramScreen::Compare),
            Self::Write(dialog) => dialog.scroll_by(by, context.size.0),
        }
        Outcome::Done
    }

    /// Handles an action; the main screen handles those that are ignored.
    pub(super) fn on_action(&mut self, action: Action, context: &ScreenContext) -> Outcome {
        match self {
            Self::Help(screen) => screen.on_action(action),
            Self::Palette(_) | Self::Letters(_) | Self::Welcome | Self::Write(_) => Outcome::Ignored,
            Self::Problems(_) => Outcome::Program(ProgramScreen::Problems),
            Self::Breakdown(screen) => screen.on_action(action, context),
            Self::Explain(screen) => screen.on_action(action, context),
            Self::Branches(screen) => screen.on_action(action, context),
            Self::Record(screen) => screen.on_action(action),
            Self::Search => Outcome::Program(ProgramScreen::Search),
            Self::Timeline => Outcome::Program(ProgramScreen::Timeline),
            Self::Compare => Outcome::Program(ProgramScreen::Compare),
        }
    }

    /// Handles a click at a column and a row.
    pub(super) fn on_click(&mut self, at: (u16, u16), context: &ScreenContext) -> Outcome {
        match self {
            Self::Breakdown(screen) => screen.on_click(at.1, context),
            Self::Record(screen) => screen.on_click(at.1, context),
            Self::Explain(screen) => screen.on_click(at, context),
            Self::Branches(screen) => screen.on_click(at.1, context),
            Self::Welcome => Outcome::Close,
            Self::Search => Outcome::Program(ProgramScreen::Search),
            Self::Timeline => Outcome::Program(ProgramScreen::Timeline),
            Self::Compare => Outcome::Program(ProgramScreen::Compare),
            Self::Help(_) | Self::Palette(_) | Self::Letters(_) | Self::Problems(_) | Self::Write(_) => {
                Outcome::Done
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::app::action::ACTIONS;

    /// The screen that a view shows; `None` for a small window over one.
    fn screen_of(view: &Overlay) -> Option<&'static str> {
        match view {
            // The commit asks before it writes.
            Overlay::Write(_) => Some("Commit"),
            Overlay::Letters(_) | Overlay::Welcome => None,
            Overlay::Help(_)
            | Overlay::Palette(_)
            | Overlay::Problems(_)
            | Overlay::Breakdown(_)
            | Overlay::Explain(_)
            | Overlay::Branches(_)
            | Overlay::Record(_)
            | Overlay::Search
            | Overlay::Timeline
            | Overlay::Compare => view.kind().map(kind_name),
        }
    }

    fn kind_name(kind: ScreenKind) -> &'static str {
        match kind {
            ScreenKind::Help | ScreenKind::Palette => "Help",
            ScreenKind::Problems => "Problems",
            ScreenKind::Breakdown => "Window",
            ScreenKind::Explain => "Explain",
            ScreenKind::Branches => "Branches",
            ScreenKind::Record => "Session details",
            ScreenKind::Search => "Search",
            ScreenKind::Timeline => "Timeline",
            ScreenKind::Compare => "Compare",
        }
    }

    #[test]
    fn there_are_eleven_screens() {
        let kinds = ACTIONS.iter().filter_map(|row| match row.0 {
            Action::Show(kind) => Some(kind_name(kind)),
            _ => None,
        });
        let all: BTreeSet<&str> = kinds.chain(["Main", "Commit"]).collect();
        let names = [
            "Branches",
            "Commit",
            "Compare",
            "Explain",
            "Help",
            "Main",
            "Problems",
            "Search",
            "Session details",
            "Timeline",
            "Window",
        ];
        assert_eq!(all.into_iter().collect::<Vec<_>>(), names);
        for view in [Overlay::Search, Overlay::Timeline, Overlay::Compare, Overlay::Welcome] {
            assert!(screen_of(&view).is_none_or(|name| names.contains(&name)), "{view:?}");
        }
    }
}
