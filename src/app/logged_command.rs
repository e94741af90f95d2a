//! A row of the command log.

use crate::units::Moment;

/// A command line, and when the screen showed what it prints.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedCommand {
    pub at_ms: Moment,
    pub line: String,
    /// The line without the values that follow a slider or the clock.
    pub(super) subject: String,
}
