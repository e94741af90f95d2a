//! A number typed before a movement: `5j` moves five rows, `10G` goes to row ten. A digit that has its own key here
//! starts a number with alt; every digit continues one.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::state::App;

/// The largest number.
const MAX_COUNT: usize = 99_999;
/// The most repetitions of an action that computes more than a row.
const MAX_REPEATS: usize = 200;

impl App {
    /// Takes a key into the number; returns whether it belongs to one.
    pub(super) fn take_count_key(&mut self, key: KeyEvent) -> bool {
        if key.code == KeyCode::Esc && self.count.take().is_some() {
            return true;
        }
        let KeyCode::Char(character) = key.code else { return false };
        let Some(digit) = character.to_digit(10).map(|digit| digit as usize) else { return false };
        let with_alt = key.modifiers == KeyModifiers::ALT;
        let is_free =
            || digit > 0 && self.options.keymap.action_for(self.key_context(), key).is_none() && !with_alt;
        let starts = (with_alt && digit > 0) || (key.modifiers.is_empty() && is_free());
        let continues = self.count.is_some() && (with_alt || key.modifiers.is_empty());
        if !starts && !continues {
            return false;
        }
        self.count = Some((self.count.unwrap_or(0) * 10 + digit).min(MAX_COUNT));
        true
    }

    /// Runs an action `count` times; the first and the last row become the row of that number.
    pub(super) fn dispatch_times(&mut self, action: Action, count: usize) -> Vec<Effect> {
        let rows = count as isize;
        let page = self.page_rows();
        match action {
            Action::Top | Action::Bottom => {
                let mut effects = self.dispatch(Action::Top);
                effects.extend(self.move_cursor(rows - 1));
                effects
            }
            Action::Down if self.overlay().is_none() => self.move_cursor(rows),
            Action::Up if self.overlay().is_none() => self.move_cursor(-rows),
            Action::HalfPageDown if self.overlay().is_none() => self.move_cursor(rows * (page / 2).max(1)),
            Action::HalfPageUp if self.overlay().is_none() => self.move_cursor(-rows * (page / 2).max(1)),
            Action::PageDown if self.overlay().is_none() => self.move_cursor(rows * page),
            Action::PageUp if self.overlay().is_none() => self.move_cursor(-rows * page),
            action if action.is_movement() => {
                (0..count.min(MAX_REPEATS)).flat_map(|_| self.dispatch(action)).collect()
            }
            action => self.dispatch(action),
        }
    }
}
