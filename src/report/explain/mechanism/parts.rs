//! The failing prompt part by part, with the tokens of each that are new since the last accepted call.

use schemars::JsonSchema;
use serde::Serialize;

use crate::ids::word_in_json;
use crate::report::explain::failure::Failure;
use crate::store::entry::{MessageSize, Role};
use crate::units::{Rounded, Tokens};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptPartKind {
    /// System prompt, tools and workspace files.
    Fixed,
    /// Earlier messages that are not in the file.
    Head,
    /// The summary of a compaction.
    Summary,
    /// The last user message.
    NewestMessage,
    /// Results of the newest turn.
    NewestResults,
    /// Older results of the failing run.
    RunResults,
    /// Results of earlier runs.
    OlderResults,
    /// Everything else: earlier messages, answers and reasoning.
    Rest,
}

word_in_json!(PromptPartKind, as_str);

impl PromptPartKind {
    /// The name in JSON and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fixed => "fixed parts",
            Self::Head => "missing messages",
            Self::Summary => "summary",
            Self::NewestMessage => "newest message",
            Self::NewestResults => "newest results",
            Self::RunResults => "this run's results",
            Self::OlderResults => "older results",
            Self::Rest => "other messages",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct PromptPart {
    #[serde(rename = "part")]
    pub kind: PromptPartKind,
    #[serde(rename = "messages")]
    pub count: usize,
    /// Tokens in the provider's count.
    #[serde(with = "Rounded")]
    pub tokens: Tokens,
    /// Tokens that are new since the last accepted call.
    #[serde(rename = "new", with = "Rounded")]
    pub new_tokens: Tokens,
}

/// Returns all parts that are not empty, the newest first.
pub(in crate::report::explain) fn prompt_parts(failure: &Failure) -> Vec<PromptPart> {
    let opening = failure.run_opening();
    let newest = failure.newest_results().first().copied().unwrap_or(usize::MAX);
    let kind = |at: usize, size: &MessageSize| match size.role {
        Role::CompactionSummary => PromptPartKind::Summary,
        Role::ToolResult if at >= newest => PromptPartKind::NewestResults,
        Role::ToolResult if opening.is_some_and(|opening| at > opening) => PromptPartKind::RunResults,
        Role::ToolResult => PromptPartKind::OlderResults,
        _ if opening == Some(at) => PromptPartKind::NewestMessage,
        _ => PromptPartKind::Rest,
    };
    let part = |wanted: PromptPartKind| {
        let is_own = |at: usize, size: &MessageSize| kind(at, size) == wanted;
        let messages = failure.session.context.messages.iter().enumerate();
        let count = messages.filter(|(at, message)| is_own(*at, &message.size)).count();
        let new = failure.tokens_of(|at, size| {
            is_own(at, size) && failure.last_counted.is_some() && at >= failure.first_new
        });
        PromptPart { kind: wanted, count, tokens: failure.tokens_of(is_own), new_tokens: new }
    };
    let before = |kind: PromptPartKind, tokens: u64| PromptPart {
        kind,
        count: 0,
        tokens: Tokens(tokens as f64),
        new_tokens: Tokens::ZERO,
    };
    let head = Some(failure.head_tokens).filter(|tokens| *tokens > 0);
    let head = head.map(|tokens| before(PromptPartKind::Head, tokens));
    let fixed = before(PromptPartKind::Fixed, failure.fixed_tokens);
    let kinds = [
        PromptPartKind::NewestResults,
        PromptPartKind::NewestMessage,
        PromptPartKind::RunResults,
        PromptPartKind::OlderResults,
        PromptPartKind::Rest,
        PromptPartKind::Summary,
    ];
    kinds.map(part).into_iter().filter(|part| part.count > 0).chain(head).chain([fixed]).collect()
}
