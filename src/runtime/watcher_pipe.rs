//! The pipe to the process that watches the terminal: who holds it, and the last events of the log.

use std::io::Write as _;
use std::process::ChildStdin;
use std::sync::{Mutex, PoisonError};

/// Maximum bytes of an event: a write of this length to a pipe is never torn.
const MAX_EVENT_BYTES: usize = 1_000;
/// A static, because the panic hook has no other access to it; `None` without a watcher.
static PIPE: Mutex<Option<ChildStdin>> = Mutex::new(None);

#[cfg(unix)]
pub(super) fn set(pipe: Option<ChildStdin>) {
    *PIPE.lock().unwrap_or_else(PoisonError::into_inner) = pipe;
}

/// This process takes the terminal.
pub(super) fn note_held() {
    send("held\n");
}

/// This process restored the terminal.
pub(super) fn note_released() {
    send("released\n");
}

pub(super) fn note_event(event: &str) {
    let event = &event[..event.floor_char_boundary(MAX_EVENT_BYTES)];
    send(&format!("event {}\n", event.replace('\n', " ")));
}

fn send(line: &str) {
    let mut pipe = PIPE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pipe) = pipe.as_mut() {
        // Without a reader no one restores the terminal, but that is no reason to stop.
        _ = pipe.write_all(line.as_bytes());
    }
}
