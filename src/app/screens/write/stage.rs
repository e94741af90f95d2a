//! The progress of a summary, as the dialog shows it.

use crate::summarize::SummaryProgress;
use crate::write::summary::writer::SummaryEstimate;

/// The progress of a summary.
#[derive(Debug, Clone, PartialEq)]
pub enum SummaryStage {
    /// The messages to summarise are being read.
    Reading,
    /// Waiting for y or n: the calls send the conversation out of the program.
    Offered(SummaryEstimate),
    /// A call is running.
    Calling(SummaryProgress),
}
