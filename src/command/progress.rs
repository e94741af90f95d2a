//! A progress line on the error stream, overwritten in place.

use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The line; silent unless the error stream is a terminal.
#[derive(Debug)]
pub struct ProgressLine {
    is_terminal: bool,
    done: AtomicUsize,
}

impl ProgressLine {
    #[expect(clippy::new_without_default, reason = "it depends on the error stream")]
    pub fn new() -> Self {
        Self { is_terminal: std::io::stderr().is_terminal(), done: AtomicUsize::new(0) }
    }

    /// Replaces the line.
    pub fn show(&self, words: &str) {
        if self.is_terminal {
            // Failed progress output is no reason to stop.
            _ = write!(std::io::stderr().lock(), "\r\u{1b}[K{words}");
        }
    }

    pub(super) fn increment(&self, of: usize) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        // Redraw once per whole percent.
        if done * 100 / of.max(1) != (done - 1) * 100 / of.max(1) {
            self.show(&format!("{done} of {of} settings"));
        }
    }

    /// Removes the line.
    pub fn clear(&self) {
        self.show("");
    }
}
