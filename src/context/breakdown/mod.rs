//! What fills the window, finer than the budget bar and with the same sums: the parts of the system prompt,
//! messages by role and by tool, thinking, images, summaries, the heaviest messages (compaction 11.3).
//!
//! A part of the bar is rounded up as a whole, and so is a message. What is finer shares the tokens of the part
//! or message it belongs to (`share_tokens`), so that pieces always add up to the bar; a piece may therefore differ
//! by one token from its own chars divided by four.

mod history;
mod prompt;
mod share;
mod tools;

pub use crate::context::tokens::sent::IMAGE_TOKENS;
pub use history::{MessageSum, WindowHistory};
pub use prompt::{PromptParts, PromptPiece};
pub use share::share_tokens;
pub use tools::ToolTotals;

use crate::context::budget::{Budget, FixedChars, thinking_tokens};
use crate::context::build::Context;
use crate::store::entry::{MessageSize, Role, ToolCall};
use crate::store::index::Index;
use crate::store::prompt_report::SystemPromptReport;
use tools::ToolTotalsBuilder;

/// Messages named as the heaviest.
pub const MAX_HEAVIEST: usize = 12;

/// How much of something there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Messages, calls or blocks.
    pub count: u64,
    /// Chars as pi counts them.
    pub chars: u64,
    /// Estimated tokens.
    pub tokens: u64,
}

impl Tally {
    fn add(&mut self, chars: u64, tokens: u64) {
        self.count += 1;
        self.chars += chars;
        self.tokens += tokens;
    }
}

/// Images, which have a fixed price: 1200 tokens in tool results and messages of extensions, nothing elsewhere
/// (compaction 1.2, 1.5). Their tokens are part of the messages they stand in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Images {
    /// Images that count.
    pub priced: u64,
    /// What they count, tokens.
    pub tokens: u64,
    /// Images that are sent and count nothing.
    pub free: u64,
}

/// Everything that fills the window of one context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breakdown {
    /// The parts of the bar.
    pub budget: Budget,
    /// What precedes the messages, where a run left a report.
    pub prompt: Option<PromptParts>,
    /// Messages by role; only roles that there are, in the order they first speak.
    pub roles: Vec<(Role, Tally)>,
    /// What the model said: messages with text, of the part [`crate::context::budget::BudgetPart::Assistant`].
    pub answer_text: Tally,
    /// What the model thought: messages with thinking.
    pub thinking: Tally,
    /// Calls and results by tool, in the order the tools first appear.
    pub tools: Vec<ToolTotals>,
    /// Images, wherever they stand.
    pub images: Images,
    /// The heaviest messages by their index in the context, heaviest first; at most [`MAX_HEAVIEST`].
    pub heaviest: Vec<usize>,
}

impl Breakdown {
    /// Takes a context apart. `tokens(at)` is what each message counts, as for [`Budget::new`].
    pub fn new(
        report: Option<&SystemPromptReport>,
        index: &Index,
        context: &Context,
        tokens: impl Fn(usize) -> u64,
    ) -> Self {
        let budget = Budget::new(report.map(FixedChars::new), context, &tokens);
        let mut tools = ToolTotalsBuilder::default();
        let mut breakdown = Self {
            budget,
            prompt: report.map(|report| PromptParts::new(report, &budget)),
            roles: Vec::new(),
            answer_text: Tally::default(),
            thinking: Tally::default(),
            tools: Vec::new(),
            images: Images::default(),
            heaviest: heaviest(context, &tokens),
        };
        for (at, message) in context.messages.iter().enumerate() {
            let tokens = tokens(at);
            breakdown.add(&message.size, tokens);
            match message.size.role {
                Role::Assistant => {
                    let rest = tokens - breakdown.add_thinking(&message.size, tokens);
                    breakdown.add_answer(
                        &message.size,
                        rest,
                        index.tool_calls_of(message.entry),
                        &mut tools,
                        at,
                    );
                }
                Role::ToolResult => tools.add_result(&message.size, tokens, at),
                _ => {}
            }
        }
        breakdown.tools = tools.into_named(&index.values);
        breakdown
    }

    fn add(&mut self, size: &MessageSize, tokens: u64) {
        let at = self.roles.iter().position(|(role, _)| *role == size.role).unwrap_or_else(|| {
            self.roles.push((size.role, Tally::default()));
            self.roles.len() - 1
        });
        self.roles[at].1.add(size.pi_chars.whole_chars(), tokens);
        self.images.add(size, tokens);
    }

    /// Counts the thinking of an assistant message; answers its tokens.
    fn add_thinking(&mut self, size: &MessageSize, tokens: u64) -> u64 {
        let thinking = thinking_tokens(size, tokens);
        if size.thinking_chars > 0 {
            self.thinking.add(u64::from(size.thinking_chars), thinking);
        }
        thinking
    }

    /// Shares the rest of an assistant message among its text and its calls.
    fn add_answer(
        &mut self,
        size: &MessageSize,
        rest: u64,
        calls: &[ToolCall],
        tools: &mut ToolTotalsBuilder,
        at: usize,
    ) {
        let chars: Vec<u64> = std::iter::once(size.text_chars)
            .chain(calls.iter().map(|call| call.chars))
            .map(u64::from)
            .collect();
        let shares = share_tokens(rest, &chars);
        self.answer_text.count += u64::from(size.text_chars > 0);
        self.answer_text.chars += chars[0];
        self.answer_text.tokens += shares[0];
        for (call, tokens) in calls.iter().zip(&shares[1..]) {
            tools.add_call(call, *tokens, at);
        }
    }

    /// What a role counts.
    pub fn role_tally(&self, role: Role) -> Tally {
        self.roles.iter().find(|(known, _)| *known == role).map_or(Tally::default(), |(_, amount)| *amount)
    }

    /// Calls of all tools together.
    pub fn call_tally(&self) -> Tally {
        sum(self.tools.iter().map(|tool| tool.calls))
    }

    /// Results of all tools together.
    pub fn result_tally(&self) -> Tally {
        self.role_tally(Role::ToolResult)
    }
}

impl Images {
    fn add(&mut self, size: &MessageSize, tokens: u64) {
        let images = u64::from(size.images);
        if matches!(size.role, Role::ToolResult | Role::Custom) {
            self.priced += images;
            self.tokens += (images * IMAGE_TOKENS).min(tokens);
        } else {
            self.free += images;
        }
    }
}

fn sum(amounts: impl Iterator<Item = Tally>) -> Tally {
    amounts.fold(Tally::default(), |sum, amount| Tally {
        count: sum.count + amount.count,
        chars: sum.chars + amount.chars,
        tokens: sum.tokens + amount.tokens,
    })
}

fn heaviest(context: &Context, tokens: impl Fn(usize) -> u64) -> Vec<usize> {
    let mut heavy: Vec<(u64, usize)> =
        (0..context.messages.len()).map(|at| (tokens(at), at)).filter(|(tokens, _)| *tokens > 0).collect();
    let order = |a: &(u64, usize), b: &(u64, usize)| b.0.cmp(&a.0).then(a.1.cmp(&b.1));
    if heavy.len() > MAX_HEAVIEST {
        heavy.select_nth_unstable_by(MAX_HEAVIEST, order);
        heavy.truncate(MAX_HEAVIEST);
    }
    heavy.sort_unstable_by(order);
    heavy.into_iter().map(|(_, at)| at).collect()
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
