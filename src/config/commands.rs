//! The tables `[[command]]` of `config.toml`: programs that a key runs on the selected session or entry.

use serde::Deserialize;
use toml::Spanned;

/// The shell of a command that is one text.
const SHELL: [&str; 2] = ["sh", "-c"];

/// The row that a command works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CommandRow {
    /// A session of the list.
    #[default]
    Session,
    /// An entry of the open session, in the transcript and in the message.
    Entry,
}

impl CommandRow {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Entry => "entry",
        }
    }
}

/// A person's command.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "CommandTable")]
pub struct CustomCommand {
    /// The key as written; [`crate::app::keymap`] knows the keys.
    pub key: String,
    pub name: String,
    pub row: CommandRow,
    /// The program and its arguments: of a text, a shell and the text.
    pub words: Vec<String>,
    /// Whether the program takes the terminal until it ends; otherwise it runs in the background.
    pub takes_terminal: bool,
    /// The file and line, with which an error about the command begins.
    pub origin: String,
    /// The byte of the key in the file.
    pub(super) key_at: usize,
}

impl CustomCommand {
    /// The program, which for a text is its first word after assignments.
    pub fn program(&self) -> Option<&str> {
        match self.words.as_slice() {
            [shell, option, line] if [shell, option] == SHELL => {
                line.split_whitespace().find(|word| !word.contains('='))
            }
            words => words.first().map(String::as_str),
        }
    }

    /// Whether the command itself reads a variable; a program that it starts may read others.
    pub fn reads(&self, variable: RowVariable) -> bool {
        self.words.iter().any(|word| variable.is_in(word))
    }
}

/// A table as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CommandTable {
    key: Spanned<String>,
    name: String,
    command: Words,
    #[serde(default)]
    on: CommandRow,
    #[serde(default)]
    terminal: bool,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "one text that a shell runs, or a list of words")]
enum Words {
    Line(String),
    List(Vec<String>),
}

impl TryFrom<CommandTable> for CustomCommand {
    type Error = CommandError;

    fn try_from(table: CommandTable) -> Result<Self, CommandError> {
        let (key_at, key) = (table.key.span().start, table.key.into_inner());
        check_name(&table.name)?;
        let words = match table.command {
            Words::List(words) => check_list(words)?,
            Words::Line(line) => vec![SHELL[0].to_owned(), SHELL[1].to_owned(), check_line(line)?],
        };
        check_variables(&words, table.on)?;
        let (row, takes_terminal) = (table.on, table.terminal);
        Ok(Self { key, name: table.name, row, words, takes_terminal, origin: String::new(), key_at })
    }
}

/// Checks that help and palette can show the name.
fn check_name(name: &str) -> Result<(), CommandError> {
    let count = name.chars().count();
    if name.trim().is_empty() || count > MAX_NAME_CHARS || name.chars().any(char::is_control) {
        return Err(CommandError::Name { name: name.to_owned() });
    }
    Ok(())
}

/// Checks a program with its arguments, which no shell reads.
fn check_list(words: Vec<String>) -> Result<Vec<String>, CommandError> {
    let program = words.first().ok_or(CommandError::NoWords)?;
    if program.trim().is_empty() {
        return Err(CommandError::NoProgram);
    }
    // A shell that got only the variable would run its value.
    let lone = words.iter().filter(|word| !word.contains(char::is_whitespace));
    let misread =
        lone.flat_map(|word| RowVariable::ALL.into_iter().filter(|variable| variable.is_in(word))).next();
    misread.map_or(Ok(words), |variable| Err(CommandError::NoShell { variable }))
}

/// Checks a text for a shell.
fn check_line(line: String) -> Result<String, CommandError> {
    match shell_words::split(&line) {
        Err(_) => Err(CommandError::OpenQuote { line }),
        Ok(words) if words.is_empty() => Err(CommandError::NoWords),
        Ok(_) => Ok(line),
    }
}

/// Checks that every value exists on the row, and that none chooses a program.
fn check_variables(words: &[String], row: CommandRow) -> Result<(), CommandError> {
    let first = |is_it: &dyn Fn(RowVariable, &str) -> bool| {
        let found = |variable: &RowVariable| words.iter().any(|word| is_it(*variable, word));
        RowVariable::ALL.into_iter().find(found)
    };
    if let Some(variable) = first(&|variable, word| variable.is_placeholder_in(word)) {
        return Err(CommandError::Placeholder { variable });
    }
    if let Some(variable) = first(&|variable, word| program_of(word).is_some_and(|name| variable.is_in(name)))
    {
        return Err(CommandError::ProgramFromRow { variable });
    }
    match first(&|variable, word| variable.needs_entry() && variable.is_in(word)) {
        Some(variable) if row == CommandRow::Session => Err(CommandError::NeedsEntry { variable }),
        _ => Ok(()),
    }
}

/// Returns the first word of a script.
fn program_of(script: &str) -> Option<&str> {
    script.split_whitespace().next().filter(|word| !word.contains('='))
}

// Mistakes in a table `[[command]]`, each with a correction.

/// Columns that a name may take in help and palette.
const MAX_NAME_CHARS: usize = 40;

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

// The environment variables in which a command gets the selected row. A value never becomes a part of the command itself:
// no list of programs tells which of them would read it as code.

/// A value of the selected row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowVariable {
    /// The session's id.
    Session,
    /// The session's key.
    Key,
    /// The transcript's file.
    File,
    /// The entry's id.
    Entry,
    /// The entry's line in the file, from 1.
    Line,
    /// The store's folder.
    Store,
}

/// The start of every variable's name.
const PREFIX: &str = "CLAWSCOPE_";

impl RowVariable {
    pub const ALL: [Self; 6] = [Self::Session, Self::Key, Self::File, Self::Entry, Self::Line, Self::Store];

    /// The name in the environment.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Session => "CLAWSCOPE_SESSION",
            Self::Key => "CLAWSCOPE_KEY",
            Self::File => "CLAWSCOPE_FILE",
            Self::Entry => "CLAWSCOPE_ENTRY",
            Self::Line => "CLAWSCOPE_LINE",
            Self::Store => "CLAWSCOPE_STORE",
        }
    }

    /// Whether a word reads the variable.
    pub fn is_in(self, word: &str) -> bool {
        word.match_indices(self.name()).any(|(at, name)| {
            let after = word[at + name.len()..].chars().next();
            after.is_none_or(|char| !char.is_ascii_alphanumeric() && char != '_')
        })
    }

    /// Whether only an entry has it.
    const fn needs_entry(self) -> bool {
        matches!(self, Self::Entry | Self::Line)
    }

    /// Whether a word has the placeholder `{name}`, which nothing replaces. `${name}` is a shell's own variable.
    fn is_placeholder_in(self, word: &str) -> bool {
        let placeholder = ["{", &self.word(), "}"].concat();
        word.match_indices(&placeholder).any(|(at, _)| !word[..at].ends_with('$'))
    }

    /// The name in the placeholder: `key` for `CLAWSCOPE_KEY`.
    fn word(self) -> String {
        self.name().trim_start_matches(PREFIX).to_ascii_lowercase()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct File {
        command: Vec<CustomCommand>,
    }

    fn read(table: &str) -> Result<CustomCommand, String> {
        let text = format!("[[command]]\n{table}\n");
        let file: File = toml::from_str(&text).map_err(|error| error.to_string())?;
        Ok(file.command.into_iter().next().expect("a command"))
    }

    #[test]
    fn a_text_runs_in_a_shell_and_a_list_without_one() {
        let line = read(
            "key = \"f5\"\nname = \"Edit\"\ncommand = 'code -g \"$CLAWSCOPE_FILE:$CLAWSCOPE_LINE\"'\non = \"entry\"",
        );
        let line = line.unwrap();
        assert_eq!(line.words, ["sh", "-c", "code -g \"$CLAWSCOPE_FILE:$CLAWSCOPE_LINE\""]);
        assert_eq!((line.row, line.takes_terminal), (CommandRow::Entry, false));
        assert!(line.reads(RowVariable::File) && !line.reads(RowVariable::Key));
        let list = read("key = \"f5\"\nname = \"Edit\"\ncommand = [\"tool\", \"a b; $(id)\"]").unwrap();
        assert_eq!(
            (list.words, list.row),
            (vec!["tool".to_owned(), "a b; $(id)".to_owned()], CommandRow::Session)
        );
    }

    #[test]
    fn mistakes_name_the_expected_form() {
        let command = |words: &str| format!("key = \"f5\"\nname = \"x\"\ncommand = {words}");
        let (file, key) = ("\"$CLAWSCOPE_FILE\"", "$CLAWSCOPE_KEY");
        for (table, expected) in [
            (command("[]"), &["program"][..]),
            (command("\"\""), &["program"]),
            (command("[\" \"]"), &["program has no name"]),
            (command("\"code 'x\""), &["quote", "list"]),
            (command("[\"{file}\"]"), &["{file}", file]),
            (command("[\"vi\", \"{file}\"]"), &["line 1", "{file}", "replaces nothing", file]),
            (command("\"vi {{file}}\""), &["{file}", file]),
            (command("[\"sh\", \"-c\", \"cat {key}\"]"), &["{key}", key]),
            (command("[\"vi\", \"--key=$CLAWSCOPE_KEY\"]"), &[key, "no shell", "one text"]),
            (command("[\"sh\", \"-c\", \"$CLAWSCOPE_KEY\"]"), &[key, "no shell"]),
            (command("'\"$CLAWSCOPE_KEY\" x'"), &[key, "comes first"]),
            (command("[\"sh\", \"-c\", \"${CLAWSCOPE_KEY} x\"]"), &[key, "comes first"]),
            (command("'vi \"+$CLAWSCOPE_LINE\"'"), &["$CLAWSCOPE_LINE", "on = \"entry\""]),
            (command("1"), &["line 4", "list of words"]),
            ("name = \"x\"\ncommand = \"ls\"".to_owned(), &["line 1", "key"]),
            ("key = \"f5\"\nname = \"\"\ncommand = \"ls\"".to_owned(), &["name", "40"]),
            ("key = \"f5\"\nname = \"x\"\ncomand = \"ls\"".to_owned(), &["line 4", "comand", "`command`"]),
            (command("\"ls\"\non = \"row\""), &["line 5", "row", "session", "entry"]),
        ] {
            let error = read(&table).expect_err(&table);
            assert!(expected.iter().all(|words| error.contains(words)), "{table}: {error}");
        }
    }
}

#[cfg(test)]
mod variable_tests {
    use super::*;

    #[test]
    fn a_word_reads_a_variable_by_its_whole_name() {
        for word in ["$CLAWSCOPE_KEY", "\"${CLAWSCOPE_KEY}\"", "--key=$CLAWSCOPE_KEY", "%CLAWSCOPE_KEY%"] {
            assert!(RowVariable::Key.is_in(word), "{word}");
        }
        assert!(!RowVariable::Key.is_in("$CLAWSCOPE_KEYS") && !RowVariable::Key.is_in("$KEY"));
        assert!(
            RowVariable::File.is_placeholder_in("{file}:{line}")
                && RowVariable::Line.is_placeholder_in("{{line}}")
        );
        assert!(
            !RowVariable::File.is_placeholder_in("${file}")
                && !RowVariable::File.is_placeholder_in("{print}")
        );
    }
}
