//! The command that reaches another machine: ssh for `ssh://HOST[/PATH]`, the person's own for `--via`.

use crate::app::remote_store::RemoteLink;
use crate::text::shell;

/// The first letters of a store on another machine.
const SCHEME: &str = "ssh://";

/// The way to another machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Host {
    Ssh {
        /// `HOST` or `USER@HOST`.
        destination: String,
        port: Option<u16>,
    },
    /// The words of `--via`.
    Via(Vec<String>),
}

/// A store on another machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) host: Host,
    /// The path there; `None` is the default store of that machine.
    pub(super) path: Option<String>,
}

/// Parses `ssh://[USER@]HOST[:PORT][/PATH]`; `None` for any other text.
///
/// # Errors
/// Returns what is wrong with the address.
pub(super) fn parse_address(text: &str) -> Option<Result<Address, String>> {
    let rest = text.strip_prefix(SCHEME)?;
    Some(parse_rest(rest).map_err(|problem| {
        format!(
            "{text}: {problem}. Expected ssh://[USER@]HOST[:PORT][/PATH], such as ssh://gateway/srv/.openclaw"
        )
    }))
}

fn parse_rest(rest: &str) -> Result<Address, String> {
    let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let (user, host) =
        authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    let (name, port) = split_port(host)?;
    user.map_or(Ok(()), |user| check_name("user", user))?;
    check_name("host", name)?;
    let destination = user.map_or_else(|| name.to_owned(), |user| format!("{user}@{name}"));
    Ok(Address { host: Host::Ssh { destination, port }, path: parse_path(path)? })
}

/// Splits off the port; an IPv6 address is in brackets.
fn split_port(host: &str) -> Result<(&str, Option<u16>), String> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => {
            let (name, rest) = rest.split_once(']').ok_or("a bracket without its end")?;
            (
                name,
                if rest.is_empty() {
                    None
                } else {
                    Some(rest.strip_prefix(':').ok_or("text after the bracket")?)
                },
            )
        }
        None => host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port))),
    };
    let parse = |port: &str| port.parse().ok().filter(|port| *port > 0).ok_or("an invalid port");
    Ok((name, port.map(parse).transpose()?))
}

/// Refuses a name that ssh would take for an option, or that a command in the ssh configuration could execute.
fn check_name(what: &str, name: &str) -> Result<(), String> {
    let is_plain = |char: char| char.is_alphanumeric() || "._-:%".contains(char);
    if name.is_empty() {
        return Err(format!("the {what} is missing"));
    }
    if name.starts_with('-') || !name.chars().all(is_plain) {
        return Err(format!("invalid {what} {name:?}"));
    }
    Ok(())
}

/// Decodes `%20`. A path below `/~/` starts at the home folder, where ssh starts a command.
fn parse_path(path: &str) -> Result<Option<String>, String> {
    let decoded = percent_decode(path)?;
    if decoded.contains(['\0', '\n', '\r']) {
        return Err("a control character in the path".to_owned());
    }
    Ok(match decoded.strip_prefix("/~/") {
        _ if decoded.trim_matches('/').is_empty() => None,
        Some(rest) => Some(format!("./{rest}")),
        None => Some(decoded),
    })
}

fn percent_decode(text: &str) -> Result<String, String> {
    let invalid = || "an invalid % in the path; % itself is %25".to_owned();
    let (mut bytes, mut rest) = (Vec::new(), text);
    while let Some((plain, coded)) = rest.split_once('%') {
        let digits = coded.get(..2).filter(|digits| digits.chars().all(|char| char.is_ascii_hexdigit()));
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).ok_or_else(invalid)?;
        bytes.extend_from_slice(plain.as_bytes());
        bytes.push(byte);
        rest = &coded[2..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).map_err(|_| invalid())
}

impl Host {
    /// Parses the command of `--via` without a shell.
    ///
    /// # Errors
    /// Returns what is wrong with it.
    pub(super) fn from_command(line: &str) -> Result<Self, String> {
        let words =
            shell_words::split(line).map_err(|_| format!("--via {line:?}: a quote without its end"))?;
        match words.first() {
            None => Err("--via: the command is empty, such as \"docker exec -i NAME\"".to_owned()),
            Some(first) if first.starts_with('-') => {
                Err(format!("--via {line:?}: begins with an option instead of a program"))
            }
            Some(_) => Ok(Self::Via(words)),
        }
    }

    /// Returns the program and the arguments that run a program there. `shell` is the same for a shell of that machine.
    pub(super) fn command(&self, words: &[&str], shell: &str) -> Vec<String> {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        match self {
            Self::Ssh { destination, port } => {
                let mut command = owned(&["ssh", "-T"]);
                if let Some(port) = port {
                    command.extend(["-p".to_owned(), port.to_string()]);
                }
                command.extend(["--".to_owned(), destination.clone(), shell.to_owned()]);
                command
            }
            Self::Via(via) => [via.clone(), owned(words)].concat(),
        }
    }

    /// The machine in messages.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Ssh { destination, .. } => destination.clone(),
            Self::Via(words) => format!("`{}`", join(words)),
        }
    }

    /// How a command line reaches the machine.
    pub(super) fn link(&self) -> RemoteLink {
        match self {
            Self::Ssh { destination, port } => {
                let (user, name) = destination
                    .rsplit_once('@')
                    .map_or(("", destination.as_str()), |(user, name)| (user, name));
                let user = if user.is_empty() { String::new() } else { format!("{user}@") };
                let name = if name.contains(':') { format!("[{name}]") } else { name.to_owned() };
                let port = port.map(|port| format!(":{port}")).unwrap_or_default();
                RemoteLink::Address(format!("ssh://{user}{name}{port}"))
            }
            Self::Via(words) => RemoteLink::Via(join(words)),
        }
    }

    /// The command line with which a person runs a clawscope command there.
    pub(super) fn line(&self, words: &[String]) -> String {
        let far = join(words);
        match self {
            Self::Ssh { destination, port } => {
                let port = port.map(|port| format!("-p {port} ")).unwrap_or_default();
                format!("ssh -t {port}{} {}", shell::word(destination), shell::word(&far))
            }
            Self::Via(via) => format!("{} {far}", join(via)),
        }
    }
}

fn join(words: &[String]) -> String {
    words.iter().map(|word| shell::word(word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Result<Address, String> {
        parse_address(text).expect("an address")
    }

    fn ssh(destination: &str, port: Option<u16>, path: Option<&str>) -> Address {
        let host = Host::Ssh { destination: destination.to_owned(), port };
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

    #[test]
    fn the_program_runs_behind_the_persons_command_and_no_shell_here_sees_it() {
        let via = Host::from_command("docker exec -i 'a b'").unwrap();
        assert_eq!(
            via.command(&["clawscope", "x"], "unused"),
            ["docker", "exec", "-i", "a b", "clawscope", "x"]
        );
        assert_eq!(via.name(), "`docker exec -i 'a b'`");
        let host = address("ssh://me@gw:22").unwrap().host;
        assert_eq!(host.link(), RemoteLink::Address("ssh://me@gw:22".into()));
        assert_eq!(via.link(), RemoteLink::Via("docker exec -i 'a b'".into()));
        let link = address("ssh://[::1]/x").unwrap().host.link();
        assert_eq!(link, RemoteLink::Address("ssh://[::1]".into()));
        assert_eq!(host.command(&["unused"], "a b"), ["ssh", "-T", "-p", "22", "--", "me@gw", "a b"]);
        assert!(Host::from_command("docker 'x").is_err());
        assert!(Host::from_command("  ").is_err());
        assert!(Host::from_command("--privileged").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn the_line_to_run_there_keeps_every_word_through_both_shells() {
        let words = ["clawscope", "commit", "agent:main:it's $(id)", "--apply"].map(str::to_owned);
        let line = address("ssh://gw").unwrap().host.line(&words);
        let far = shell_words::split(&line).unwrap().pop().unwrap();
        assert_eq!(shell_words::split(&far).unwrap(), words);
        let line = Host::from_command("docker exec -i gw").unwrap().line(&words);
        assert_eq!(shell_words::split(&line).unwrap()[4..], words);
    }
}
