//! Mistakes in a table `[[command]]`, each with a correction.

use super::variable::RowVariable;

/// Columns that a name may take in help and palette.
pub(super) const MAX_NAME_CHARS: usize = 40;

/// The first mistake in a command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    #[error("command = {line:?}: a quote is not closed. Close it, or use a list of words.")]
    OpenQuote { line: String },
    #[error("name = {name:?}: expected 1 to {MAX_NAME_CHARS} characters on one line")]
    Name { name: String },
    #[error("command: expected a program and its arguments, such as 'less \"$CLAWSCOPE_FILE\"'")]
    NoWords,
    #[error("command: the program has no name")]
    NoProgram,
    #[error(
        "${0}: the program comes first, and the selected row must not choose it. Name a program, such as \
         'less \"${0}\"'.", .variable.name()
    )]
    ProgramFromRow { variable: RowVariable },
    #[error("${0}: only an entry has one. Add on = \"entry\".", .variable.name())]
    NeedsEntry { variable: RowVariable },
    #[error(
        "{{{0}}}: clawscope replaces nothing in a command. It sets the variable {1}; write \"${1}\", in these quotes, in a \
         command that is one text, such as command = 'less \"${1}\"'.",
        .variable.word(),
        .variable.name()
    )]
    Placeholder { variable: RowVariable },
    #[error(
        "${0}: no shell reads a list of words, so nothing would replace the variable. Write the command as one text, such \
         as command = 'less \"${0}\"'.",
        .variable.name()
    )]
    NoShell { variable: RowVariable },
}
