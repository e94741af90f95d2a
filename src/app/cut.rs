//! The line in the transcript where a planned compaction would cut: above it what the summary stands for, below it
//! what stays.

use crate::app::transcript::TranscriptPane;
use crate::context::rows::{Rail, Row, RowKind};
use crate::ids::EntryIx;
use crate::plan::Plan;
use crate::policy::{Reason, Step};

/// A planned cut in numbers. Tokens are estimates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutLine {
    /// The first entry that stays.
    pub entry: EntryIx,
    /// The first message of the context that stays.
    pub first_kept: usize,
    /// Messages that the summary stands for.
    pub messages: usize,
    /// Their tokens.
    pub summarised: u64,
    /// Messages that are neither summarised nor kept (compaction 3.3).
    pub lost_messages: usize,
    /// Their tokens.
    pub lost: u64,
    /// Tokens of the messages that stay.
    pub kept: u64,
    /// Tokens of the summary.
    pub summary: u64,
}

impl CutLine {
    /// The cut of a plan; none where it compacts nothing.
    pub fn of(plan: &Plan) -> Option<Self> {
        let preparation = plan.compaction.as_ref()?;
        let effect = plan.effects.iter().find(|effect| effect.step == Step::Compact)?;
        let mut cut = Self {
            entry: preparation.first_kept,
            first_kept: 0,
            messages: 0,
            summarised: 0,
            lost_messages: 0,
            lost: 0,
            kept: 0,
            summary: plan.settings.summary_tokens,
        };
        for (fate, tokens) in plan.fates().iter().zip(&*plan.tokens_before) {
            match fate.reason {
                Reason::SummarisedHistory | Reason::SummarisedTurn | Reason::PreviousSummary => {
                    cut.messages += 1;
                    cut.summarised += tokens;
                }
                Reason::LostTail => {
                    cut.lost_messages += 1;
                    cut.lost += tokens;
                }
                _ => {}
            }
        }
        cut.first_kept = cut.messages + cut.lost_messages;
        cut.kept = effect.tokens_before.saturating_sub(cut.summarised + cut.lost);
        Some(cut)
    }
}

impl TranscriptPane {
    /// Puts the line where the kept part begins, or takes it away. The cursor stays on its row, and that on its line of
    /// the screen.
    pub(super) fn place_cut(&mut self, cut: Option<CutLine>, height: usize) {
        self.cut = cut;
        let old = self.rows.iter().position(|row| row.kind == RowKind::Cut);
        if let Some(at) = old {
            self.rows.remove(at);
            self.shift(at, -1, height);
        }
        let Some(cut) = cut else { return };
        let kept = |row: &Row| row.depth == 0 && row.message.is_some_and(|first| first >= cut.first_kept);
        let at = self.rows.iter().position(kept).unwrap_or(self.rows.len());
        let (kind, rail) = (RowKind::Cut, Rail::None);
        self.rows.insert(at, Row { entry: cut.entry, kind, depth: 0, rail, message: None, messages: 0 });
        self.shift(at, 1, height);
    }

    /// A row came or went above the cursor.
    fn shift(&mut self, at: usize, by: isize, height: usize) {
        let behind = if by > 0 { self.scroll.cursor >= at } else { self.scroll.cursor > at };
        if behind {
            self.scroll.cursor = self.scroll.cursor.saturating_add_signed(by);
            self.scroll.top = self.scroll.top.saturating_add_signed(by);
        }
        self.scroll.to(self.scroll.cursor, self.rows.len(), height);
    }
}
