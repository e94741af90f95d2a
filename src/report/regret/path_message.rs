//! One message as regret compares it: its identifiers and tool calls, without its texts.

use crate::ids::EntryIx;
use crate::report::facts::TextHash;
use crate::store::entry::Role;
use crate::units::Tokens;

/// Parts of the names of tools that change files.
const WRITING_TOOLS: [&str; 4] = ["write", "edit", "patch", "replace"];

/// One message of the path.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PathMessage {
    pub(super) entry: EntryIx,
    /// Position on the path.
    pub(super) position: usize,
    pub(super) role: Role,
    /// The tool of a result.
    pub(super) tool: Option<Box<str>>,
    /// The call that a result answers.
    pub(super) answers: Option<Box<str>>,
    /// Tokens by rule.
    pub(super) estimate: f64,
    /// In the order of their digests, each once.
    pub(super) identifiers: Box<[TextHash]>,
    /// The texts of these identifiers; only for messages of the model and of the person, which use them.
    pub(super) names: Box<[Box<str>]>,
    pub(super) uses: Box<[ToolUse]>,
}

impl PathMessage {
    /// Keeps only these identifiers and their names; none of a message without names.
    pub(super) fn retain_identifiers(&mut self, is_kept: impl Fn(TextHash) -> bool) {
        let names = std::mem::take(&mut self.names).into_vec();
        let named = self.identifiers.iter().copied().zip(names).filter(|(own, _)| is_kept(*own));
        let (identifiers, names): (Vec<TextHash>, Vec<Box<str>>) = named.unzip();
        (self.identifiers, self.names) = (identifiers.into(), names.into());
    }
}

/// A tool call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ToolUse {
    pub(super) id: Box<str>,
    pub(super) tool: Box<str>,
    /// With sorted keys, without blanks around values and without nulls.
    pub(super) arguments: Box<str>,
    /// The file that it names.
    pub(super) path: Option<Box<str>>,
    /// It runs a command, which may read any file.
    pub(super) runs_command: bool,
    /// Estimated tokens of name and arguments.
    pub(super) tokens: Tokens,
}

impl ToolUse {
    /// Whether it changes a file.
    pub(super) fn writes(&self) -> bool {
        let tool = self.tool.to_ascii_lowercase();
        self.path.is_some() && WRITING_TOOLS.iter().any(|part| tool.contains(part))
    }
}

/// Whether messages of a role use texts of others.
pub(super) fn is_speaker(role: Role) -> bool {
    matches!(role, Role::Assistant | Role::User)
}
