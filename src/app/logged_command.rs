//! A row of the command log.

/// A command line, and when the screen showed what it prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedCommand {
    /// ms since 1970.
    pub at_ms: i64,
    pub line: String,
    /// The line without the values that follow a slider or the clock.
    pub(super) subject: String,
}
