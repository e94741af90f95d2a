//! The parts of the budget bar in estimated tokens. Their sum is the estimate of the whole prompt (compaction 11.3).

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::build::Context;
use crate::context::tokens::chars4::{CHARS_PER_TOKEN, estimate_chars, estimate_or_zero};
use crate::store::entry::{MessageSize, Role};
use crate::store::prompt_report::SystemPromptReport;
use crate::units::{Chars, schema_of};

/// A part of the prompt, in the order of the bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BudgetPart {
    /// System prompt without its workspace files.
    System,
    /// Tool schemas.
    Tools,
    /// Workspace files in the system prompt.
    Files,
    /// Summaries of compactions and branches.
    Summary,
    /// User messages, custom messages of extensions, shell commands.
    User,
    /// Texts and tool calls of the model.
    Assistant,
    /// Thinking of the model.
    Thinking,
    Results,
}

impl BudgetPart {
    /// All parts, from left to right.
    pub const ALL: [Self; 8] = [
        Self::System,
        Self::Tools,
        Self::Files,
        Self::Summary,
        Self::User,
        Self::Assistant,
        Self::Thinking,
        Self::Results,
    ];

    /// The label in legends and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Tools => "tools",
            Self::Files => "files",
            Self::Summary => "summary",
            Self::User => "you",
            Self::Assistant => "asst",
            Self::Thinking => "thinking",
            Self::Results => "results",
        }
    }

    /// The letter that replaces the label where room or colour is missing.
    pub fn letter(self) -> char {
        match self {
            Self::System => 'S',
            Self::Tools => 'T',
            Self::Files => 'F',
            Self::Summary => 'Σ',
            Self::User => 'U',
            Self::Assistant => 'A',
            Self::Thinking => 'H',
            Self::Results => 'R',
        }
    }

    /// Whether the part precedes all messages.
    fn is_fixed(self) -> bool {
        matches!(self, Self::System | Self::Tools | Self::Files)
    }
}

/// Chars that precede the messages, from the row's `systemPromptReport` (store C6).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FixedChars {
    /// The whole system prompt, including workspace files.
    pub system: Chars,
    /// Workspace files in the system prompt.
    pub files: Chars,
    /// Tool schemas, which are sent separately.
    pub tools: Chars,
}

impl FixedChars {
    /// Reads the sizes of a report. If it has no total of the workspace files, the sizes in their list are summed, up
    /// to the size of the prompt.
    pub fn new(report: &SystemPromptReport) -> Self {
        let injected: Chars = report.files.iter().map(|file| file.injected_chars).sum();
        let files = if report.project_chars > Chars::ZERO { report.project_chars } else { injected };
        Self {
            system: report.system_chars,
            files: files.min(report.system_chars),
            tools: report.tool_schema_chars,
        }
    }
}

/// Estimated tokens of each part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(into = "BudgetJson")]
pub struct Budget {
    tokens: [u64; 8],
}

schema_of!(Budget, BudgetJson);

/// Estimated tokens of the prompt, by part.
#[derive(Serialize, JsonSchema)]
struct BudgetJson {
    /// System prompt without its workspace files.
    system: u64,
    /// Tool schemas.
    tools: u64,
    /// Workspace files in the system prompt.
    files: u64,
    /// Summaries of compactions and branches.
    summary: u64,
    /// User messages, custom messages of extensions, shell commands.
    you: u64,
    /// Texts and tool calls of the model.
    asst: u64,
    /// Thinking of the model.
    thinking: u64,
    /// Tool results.
    results: u64,
    total: u64,
}

impl From<Budget> for BudgetJson {
    fn from(budget: Budget) -> Self {
        let [system, tools, files, summary, you, asst, thinking, results] = budget.tokens;
        let total = budget.total();
        Self { system, tools, files, summary, you, asst, thinking, results, total }
    }
}

impl Budget {
    /// Builds the budget of a context. `tokens(at)` returns the tokens of each message, so a plan's numbers fit too.
    pub fn new(fixed: Option<FixedChars>, context: &Context, tokens: impl Fn(usize) -> u64) -> Self {
        let mut budget = Self::fixed_only(fixed);
        for (at, message) in context.messages.iter().enumerate() {
            budget.add_message(&message.size, tokens(at));
        }
        budget
    }

    /// Builds a budget whose tokens before the messages are measured, not estimated from chars. Without a report they
    /// all count as system prompt.
    pub fn with_fixed(
        chars: Option<FixedChars>,
        fixed: u64,
        context: &Context,
        tokens: impl Fn(usize) -> u64,
    ) -> Self {
        let by_chars = Self::fixed_only(chars);
        let total = by_chars.total();
        let mut budget = Self::new(None, context, tokens);
        let mut left = fixed;
        for part in [BudgetPart::Tools, BudgetPart::Files].into_iter().filter(|_| total > 0) {
            let own = (by_chars.tokens(part) as f64 * fixed as f64 / total as f64).round() as u64;
            budget.add(part, own.min(left));
            left -= own.min(left);
        }
        budget.add(BudgetPart::System, left);
        budget
    }

    /// Builds the budget of an empty context.
    pub fn fixed_only(fixed: Option<FixedChars>) -> Self {
        let mut budget = Self::default();
        let fixed = fixed.unwrap_or_default();
        budget.add(BudgetPart::System, estimate_chars((fixed.system - fixed.files).max(Chars::ZERO)));
        budget.add(BudgetPart::Files, estimate_chars(fixed.files));
        budget.add(BudgetPart::Tools, estimate_chars(fixed.tools));
        budget
    }

    /// Builds the budget of an unchanged context.
    pub fn from_context(fixed: Option<FixedChars>, context: &Context) -> Self {
        Self::new(fixed, context, |at| estimate_or_zero(&context.messages[at].size))
    }

    fn add(&mut self, part: BudgetPart, tokens: u64) {
        self.tokens[part as usize] += tokens;
    }

    /// Adds a message of `tokens` tokens.
    pub fn add_message(&mut self, size: &MessageSize, tokens: u64) {
        if size.role == Role::Assistant {
            let thinking = thinking_tokens(size, tokens);
            self.add(BudgetPart::Thinking, thinking);
            self.add(BudgetPart::Assistant, tokens - thinking);
        } else {
            self.add(part_for(size.role), tokens);
        }
    }

    /// Scales the parts to another sum. A budget without tokens cannot be scaled: the sum counts as system prompt.
    #[must_use]
    pub fn scaled_to(&self, total: u64) -> Self {
        let mut scaled = Self::default();
        let (mut before, mut shared) = (0, 0);
        for part in BudgetPart::ALL.into_iter().filter(|_| self.total() > 0) {
            before += self.tokens(part);
            let upto = (before as f64 / self.total() as f64 * total as f64).round() as u64;
            scaled.add(part, upto - shared);
            shared = upto;
        }
        scaled.add(BudgetPart::System, total - shared);
        scaled
    }

    /// Scales the messages to another sum of all parts; the parts before them are those of `fixed`, which no policy changes.
    #[must_use]
    pub fn scaled_behind(&self, fixed: &Self, total: u64) -> Self {
        let before = fixed.fixed_tokens();
        if total <= before || self.message_tokens() == 0 {
            return self.scaled_to(total);
        }
        let fixed_parts = BudgetPart::ALL.into_iter().filter(|part| part.is_fixed());
        let mut messages = *self;
        for part in fixed_parts.clone() {
            messages.tokens[part as usize] = 0;
        }
        let mut scaled = messages.scaled_to(total - before);
        for part in fixed_parts {
            scaled.add(part, fixed.tokens(part));
        }
        scaled
    }

    /// Takes tokens from the workspace files, and what they lack from the rest of the system prompt; a negative number
    /// adds to the files.
    #[must_use]
    pub fn with_smaller_files(mut self, tokens: i64) -> Self {
        self.tokens[BudgetPart::Files as usize] += tokens.min(0).unsigned_abs();
        let mut left = tokens.max(0).unsigned_abs();
        for part in [BudgetPart::Files, BudgetPart::System] {
            let taken = left.min(self.tokens(part));
            self.tokens[part as usize] -= taken;
            left -= taken;
        }
        self
    }

    pub fn tokens(&self, part: BudgetPart) -> u64 {
        self.tokens[part as usize]
    }

    /// Returns the tokens before the messages.
    pub fn fixed_tokens(&self) -> u64 {
        BudgetPart::ALL.iter().filter(|part| part.is_fixed()).map(|part| self.tokens(*part)).sum()
    }

    pub fn message_tokens(&self) -> u64 {
        self.total() - self.fixed_tokens()
    }

    pub fn total(&self) -> u64 {
        self.tokens.iter().sum()
    }
}

/// Returns the thinking's part of an assistant message's tokens. It is rounded down, so the message's rounding counts
/// as text. If `tokens` is not a chars/4 estimate, the thinking is scaled alike.
pub fn thinking_tokens(size: &MessageSize, tokens: u64) -> u64 {
    let thinking = size.thinking_chars.get().to_tokens(CHARS_PER_TOKEN).whole();
    let estimate = estimate_or_zero(size).max(1);
    (thinking as f64 * tokens as f64 / estimate as f64).min(tokens as f64) as u64
}

/// Returns the part of a role's messages; [`BudgetPart::Thinking`] is split off separately.
pub fn part_for(role: Role) -> BudgetPart {
    match role {
        Role::User | Role::Custom | Role::BashExecution | Role::Other => BudgetPart::User,
        Role::Assistant => BudgetPart::Assistant,
        Role::ToolResult => BudgetPart::Results,
        Role::BranchSummary | Role::CompactionSummary => BudgetPart::Summary,
        Role::System => BudgetPart::System,
    }
}

/// Returns the running total after each message, starting at `fixed`.
pub fn running_totals(fixed: u64, tokens: impl Iterator<Item = u64>) -> Vec<u64> {
    tokens
        .scan(fixed, |total, tokens| {
            *total += tokens;
            Some(*total)
        })
        .collect()
}
