//! The blocks at the end of the page that open in place. Each is a document of another report.

use std::sync::Arc;

use crate::app::effect_error::EffectError;
use crate::doc::Doc;
use crate::format::format_size;
use crate::units::Bytes;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoldedReport {
    /// The gateway's attempts after the overflow.
    Recovery,
    /// Every estimator beside the provider's counts. It reads every message, so it starts when the block opens, and stops
    /// when it or the screen closes.
    Estimators,
}

/// The state of such a block.
#[derive(Debug, Clone)]
pub struct FoldedBlock {
    pub is_open: bool,
    /// The line of the folded block: a summary, then the headline of the answer.
    pub headline: String,
    answer: Answer,
}

#[derive(Debug, Clone)]
enum Answer {
    Awaited,
    Ready(Arc<Doc>),
    /// The headline says why.
    Failed,
}

impl FoldedBlock {
    pub(super) fn new(headline: &str) -> Self {
        Self { is_open: false, headline: headline.to_owned(), answer: Answer::Awaited }
    }

    pub(super) fn is_awaited(&self) -> bool {
        matches!(self.answer, Answer::Awaited)
    }

    /// Returns the document while the block is open.
    pub fn shown(&self) -> Option<&Doc> {
        match &self.answer {
            Answer::Ready(doc) if self.is_open => Some(doc),
            _ => None,
        }
    }

    pub(super) fn set_answer(&mut self, answer: Result<Arc<Doc>, EffectError>) {
        (self.headline, self.answer) = match answer {
            Ok(doc) => (doc.headline.clone(), Answer::Ready(doc)),
            Err(error) => (error.to_string(), Answer::Failed),
        };
    }

    /// Names the bytes read, of a total that is 0 while it is unknown.
    pub(super) fn set_progress(&mut self, done: Bytes, total: Bytes) {
        self.headline = if total > Bytes::ZERO {
            format!("reading every message: {} of {}", format_size(done), format_size(total))
        } else {
            "reading every message…".to_owned()
        };
    }

    /// Waits for a new answer after one that failed.
    pub(super) fn ask_again(&mut self) {
        if !matches!(self.answer, Answer::Ready(_)) {
            self.answer = Answer::Awaited;
            self.set_progress(Bytes::ZERO, Bytes::ZERO);
        }
    }
}
