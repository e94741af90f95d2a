//! The help window: the keys that work below it, the signs, every key, the guide and the rules; searched with `/`.

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
pub use page::{HelpArea, HelpDocument, HelpEntry, HelpLayout, HelpLine, sign_widths};

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
                ScreenKind::Breakdown => "Window",
                ScreenKind::Explain => "Explain",
                ScreenKind::Branches => "Branches",
                ScreenKind::Record => "Record",
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
    /// The open page of the guide, or the open rule.
    pub document: Option<HelpDocument>,
    /// The rows of the list before a document was opened from it; `None` when the help opened with the document.
    list_scroll: Option<Scroll>,
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
            document: None,
            list_scroll: None,
        }
    }

    /// Opens a document at once: going back closes the help.
    pub(in crate::app) fn with_document(self, document: HelpDocument) -> Self {
        Self { page: HelpPage::Guide, document: Some(document), ..self }
    }

    /// Whether rows can be selected, and not only scrolled.
    pub fn is_list(&self) -> bool {
        self.document.is_none() && (self.page == HelpPage::Guide || self.is_searching())
    }

    pub fn is_searching(&self) -> bool {
        self.document.is_none() && !self.search.text().trim().is_empty()
    }

    pub(super) fn hints(&self) -> Vec<Hint> {
        let scroll: Hint = (&[Action::Down, Action::Up], if self.is_list() { "move" } else { "scroll" });
        let search: Hint = (&[Action::Search], "search help");
        let pages: Hint = (&[Action::NextPane], "next page");
        if self.is_typing {
            return Vec::new();
        }
        let copy: Hint = (&[Action::Copy], "copy");
        match (self.document, self.is_list()) {
            (Some(_), _) if self.list_scroll.is_none() => vec![scroll, search, copy, CLOSE],
            (Some(_), _) => vec![scroll, search, copy, (&[Action::Back], "back to the list")],
            (None, true) => vec![scroll, (&[Action::Open], "open"), search, pages, CLOSE],
            (None, false) => vec![scroll, search, pages, CLOSE],
        }
    }

    pub(super) fn on_action(&mut self, action: Action) -> Outcome {
        match action {
            Action::Search => {
                self.document = None;
                self.is_typing = true;
            }
            Action::NextPane | Action::Right => self.turn_page(1),
            Action::PreviousPane | Action::Left => self.turn_page(3),
            Action::Open => return Outcome::Program(ProgramScreen::Help),
            Action::Copy => {
                let text = self.document.map(|document| document.text().to_owned());
                return Outcome::copy(text, "page");
            }
            Action::Back if self.document.is_some() && self.list_scroll.is_some() => self.close_document(),
            Action::Back if self.is_searching() => self.set_search(LineEditor::default()),
            _ => return Outcome::Ignored,
        }
        Outcome::Done
    }

    fn turn_page(&mut self, by: usize) {
        let at = HelpPage::ALL.iter().position(|page| *page == self.page).unwrap_or(0);
        self.page = HelpPage::ALL[(at + by) % HelpPage::ALL.len()];
        self.document = None;
        self.set_search(LineEditor::default());
    }

    fn set_search(&mut self, search: LineEditor) {
        (self.search, self.scroll) = (search, Scroll::default());
    }

    pub(in crate::app) fn open_document(&mut self, document: HelpDocument) {
        self.list_scroll = Some(std::mem::take(&mut self.scroll));
        self.document = Some(document);
        self.is_typing = false;
    }

    fn close_document(&mut self) {
        self.document = None;
        self.scroll = self.list_scroll.take().unwrap_or_default();
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
