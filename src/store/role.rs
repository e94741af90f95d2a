//! The role of a message: who wrote it. Rules of measuring and of trimming depend on it.

/// Role of a message (store I5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The person, or another session on their behalf.
    User,
    Assistant,
    ToolResult,
    /// Message of an extension.
    Custom,
    /// Shell command that the person ran.
    BashExecution,
    /// Summary of an abandoned branch.
    BranchSummary,
    CompactionSummary,
    /// System prompt and tools, or changes to them; runtimes before pi 0.86 treat it like any unknown role
    /// (store-pi-1.5 B9).
    System,
    /// Any other role: kept in the context, never sent to a model.
    Other,
}

crate::ids::word_in_json!(Role, as_str);

impl Role {
    pub fn from_text(text: &str) -> Self {
        match text {
            "user" => Self::User,
            "assistant" => Self::Assistant,
            "toolResult" => Self::ToolResult,
            "custom" => Self::Custom,
            "bashExecution" => Self::BashExecution,
            "branchSummary" => Self::BranchSummary,
            "compactionSummary" => Self::CompactionSummary,
            "system" => Self::System,
            _ => Self::Other,
        }
    }

    /// Returns the word for screen and JSON: the runtime's name of the role.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::ToolResult => "toolResult",
            Self::Custom => "custom",
            Self::BashExecution => "bashExecution",
            Self::BranchSummary => "branchSummary",
            Self::CompactionSummary => "compactionSummary",
            Self::System => "system",
            Self::Other => "other",
        }
    }
}
