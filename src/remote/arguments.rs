//! Finds the other machine in a command line, and the command line to run there.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::access::refusal;
use super::address::{Address, parse_address};
use super::host::Transport;
use super::out_file::OutFile;
use crate::cli::{Cli, Command};
use crate::command::failure::Failure;

/// A command for a store on another machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RemoteCommand {
    pub(super) host: Transport,
    /// The store or the transcript there; `None` is the default store.
    pub(super) path: Option<String>,
    /// The command line there, after the program's name.
    pub(super) words: Vec<String>,
    /// The command line as typed, after the program's name.
    pub(super) typed: Vec<String>,
    /// The file of this machine that gets the standard output.
    pub(super) out: Option<OutFile>,
}

/// Returns the command for another machine; `None` for one on this machine.
///
/// # Errors
/// The address is invalid, or another machine does not answer the command.
pub(super) fn remote_command(words: &[OsString], cli: &Cli) -> Result<Option<RemoteCommand>, Failure> {
    let named = places(cli).into_iter().find_map(|place| Some((place, parse_address(place)?)));
    let (url, address) = match (named, &cli.store.via) {
        (None, None) => return Ok(None),
        (Some((url, _)), Some(_)) => {
            return Err(Failure::usage(format!("--via and {url}: name the other machine once.")));
        }
        (Some((url, address)), None) => {
            (Some(url), address.map_err(|error| Failure::usage(error.to_string()))?)
        }
        (None, Some(line)) => {
            let host = Transport::from_command(line).map_err(|error| Failure::usage(error.to_string()))?;
            (None, Address { host, path: None })
        }
    };
    let typed = unicode_words(words)?;
    let rewritten = far_words(&typed, url, address.path.as_deref(), cli);
    let is_via = url.is_none();
    let (host, path) = (address.host, address.path);
    let path = path.or_else(|| is_via.then(|| path_there(cli)).flatten());
    if let Some(refusal) = refusal(cli) {
        let line = [vec!["clawscope".to_owned()], rewritten].concat();
        return Err(Failure::refused(refusal.message(&host.name(), &host.line(&line))));
    }
    if url.is_some() && url == session_name(cli) && path.is_none() {
        let url = url.unwrap_or_default();
        return Err(Failure::usage(format!("{url}: expected a session. Name it, and add --store {url}")));
    }
    Ok(Some(RemoteCommand { host, path, words: rewritten, typed, out: out_file(cli) }))
}

/// Returns a command line with the program's name.
pub(super) fn program_line(words: &[String]) -> Vec<OsString> {
    std::iter::once("clawscope").chain(words.iter().map(String::as_str)).map(Into::into).collect()
}

fn unicode_words(words: &[OsString]) -> Result<Vec<String>, Failure> {
    let convert = |word: &OsString| {
        let text = word.clone().into_string();
        text.map_err(|word| Failure::usage(format!("{}: not valid UTF-8.", word.display())))
    };
    words.iter().skip(1).map(convert).collect()
}

/// The arguments that can name a store.
fn places(cli: &Cli) -> Vec<&str> {
    let of_command = match &cli.command {
        Some(Command::Sessions(args)) => args.list.path.as_deref(),
        Some(Command::Search(args)) => args.list.path.as_deref(),
        Some(Command::Doctor(args)) => args.list.path.as_deref(),
        Some(Command::Watch(args)) => args.path.as_deref(),
        Some(Command::Rules(args)) => args.path.as_deref(),
        _ => None,
    };
    let datasets = match &cli.command {
        Some(Command::Dataset(args)) => args.paths.iter().map(PathBuf::as_path).collect(),
        _ => Vec::new(),
    };
    let paths = [cli.path.as_deref(), cli.store.store.as_deref(), of_command].into_iter().flatten();
    paths.chain(datasets).filter_map(Path::to_str).chain(session_name(cli)).collect()
}

/// The path of a command for `--via`.
fn path_there(cli: &Cli) -> Option<String> {
    let is_path = |place: &&str| Some(*place) != session_name(cli) || place.contains('/');
    places(cli).into_iter().find(is_path).map(str::to_owned)
}

/// The session that a command names, which can be the path of a transcript.
fn session_name(cli: &Cli) -> Option<&str> {
    Some(match cli.command.as_ref()? {
        Command::Record(args) | Command::Recovery(args) | Command::Commits(args) => &args.session,
        Command::Tree(args) => &args.target.session,
        Command::Context(args) => &args.context.target.session,
        Command::Simulate(args) => &args.context.target.session,
        Command::Replay(args) => &args.target.session,
        Command::Regret(args) => &args.target.session,
        Command::Sweep(args) => &args.target.session,
        Command::Check(args) => &args.target.session,
        Command::Summarize(args) => &args.target.session,
        Command::Commit(args) => &args.target.session,
        Command::Undo(args) => &args.target.session,
        Command::Compare(args) => &args.session,
        Command::Export(args) => &args.session,
        Command::Explain(args) => args.target.as_deref()?,
        Command::Cache(args) => args.session.as_deref()?,
        Command::Settings(args) => args.session.as_deref()?,
        Command::Watch(args) => args.session.as_deref()?,
        _ => return None,
    })
}

/// The file of `export --out`, which this machine writes.
fn out_file(cli: &Cli) -> Option<OutFile> {
    let Some(Command::Export(args)) = &cli.command else { return None };
    args.out.clone().map(|path| OutFile { path, force: args.force })
}

/// An option that stays on this machine.
struct LocalOption {
    names: &'static [&'static str],
    takes_value: bool,
}

/// Replaces the address by the path there, and drops the options that stay here.
fn far_words(typed: &[String], url: Option<&str>, path: Option<&str>, cli: &Cli) -> Vec<String> {
    let mut local = vec![LocalOption { names: &["--via"], takes_value: true }];
    if out_file(cli).is_some() {
        local.push(LocalOption { names: &["--out", "-o"], takes_value: true });
        local.push(LocalOption { names: &["--force"], takes_value: false });
    }
    let (mut words, mut rest) = (Vec::new(), typed.iter());
    while let Some(word) = rest.next() {
        if let Some(option) = local.iter().find(|option| option.matches(word)) {
            if option.takes_value && option.names.contains(&word.as_str()) {
                rest.next();
            }
            continue;
        }
        let (lead, value) = match word.strip_prefix("--store=") {
            Some(value) => ("--store=", value),
            None => ("", word.as_str()),
        };
        match (url.is_some_and(|url| url == value), path) {
            (false, _) => words.push(word.clone()),
            (true, Some(path)) => words.push(format!("{lead}{path}")),
            (true, None) => drop(words.pop_if(|word| lead.is_empty() && word == "--store")),
        }
    }
    words
}

impl LocalOption {
    /// Whether a word is the option, by itself or with its value after `=` or the letter.
    fn matches(&self, word: &str) -> bool {
        self.names.iter().any(|name| {
            let with_value = word.strip_prefix(name).filter(|_| self.takes_value);
            word == *name || with_value.is_some_and(|value| !name.starts_with("--") || value.starts_with('='))
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    fn remote(line: &str) -> Result<Option<RemoteCommand>, String> {
        let words = shell_words::split(line).unwrap();
        let cli = Cli::try_parse_from(&words).unwrap();
        let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
        remote_command(&words, &cli).map_err(|failure| match failure {
            Failure::Reported { message, .. } => message,
            _ => panic!("a message"),
        })
    }

    fn there(line: &str) -> String {
        remote(line).unwrap().unwrap().words.join(" ")
    }

    #[test]
    fn the_address_becomes_the_remote_path_in_every_argument() {
        for (line, expected) in [
            ("clawscope ssh://gw", ""),
            ("clawscope ssh://gw/srv/x --ascii", "/srv/x --ascii"),
            ("clawscope sessions ssh://gw --json", "sessions --json"),
            ("clawscope sessions ssh://gw/srv/x --json", "sessions /srv/x --json"),
            ("clawscope tree K --store ssh://gw", "tree K"),
            ("clawscope tree K --store ssh://gw/srv/x", "tree K --store /srv/x"),
            ("clawscope tree K --store=ssh://gw/srv/x", "tree K --store=/srv/x"),
            ("clawscope tree K --store=ssh://gw", "tree K"),
            ("clawscope tree ssh://gw/srv/x/a.jsonl", "tree /srv/x/a.jsonl"),
            ("clawscope search ssh:// ssh://gw", "search ssh://"),
            ("clawscope sessions --via 'docker exec -i gw'", "sessions"),
            ("clawscope --via='docker exec -i gw' sessions /data", "sessions /data"),
            (
                "clawscope export K --format md --out a.md --force --via 'kubectl exec -i p --'",
                "export K --format md",
            ),
            ("clawscope export K --format md -oa.md --store ssh://gw", "export K --format md"),
            ("clawscope export K --format md --out=a.md --store ssh://gw", "export K --format md"),
        ] {
            assert_eq!(there(line), expected, "{line}");
        }
        for line in ["clawscope", "clawscope sessions /x", "clawscope search ssh://gw", "clawscope tree K"] {
            assert_eq!(remote(line), Ok(None), "{line}");
        }
    }

    #[test]
    fn a_write_is_refused_with_the_line_to_run_there() {
        let error = remote("clawscope commit 'a b' --apply --store ssh://me@gw/srv/x").unwrap_err();
        let line = "ssh -t me@gw 'clawscope commit '\\''a b'\\'' --apply --store /srv/x'";
        assert!(error.contains("only reads") && error.ends_with(line), "{error}");
        let error = remote("clawscope undo K --apply --via 'docker exec -i gw'").unwrap_err();
        assert!(error.ends_with("run: docker exec -i gw clawscope undo K --apply"), "{error}");
    }

    #[test]
    fn a_faulty_place_is_named() {
        assert!(remote("clawscope sessions ssh://-v").unwrap_err().contains("invalid host"));
        assert!(remote("clawscope tree ssh://gw").unwrap_err().contains("expected a session"));
        assert!(remote("clawscope sessions ssh://gw --via 'docker exec x'").unwrap_err().contains("once"));
    }
}
