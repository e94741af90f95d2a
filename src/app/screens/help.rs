//! The help window: the keys that work below it, the signs, every key, and the guide; searched with `/`.

mod content;
mod numbers;
mod page;

use crossterm::event::{KeyCode, KeyEvent};

use crate::app::action::{Action, ScreenKind};
use crate::app::keymap::KeyContext;
use crate::app::layout::Pane;
use crate::app::line_editor::{LineEdit, LineEditor};
use crate::app::screens::context::{Outcome, ProgramScreen};
use crate::app::screens::hint::{CLOSE, Hint};
use crate::app::scroll::Scroll;
pub use content::HelpSource;
pub use page::{HelpArea, HelpEntry, HelpLayout, HelpLine, LEAD_WIDTH};

/// The subject of the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HelpSubject {
    Pane(Pane),
    Screen(ScreenKind),
    /// The confirmation before a write.
    Dialog,
}

impl HelpSubject {
    pub fn name(self) -> &'static str {
        match self {
            Self::Pane(pane) => pane.title(),
            Self::Dialog => "Commit",
            Self::Screen(kind) => match kind {
                ScreenKind::Help => "Help",
                ScreenKind::Palette => "Run",
                ScreenKind::Problems => "Problems",
                ScreenKind::Policies => "Policies",
                ScreenKind::Breakdown => "Window",
                ScreenKind::Explain => "Explain",
                ScreenKind::Branches => "Branches",
                ScreenKind::Rule => "Rule",
                ScreenKind::Record => "Record",
                ScreenKind::Presets => "Presets",
                ScreenKind::Search => "Search",
                ScreenKind::Timeline => "Timeline",
                ScreenKind::Compare => "Compare",
            },
        }
    }
}

/// The pages of the help, in tab order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HelpPage {
    /// The keys and numbers of the subject, the keys that work everywhere, and the most important signs.
    #[default]
    Here,
    Signs,
    Keys,
    Guide,
}

impl HelpPage {
    pub const ALL: [Self; 4] = [Self::Here, Self::Signs, Self::Keys, Self::Guide];

    pub fn title(self) -> &'static str {
        match self {
            Self::Here => "Here",
            Self::Signs => "Signs",
            Self::Keys => "All keys",
            Self::Guide => "Guide",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelpScreen {
    pub page: HelpPage,
    pub subject: HelpSubject,
    /// The keys below the help.
    pub below: KeyContext,
    /// The searched words.
    pub search: LineEditor,
    pub is_typing: bool,
    /// First visible row, and the selected one where rows can be opened.
    pub scroll: Scroll,
    /// The open page of the guide, as an index into its topics.
    pub topic: Option<usize>,
    /// The rows of the list before a page of the guide was opened.
    list_scroll: Scroll,
}

impl HelpScreen {
    pub(in crate::app) fn new(subject: HelpSubject, below: KeyContext) -> Self {
        Self {
            page: HelpPage::Here,
            subject,
            below,
            search: LineEditor::default(),
            is_typing: false,
            scroll: Scroll::default(),
            topic: None,
            list_scroll: Scroll::default(),
        }
    }

    /// Whether rows can be selected, and not only scrolled.
    pub fn is_list(&self) -> bool {
        self.topic.is_none() && (self.page == HelpPage::Guide || self.is_searching())
    }

    pub fn is_searching(&self) -> bool {
        self.topic.is_none() && !self.search.text().trim().is_empty()
    }

    pub(super) fn hints(&self) -> Vec<Hint> {
        let scroll: Hint = (&[Action::Down, Action::Up], if self.is_list() { "move" } else { "scroll" });
        let search: Hint = (&[Action::Search], "search help");
        let pages: Hint = (&[Action::NextPane], "next page");
        if self.is_typing {
            return Vec::new();
        }
        match (self.topic, self.is_list()) {
            (Some(_), _) => vec![scroll, (&[Action::Back], "back to the list")],
            (None, true) => vec![scroll, (&[Action::Open], "open"), search, pages, CLOSE],
            (None, false) => vec![scroll, search, pages, CLOSE],
        }
    }

    pub(super) fn on_action(&mut self, action: Action) -> Outcome {
        match action {
            Action::Search => self.is_typing = true,
            Action::NextPane | Action::Right => self.turn_page(1),
            Action::PreviousPane | Action::Left => self.turn_page(3),
            Action::Open => return Outcome::Program(ProgramScreen::Help),
            Action::Back if self.topic.is_some() => self.close_topic(),
            Action::Back if self.is_searching() => self.set_search(LineEditor::default()),
            _ => return Outcome::Ignored,
        }
        Outcome::Done
    }

    fn turn_page(&mut self, by: usize) {
        let at = HelpPage::ALL.iter().position(|page| *page == self.page).unwrap_or(0);
        self.page = HelpPage::ALL[(at + by) % HelpPage::ALL.len()];
        self.topic = None;
        self.set_search(LineEditor::default());
    }

    fn set_search(&mut self, search: LineEditor) {
        (self.search, self.scroll) = (search, Scroll::default());
    }

    pub(in crate::app) fn open_topic(&mut self, topic: usize) {
        self.list_scroll = std::mem::take(&mut self.scroll);
        self.topic = Some(topic);
        self.is_typing = false;
    }

    fn close_topic(&mut self) {
        self.topic = None;
        self.scroll = self.list_scroll;
    }

    /// Handles a key while the search is typed.
    pub(in crate::app) fn on_search_key(&mut self, key: KeyEvent) {
        match key.code {
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => {
                self.is_typing = false;
                self.set_search(LineEditor::default());
            }
            _ => {
                if self.search.handle(key) == LineEdit::Changed {
                    self.scroll = Scroll::default();
                }
            }
        }
    }
}
