//! `clawscope completions SHELL`: prints the script with which a shell completes words, and answers that shell. The
//! answer is made at each key press, so that it offers the sessions of the store that the line names.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::path::Path;

use clap::{Arg, Command, CommandFactory as _, FromArgMatches as _};
use clap_complete::Shell;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Elvish, EnvCompleter, Fish, Powershell, Shells, Zsh};

use super::environment::{Invocation, profile_environment, resolve_place};
use super::failure::Failure;
use super::output::Output;
use crate::cli::{Cli, StoreArgs};
use crate::policy::settings::SETTINGS;
use crate::session::list::survey_with;
use crate::session::store_location::StoreLocation;
use crate::store::session::Session;

/// The program's name, on the path of the shell.
const PROGRAM: &str = "clawscope";
/// A shell sets this variable to its name when it asks.
const VARIABLE: &str = "CLAWSCOPE_COMPLETE";
/// The words of the line follow this one.
const LINE: &str = "--";
const SHELLS: Shells<'static> = Shells(&[&Bash, &Elvish, &Fish, &Powershell, &Zsh]);

pub(super) fn run(shell: Shell, output: &mut Output) -> Result<(), Failure> {
    let mut script = Vec::new();
    if let Some(shell) = SHELLS.completer(&shell.to_string()) {
        shell.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)?;
    }
    Ok(output.write_all(&script)?)
}

/// Answers a shell that asks for completions of a line; `false` if none asks. `words` are those of the process.
pub fn complete(words: &[OsString], invocation: &Invocation) -> bool {
    if invocation.env.get(VARIABLE).is_none() {
        return false;
    }
    let line: Vec<OsString> = words.iter().skip_while(|word| *word != LINE).skip(1).cloned().collect();
    let asked = || command_with_names(&line, invocation);
    let asked = CompleteEnv::with_factory(asked).var(VARIABLE).bin(PROGRAM).completer(PROGRAM).shells(SHELLS);
    // A shell shows nothing of a failure; it then offers files.
    asked.try_complete(words, Some(&invocation.env.cwd)).unwrap_or(true)
}

/// Returns the command line's grammar, with the sessions and settings that fit in it.
fn command_with_names(line: &[OsString], invocation: &Invocation) -> Command {
    let add = |arg: Arg| {
        let is_of = |word: &str| {
            arg.get_value_names().is_some_and(|names| names.iter().any(|name| name.contains(word)))
        };
        if is_of("SESSION") {
            let (line, invocation) = (line.to_vec(), invocation.clone());
            let names = move |current: &OsStr| session_names(&line, &invocation, current);
            return arg.add(ArgValueCompleter::new(names));
        }
        if is_of("KEY=VALUE") { arg.add(ArgValueCompleter::new(setting_keys)) } else { arg }
    };
    Cli::command().mut_subcommands(|command| command.mut_args(add))
}

fn session_names(line: &[OsString], invocation: &Invocation, current: &OsStr) -> Vec<CompletionCandidate> {
    let place = places_in(line).and_then(|args| {
        let request = resolve_place(None, &args).ok()?;
        StoreLocation::new(&request, profile_environment(&args, invocation).ok()?).ok()
    });
    let (Some(place), Some(current)) = (place, current.to_str()) else { return Vec::new() };
    let store = survey_with(&place, None);
    store
        .sessions
        .iter()
        .filter_map(|session| name_from(session, current))
        .map(CompletionCandidate::new)
        .collect()
}

/// Returns the store options of an unfinished line; `None` if it names another machine.
fn places_in(line: &[OsString]) -> Option<StoreArgs> {
    let matches = Cli::command().ignore_errors(true).try_get_matches_from(line).ok()?;
    let args = StoreArgs::from_arg_matches(&matches).ok()?;
    let is_url = args.store.as_deref().and_then(Path::to_str).is_some_and(|path| path.contains("://"));
    (!is_url && args.via.is_none()).then_some(args)
}

/// Returns the name of a session that goes on as typed: its key, the key without the agent, or its id. A shell puts the
/// word into the line unquoted, so a key that a stranger chose must mean nothing to it.
fn name_from(session: &Session, typed: &str) -> Option<String> {
    let key = session.key.0.as_str();
    let of_agent = key.strip_prefix("agent:").and_then(|rest| rest.split_once(':')).map(|(_, short)| short);
    let names = [Some(key), of_agent, Some(session.id.as_str())].into_iter().flatten();
    let is_plain = |name: &&str| {
        !name.starts_with('-')
            && name.chars().all(|letter| letter.is_alphanumeric() || "-_.:/@+,".contains(letter))
    };
    let fitting = names.filter(|name| name.starts_with(typed)).find(is_plain);
    fitting.map(str::to_owned)
}

fn setting_keys(current: &OsStr) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy();
    let keys = SETTINGS.iter().map(|setting| format!("{}=", setting.key));
    keys.filter(|key| key.starts_with(current.as_ref())).map(CompletionCandidate::new).collect()
}

/// Bash splits words at `:` and `=`, which keys of sessions and settings contain: the script joins them again, and
/// leaves out of each answer what Bash keeps.
#[derive(Debug, Clone, Copy)]
struct Bash;

impl EnvCompleter for Bash {
    fn name(&self) -> &'static str {
        "bash"
    }

    fn is(&self, name: &str) -> bool {
        name == self.name()
    }

    fn write_registration(
        &self,
        variable: &str,
        name: &str,
        program: &str,
        completer: &str,
        script: &mut dyn io::Write,
    ) -> io::Result<()> {
        let text = include_str!("../../assets/completions.bash");
        let names = [("VARIABLE", variable), ("NAME", name), ("PROGRAM", program), ("COMPLETER", completer)];
        let text =
            names.iter().fold(text.to_owned(), |text, (word, name)| text.replace(&format!("@{word}@"), name));
        script.write_all(text.as_bytes())
    }

    fn write_complete(
        &self,
        command: &mut Command,
        words: Vec<OsString>,
        folder: Option<&Path>,
        answer: &mut dyn io::Write,
    ) -> io::Result<()> {
        clap_complete::env::Bash.write_complete(command, words, folder, answer)
    }
}
