//! Contents of one session's window (compaction 11): the parts of the budget bar in detail, the heaviest blocks, the
//! remainder between measured and estimated tokens, and the window compared with the whole history.
//!
//! The parts have the count of the next prompt, as the bar has: scaled to the provider's count where there is one.
//!
//! [`WindowContents`] needs sizes only; [`heavy_blocks`] reads bodies afterwards, so that a screen can show the rest
//! first.

mod blocks;
mod document;
mod lines;
mod prompt_sections;
mod remainder;
mod section_builder;
mod sections;
mod warnings;

pub use blocks::{BlockKind, HeavyBlock, HeavyBlocks, heavy_blocks};
pub use lines::{Figure, Line, Section, SectionKind};
pub use remainder::{Remainder, RemainderCause};
pub use sections::sections;
pub use warnings::warnings;

use crate::context::breakdown::{Breakdown, WindowHistory};
use crate::ids::EntryIx;
use crate::plan::Plan;
use crate::session::lifecycle::Lifecycle;
use crate::session::{CountSource, LoadedSession, TokenCount, UnmeasuredReason};

/// Contents of the window, computed from sizes only.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowContents {
    /// The current context.
    pub now: Breakdown,
    /// The origin of its tokens.
    pub source: CountSource,
    /// Tokens of the whole prompt by chars/4.
    pub estimated_tokens: u64,
    /// The context under the plan, if one is shown. Its lists have the order of `now`.
    pub after: Option<Breakdown>,
    /// Measured against estimated tokens, or why no answer was measured.
    pub remainder: Result<Remainder, UnmeasuredReason>,
    pub heaviest: Vec<HeavyMessage>,
    pub history: WindowHistory,
    /// Sentences about the next automatic reset; `None` for a session that the gateway does not reset by itself.
    pub lifecycle: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeavyMessage {
    /// The index in the context.
    pub position: usize,
    pub entry: EntryIx,
    pub tokens: u64,
    /// Tokens under the plan, if one is shown.
    pub after: Option<u64>,
}

impl WindowContents {
    /// Puts the context under the plan in the place of the current one.
    #[must_use]
    pub fn under_plan(mut self) -> Self {
        let Some(after) = self.after.take() else { return self };
        self.now = after;
        for message in &mut self.heaviest {
            message.tokens = message.after.take().unwrap_or(message.tokens);
        }
        self.heaviest.sort_by_key(|message| std::cmp::Reverse(message.tokens));
        self
    }

    /// Breaks the window of a session down.
    pub fn new(session: &LoadedSession, plan: Option<&Plan>) -> Self {
        let (report, index, context) = (session.prompt_report.as_deref(), &session.index, &session.context);
        let prompt = &session.next_prompt;
        let now =
            Breakdown::with_budget(prompt.budget(context), report, index, context, |at| prompt.tokens_of(at));
        let heavy = |at: &usize| HeavyMessage {
            position: *at,
            entry: context.messages[*at].entry,
            tokens: prompt.tokens_of(*at),
            after: plan.map(|plan| prompt.tokens_after(context, plan, *at)),
        };
        Self {
            heaviest: now.heaviest.iter().map(heavy).collect(),
            now,
            source: prompt.total.source,
            estimated_tokens: prompt.estimated_tokens,
            // The plan's budget already covers messages that it creates; they have no entry in this context.
            after: plan.map(|plan| {
                let budget = session.next_budget_after(plan);
                let sent = session.with_own_steps(plan);
                let tokens = |at: usize| prompt.tokens_after(context, &sent, at);
                Breakdown::with_budget(budget, report, index, context, tokens)
            }),
            remainder: Remainder::new(session),
            history: WindowHistory::new(index, context),
            lifecycle: session.limits.lifecycle.as_ref().map(Lifecycle::description),
        }
    }

    /// Returns the tokens of the whole prompt, which the parts add up to.
    pub fn total(&self) -> TokenCount {
        TokenCount { tokens: self.now.budget.total(), source: self.source }
    }

    /// Returns the basis of the parts in a few words.
    pub fn basis(&self) -> &'static str {
        match self.source {
            CountSource::Measured => "parts scaled to the provider's count",
            CountSource::Calibrated => "parts scaled to the counts of this session",
            CountSource::Estimated => "parts by chars/4",
        }
    }

    /// Returns the entries of the heaviest messages, heaviest first.
    pub fn heaviest_entries(&self) -> Vec<EntryIx> {
        self.heaviest.iter().map(|message| message.entry).collect()
    }
}
