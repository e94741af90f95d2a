//! The marker row in the transcript where a planned compaction cuts: summarised messages above it, kept ones below.

use crate::ids::EntryIx;
use crate::plan::Plan;
use crate::policy::Reason;
use crate::session::LoadedSession;

/// The numbers of a planned cut. Tokens are by the count of the next prompt.
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
    pub fn from_plan(session: &LoadedSession, plan: &Plan) -> Option<Self> {
        let (prompt, context) = (&session.next_prompt, &session.context);
        let preparation = plan.compaction.as_ref()?;
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
        for (at, fate) in plan.fates().iter().enumerate() {
            let tokens = prompt.whole_tokens_of(at);
            match fate.reason {
                Reason::SummarisedHistory | Reason::SummarisedTurn | Reason::PreviousSummary => {
                    cut.summarised_messages += 1;
                    cut.summarised_tokens += tokens;
                }
                Reason::LostTail => {
                    cut.lost_messages += 1;
                    cut.lost_tokens += tokens;
                }
                _ => cut.kept_tokens += prompt.tokens_after(context, plan, at),
            }
        }
        cut.first_kept_message = cut.summarised_messages + cut.lost_messages;
        Some(cut)
    }
}
