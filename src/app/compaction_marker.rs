//! The marker row in the transcript where a planned compaction cuts: summarised messages above it, kept ones below.

use crate::app::transcript::TranscriptPane;
use crate::context::rows::{Rail, RowKind, TranscriptRow};
use crate::ids::EntryIx;
use crate::plan::Plan;
use crate::policy::{Policy, Reason};

/// The numbers of a planned cut. Tokens are estimates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactionMarker {
    pub first_kept_entry: EntryIx,
    /// Index into the context's messages.
    pub first_kept_message: usize,
    pub summarised_messages: usize,
    pub summarised_tokens: u64,
    /// Messages that are neither summarised nor kept (compaction 3.3).
    pub lost_messages: usize,
    pub lost_tokens: u64,
    pub kept_tokens: u64,
    pub summary_tokens: u64,
}

impl CompactionMarker {
    /// Returns the cut of a plan; `None` without a compaction.
    pub fn from_plan(plan: &Plan) -> Option<Self> {
        let preparation = plan.compaction.as_ref()?;
        let effect = plan.effects.iter().find(|effect| effect.policy == Policy::Compact)?;
        let mut cut = Self {
            first_kept_entry: preparation.first_kept,
            first_kept_message: 0,
            summarised_messages: 0,
            summarised_tokens: 0,
            lost_messages: 0,
            lost_tokens: 0,
            kept_tokens: 0,
            summary_tokens: plan.settings.summary_tokens,
        };
        for (fate, tokens) in plan.fates().iter().zip(&*plan.tokens_before) {
            match fate.reason {
                Reason::SummarisedHistory | Reason::SummarisedTurn | Reason::PreviousSummary => {
                    cut.summarised_messages += 1;
                    cut.summarised_tokens += tokens;
                }
                Reason::LostTail => {
                    cut.lost_messages += 1;
                    cut.lost_tokens += tokens;
                }
                _ => {}
            }
        }
        cut.first_kept_message = cut.summarised_messages + cut.lost_messages;
        cut.kept_tokens = effect.tokens_before.saturating_sub(cut.summarised_tokens + cut.lost_tokens);
        Some(cut)
    }
}

impl TranscriptPane {
    /// Inserts or removes the marker above the first kept row; the cursor keeps its row and its line of the screen.
    pub(super) fn place_compaction_marker(&mut self, cut: Option<CompactionMarker>, height: usize) {
        self.compaction_marker = cut;
        let old = self.rows.iter().position(|row| row.kind == RowKind::Cut);
        if let Some(at) = old {
            self.rows.remove(at);
            self.shift_cursor(at, -1, height);
        }
        let Some(cut) = cut else { return };
        let kept = |row: &TranscriptRow| {
            row.depth == 0 && row.message.is_some_and(|first| first >= cut.first_kept_message)
        };
        let at = self.rows.iter().position(kept).unwrap_or(self.rows.len());
        let (kind, rail) = (RowKind::Cut, Rail::None);
        self.rows.insert(
            at,
            TranscriptRow { entry: cut.first_kept_entry, kind, depth: 0, rail, message: None, messages: 0 },
        );
        self.shift_cursor(at, 1, height);
    }

    /// Adjusts the cursor after a row above it was inserted or removed.
    fn shift_cursor(&mut self, at: usize, by: isize, height: usize) {
        let behind = if by > 0 { self.scroll.cursor >= at } else { self.scroll.cursor > at };
        if behind {
            self.scroll.cursor = self.scroll.cursor.saturating_add_signed(by);
            self.scroll.top = self.scroll.top.saturating_add_signed(by);
        }
        self.scroll.move_to(self.scroll.cursor, self.rows.len(), height);
    }
}
