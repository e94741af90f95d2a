//! What fills the window, part by part, in estimated tokens: the parts of the budget bar. Their sum is
//! the estimate of the whole prompt (compaction 11.3).

use crate::context::build::{Context, ContextMessage};
use crate::context::tokens::chars4::{estimate_chars, estimate_or_zero};
use crate::store::entry::{MessageSize, Role};
use crate::store::prompt_report::SystemPromptReport;

/// A part of the prompt, in the order of the bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BudgetPart {
    /// System prompt without the workspace files in it.
    System,
    /// Tool schemas.
    Tools,
    /// Workspace files injected into the system prompt.
    Files,
    /// Summaries of compactions and branches.
    Summary,
    /// User messages, messages of extensions, shell commands.
    User,
    /// What the model said and asked for.
    Assistant,
    /// What the model thought.
    Thinking,
    /// Tool results.
    Results,
}

impl BudgetPart {
    /// Every part, from the left of the bar to its right.
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

    /// The word in legends and JSON.
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

    /// The letter that stands for it where there is no room, or no colour.
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

    /// Whether it is there before any message.
    fn is_fixed(self) -> bool {
        matches!(self, Self::System | Self::Tools | Self::Files)
    }
}

/// Chars of what precedes the messages, from the row's `systemPromptReport` (store C6).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FixedChars {
    /// The whole system prompt, workspace files included.
    pub system: u64,
    /// The workspace files in it.
    pub files: u64,
    /// Tool schemas, which are sent beside it.
    pub tools: u64,
}

impl FixedChars {
    /// The sizes of a report. Where it does not tell how much of the prompt is workspace files, they are what
    /// their list says, within the prompt.
    pub fn new(report: &SystemPromptReport) -> Self {
        let injected: u64 = report.files.iter().map(|file| file.injected_chars).sum();
        let files = if report.project_chars > 0 { report.project_chars } else { injected };
        Self {
            system: report.system_chars,
            files: files.min(report.system_chars),
            tools: report.tool_schema_chars,
        }
    }
}

/// Estimated tokens of each part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Budget {
    tokens: [u64; 8],
}

impl Budget {
    /// The budget of a context: `tokens(at)` is what each message counts, so that a plan's numbers can be
    /// told in the same way.
    pub fn new(fixed: Option<FixedChars>, context: &Context, tokens: impl Fn(usize) -> u64) -> Self {
        let mut budget = Self::fixed_only(fixed);
        for (at, message) in context.messages.iter().enumerate() {
            budget.add_message(&message.size, tokens(at));
        }
        budget
    }

    /// The same where what precedes the messages takes other tokens than its chars tell. Without a report it is not known what
    /// they are, and they count as system prompt.
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

    /// What is there before any message.
    pub fn fixed_only(fixed: Option<FixedChars>) -> Self {
        let mut budget = Self::default();
        let fixed = fixed.unwrap_or_default();
        budget.add(BudgetPart::System, estimate_chars(fixed.system.saturating_sub(fixed.files)));
        budget.add(BudgetPart::Files, estimate_chars(fixed.files));
        budget.add(BudgetPart::Tools, estimate_chars(fixed.tools));
        budget
    }

    /// The budget of a context as it stands.
    pub fn from_context(fixed: Option<FixedChars>, context: &Context) -> Self {
        Self::new(fixed, context, |at| estimate_or_zero(&context.messages[at].size))
    }

    fn add(&mut self, part: BudgetPart, tokens: u64) {
        self.tokens[part as usize] += tokens;
    }

    /// Adds a message that counts so many tokens.
    pub fn add_message(&mut self, size: &MessageSize, tokens: u64) {
        if size.role == Role::Assistant {
            let thinking = thinking_tokens(size, tokens);
            self.add(BudgetPart::Thinking, thinking);
            self.add(BudgetPart::Assistant, tokens - thinking);
        } else {
            self.add(part_for(size.role), tokens);
        }
    }

    /// The same parts with another sum; without tokens there are no parts to share it, and it counts as system prompt.
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

    /// Tokens of a part.
    pub fn tokens(&self, part: BudgetPart) -> u64 {
        self.tokens[part as usize]
    }

    /// Tokens before any message.
    pub fn fixed_tokens(&self) -> u64 {
        BudgetPart::ALL.iter().filter(|part| part.is_fixed()).map(|part| self.tokens(*part)).sum()
    }

    /// Tokens of the messages.
    pub fn message_tokens(&self) -> u64 {
        self.total() - self.fixed_tokens()
    }

    /// Tokens of everything.
    pub fn total(&self) -> u64 {
        self.tokens.iter().sum()
    }
}

/// Of the tokens of an assistant message, those of its thinking: rounded down, so that what a message rounds
/// up to counts as said. Where it counts other tokens than chars/4 estimates, so does its thinking.
pub fn thinking_tokens(size: &MessageSize, tokens: u64) -> u64 {
    let thinking = u64::from(size.thinking_chars) / 4;
    let estimate = estimate_or_zero(size).max(1);
    (thinking as f64 * tokens as f64 / estimate as f64).min(tokens as f64) as u64
}

/// The part a message of this role belongs to; of assistant messages, thinking is a part of its own.
pub fn part_for(role: Role) -> BudgetPart {
    match role {
        Role::User | Role::Custom | Role::BashExecution | Role::Other => BudgetPart::User,
        Role::Assistant => BudgetPart::Assistant,
        Role::ToolResult => BudgetPart::Results,
        Role::BranchSummary | Role::CompactionSummary => BudgetPart::Summary,
        Role::System => BudgetPart::System,
    }
}

/// Running totals after each message, with what precedes them.
pub fn running_totals(fixed: u64, tokens: impl Iterator<Item = u64>) -> Vec<u64> {
    tokens
        .scan(fixed, |total, tokens| {
            *total += tokens;
            Some(*total)
        })
        .collect()
}

/// The largest message of a context, in estimated tokens.
pub fn largest_message(messages: &[ContextMessage]) -> u64 {
    messages.iter().map(|message| estimate_or_zero(&message.size)).max().unwrap_or(0)
}
