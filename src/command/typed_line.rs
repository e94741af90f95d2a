//! The typed command line, and lines to type instead.

use std::ffi::OsString;
use std::path::Path;

use clap::{Arg, Command, CommandFactory as _, Parser as _};

use super::environment::{Invocation, Workspace};
use super::failure::RETRY_LEAD;
use crate::cli::{Cli, StoreArgs};
use crate::gateway::env::absolute;
use crate::session::item::match_part;
use crate::session::{Mark, SessionItem};
use crate::text::shell;
use crate::units::Moment;

/// Stands for a session in a line to type where no store has one.
pub(super) const ANY_SESSION: &str = "KEY";

/// The words that were typed, and the command among them.
pub(super) struct CommandLine<'a> {
    /// Without the program's name.
    pub(super) words: Vec<String>,
    pub(super) command: Option<Command>,
    pub(super) invocation: &'a Invocation,
}

impl<'a> CommandLine<'a> {
    pub(super) fn new(words: &[OsString], invocation: &'a Invocation) -> Self {
        let words: Vec<String> =
            words.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
        let mut root = Cli::command();
        root.build();
        let command = words.iter().find_map(|word| root.find_subcommand(word)).cloned();
        Self { words, command, invocation }
    }

    pub(super) fn name(&self) -> &str {
        self.command.as_ref().map_or("clawscope", Command::get_name)
    }

    pub(super) fn help_line(&self) -> String {
        let name =
            self.command.as_ref().map_or_else(String::new, |command| format!("{} ", command.get_name()));
        format!("`clawscope {name}--help` lists the options.")
    }

    /// Returns the first word that is neither an option nor the value of one.
    pub(super) fn first_word(&self) -> Option<&str> {
        self.plain_words().next()
    }

    /// Returns the words that are neither options nor values of options: the command and its arguments.
    pub(super) fn plain_words(&self) -> impl Iterator<Item = &str> {
        let root = Cli::command();
        let takes_value = |word: &str| {
            let args = self.command.iter().flat_map(Command::get_arguments).chain(root.get_arguments());
            let mut named =
                args.filter(|arg| arg.get_long().is_some() && arg.get_long() == word.strip_prefix("--"));
            named.any(|arg| arg.get_action().takes_values())
        };
        let mut is_value = false;
        let plain = self.words.iter().filter(move |word| {
            !std::mem::replace(&mut is_value, takes_value(word)) && !word.starts_with('-')
        });
        plain.map(String::as_str).collect::<Vec<_>>().into_iter()
    }

    /// Returns the words behind the command.
    pub(super) fn arguments(&self) -> impl Iterator<Item = &str> {
        self.plain_words().skip_while(|word| *word != self.name()).skip(1)
    }

    pub(super) fn is_path(&self, word: &str) -> bool {
        word.contains(std::path::MAIN_SEPARATOR)
            || absolute(&self.invocation.env.cwd, Path::new(word)).exists()
    }

    /// Returns the line with the words to search for in quotes, if there are several and none is a path.
    pub(super) fn quoted_text(&self) -> Option<String> {
        let text: Vec<&str> = self.arguments().collect();
        let is_text = text.len() > 1 && !text[1..].iter().any(|word| self.is_path(word));
        let command = self.words.iter().position(|word| word == self.name()).filter(|_| is_text)?;
        let first = command + 1 + self.words[command + 1..].iter().position(|word| word == text[0])?;
        let mut words = self.words.clone();
        for word in &text[1..] {
            let at = words.iter().rposition(|other| other == word)?;
            words.remove(at);
        }
        words[first] = text.join(" ");
        Some(format!("Several words are one TEXT, in quotes.\n{}", type_line(&words)))
    }

    /// Whether a word behind a command would name a session.
    pub(super) fn names_session(&self, word: &str) -> bool {
        let others = self.words.iter().map(String::as_str).filter(|other| *other != word);
        let line = ["clawscope", "explain", word].into_iter().chain(others);
        let Ok(cli) = Cli::try_parse_from(line) else { return false };
        let workspace = Workspace::for_session(word, &cli.store, self.invocation);
        workspace.is_ok_and(|workspace| !match_part(&workspace.listed.items, word).is_empty())
    }

    /// Returns a value that an argument takes, for a line to type.
    pub(super) fn sample_value(&self, arg: &Arg) -> String {
        let known = possible_values(arg);
        // Only a dataset is made of a whole store.
        let is_store = self
            .arguments()
            .next()
            .is_some_and(|word| absolute(&self.invocation.env.cwd, Path::new(word)).is_dir());
        if let Some(format) = known.iter().find(|format| is_store && *format == "parquet").or(known.first()) {
            return format.clone();
        }
        match plain_name(&arg.to_string()).as_str() {
            "SESSION" => self.newest_session(),
            "TEXT" => "timeout".to_owned(),
            _ => format!("./{}", self.name()),
        }
    }

    /// Returns the newest readable session of the store that the line selects.
    pub(super) fn newest_session(&self) -> String {
        let line = |sample: &[&str]| {
            let words = self.words.iter().map(String::as_str).chain(sample.iter().copied());
            Cli::try_parse_from(["clawscope"].into_iter().chain(words)).ok()
        };
        let demo = self.words.iter().any(|word| word == "--demo");
        let place =
            line(&[ANY_SESSION]).or_else(|| line(&["--format", "html", ANY_SESSION])).map(|cli| cli.store);
        let place = place.unwrap_or_else(|| StoreArgs { demo, ..Default::default() });
        let workspace = Workspace::from_path(None, &place, self.invocation).ok();
        let items = workspace.as_ref().map_or(&[][..], |workspace| &workspace.listed.items);
        let is_readable = |item: &&SessionItem| item.path.is_some() && !item.has(Mark::Missing);
        let readable = items.iter().filter(|item| is_readable(item) && !item.is_aside());
        let newest = readable.max_by_key(|item| item.updated_ms.map(Moment::whole));
        newest.map_or_else(|| ANY_SESSION.to_owned(), |item| item.key.0.clone())
    }

    /// Returns the first example of the command's help that has an option.
    fn example(&self, option: &str) -> Option<String> {
        let help = self.command.as_ref()?.get_after_long_help()?.to_string();
        let example = help.lines().find(|line| line.starts_with("  clawscope ") && line.contains(option))?;
        Some(example.trim().split("   ").next()?.trim_end_matches(['\\', ' ']).to_owned())
    }

    /// Returns the line with the value that an option has in the help's example, if the line needs nothing else.
    pub(super) fn with_value(&self, option: &str) -> Option<String> {
        let example = self.example(option)?;
        let value = example.split(' ').skip_while(|word| *word != option).nth(1)?;
        let mut words = self.words.clone();
        words.insert(words.iter().rposition(|word| word == option)? + 1, value.to_owned());
        let line = ["clawscope"].into_iter().chain(words.iter().map(String::as_str));
        Cli::try_parse_from(line).is_ok().then(|| type_line(&words))
    }

    /// Returns the first example of the command's help that has an option, with a session of the store.
    pub(super) fn example_with(&self, option: &str) -> Option<String> {
        let example = self.example(option)?;
        let place = self.words.iter().any(|word| word == "--demo").then_some("--demo");
        // The example is quoted already; only the session comes from a store.
        let words = example.split(' ').map(|word| match word {
            ANY_SESSION => shell::word(&self.newest_session()),
            word => word.to_owned(),
        });
        let line = words.chain(place.map(str::to_owned)).collect::<Vec<_>>().join(" ");
        Some(format!("{RETRY_LEAD}{line}"))
    }

    /// Builds the line with other words in the place of one; `None` if it was not typed as such.
    pub(super) fn retry(&self, typed: &str, instead: &[&str]) -> Option<String> {
        let at = self.words.iter().rposition(|word| word == typed)?;
        let mut words = self.words.clone();
        words.splice(at..=at, instead.iter().map(|word| (*word).to_owned()));
        Some(type_line(&words))
    }
}

pub(super) fn type_line(words: &[String]) -> String {
    let words = words.iter().map(|word| shell::word(word));
    let line = std::iter::once("clawscope".to_owned()).chain(words).collect::<Vec<_>>().join(" ");
    format!("{RETRY_LEAD}{line}")
}

pub(super) fn possible_values(arg: &Arg) -> Vec<String> {
    arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect()
}

/// Returns the name of an argument without the signs of a usage line: `SESSION`, `--format FORMAT`.
pub(super) fn plain_name(name: &str) -> String {
    name.replace(['<', '>', '[', ']'], "").trim_end_matches("...").to_owned()
}
