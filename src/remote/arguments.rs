//! Finds the other machine in a command line, and the command line to run there.

use std::ffi::OsString;
use std::path::Path;

use super::address::{Address, parse_address};
use super::copy::limits::CopyLimits;
use super::transport::Transport;
use crate::cli::{Cli, Command, ReadPlace};
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
    /// The limits of a copy.
    pub(super) limits: CopyLimits,
    /// Whether the person requested a copy.
    pub(super) wants_copy: bool,
}

/// Returns the command for another machine; `None` for one on this machine.
///
/// # Errors
/// The command line names no machine that can be reached, or two.
pub(super) fn remote_command(words: &[OsString], cli: &Cli) -> Result<Option<RemoteCommand>, Failure> {
    let named = places(cli).into_iter().find_map(|place| Some((place, parse_address(place)?)));
    let usage = |error: &dyn std::error::Error| Failure::usage(error.to_string());
    let (url, address) = match (named, &cli.store.via) {
        (None, None) if cli.store.copy.is_some() => {
            return Err(Failure::usage("--copy: name the other machine with ssh://HOST or --via COMMAND."));
        }
        (None, None) => return Ok(None),
        (Some((url, _)), Some(_)) => {
            return Err(Failure::usage(format!("--via and {url}: name the other machine once.")));
        }
        (Some((url, address)), None) => (Some(url), address.map_err(|error| usage(&error))?),
        (None, Some(line)) => {
            let host = Transport::from_command(line).map_err(|error| usage(&error))?;
            (None, Address { host, path: None })
        }
    };
    let limits =
        CopyLimits::parse(cli.store.copy.as_deref().unwrap_or_default()).map_err(|error| usage(&error))?;
    let typed = unicode_words(words)?;
    let rewritten = far_words(&typed, url, address.path.as_deref());
    let path = address.path.or_else(|| if url.is_none() { path_there(cli) } else { None });
    if url.is_some() && url == session_name(cli) && path.is_none() {
        let url = url.unwrap_or_default();
        return Err(Failure::usage(format!("{url}: expected a session. Name it, and add --store {url}")));
    }
    let wants_copy = cli.store.copy.is_some();
    Ok(Some(RemoteCommand { host: address.host, path, words: rewritten, typed, limits, wants_copy }))
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
        Some(Command::Watch(args)) => args.path.as_deref(),
        // Only an address matters here, and that has the form of a path.
        Some(command) => match command.read_place(Path::new("")) {
            ReadPlace::Store(path) => path,
            ReadPlace::Session(_) | ReadPlace::NoStore => None,
        },
        None => None,
    };
    let after_session = cli.command.as_ref().and_then(Command::store_of_session);
    let datasets = cli.command.iter().flat_map(Command::dataset_stores);
    let paths = [cli.path.as_deref(), cli.store.store.as_deref(), of_command, after_session];
    paths.into_iter().flatten().chain(datasets).filter_map(Path::to_str).chain(session_name(cli)).collect()
}

/// The path of a command for `--via`.
fn path_there(cli: &Cli) -> Option<String> {
    let is_path = |place: &&str| Some(*place) != session_name(cli) || place.contains('/');
    places(cli).into_iter().find(is_path).map(str::to_owned)
}

/// The session that a command names, which can be the path of a transcript.
fn session_name(cli: &Cli) -> Option<&str> {
    match cli.command.as_ref()? {
        Command::Watch(args) => args.session.as_deref(),
        command => match command.read_place(Path::new("")) {
            ReadPlace::Session(session) => Some(session),
            ReadPlace::Store(_) | ReadPlace::NoStore => None,
        },
    }
}

/// Replaces the address by the path there, and drops the options that stay here.
fn far_words(typed: &[String], url: Option<&str>, path: Option<&str>) -> Vec<String> {
    let (mut words, mut rest, mut has_options) = (Vec::new(), typed.iter(), true);
    while let Some(word) = rest.next() {
        has_options &= word != "--";
        if has_options && word == "--via" {
            rest.next();
            continue;
        }
        let is_local = word == "--copy" || word.starts_with("--copy=") || word.starts_with("--via=");
        if has_options && is_local {
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
                "export K --format md --out a.md --force",
            ),
            ("clawscope commit K --apply --store ssh://gw", "commit K --apply"),
            ("clawscope sessions --copy ssh://gw/x", "sessions /x"),
            ("clawscope sessions --copy=size=1GB --via='docker exec -i gw'", "sessions"),
            ("clawscope search --via 'docker exec -i gw' -- --via", "search -- --via"),
            ("clawscope watch ssh://gw --session K", "watch --session K"),
            ("clawscope explain --all ssh://gw/x", "explain --all /x"),
            ("clawscope export --format parquet ssh://gw/x --out d", "export --format parquet /x --out d"),
            ("clawscope cost ssh://gw/x/a.jsonl", "cost /x/a.jsonl"),
            ("clawscope tree K ssh://gw/srv/x", "tree K /srv/x"),
        ] {
            assert_eq!(there(line), expected, "{line}");
        }
        for line in ["clawscope", "clawscope sessions /x", "clawscope search ssh://gw", "clawscope tree K"] {
            assert_eq!(remote(line), Ok(None), "{line}");
        }
    }

    #[test]
    fn a_faulty_place_is_named() {
        assert!(remote("clawscope sessions ssh://-v").unwrap_err().contains("invalid host"));
        assert!(remote("clawscope tree ssh://gw").unwrap_err().contains("expected a session"));
        assert!(remote("clawscope sessions ssh://gw --via 'docker exec x'").unwrap_err().contains("once"));
        assert!(remote("clawscope sessions --copy /x").unwrap_err().contains("name the other machine"));
        assert!(remote("clawscope sessions ssh://gw --copy=size=x").unwrap_err().contains("size=x"));
    }
}
