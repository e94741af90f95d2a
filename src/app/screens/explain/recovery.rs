//! The block of the recovery: what the gateway does after an overflow, beside what the transcript records.

use std::sync::Arc;

use crate::app::effect_error::EffectError;
use crate::report::recovery::{RecoveryRow, RecoveryView, RowKind};

#[derive(Debug, Clone, Default)]
pub struct RecoveryBlock {
    pub is_open: bool,
    /// The recovery, or why reading it failed; `None` while it is being read.
    pub result: Option<Result<Arc<RecoveryView>, EffectError>>,
}

impl RecoveryBlock {
    pub fn view(&self) -> Option<&RecoveryView> {
        self.result.as_ref()?.as_ref().ok().map(|view| &**view)
    }

    /// The steps on the page; none while the block is folded.
    pub fn rows(&self) -> &[RecoveryRow] {
        self.view().filter(|_| self.is_open).map_or(&[], |view| &view.rows)
    }

    /// Compares the expected end with the recorded one.
    pub(super) fn headline(&self) -> String {
        match &self.result {
            Some(Ok(view)) => view.headline(),
            Some(Err(error)) => format!("cannot predict the recovery: {error}"),
            None => "reading…".to_owned(),
        }
    }
}

/// Explains a step in sentences, with the record of it; empty for the head of an attempt.
pub(super) fn step_text(row: &RecoveryRow) -> String {
    if matches!(row.kind, RowKind::Attempt(_)) {
        return String::new();
    }
    let recorded = row.observed.as_ref().map(|words| format!(" Recorded: {words}.")).unwrap_or_default();
    format!("{}{recorded}", row.explanation)
}
