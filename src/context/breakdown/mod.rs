//! Splits the window finer than the budget bar but with the same sums: parts of the system prompt, messages by role and
//! tool, thinking, images, summaries, the heaviest messages (compaction 11.3).
//!
//! The bar rounds each part and each message up as a whole. Finer pieces share the tokens of their part or message
//! ([`share_tokens`]), so they always add up to the bar; a piece may differ by one token from its own chars / 4.

mod prompt;
mod tally;

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::budget::{Budget, FixedChars, thinking_tokens};
use crate::context::build::Context;
use crate::js;
use crate::store::entry::{MessageSize, Role, ToolCall};
use crate::store::index::Index;
use crate::store::intern::{ValueIx, ValueTable};
use crate::store::measure::CompactChars;
use crate::store::prompt_report::SystemPromptReport;
use crate::units::Chars;

pub use crate::context::tokens::sent::IMAGE_TOKENS;
pub use prompt::{MessageSum, PromptParts, PromptPiece, WindowHistory, share_tokens};
pub use tally::Tally;

/// Length of [`Breakdown::heaviest`].
pub const MAX_HEAVIEST: usize = 12;

/// Images, which have a fixed estimate: 1,200 tokens in tool results and custom messages, 0 elsewhere (compaction 1.2,
/// 1.5). Their tokens are part of their messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Images {
    /// Images with an estimate above 0.
    pub priced: u64,
    /// Tokens of the priced images.
    pub tokens: u64,
    /// Images that are sent but estimated as 0.
    pub free: u64,
}

/// The contents of one context's window.
#[derive(Debug, Clone, PartialEq)]
pub struct Breakdown {
    pub budget: Budget,
    /// The parts before the messages; `None` without a report of a run.
    pub prompt: Option<PromptParts>,
    /// Messages by role, in order of first appearance.
    pub roles: Vec<(Role, Tally)>,
    /// The model's answers: messages with text, part of
    /// [`BudgetPart::Assistant`](crate::context::budget::BudgetPart::Assistant).
    pub answer_text: Tally,
    /// Messages with thinking.
    pub thinking: Tally,
    /// Calls and results by tool, in order of first appearance.
    pub tools: Vec<ToolTotals>,
    pub images: Images,
    /// Context indexes of the heaviest messages, heaviest first; at most [`MAX_HEAVIEST`].
    pub heaviest: Vec<usize>,
}

impl Breakdown {
    /// Splits a context. `tokens(at)` returns the tokens of each message, as for [`Budget::new`].
    pub fn new(
        report: Option<&SystemPromptReport>,
        index: &Index,
        context: &Context,
        tokens: impl Fn(usize) -> u64,
    ) -> Self {
        let budget = Budget::new(report.map(FixedChars::new), context, &tokens);
        Self::with_budget(budget, report, index, context, tokens)
    }

    /// Splits a context whose parts have these tokens. `tokens(at)` must be the same count of each message.
    pub fn with_budget(
        budget: Budget,
        report: Option<&SystemPromptReport>,
        index: &Index,
        context: &Context,
        tokens: impl Fn(usize) -> u64,
    ) -> Self {
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

    /// Adds the thinking of an assistant message and returns its tokens.
    fn add_thinking(&mut self, size: &MessageSize, tokens: u64) -> u64 {
        let thinking = thinking_tokens(size, tokens);
        if size.thinking_chars > CompactChars::ZERO {
            self.thinking.add(size.thinking_chars.get(), thinking);
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
        let chars: Vec<Chars> = std::iter::once(size.text_chars)
            .chain(calls.iter().map(|call| call.chars))
            .map(CompactChars::get)
            .collect();
        let shares = share_tokens(rest, &chars);
        self.answer_text.count += u64::from(size.text_chars > CompactChars::ZERO);
        self.answer_text.chars += chars[0];
        self.answer_text.tokens += shares[0];
        for (call, tokens) in calls.iter().zip(&shares[1..]) {
            tools.add_call(call, *tokens, at);
        }
    }

    pub fn role_tally(&self, role: Role) -> Tally {
        self.roles.iter().find(|(known, _)| *known == role).map_or(Tally::default(), |(_, amount)| *amount)
    }

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

// Totals of each tool, calls and results separate.

#[derive(Debug, Clone, PartialEq)]
pub struct ToolTotals {
    /// `None` when calls and results name no tool.
    pub name: Option<String>,
    /// Calls: names and arguments.
    pub calls: Tally,
    pub results: Tally,
    pub images: u64,
    /// Tokens of the images, included in `results`.
    pub image_tokens: u64,
    /// Results marked as errors.
    pub errors: u64,
    /// Context index of the heaviest message with a call or result of this tool.
    pub heaviest: usize,
}

#[derive(Debug, Default)]
struct ToolTotalsBuilder {
    positions: HashMap<ValueIx, usize>,
    totals: Vec<(ValueIx, ToolTotals)>,
    heaviest: Vec<u64>,
}

impl ToolTotalsBuilder {
    fn add_call(&mut self, call: &ToolCall, tokens: u64, message: usize) {
        self.entry_for(call.name, tokens, message).calls.add(call.chars.get(), tokens);
    }

    fn add_result(&mut self, size: &MessageSize, tokens: u64, message: usize) {
        let tool = self.entry_for(size.tool_name, tokens, message);
        let images = u64::from(size.images);
        tool.results.add(size.pi_chars.whole_chars(), tokens);
        tool.images += images;
        tool.image_tokens += (images * IMAGE_TOKENS).min(tokens);
        tool.errors += u64::from(size.is_error);
    }

    /// Returns the totals of a tool and notes the message if it is the tool's heaviest.
    fn entry_for(&mut self, name: ValueIx, tokens: u64, message: usize) -> &mut ToolTotals {
        let at = *self.positions.entry(name).or_insert_with(|| {
            let tool = ToolTotals {
                name: None,
                calls: Tally::default(),
                results: Tally::default(),
                images: 0,
                image_tokens: 0,
                errors: 0,
                heaviest: message,
            };
            self.totals.push((name, tool));
            self.heaviest.push(tokens);
            self.totals.len() - 1
        });
        let tool = &mut self.totals[at].1;
        if tokens > self.heaviest[at] {
            (self.heaviest[at], tool.heaviest) = (tokens, message);
        }
        tool
    }

    fn into_named(self, words: &ValueTable) -> Vec<ToolTotals> {
        let name = |word| words.value(word).map(|name| js::to_text(Some(name)).to_string_lossy());
        self.totals.into_iter().map(|(word, tool)| ToolTotals { name: name(word), ..tool }).collect()
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
