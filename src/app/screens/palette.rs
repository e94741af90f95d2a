//! The palette: a line to type in, and the actions that match it.

use crate::app::action::{ACTIONS, Action, ActionRow};
use crate::app::screens::hint::{CLOSE, Hint};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PaletteScreen {
    pub text: String,
    /// The highlighted action, as an index into the matches.
    pub selected: usize,
}

impl PaletteScreen {
    pub(super) fn hints() -> Vec<Hint> {
        vec![(&[Action::Open], "run"), CLOSE]
    }

    pub(in crate::app) fn chosen(&self) -> Option<Action> {
        palette_rows(&self.text).get(self.selected).map(|row| row.0)
    }

    pub(in crate::app) fn move_by(&mut self, by: isize) {
        let last = palette_rows(&self.text).len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
    }

    pub(in crate::app) fn insert(&mut self, character: char) {
        self.text.push(character);
        self.selected = 0;
    }

    pub(in crate::app) fn erase(&mut self) {
        self.text.pop();
        self.selected = 0;
    }
}

/// Returns the actions whose name or description contains every typed word.
pub fn palette_rows(text: &str) -> Vec<&'static ActionRow> {
    let words: Vec<String> = text.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let holds = |row: &&ActionRow| {
        let line = format!("{} {}", row.1, row.3).to_lowercase();
        words.iter().all(|word| line.contains(word.as_str()))
    };
    ACTIONS.iter().filter(holds).collect()
}
