//! The parameters of clearing (pruning 7.1, 7.3).

use crate::js::JsString;

/// Its parameters; no value is refused (pruning 7.1).
#[derive(Debug, Clone, PartialEq)]
pub struct ClearSettings {
    /// Nothing happens up to this many tokens.
    pub trigger: f64,
    /// Once this many tokens are reclaimed, clearing stops; 0 never stops it early.
    pub clear_at_least: f64,
    /// Results spared at the end, whole; below 0, only as many are cleared, from the start.
    pub keep: f64,
    /// The arguments of a call are cleared with its result.
    pub clear_tool_inputs: bool,
    /// Tools whose results stay.
    pub exclude_tools: Vec<JsString>,
    /// Stands for a cleared result.
    pub placeholder: JsString,
    /// How tokens are counted.
    pub counting: TokenCounting,
    /// Who clears.
    pub cleared_by: ClearedBy,
}

/// Who clears tool uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ClearedBy {
    /// The client, before it sends (pruning 7.1, 7.2).
    #[default]
    Client,
    /// The provider's server, as a gateway of 2026.9 asks it to: all but the last and the excluded ones, or nothing where
    /// that frees less than must be (pruning 7.11). An estimate: the server counts by itself, and its text for a cleared
    /// result is its own.
    Server {
        /// Tokens of the prompt before the messages, which count towards the trigger.
        prompt_tokens: u64,
    },
}

impl ClearedBy {
    /// Tokens that count towards the trigger beside those of the messages.
    pub fn prompt_tokens(self) -> u64 {
        match self {
            Self::Client => 0,
            Self::Server { prompt_tokens } => prompt_tokens,
        }
    }
}

/// How the tokens of messages are counted (pruning 7.3). System prompt and tools are not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TokenCounting {
    /// Code points over 4 and a little more for each message (pruning 7.4).
    #[default]
    Approximate,
    /// As the model's provider counts, which is estimated: chars over 4 (compaction 1.2–1.9).
    Model,
}

impl TokenCounting {
    /// The word used in settings and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approximate => "approximate",
            Self::Model => "model",
        }
    }

    /// By its word. `LangChain` takes any other word for `model`; here it is none.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Approximate, Self::Model].into_iter().find(|counting| counting.as_str() == word)
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
            cleared_by: ClearedBy::default(),
        }
    }
}
