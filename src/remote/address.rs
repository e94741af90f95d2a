//! The address of a store on another machine: `ssh://[USER@]HOST[:PORT][/PATH]`.

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
    #[error("a control character in the path")]
    ControlCharacter,
    #[error("an invalid % in the path; % itself is %25")]
    Percent,
    #[error(
        "a password in an address ends up in the shell's history and in lists of processes. Leave it out: ssh asks for it"
    )]
    Password,
}

/// Parses `ssh://[USER@]HOST[:PORT][/PATH]`; `None` for any other text.
///
/// # Errors
/// A part of the address is missing, or ssh or a shell would misread it.
pub(super) fn parse_address(text: &str) -> Option<Result<Address, InvalidAddress>> {
    let rest = text.strip_prefix(SCHEME)?;
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
    // A password may hold any sign, also one that ends the authority.
    if !authority.contains('@')
        && authority.contains(':')
        && path.contains('@')
        && split_port(authority).is_err()
    {
        return Err(AddressProblem::Password);
    }
    let (user, host) =
        authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    user.map_or(Ok(()), check_user)?;
    let (name, port) = split_port(host)?;
    check_name("host", name)?;
    let destination = user.map_or_else(|| name.to_owned(), |user| format!("{user}@{name}"));
    Ok(Address { host: Transport::Ssh { destination, port }, path: parse_path(path)? })
}

/// Splits off the port; an IPv6 address is in brackets.
fn split_port(host: &str) -> Result<(&str, Option<u16>), AddressProblem> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => {
            let (name, rest) = rest.split_once(']').ok_or(AddressProblem::OpenBracket)?;
            (
                name,
                if rest.is_empty() {
                    None
                } else {
                    Some(rest.strip_prefix(':').ok_or(AddressProblem::AfterBracket)?)
                },
            )
        }
        None => host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port))),
    };
    let parse = |port: &str| port.parse().ok().filter(|port| *port > 0).ok_or(AddressProblem::Port);
    Ok((name, port.map(parse).transpose()?))
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
    let is_plain = |char: char| char.is_alphanumeric() || "._-:%".contains(char);
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
    if decoded.contains(['\0', '\n', '\r']) {
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
            ("ssh://[fe80::1%25eth0]:22/x", ssh("fe80::1%25eth0", Some(22), Some("/x"))),
            ("ssh://bücher.example/日本", ssh("bücher.example", None, Some("/日本"))),
        ] {
            assert_eq!(address(text), Ok(expected), "{text}");
        }
        for text in ["/srv/x", "ssh:/x", "", "SSH://x", "http://x"] {
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
