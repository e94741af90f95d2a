//! What is in the window of one session: its parts as the bar has them and finer, the heaviest blocks, the
//! remainder between what a provider counted and what the rule says, and the window against the whole history
//! (compaction 11). Commands print it and the screen shows it.

mod blocks;
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
use crate::context::tokens::chars4::estimate_or_zero;
use crate::ids::EntryIx;
use crate::plan::Plan;
use crate::session::lifecycle::Lifecycle;
use crate::session::{LoadedSession, Unmeasured};

/// What is in the window, from sizes alone.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowContents {
    /// As things stand.
    pub now: Breakdown,
    /// Under the plan, where one is shown. Its lists are in the same order.
    pub after: Option<Breakdown>,
    /// Measured against estimated, or why that cannot be told.
    pub remainder: Result<Remainder, Unmeasured>,
    /// The heaviest messages, heaviest first.
    pub heaviest: Vec<HeavyMessage>,
    /// The window against the whole history.
    pub history: WindowHistory,
    /// What begins the session anew, in a sentence; none where nothing does.
    pub lifecycle: Option<String>,
}

/// A heavy message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeavyMessage {
    /// Its index in the context.
    pub position: usize,
    /// Its entry.
    pub entry: EntryIx,
    /// Estimated tokens.
    pub tokens: u64,
    /// The same under the plan, where one is shown.
    pub after: Option<u64>,
}

impl WindowContents {
    /// Takes the window of a session apart.
    pub fn new(session: &LoadedSession, plan: Option<&Plan>) -> Self {
        let (report, index, context) = (session.prompt_report.as_deref(), &session.index, &session.context);
        let of = |tokens: &dyn Fn(usize) -> u64| Breakdown::new(report, index, context, tokens);
        let own = |at: usize| estimate_or_zero(&context.messages[at].size);
        let now = of(&own);
        let heavy = |at: &usize| HeavyMessage {
            position: *at,
            entry: context.messages[*at].entry,
            tokens: own(*at),
            after: plan.map(|plan| plan.tokens_after[*at]),
        };
        Self {
            heaviest: now.heaviest.iter().map(heavy).collect(),
            now,
            // The bar of the plan says what its parts are; what the plan makes anew stands in no message here.
            after: plan.map(|plan| Breakdown {
                budget: session.budget_after(plan),
                ..of(&|at| plan.tokens_after[at])
            }),
            remainder: Remainder::new(session),
            history: WindowHistory::new(index, context),
            lifecycle: session.limits.lifecycle.as_ref().map(Lifecycle::description),
        }
    }

    /// Entries of the heaviest messages, heaviest first.
    pub fn heaviest_entries(&self) -> Vec<EntryIx> {
        self.heaviest.iter().map(|message| message.entry).collect()
    }
}
