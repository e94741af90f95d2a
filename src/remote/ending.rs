//! Ends that a command and a copy share.

use std::io;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::text::visible;

/// The exit code of a command that a signal stopped.
pub(super) const STOPPED: u8 = 130;

/// A terminal sends ctrl-c to the command and to this process in any order; so long, a command that ended waits for it.
const SIGNAL_WAIT: Duration = Duration::from_millis(100);

/// A request to stop, which a signal makes on another thread.
#[derive(Debug, Default)]
pub(super) struct StopRequest {
    is_made: Mutex<bool>,
    changed: Condvar,
}

impl StopRequest {
    pub(super) fn make(&self) {
        *self.is_made.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    pub(super) fn is_made(&self) -> bool {
        *self.is_made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the request explains that a command ended early.
    pub(super) fn explains_end(&self) -> bool {
        let is_made = self.is_made.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(is_made, SIGNAL_WAIT, |is_made| !*is_made);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// A command that cannot be run on this machine.
#[derive(Debug, thiserror::Error)]
#[error("cannot run {}: {source}. Install it, or name another command with --via.", visible(.program))]
pub(super) struct StartError {
    program: String,
    source: io::Error,
}

impl StartError {
    pub(super) fn new(program: &str, source: io::Error) -> Self {
        Self { program: program.to_owned(), source }
    }
}
