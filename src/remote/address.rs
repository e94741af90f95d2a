//! The address of a store on another machine: `ssh://[USER@]HOST[:PORT][/PATH]`.

use std::net::Ipv6Addr;

use super::transport::Transport;

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
