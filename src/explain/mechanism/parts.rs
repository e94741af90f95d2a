//! The failing prompt, part by part, and what of each is new since the last accepted call.

use crate::explain::failure::Failure;
use crate::store::entry::{MessageSize, Role};

/// A part of the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    /// System prompt, tools and workspace files.
    Fixed,
    /// The summary of a compaction.
    Summary,
    /// What the person wrote last.
    NewestMessage,
    /// Results of the newest turn.
    NewestResults,
    /// Older results of the failing run.
    RunResults,
    /// Results of earlier runs.
    OlderResults,
    /// Everything else: earlier messages, answers and thinking.
    Rest,
}

impl PartKind {
    /// The word in JSON and on screen.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fixed => "fixed parts",
            Self::Summary => "summary",
            Self::NewestMessage => "newest message",
            Self::NewestResults => "newest results",
            Self::RunResults => "this run's results",
            Self::OlderResults => "older results",
            Self::Rest => "other messages",
        }
    }
}

/// One part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    /// Which.
    pub kind: PartKind,
    /// Messages in it.
    pub count: usize,
    /// Tokens by the provider's count.
    pub tokens: f64,
    /// Of them, tokens that came since the last accepted call.
    pub new: f64,
}

/// All parts that hold something, the newest first.
pub(in crate::explain) fn parts(failure: &Failure) -> Vec<Part> {
    let opening = failure.run_opening();
    let newest = failure.newest_results().first().copied().unwrap_or(usize::MAX);
    let kind = |at: usize, size: &MessageSize| match size.role {
        Role::CompactionSummary => PartKind::Summary,
        Role::ToolResult if at >= newest => PartKind::NewestResults,
        Role::ToolResult if opening.is_some_and(|opening| at > opening) => PartKind::RunResults,
        Role::ToolResult => PartKind::OlderResults,
        _ if opening == Some(at) => PartKind::NewestMessage,
        _ => PartKind::Rest,
    };
    let part = |wanted: PartKind| {
        let is_own = |at: usize, size: &MessageSize| kind(at, size) == wanted;
        let messages = failure.then.context.messages.iter().enumerate();
        let count = messages.filter(|(at, message)| is_own(*at, &message.size)).count();
        let new = failure
            .tokens_of(|at, size| is_own(at, size) && failure.before.is_some() && at >= failure.new_from);
        Part { kind: wanted, count, tokens: failure.tokens_of(is_own), new }
    };
    let fixed = Part { kind: PartKind::Fixed, count: 0, tokens: failure.fixed as f64, new: 0.0 };
    let kinds = [
        PartKind::NewestResults,
        PartKind::NewestMessage,
        PartKind::RunResults,
        PartKind::OlderResults,
        PartKind::Rest,
        PartKind::Summary,
    ];
    kinds.map(part).into_iter().filter(|part| part.count > 0).chain([fixed]).collect()
}
