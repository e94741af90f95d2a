//! The reasons why a prompt was not read from the cache.

use crate::ids::EntryIx;
use crate::replay::CallReplay;

/// A cause, and the entry at which the prompt changed.
pub(super) type Cause = (MissCause, Option<EntryIx>);

/// The cause of unread tokens. The first four send a new prompt, which is not a miss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MissCause {
    FirstCall,
    /// A summary replaced the messages.
    Compaction,
    /// The branch begins with a summary of another.
    BranchSummary,
    /// The gateway began a new conversation.
    Reset,
    /// The provider or the model changed.
    ModelChanged,
    /// The previous call is on another branch.
    BranchSwitched,
    /// The pause was longer than the provider keeps a prompt.
    Pause,
    ThinkingChanged,
    /// The system prompt or the tools changed.
    SystemChanged,
    /// A context edit changed or omitted a message.
    ContextEdit,
    /// Large results were truncated in the transcript.
    Truncation,
    /// The history limit dropped the oldest messages.
    HistoryLimit,
    /// The budget of all results cut older ones.
    ResultBudget,
    /// Pruning began, went on or ended.
    Pruning,
    /// Tool uses were cleared.
    Clearing,
    /// The context guard replaced older results.
    Guard,
    /// Repairs or images changed an older message when the run began.
    HistoryRebuilt,
    /// Prompts grow and read the same number of tokens: the prompt differs behind that prefix in each call.
    PrefixEnds,
    /// Neither the files nor the rules give a reason; providers also drop prompts early.
    Unknown,
}

impl MissCause {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FirstCall => "first-call",
            Self::Compaction => "compaction",
            Self::BranchSummary => "branch-summary",
            Self::Reset => "reset",
            Self::ModelChanged => "model-changed",
            Self::BranchSwitched => "branch-switched",
            Self::Pause => "pause",
            Self::ThinkingChanged => "thinking-changed",
            Self::SystemChanged => "system-changed",
            Self::ContextEdit => "context-edit",
            Self::Truncation => "truncation",
            Self::HistoryLimit => "history-limit",
            Self::ResultBudget => "result-budget",
            Self::Pruning => "pruning",
            Self::Clearing => "clearing",
            Self::Guard => "guard",
            Self::HistoryRebuilt => "history-rebuilt",
            Self::PrefixEnds => "prefix-ends",
            Self::Unknown => "unknown",
        }
    }

    /// The words for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::FirstCall => "first call",
            Self::Compaction => "compaction",
            Self::BranchSummary => "branch summary",
            Self::Reset => "session reset",
            Self::ModelChanged => "model changed",
            Self::BranchSwitched => "branch switched",
            Self::Pause => "pause longer than the cache lifetime",
            Self::ThinkingChanged => "thinking level changed",
            Self::SystemChanged => "system prompt or tools changed",
            Self::ContextEdit => "context edit",
            Self::Truncation => "large results truncated",
            Self::HistoryLimit => "history limit",
            Self::ResultBudget => "budget of tool results",
            Self::Pruning => "pruning",
            Self::Clearing => "tool uses cleared",
            Self::Guard => "context guard",
            Self::HistoryRebuilt => "history rebuilt",
            Self::PrefixEnds => "prompt differs behind the same prefix",
            Self::Unknown => "unknown",
        }
    }

    /// Whether the prompt is new, so that the provider could not have cached it.
    pub fn makes_new_prompt(self) -> bool {
        matches!(self, Self::FirstCall | Self::Compaction | Self::BranchSummary | Self::Reset)
    }

    /// Returns the policy that made a prompt differ from the one before it, from the policies' effects on both.
    pub(super) fn from_policies(before: &CallReplay, now: &CallReplay) -> Self {
        let changes = [
            (now.truncated.is_some(), Self::Truncation),
            (now.history_trim != before.history_trim, Self::HistoryLimit),
            (now.reduce_trim != before.reduce_trim, Self::ResultBudget),
            (now.pruned != before.pruned, Self::Pruning),
            (now.cleared != before.cleared, Self::Clearing),
            (now.guarded != before.guarded, Self::Guard),
        ];
        changes.into_iter().find(|(is_it, _)| *is_it).map_or(Self::HistoryRebuilt, |(_, cause)| cause)
    }
}
