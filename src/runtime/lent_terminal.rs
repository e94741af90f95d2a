//! The terminal while the screen of another machine is on it.

use std::io::Write as _;

use crate::runtime::terminal::{restore_codes, tty};
#[cfg(unix)]
use crate::runtime::terminal_modes::{self, TerminalModes};

/// Remembers the cursor, because leaving a screen that was never entered would move it.
const SAVE_CURSOR: &[u8] = b"\x1b7";

/// A terminal that another program draws on.
#[derive(Debug)]
pub struct LentTerminal {
    /// The modes of its line discipline.
    #[cfg(unix)]
    modes: Option<TerminalModes>,
}

impl LentTerminal {
    /// Remembers the terminal before the program has it.
    pub fn lend() -> Self {
        Self {
            #[cfg(unix)]
            modes: terminal_modes::read().ok(),
        }
    }

    /// Restores the terminal; also the screen and the cursor, if the program was cut off from it.
    pub fn take_back(self, was_cut_off: bool) {
        // If the terminal is closed, an error cannot be shown.
        if was_cut_off && let Ok(mut tty) = tty() {
            drop(tty.write_all(&[SAVE_CURSOR, &restore_codes()].concat()));
        }
        #[cfg(unix)]
        if let Some(modes) = self.modes {
            drop(modes.apply());
        }
    }
}
