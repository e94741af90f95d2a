//! The way a watch detects changes, and the variable that selects it.

use crate::gateway::env::Environment;

/// Any value but `0` makes clawscope poll every folder instead of waiting for the system's events.
pub const POLL_VARIABLE: &str = "CLAWSCOPE_POLL";

/// The way changes are detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WatchMode {
    /// The system's events where possible, otherwise polling.
    #[default]
    Auto,
    /// Polling everywhere.
    Poll,
    /// Neither: every change is lost.
    #[cfg(test)]
    Ignore,
}

impl WatchMode {
    /// Reads the mode from [`POLL_VARIABLE`].
    pub fn from_env(env: &Environment) -> Self {
        match env.get(POLL_VARIABLE) {
            None | Some("" | "0") => Self::Auto,
            Some(_) => Self::Poll,
        }
    }
}
