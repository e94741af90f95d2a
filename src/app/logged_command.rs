//! A row of the command log.

/// A command line, and the time at which the screen showed its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedCommand {
    /// ms since 1970.
    pub at_ms: i64,
    pub line: String,
    /// The line without the values that follow a slider or the clock.
    pub(super) subject: String,
}
