//! The card over the first screen ever: what the program is, and the keys to begin with.

use crossterm::event::{KeyCode, KeyEvent};

use crate::app::action::{Action, ScreenKind};
use crate::app::effect::Effect;
use crate::app::key_words::preferred_key;
use crate::app::keymap::KeyContext;
use crate::app::state::{App, Overlay};

const ABOUT: &str = "clawscope shows what fills a session's context window, and why it overflowed.";
const KEYS: [(Action, &str); 4] = [
    (Action::Show(ScreenKind::Explain), "why the session overflowed, and the settings that prevent it"),
    (Action::TogglePrune, "preview other settings: every message before and after"),
    (Action::Show(ScreenKind::Timeline), "the timeline: every call and what it cost"),
    (Action::Show(ScreenKind::Help), "help: every key, every sign and the guide"),
];

/// A line of the card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WelcomeLine {
    /// Empty for a sentence.
    pub key: String,
    pub text: String,
}

impl App {
    /// The lines of the card; the first says why the demo store is on display, if it stands in for another one.
    pub fn welcome_lines(&self) -> Vec<WelcomeLine> {
        let missing = self.store.listing.as_ref().and_then(|listing| listing.missing_store.as_ref());
        let demo = missing.map(|path| {
            format!(
                "This is the demo store: there is no store at {path}. Pass a PATH or set OPENCLAW_STATE_DIR."
            )
        });
        let sentence = |text: String| WelcomeLine { key: String::new(), text };
        let keys = KEYS.into_iter().map(|(action, text)| {
            let keys = self.options.keymap.keys_for(KeyContext::Transcript, action);
            WelcomeLine { key: preferred_key(action, &keys).unwrap_or_default().into(), text: text.into() }
        });
        demo.into_iter().map(sentence).chain([sentence(ABOUT.to_owned())]).chain(keys).collect()
    }

    /// Shows the card over the first store, once.
    pub(in crate::app) fn introduce(&mut self) {
        if std::mem::take(&mut self.options.introduces) {
            self.views.push(Overlay::Welcome);
        }
    }

    pub(in crate::app) fn is_introducing(&self) -> bool {
        self.views.iter().any(|view| matches!(view, Overlay::Welcome))
    }

    /// Closes the card. A key that only wants it gone does nothing else; every other one works as without the card.
    pub(in crate::app) fn on_welcome_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        self.views.pop();
        match key.code {
            KeyCode::Esc | KeyCode::Enter | KeyCode::Backspace | KeyCode::Char(' ' | 'q') => Vec::new(),
            _ => self.on_key(key),
        }
    }
}
