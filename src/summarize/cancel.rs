//! A token that cancels a summary from another thread.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Clones share one state.
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<(Mutex<bool>, Condvar)>);

impl CancelToken {
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels all work under this token, for good.
    pub fn cancel(&self) {
        let (cancelled, wake) = &*self.0;
        *cancelled.lock().unwrap_or_else(PoisonError::into_inner) = true;
        wake.notify_all();
    }

    pub fn is_cancelled(&self) -> bool {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for `time`, or until it is cancelled; returns whether it is.
    pub fn wait(&self, time: Duration) -> bool {
        let end = Instant::now() + time;
        let (cancelled, wake) = &*self.0;
        let mut state = cancelled.lock().unwrap_or_else(PoisonError::into_inner);
        while !*state {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = wake.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        *state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_when_another_thread_cancels() {
        let cancel = CancelToken::new();
        assert!(!cancel.wait(Duration::from_millis(1)) && !cancel.is_cancelled());
        let other = cancel.clone();
        let thread = std::thread::spawn(move || other.cancel());
        assert!(cancel.wait(Duration::from_mins(1)));
        thread.join().unwrap();
        assert!(cancel.is_cancelled());
    }
}
