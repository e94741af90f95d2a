//! A row of the command log.

use crate::units::Moment;

/// A command line, and the time at which the screen showed its output.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedCommand {
    pub at_ms: Moment,
    pub line: String,
    /// The line without the values that follow a slider or the clock.
    pub(super) subject: String,
}
