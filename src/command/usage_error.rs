//! Errors of the command line. Each names the expected argument, and ends with a line to type where one can be built.

use std::error::Error as _;
use std::ffi::OsString;
use std::path::Path;

use clap::builder::PossibleValue;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory as _, Parser as _};

use super::environment::Invocation;
use super::failure::Failure;
use super::other_names::words_for;
use super::suggest::{alternatives, did_you_mean, nearest};
use super::typed_line::{ANY_SESSION, CommandLine, plain_name, possible_values, type_line};
use crate::cli::Cli;
use crate::format::number::Amount;
use crate::gateway::env::absolute;

/// Returns the failure for a command line that cannot be read.
pub(super) fn usage_failure(error: &clap::Error, words: &[OsString], invocation: &Invocation) -> Failure {
    let line = CommandLine::new(words, invocation);
    let message = match error.kind() {
        ErrorKind::MissingRequiredArgument => line.describe_missing(error),
        ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand => line
            .unknown_name()
            .map(|name| line.describe_command(name))
            .or_else(|| line.describe_unexpected(error)),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => line.describe_value(error),
        ErrorKind::ArgumentConflict => describe_conflict(error),
        _ => None,
    };
    let own = || error.render().to_string().trim_start_matches("error: ").trim_end().to_owned();
    Failure::usage(message.unwrap_or_else(own))
}

/// Whether an argument is probably a misspelt command: one word that is not an existing path. The screen reports any
/// other missing path, which may still appear.
pub(super) fn is_mistyped_command(given: &Path, cwd: &Path) -> bool {
    given.components().count() == 1 && given.extension().is_none() && !absolute(cwd, given).exists()
}

/// Describes a word that is neither a command nor a path, with the command that it may mean.
pub(super) fn unknown_command(typed: &str, words: &[OsString], invocation: &Invocation) -> Failure {
    Failure::usage(CommandLine::new(words, invocation).describe_command(typed))
}

/// Describes an argument that a command needs beside those that were typed.
pub(super) fn missing_argument(id: &str, words: &[OsString], invocation: &Invocation) -> Failure {
    let line = CommandLine::new(words, invocation);
    let args = line.command.iter().flat_map(Command::get_arguments).filter(|arg| arg.get_id() == id);
    Failure::usage(line.describe_missing_arguments(args.collect()))
}

/// Returns the line to type where a word was given as a PATH that does not exist but is the value of an option.
pub(super) fn path_hint(words: &[OsString], invocation: &Invocation) -> Option<String> {
    let line = CommandLine::new(words, invocation);
    let command = line.command.as_ref()?;
    if command.get_name() == "search" {
        return line.quoted_text();
    }
    let mut arguments = line.arguments();
    let is_release = |word: &str| word.starts_with("20") || word.starts_with("pi-");
    let (option, typed) = match command.get_name() {
        "sessions" => ("filter", arguments.next()?),
        "watch" => ("session", arguments.next()?),
        "rules" => ("ruleset", arguments.next().filter(|word| is_release(word))?),
        // The store of a session is its second argument.
        _ => arguments.nth(1).and_then(|word| Some((option_for(command, word)?, word)))?,
    };
    Some(typed)
        .filter(|word| !line.is_path(word))
        .and_then(|typed| line.retry(typed, &[&format!("--{option}"), typed]))
}

impl CommandLine<'_> {
    fn describe_missing(&self, error: &clap::Error) -> Option<String> {
        Some(self.describe_missing_arguments(self.missing_arguments(error)?))
    }

    fn describe_missing_arguments<'a>(&'a self, mut args: Vec<&'a Arg>) -> String {
        // The value of one argument may make another necessary.
        let words = self.words_with(&args);
        let words = ["clawscope"].into_iter().chain(words.iter().map(String::as_str));
        let more = Cli::try_parse_from(words).err().and_then(|error| self.missing_arguments(&error));
        args.extend(more.into_iter().flatten());
        let mut lines: Vec<String> = args.iter().map(|arg| describe_missing_argument(arg)).collect();
        lines.push(type_line(&self.words_with(&args)));
        lines.push(self.help_line());
        lines.join("\n")
    }

    fn missing_arguments(&self, error: &clap::Error) -> Option<Vec<&Arg>> {
        let command = self.command.as_ref()?;
        let Some(ContextValue::Strings(names)) = error.get(ContextKind::InvalidArg) else { return None };
        // An argument that another option can replace is displayed as optional.
        let is_named = |arg: &Arg, name: &str| plain_name(&arg.to_string()) == plain_name(name);
        let missing = |name: &String| command.get_arguments().find(|arg| is_named(arg, name));
        Some(names.iter().filter_map(missing).collect())
    }

    /// Returns the typed words with the missing arguments. A switch such as `--all` stands in the place of a session.
    fn words_with(&self, missing: &[&Arg]) -> Vec<String> {
        let mut words = self.words.clone();
        if missing.iter().all(|arg| !arg.get_action().takes_values()) {
            let typed: Vec<&str> = self.plain_words().filter(|word| *word != self.name()).collect();
            let is_path = |word: &str| absolute(&self.invocation.env.cwd, Path::new(word)).exists();
            words.retain(|word| !typed.contains(&word.as_str()) || is_path(word));
        }
        for arg in missing {
            words.extend(arg.get_long().map(|long| format!("--{long}")));
            words.extend(arg.get_action().takes_values().then(|| self.sample_value(arg)));
        }
        words
    }

    /// Returns the first word if it can only be a misspelt command.
    fn unknown_name(&self) -> Option<&str> {
        let first = self.first_word().filter(|_| self.command.is_none())?;
        is_mistyped_command(Path::new(first), &self.invocation.env.cwd).then_some(first)
    }

    fn describe_unexpected(&self, error: &clap::Error) -> Option<String> {
        let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg) else { return None };
        let Some(command) = self.command.as_ref().filter(|_| !typed.starts_with('-')) else {
            return if typed.starts_with('-') {
                Some(self.describe_option(typed))
            } else {
                Some(self.describe_command(self.first_word()?))
            };
        };
        let option = option_for(command, typed);
        let lead = match &option {
            Some(option) => format!("{typed}: expected after --{option}."),
            None => format!("{typed}: one argument too many. Expected: {}.", positionals(command)),
        };
        let retry = match option {
            Some(option) => self.retry(typed, &[&format!("--{option}"), typed]),
            None if command.get_name() == "search" => self.quoted_text(),
            None => None,
        };
        Some([Some(lead), retry, Some(self.help_line())].into_iter().flatten().collect::<Vec<_>>().join("\n"))
    }

    fn describe_option(&self, typed: &str) -> String {
        let name = typed.split('=').next().unwrap_or(typed);
        let root = Cli::command();
        let has = |command: &&Command| command.get_arguments().any(|arg| is_option(arg, name));
        let owners: Vec<String> =
            root.get_subcommands().filter(has).map(|command| format!("`{}`", command.get_name())).collect();
        let own = self.command.as_ref().unwrap_or(&root).get_arguments().filter_map(Arg::get_long);
        let near = name.strip_prefix("--").filter(|_| owners.is_empty()).and_then(|long| nearest(long, own));
        let advice = match (near, owners.as_slice()) {
            (Some(near), _) => format!(" Did you mean --{near}?"),
            (None, []) => String::new(),
            (None, [only]) => format!(" {only} has it."),
            (None, several) => format!(" {} have it.", several.join(", ")),
        };
        let lead = format!("{} has no option {name}.{advice}", self.name());
        let retry =
            near.and_then(|near| self.retry(typed, &[&typed.replacen(name, &format!("--{near}"), 1)]));
        [Some(lead), retry, Some(self.help_line())].into_iter().flatten().collect::<Vec<_>>().join("\n")
    }

    fn describe_command(&self, typed: &str) -> String {
        let lead = format!("{typed}: neither a command nor an existing path.");
        let root = Cli::command();
        let names = || root.get_subcommands().map(Command::get_name);
        let (advice, meant) = if let Some(words) = words_for(typed) {
            (String::new(), words.to_vec())
        } else if let Some(near) = nearest(typed, names()) {
            (did_you_mean(typed, names()), vec![near])
        } else if self.names_session(typed) {
            (" To name a session, put a command before it.".to_owned(), vec!["explain", typed])
        } else {
            return format!("{lead}\n`clawscope --help` lists the commands.");
        };
        let retry = self.retry_command(typed, &meant);
        format!("{lead}{advice}\n{retry}\n`clawscope --help` lists the commands.")
    }

    /// Builds the line with another command in the place of a word; the next word, if any, is the session.
    fn retry_command(&self, typed: &str, meant: &[&str]) -> String {
        let at = self.words.iter().position(|word| word == typed).unwrap_or(0);
        let mut rest: Vec<String> = self.words.iter().skip(at + 1).cloned().collect();
        let named = rest.first().filter(|word| !word.starts_with('-')).cloned();
        let mut words: Vec<String> = self.words[..at].to_vec();
        for word in meant {
            match (*word, &named) {
                (ANY_SESSION | "TEXT", Some(named)) => {
                    words.push(named.clone());
                    rest.remove(0);
                }
                (ANY_SESSION, None) => words.push(self.newest_session()),
                (word, _) => words.push(word.to_owned()),
            }
        }
        words.extend(rest);
        type_line(&words)
    }

    fn describe_value(&self, error: &clap::Error) -> Option<String> {
        let command = self.command.as_ref()?;
        let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidArg) else { return None };
        let arg = command.get_arguments().find(|arg| arg.to_string() == *name)?;
        let label = arg.get_long().map_or_else(|| plain_name(name), |long| format!("--{long}"));
        let typed = match error.get(ContextKind::InvalidValue) {
            Some(ContextValue::String(typed)) if !typed.is_empty() => typed,
            _ => {
                let lead = format!("{label} needs a value: {}.", expected(arg));
                let line = self.with_value(&label).or_else(|| self.example_with(&label));
                let lines = [Some(lead), line, Some(self.help_line())];
                return Some(lines.into_iter().flatten().collect::<Vec<_>>().join("\n"));
            }
        };
        let known = possible_values(arg);
        let lead = match error.source() {
            _ if !known.is_empty() => {
                let values = arg.get_possible_values();
                let near = did_you_mean(typed, values.iter().flat_map(PossibleValue::get_name_and_aliases));
                format!("{label} {typed:?}: expected {}.{near}", alternatives(&known))
            }
            Some(source) if source.to_string().contains("expected") => format!("{label} {source}."),
            Some(source) if source.is::<std::num::ParseIntError>() => {
                let example = self.example_number(&label).map(|number| format!(", such as {number}"));
                format!("{label} {typed:?}: expected a whole number{}.", example.unwrap_or_default())
            }
            Some(source) => format!("{label} {typed:?}: {source}. Expected: {}.", expected(arg)),
            None => format!("{label} {typed:?}: expected {}.", expected(arg)),
        };
        Some(format!("{lead}\n{}", self.help_line()))
    }
}

impl CommandLine<'_> {
    /// Returns the number that an example of the command's help has after an option.
    fn example_number(&self, option: &str) -> Option<String> {
        let help = self.command.as_ref()?.get_after_long_help()?.to_string();
        let number = help.split_whitespace().skip_while(|word| *word != option).nth(1)?;
        number.parse::<u64>().is_ok().then(|| number.to_owned())
    }
}

/// Describes options that exclude each other, `--demo` and `--store`.
fn describe_conflict(error: &clap::Error) -> Option<String> {
    let option = |name: &String| plain_name(name).split(' ').next().unwrap_or_default().to_owned();
    let names = |kind| match error.get(kind) {
        Some(ContextValue::String(name)) => vec![option(name)],
        Some(ContextValue::Strings(names)) => names.iter().map(option).collect(),
        _ => Vec::new(),
    };
    let (one, others) = (names(ContextKind::InvalidArg), names(ContextKind::PriorArg));
    let (one, others) = (one.first()?, others.join(", "));
    match others.as_str() {
        "" => None,
        other if other == one => Some(format!("{one} is there twice. Remove one.")),
        _ => Some(format!("{one} and {others} cannot be combined. Remove one of them.")),
    }
}

/// Whether an argument is the option with a name as typed, `--json` or `-o`.
fn is_option(arg: &Arg, name: &str) -> bool {
    match name.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => arg.get_short().is_some_and(|short| name.strip_prefix('-') == Some(&*short.to_string())),
    }
}

/// Returns the option that takes a value which was typed without it.
fn option_for(command: &Command, typed: &str) -> Option<&'static str> {
    let takes = |name: &str| command.get_arguments().any(|arg| arg.get_long() == Some(name));
    let is_format = || {
        let format = command.get_arguments().find(|arg| arg.get_long() == Some("format"));
        format.is_some_and(|arg| possible_values(arg).iter().any(|known| known == typed))
    };
    let is_assignment = typed.contains('=');
    let is_axis = is_assignment && (typed.contains("..") || typed.contains(','));
    [
        ("vary", is_axis),
        ("set", is_assignment),
        ("budget", Amount::parse(typed).is_some()),
        ("format", is_format()),
        ("out", !is_assignment),
    ]
    .into_iter()
    .find_map(|(option, is_meant)| (is_meant && takes(option)).then_some(option))
}

/// Describes the arguments of a command, such as `SESSION, then at most 2 of LEAF`.
fn positionals(command: &Command) -> String {
    let names: Vec<String> = command.get_positionals().map(|arg| plain_name(&arg.to_string())).collect();
    if names.is_empty() { "no arguments, only options".to_owned() } else { names.join(" ") }
}

/// Describes the value of an argument: its help as part of a sentence, and its values.
fn expected(arg: &Arg) -> String {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let mut chars = help.chars();
    let first = chars.next().map(|char| char.to_ascii_lowercase());
    let help: String = first.into_iter().chain(chars).collect();
    match possible_values(arg) {
        known if known.iter().all(|value| help.contains(value.as_str())) => help,
        known => format!("{help} ({})", alternatives(&known)),
    }
}

/// Describes an argument that is missing: a switch by what it does, any other by its values.
fn describe_missing_argument(arg: &Arg) -> String {
    let name = plain_name(&arg.to_string());
    let known = possible_values(arg);
    if !known.is_empty() {
        let option = arg.get_long().map_or(name, |long| format!("--{long}"));
        return format!("missing {option}: expected {}.", alternatives(&known));
    }
    let words = expected(arg);
    let words = words.strip_prefix("the session: ").unwrap_or(&words);
    // Another option may need an argument that is optional without it.
    let words = words.split_once(" [default").map_or(words, |(words, _)| words);
    format!("missing {name}: {words}.")
}
