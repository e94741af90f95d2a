//! The tables `[[command]]` of `config.toml`: programs that a key runs on the selected session or entry.

mod code;
mod error;
mod placeholder;
mod template;

use serde::Deserialize;
use toml::Spanned;

pub use error::CommandError;
use error::MAX_NAME_CHARS;
pub use placeholder::Placeholder;
pub use template::Template;

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
    /// The program and its arguments.
    pub words: Vec<Template>,
    /// Whether the program takes the terminal until it ends; otherwise it runs in the background.
    pub takes_terminal: bool,
    /// The file and line, with which an error about the command begins.
    pub origin: String,
    /// The byte of the key in the file.
    pub(super) key_at: usize,
}

impl CustomCommand {
    /// The program, which has no placeholders.
    pub fn program(&self) -> Option<&str> {
        self.words.first()?.literal()
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
#[serde(untagged, expecting = "a list of words, or one text that is split like a shell's words")]
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
            Words::List(words) => words,
            Words::Line(line) => {
                shell_words::split(&line).map_err(|_| CommandError::OpenQuote { line: line.clone() })?
            }
        };
        let words = words.iter().map(|word| Template::parse(word)).collect::<Result<Vec<_>, _>>()?;
        check_words(&words, table.on)?;
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

/// Checks that no value can choose the program, be read as code, or be missing on the row.
fn check_words(words: &[Template], row: CommandRow) -> Result<(), CommandError> {
    let program = words.first().ok_or(CommandError::NoWords)?;
    if let Some(placeholder) = program.placeholders().next() {
        return Err(CommandError::ProgramFromRow { placeholder });
    }
    if program.literal().is_none_or(str::is_empty) {
        return Err(CommandError::NoProgram);
    }
    let missing = words.iter().flat_map(Template::placeholders).find(|found| found.needs_entry());
    match missing.filter(|_| row == CommandRow::Session) {
        Some(placeholder) => Err(CommandError::NeedsEntry { placeholder }),
        None => code::check_code(words),
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
    fn a_line_and_a_list_are_the_same_words() {
        let line =
            read("key = \"f5\"\nname = \"Edit\"\ncommand = \"code -g '{file}':{line}\"\non = \"entry\"")
                .unwrap();
        let list = read(
            "key = \"f5\"\nname = \"Edit\"\ncommand = [\"code\", \"-g\", \"{file}:{line}\"]\non = \"entry\"\n",
        );
        assert_eq!(line, list.unwrap());
        assert_eq!((line.row, line.takes_terminal, line.words.len()), (CommandRow::Entry, false, 3));
    }

    #[test]
    fn mistakes_name_the_expected_form() {
        let command = |words: &str| format!("key = \"f5\"\nname = \"x\"\ncommand = {words}");
        for (table, expected) in [
            (command("[]"), &["program"][..]),
            (command("\"code 'x\""), &["quote", "list"]),
            (command("[\"{file}\"]"), &["{file}", "program"]),
            (command("[\"vi\", \"{fiel}\"]"), &["{fiel}", "{file}", "{{fiel}}"]),
            (command("[\"vi\", \"+{line}\"]"), &["{line}", "on = \"entry\""]),
            (command("[\"sh\", \"-c\", \"cat {file}\"]"), &["{file}", "sh", "$1"]),
            (command("\"bash -lc 'cat {file}'\""), &["{file}", "bash", "$1"]),
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

    #[test]
    fn a_shell_gets_values_as_positional_arguments() {
        let table = "key = \"f5\"\nname = \"x\"\ncommand = [\"sh\", \"-c\", \"jq . \\\"$1\\\" | less\", \"sh\", \"{file}\"]";
        assert_eq!(read(table).unwrap().words.len(), 5);
        assert!(read("key = \"f5\"\nname = \"x\"\ncommand = \"grep -c {key} {file}\"").is_ok(), "no shell");
    }
}
