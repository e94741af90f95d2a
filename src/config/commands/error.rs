//! Mistakes in a table `[[command]]`, each with a correction.

use super::placeholder::{Placeholder, nearest};

/// Columns that a name may take in help and palette.
pub(super) const MAX_NAME_CHARS: usize = 40;

/// The first mistake in a command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    #[error("command = {line:?}: a quote is not closed. Close it, or use a list of words.")]
    OpenQuote { line: String },
    #[error("name = {name:?}: expected 1 to {MAX_NAME_CHARS} characters on one line")]
    Name { name: String },
    #[error("command: expected a program and its arguments, such as [\"less\", \"{{file}}\"]")]
    NoWords,
    #[error("command: the program has no name")]
    NoProgram,
    #[error("{{{0}}}: the program comes first and has no placeholders; {{{0}}} is an argument", .placeholder.name())]
    ProgramFromRow { placeholder: Placeholder },
    #[error("{{{0}}}: only an entry has one. Add on = \"entry\".", .placeholder.name())]
    NeedsEntry { placeholder: Placeholder },
    #[error("{{{name}}}: unknown placeholder{} Known are {}; write {{{{{name}}}}} for the text itself.", did_you_mean(.name), known())]
    UnknownPlaceholder { name: String },
    #[error(
        "{{{0}}}: {program} would read the value as code. Pass it to a script as an argument: \
         [\"sh\", \"-c\", \"cat \\\"$1\\\"\", \"sh\", \"{{{0}}}\"].",
        .placeholder.name()
    )]
    ReadAsCode { program: String, placeholder: Placeholder },
}

fn did_you_mean(name: &str) -> String {
    nearest(name).map(|near| format!(", did you mean {{{near}}}?")).unwrap_or_default()
}

fn known() -> String {
    Placeholder::ALL.map(|known| format!("{{{}}}", known.name())).join(", ")
}
