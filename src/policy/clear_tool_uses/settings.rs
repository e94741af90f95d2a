//! The parameters of clearing (pruning 7.1, 7.3).

use crate::js::JsString;

/// Nothing checks these values (pruning 7.1).
#[derive(Debug, Clone, PartialEq)]
pub struct ClearSettings {
    /// Nothing is cleared up to this many tokens.
    pub trigger: f64,
    /// Clearing stops after freeing this many tokens; 0 never stops it early.
    pub clear_at_least: f64,
    /// Last results that stay, an integer; below 0, only that many are cleared, from the oldest on.
    pub keep: f64,
    /// Whether the arguments of a call are cleared with its result.
    pub clear_tool_inputs: bool,
    /// Tools whose results stay.
    pub exclude_tools: Vec<JsString>,
    pub placeholder: JsString,
    pub counting: TokenCounting,
    /// The scale of [`TokenCounting::Model`], fitted to the session.
    pub model_scale: ModelScale,
    pub cleared_by: ClearedBy,
}

/// The model's own count of a session, by the provider's counts so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelScale {
    /// Tokens before the messages: system prompt and tools.
    pub fixed_tokens: u64,
    /// Tokens for each token of chars/4 in messages.
    pub factor: f64,
}

impl Default for ModelScale {
    fn default() -> Self {
        Self { fixed_tokens: 0, factor: 1.0 }
    }
}

/// Counts the tokens of messages for clearing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenCounter {
    pub counting: TokenCounting,
    /// Tokens for each token of chars/4, if the model counts.
    factor: f64,
}

impl TokenCounter {
    /// Returns the tokens of a message by the model's count, from its tokens of chars/4.
    pub fn model_tokens(self, estimate: u64) -> u64 {
        // Exact without a fitted scale, at any size.
        if self.factor == 1.0 { estimate } else { (estimate as f64 * self.factor).round() as u64 }
    }
}

impl ClearSettings {
    /// Returns the tokens that count towards the trigger in addition to the messages.
    pub fn prompt_tokens(&self) -> u64 {
        match (self.cleared_by, self.counting) {
            (ClearedBy::Server { prompt_tokens }, _) => prompt_tokens,
            (ClearedBy::Client, TokenCounting::Model) => self.model_scale.fixed_tokens,
            (ClearedBy::Client, TokenCounting::Approximate) => 0,
        }
    }

    pub fn counter(&self) -> TokenCounter {
        let factor = if self.cleared_by == ClearedBy::Client { self.model_scale.factor } else { 1.0 };
        TokenCounter { counting: self.counting, factor }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ClearedBy {
    /// The client, before it sends (pruning 7.1, 7.2).
    #[default]
    Client,
    /// The provider's server, if a gateway of 2026.9 requests it: all but the last and the excluded results, or none if
    /// that frees too little (pruning 7.11). An estimate, because the server counts tokens and words its placeholder in
    /// its own way.
    Server {
        /// Tokens of the prompt before the messages; they count towards the trigger.
        prompt_tokens: u64,
    },
}

/// The counter of tokens (pruning 7.3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TokenCounting {
    /// Code points divided by 4, plus a constant per message; without system prompt and tools (pruning 7.4).
    #[default]
    Approximate,
    /// As the model's provider counts, with system prompt and tools: chars divided by 4 (compaction 1.2–1.9), scaled to
    /// the provider's counts of the session.
    Model,
}

impl TokenCounting {
    /// Returns the word used in settings and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approximate => "approximate",
            Self::Model => "model",
        }
    }
}

impl Default for ClearSettings {
    fn default() -> Self {
        Self {
            trigger: 100_000.0,
            clear_at_least: 0.0,
            keep: 3.0,
            clear_tool_inputs: false,
            exclude_tools: Vec::new(),
            placeholder: "[cleared]".into(),
            counting: TokenCounting::default(),
            model_scale: ModelScale::default(),
            cleared_by: ClearedBy::default(),
        }
    }
}
