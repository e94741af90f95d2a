//! The address of a store on another machine: `ssh://[USER@]HOST[:PORT][/PATH]`.

use std::ffi::OsString;
use std::net::Ipv6Addr;
use std::path::Path;

use super::copy::limits::CopyLimits;
use super::transport::Transport;
use crate::cli::{Cli, Command, ReadPlace};
use crate::command::failure::Failure;

/// The first letters of a store on another machine.
const SCHEME: &str = "ssh://";

/// A store on another machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) host: Transport,
    /// The path there; `None` is the default store of that machine.
    pub(super) path: Option<String>,
}

/// An address that no machine can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}: {problem}. Expected ssh://[USER@]HOST[:PORT][/PATH], such as ssh://gateway/srv/.openclaw")]
pub(super) struct InvalidAddress {
    text: String,
    problem: AddressProblem,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum AddressProblem {
    #[error("a bracket without its end")]
    OpenBracket,
    #[error("text after the bracket")]
    AfterBracket,
    #[error("an invalid port")]
    Port,
    #[error("the {part} is missing")]
    Missing { part: &'static str },
    #[error("invalid {part} {name:?}")]
    Name { part: &'static str, name: String },
    #[error("brackets are for an IPv6 address")]
    NoIpv6,
    #[error("a control character in the path")]
    ControlCharacter,
    #[error("an invalid % in the path; % itself is %25")]
    Percent,
    #[error(
        "a password in an address ends up in the shell's history and in lists of processes. Leave it out: ssh asks for it. \
         Write an @ of the path as %40"
    )]
    Password,
}

/// Parses `ssh://[USER@]HOST[:PORT][/PATH]`; `None` for any other text.
///
/// # Errors
/// A part of the address is missing, or ssh or a shell would misread it.
pub(super) fn parse_address(text: &str) -> Option<Result<Address, InvalidAddress>> {
    let (scheme, rest) = text.split_at_checked(SCHEME.len())?;
    if !scheme.eq_ignore_ascii_case(SCHEME) {
        return None;
    }
    Some(parse_rest(rest).map_err(|problem| {
        let text = if problem == AddressProblem::Password { without_user(rest) } else { text.to_owned() };
        InvalidAddress { text, problem }
    }))
}

/// The address without what may be a password.
fn without_user(rest: &str) -> String {
    let shown = rest.rsplit_once('@').map_or("", |(_, shown)| shown);
    format!("{SCHEME}…@{shown}")
}

fn parse_rest(rest: &str) -> Result<Address, AddressProblem> {
    let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    if path.contains('@') && may_hold_password(authority) {
        return Err(AddressProblem::Password);
    }
    let (user, host) =
        authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    user.map_or(Ok(()), check_user)?;
    let (name, port) = split_host(host)?;
    let destination = user.map_or_else(|| name.clone(), |user| format!("{user}@{name}"));
    Ok(Address { host: Transport::Ssh { destination, port }, path: parse_path(path)? })
}

/// Whether text before the first `/` may be a user and the start of a password: a password may hold any sign, also one
/// that ends the authority, and its start may look like a port.
fn may_hold_password(authority: &str) -> bool {
    let is_ipv6 = authority.starts_with('[') && split_host(authority).is_ok();
    !authority.contains('@') && authority.contains([':', '%']) && !is_ipv6
}

/// Splits off the port; an IPv6 address is in brackets.
fn split_host(host: &str) -> Result<(String, Option<u16>), AddressProblem> {
    let Some(rest) = host.strip_prefix('[') else {
        let (name, port) = host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port)));
        check_name("host", name)?;
        return Ok((name.to_owned(), port.map(parse_port).transpose()?));
    };
    let (name, rest) = rest.split_once(']').ok_or(AddressProblem::OpenBracket)?;
    let port = match rest.strip_prefix(':') {
        None if rest.is_empty() => None,
        None => return Err(AddressProblem::AfterBracket),
        Some(port) => Some(parse_port(port)?),
    };
    Ok((ipv6(name)?, port))
}

fn parse_port(port: &str) -> Result<u16, AddressProblem> {
    // Rust would also read `+22`.
    let digits = Some(port).filter(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    let port = digits.and_then(|digits| digits.parse().ok());
    port.filter(|port| *port > 0).ok_or(AddressProblem::Port)
}

/// Reads an IPv6 address, perhaps with a zone after `%`, which an address writes as `%25`.
fn ipv6(text: &str) -> Result<String, AddressProblem> {
    let (address, zone) = text.split_once('%').map_or((text, None), |(address, zone)| (address, Some(zone)));
    address.parse::<Ipv6Addr>().map_err(|_| AddressProblem::NoIpv6)?;
    let Some(zone) = zone else { return Ok(address.to_owned()) };
    let zone = zone.strip_prefix("25").unwrap_or(zone);
    check_name("zone", zone)?;
    Ok([address, "%", zone].concat())
}

/// Refuses a user with a password, also a percent-coded one.
fn check_user(user: &str) -> Result<(), AddressProblem> {
    if user.contains([':', '%']) {
        return Err(AddressProblem::Password);
    }
    check_name("user", user)
}

/// Refuses a name that ssh would take for an option, or that a command in the ssh configuration could execute.
fn check_name(part: &'static str, name: &str) -> Result<(), AddressProblem> {
    let is_plain = |char: char| char.is_alphanumeric() || "._-".contains(char);
    if name.is_empty() {
        return Err(AddressProblem::Missing { part });
    }
    if name.starts_with('-') || !name.chars().all(is_plain) {
        return Err(AddressProblem::Name { part, name: name.to_owned() });
    }
    Ok(())
}

/// Decodes `%20`. A path below `/~/` starts at the home folder, where ssh starts a command.
fn parse_path(path: &str) -> Result<Option<String>, AddressProblem> {
    let decoded = percent_decode(path)?;
    if decoded.contains(char::is_control) {
        return Err(AddressProblem::ControlCharacter);
    }
    Ok(match decoded.strip_prefix("/~/") {
        _ if decoded.trim_matches('/').is_empty() => None,
        Some(rest) => Some(format!("./{rest}")),
        None => Some(decoded),
    })
}

fn percent_decode(text: &str) -> Result<String, AddressProblem> {
    let (mut bytes, mut rest) = (Vec::new(), text);
    while let Some((plain, coded)) = rest.split_once('%') {
        let digits = coded.get(..2).filter(|digits| digits.chars().all(|char| char.is_ascii_hexdigit()));
        let byte =
            digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).ok_or(AddressProblem::Percent)?;
        bytes.extend_from_slice(plain.as_bytes());
        bytes.push(byte);
        rest = &coded[2..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).map_err(|_| AddressProblem::Percent)
}

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
    use super::*;

    fn address(text: &str) -> Result<Address, InvalidAddress> {
        parse_address(text).expect("an address")
    }

    fn ssh(destination: &str, port: Option<u16>, path: Option<&str>) -> Address {
        let host = Transport::Ssh { destination: destination.to_owned(), port };
        Address { host, path: path.map(str::to_owned) }
    }

    #[test]
    fn addresses_have_a_host_and_perhaps_a_user_a_port_and_a_path() {
        for (text, expected) in [
            ("ssh://gw", ssh("gw", None, None)),
            ("ssh://gw/", ssh("gw", None, None)),
            ("ssh://me@gw:2222/srv/a%20b/.openclaw", ssh("me@gw", Some(2222), Some("/srv/a b/.openclaw"))),
            ("ssh://gw/~/.openclaw", ssh("gw", None, Some("./.openclaw"))),
            ("ssh://[fe80::1%25eth0]:22/x", ssh("fe80::1%eth0", Some(22), Some("/x"))),
            ("ssh://[::1]:22/34@gw", ssh("::1", Some(22), Some("/34@gw"))),
            ("ssh://gw/34@gw", ssh("gw", None, Some("/34@gw"))),
            ("ssh://gw:22/a%40b", ssh("gw", Some(22), Some("/a@b"))),
            ("SSH://gw", ssh("gw", None, None)),
            ("ssh://bücher.example/日本", ssh("bücher.example", None, Some("/日本"))),
        ] {
            assert_eq!(address(text), Ok(expected), "{text}");
        }
        for text in ["/srv/x", "ssh:/x", "", "http://x", "日本ssh://"] {
            assert_eq!(parse_address(text), None, "{text}");
        }
    }

    #[test]
    fn a_password_is_refused_and_not_repeated() {
        for text in [
            "ssh://me:hunter2@gw/x",
            "ssh://me:@gw",
            "ssh://:hunter2@gw",
            "ssh://me%3Ahunter2@gw",
            "ssh://me:hun@ter2@gw:22",
            "ssh://me:hunter2@gw:no-port",
            "ssh://me:hun/ter2@gw",
            "ssh://me:12/hunter2@gw",
            "ssh://me:12/hun/ter2@gw:22/srv",
            "ssh://me:12?x/hunter2@gw",
            "ssh://me:12#hunter2@gw",
            "ssh://[me:hun/ter2@gw",
            "ssh://[me]:hun/ter2@gw",
            "ssh://me%3Ahun/ter2@gw",
            "ssh://me:hunter2@-oProxyCommand=id",
        ] {
            let error = address(text).unwrap_err().to_string();
            assert!(error.contains("a password") && error.contains("Leave it out"), "{text}: {error}");
            assert!(!error.contains("hun") && !error.contains("ter2"), "{text}: {error}");
        }
    }

    #[test]
    fn a_host_that_ssh_or_a_shell_would_misread_is_refused() {
        for text in [
            "ssh://-oProxyCommand=id",
            "ssh://-oProxyCommand=id@gw",
            "ssh://me@-v",
            "ssh://",
            "ssh:///srv",
            "ssh://@gw",
            "ssh://$(id)",
            "ssh://`id`",
            "ssh://a b",
            "ssh://a;id",
            "ssh://a|id",
            "ssh://a\nb",
            "ssh://me;id@gw",
            "ssh://gw:x",
            "ssh://gw:0",
            "ssh://gw:99999",
            "ssh://gw:+22",
            "ssh://gw:-1",
            "ssh://gw:２２",
            "ssh://gw:",
            "ssh://gw:22:22",
            "ssh://gw?x",
            "ssh://gw#x",
            "ssh://gw%20b",
            "ssh://gw%2fb",
            "ssh://[gw]",
            "ssh://[]",
            "ssh://[::1%25-v]",
            "ssh://[::1%25a b]",
            "ssh://[-v]",
            "ssh://::1",
            "ssh://a@b@",
            "ssh://a@b@gw",
            "ssh://gw\\x",
            "ssh://gw/a%1bb",
            "ssh://gw/a\u{1b}b",
            "ssh://[::1",
            "ssh://[::1]x",
            "ssh://gw/a%0ab",
            "ssh://gw/a%00",
            "ssh://gw/a%zz",
            "ssh://gw/a%",
            "ssh://gw/%+1",
            "ssh://gw/%ff",
        ] {
            assert!(address(text).is_err(), "{text}: {:?}", address(text));
        }
    }
}

#[cfg(test)]
mod arguments_tests {
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
