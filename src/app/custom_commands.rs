//! The person's own commands: binds their keys, and sets the variables for the selected row. Values come from a store,
//! which may be hostile: none becomes a part of the command, and one that a shell could run is not set at all, because a
//! command may hand it to a second shell (`tmux`, `ssh`, `su -c`).

use std::path::Path;

use crate::app::action::Action;
use crate::app::effect::{Effect, ProgramRun};
use crate::app::keymap::{KeyContext, Keymap, key_slip, parse_key};
use crate::app::layout::Pane;
use crate::app::state::App;
use crate::config::{CommandRow, CustomCommand, RowVariable};
use crate::ids::EntryIx;
use crate::session::{LoadedSession, SessionItem};
use crate::store::sqlite::database_of;
use crate::text;
use crate::text::shell::file_argument;

/// Signs that values may contain besides letters and digits. No shell and no program gives them a meaning inside a word.
const PLAIN_SIGNS: &str = "-_.:@+/=,%";

/// Binds the keys of the commands. Returns a warning for every key that had another use.
///
/// # Errors
/// The first key that no terminal has.
pub fn bind_commands(keymap: &mut Keymap, commands: &[CustomCommand]) -> Result<Vec<String>, BindError> {
    let mut warnings = Vec::new();
    for (at, command) in (0..=u16::MAX).zip(commands) {
        let key = parse_key(&command.key)
            .ok_or_else(|| BindError { origin: command.origin.clone(), key: command.key.clone() })?;
        let mut replaced: Vec<String> = contexts(command.row)
            .iter()
            .filter_map(|context| keymap.replace(*context, key, Action::Custom(at)))
            .filter(|action| *action != Action::Custom(at))
            .map(|action| name_of(action, commands))
            .collect();
        replaced.dedup();
        if !replaced.is_empty() {
            let (name, row, lost) = (&command.name, row_words(command.row), replaced.join(" and "));
            let origin = &command.origin;
            warnings.push(format!("{origin}: {:?} on {row} runs {name:?}, no longer {lost}", command.key));
        }
    }
    Ok(warnings)
}

/// The parts of the screen where a command works.
pub fn contexts(row: CommandRow) -> &'static [KeyContext] {
    match row {
        CommandRow::Session => &[KeyContext::Sessions],
        CommandRow::Entry => &[KeyContext::Transcript, KeyContext::Message],
    }
}

const fn row_words(row: CommandRow) -> &'static str {
    match row {
        CommandRow::Session => "a session",
        CommandRow::Entry => "an entry",
    }
}

fn name_of(action: Action, commands: &[CustomCommand]) -> String {
    match action {
        Action::Custom(at) => {
            commands.get(usize::from(at)).map_or_else(String::new, |one| format!("{:?}", one.name))
        }
        action => format!("{} ({})", action.name(), action.description()),
    }
}

/// A command's key that no terminal has.
#[derive(Debug, thiserror::Error)]
#[error("{origin}: key = {}", key_slip(.key))]
pub struct BindError {
    origin: String,
    key: String,
}

/// The reason that a command cannot run on the selected row.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum RowError {
    #[error("it works on a row of the sessions. Press 1 first.")]
    NoSessionRow,
    #[error("it works on an entry of the transcript. Press 2 first.")]
    NoEntryRow,
    #[error("the session has no transcript file")]
    NoFile,
    #[error("the session is in a database, so it has no file")]
    InDatabase,
    #[error("the entry has no id. Use $CLAWSCOPE_LINE.")]
    NoId,
    #[error("no store is open")]
    NoStore,
    /// The id as the screen shows it.
    #[error("the {} {:?} could be read as an option or as code. Use $CLAWSCOPE_FILE.", .0.as_str(), .1)]
    UnsafeId(IdKind, String),
    /// The part of the path below the store as the screen shows it.
    #[error("a shell could read the file name {0:?} as code. Rename the file.")]
    UnsafeFile(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IdKind {
    Session,
    Key,
    Entry,
}

impl IdKind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session id",
            Self::Key => "session key",
            Self::Entry => "entry id",
        }
    }
}

/// The row that a command runs on.
struct Row<'a> {
    item: &'a SessionItem,
    entry: Option<(&'a LoadedSession, EntryIx)>,
    store: Option<&'a Path>,
}

impl App {
    /// Runs a command on the selected row, or shows why it cannot.
    pub(super) fn run_custom(&mut self, at: u16) -> Vec<Effect> {
        let Some(command) = self.options.commands.get(usize::from(at)) else { return Vec::new() };
        let variables = self.row_for(command.row).and_then(|row| row.variables(command));
        let (name, words, takes_terminal) =
            (command.name.clone(), command.words.clone(), command.takes_terminal);
        match variables {
            Ok(variables) => {
                let run = ProgramRun { name, words, variables };
                vec![Effect::RunCommand { run, takes_terminal }]
            }
            Err(problem) => {
                self.show_toast(format!("{name} did not run: {problem}"), true);
                Vec::new()
            }
        }
    }

    fn row_for(&self, kind: CommandRow) -> Result<Row<'_>, RowError> {
        let store = self.store.listing.as_ref().and_then(|listing| listing.store_path.as_deref());
        let is_here = self.overlay().is_none();
        match kind {
            CommandRow::Session => {
                let item = self.sessions.selected().filter(|_| is_here && self.focus == Pane::Sessions);
                let item = item.ok_or(RowError::NoSessionRow)?;
                Ok(Row { item, entry: None, store })
            }
            CommandRow::Entry => {
                let is_here = is_here && matches!(self.focus, Pane::Transcript | Pane::Message);
                let shown = self.displayed_session().zip(self.selected_entry()).filter(|_| is_here);
                let (session, entry) = shown.ok_or(RowError::NoEntryRow)?;
                Ok(Row { item: &session.item, entry: Some((session, entry)), store })
            }
        }
    }
}

impl Row<'_> {
    /// Returns every variable that the row has. One that it lacks, or that is not safe, is an error if the command reads it.
    fn variables(&self, command: &CustomCommand) -> Result<Vec<(RowVariable, String)>, RowError> {
        let mut variables = Vec::new();
        for variable in RowVariable::ALL {
            match self.value(variable) {
                Ok(value) => variables.push((variable, value)),
                Err(problem) if command.reads(variable) => return Err(problem),
                Err(_) => {}
            }
        }
        Ok(variables)
    }

    fn value(&self, variable: RowVariable) -> Result<String, RowError> {
        match variable {
            RowVariable::Session => checked_id(IdKind::Session, &self.item.id),
            RowVariable::Key => checked_id(IdKind::Key, &self.item.key.0),
            RowVariable::File => {
                let path = self.item.path.as_deref().ok_or(RowError::NoFile)?;
                match database_of(path) {
                    Some(_) => Err(RowError::InDatabase),
                    None => checked_file(path, self.store),
                }
            }
            RowVariable::Entry => {
                let (session, entry) = self.entry()?;
                let id = session.index.entry(entry).id.ok_or(RowError::NoId)?;
                checked_id(IdKind::Entry, session.index.ids.text(id))
            }
            RowVariable::Line => {
                let (session, entry) = self.entry()?;
                Ok(session.index.entry(entry).line.to_string())
            }
            RowVariable::Store => {
                let path = self.store.ok_or(RowError::NoStore)?;
                Ok(file_argument(&path.to_string_lossy()).into_owned())
            }
        }
    }

    fn entry(&self) -> Result<(&LoadedSession, EntryIx), RowError> {
        self.entry.ok_or(RowError::NoEntryRow)
    }
}

/// Refuses a file whose name a shell could read as code. The person chose the store's folder; names below it come with
/// the store.
fn checked_file(path: &Path, store: Option<&Path>) -> Result<String, RowError> {
    let below =
        store.and_then(|store| path.strip_prefix(store).ok()).or_else(|| path.file_name().map(Path::new));
    let name = below.unwrap_or(path).to_string_lossy();
    let is_plain = |char: char| char == ' ' || is_plain(char) || std::path::is_separator(char);
    if !name.chars().all(is_plain) {
        return Err(RowError::UnsafeFile(text::visible(&name).into_owned()));
    }
    Ok(file_argument(&path.to_string_lossy()).into_owned())
}

fn is_plain(char: char) -> bool {
    char.is_alphanumeric() || PLAIN_SIGNS.contains(char)
}

/// Refuses an id that a program could read as an option or a shell as code.
fn checked_id(kind: IdKind, id: &str) -> Result<String, RowError> {
    if id.is_empty() || id.starts_with(['-', '+', '=', '@', '%']) || !id.chars().all(is_plain) {
        return Err(RowError::UnsafeId(kind, text::visible(id).into_owned()));
    }
    Ok(id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(tables: &str) -> Vec<CustomCommand> {
        #[derive(serde::Deserialize)]
        struct File {
            command: Vec<CustomCommand>,
        }
        toml::from_str::<File>(tables).expect("valid").command
    }

    #[test]
    fn a_key_with_another_use_is_a_warning_that_names_both() {
        let mut keymap = Keymap::standard();
        let tables = "[[command]]\nkey = \"d\"\nname = \"Edit\"\ncommand = 'vi \"$CLAWSCOPE_FILE\"'\non = \"entry\"\n\
                      [[command]]\nkey = \"f5\"\nname = \"List\"\ncommand = \"ls\"\n\
                      [[command]]\nkey = \"f5\"\nname = \"Other\"\ncommand = \"ls\"\n";
        let warnings = bind_commands(&mut keymap, &commands(tables)).expect("keys");
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(
            warnings[0].contains("\"d\" on an entry runs \"Edit\", no longer diff (toggle diff)"),
            "{warnings:?}"
        );
        assert!(warnings[1].contains("runs \"Other\", no longer \"List\""), "{warnings:?}");
        assert_eq!(keymap.keys_for(KeyContext::Transcript, Action::Custom(0)), ["d"]);
        assert!(keymap.keys_for(KeyContext::Transcript, Action::Diff).is_empty());
        assert_eq!(keymap.keys_for(KeyContext::Sessions, Action::Custom(2)), ["f5"]);
    }

    #[test]
    fn an_unknown_key_is_an_error_that_suggests_the_nearest() {
        let tables = "[[command]]\nkey = \"entr\"\nname = \"x\"\ncommand = \"ls\"\n";
        let error =
            bind_commands(&mut Keymap::standard(), &commands(tables)).expect_err("a slip").to_string();
        assert!(error.contains("\"entr\"") && error.contains("enter"), "{error}");
    }

    #[test]
    fn an_id_that_could_be_an_option_or_code_is_refused() {
        for id in ["agent:main:telegram:group:-100", "a1b2c3", "whatsapp:+49@s.net", "日本"] {
            assert_eq!(checked_id(IdKind::Key, id).as_deref(), Ok(id));
        }
        for id in [
            "",
            "-x",
            "--help",
            "+cmd",
            "@file",
            "=ls",
            "a b",
            "$(id)",
            "a;b",
            "a\nb",
            "a\u{1b}[0m",
            "`id`",
            "a'b",
            "*",
            "~",
        ] {
            assert!(checked_id(IdKind::Key, id).is_err(), "{id:?}");
        }
    }
}
