//! The command that reaches another machine: ssh for `ssh://HOST[/PATH]`, the person's own for `--via`.

use crate::app::remote_store::RemoteLink;
use crate::text::shell;

/// The way to another machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Transport {
    Ssh {
        /// `HOST` or `USER@HOST`.
        destination: String,
        port: Option<u16>,
    },
    /// The words of `--via`.
    Via(Vec<String>),
}

/// A command of `--via` that names no program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum InvalidCommand {
    #[error("--via {line:?}: a quote without its end")]
    OpenQuote { line: String },
    #[error("--via: the command is empty, such as \"docker exec -i NAME\"")]
    Empty,
    #[error("--via {line:?}: begins with an option instead of a program")]
    Option { line: String },
}

impl Transport {
    /// Parses the command of `--via` without a shell.
    ///
    /// # Errors
    /// It names no program.
    pub(super) fn from_command(line: &str) -> Result<Self, InvalidCommand> {
        let owned = || line.to_owned();
        let words = shell_words::split(line).map_err(|_| InvalidCommand::OpenQuote { line: owned() })?;
        match words.first() {
            None => Err(InvalidCommand::Empty),
            Some(first) if first.starts_with('-') => Err(InvalidCommand::Option { line: owned() }),
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

    /// Returns the command line that reaches the machine.
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
    use super::super::address::{Address, parse_address};
    use super::*;

    fn address(text: &str) -> Address {
        parse_address(text).expect("an address").expect("a valid one")
    }

    #[test]
    fn the_program_runs_through_the_persons_command_without_a_local_shell() {
        let via = Transport::from_command("docker exec -i 'a b'").unwrap();
        assert_eq!(
            via.command(&["clawscope", "x"], "unused"),
            ["docker", "exec", "-i", "a b", "clawscope", "x"]
        );
        assert_eq!(via.name(), "`docker exec -i 'a b'`");
        let host = address("ssh://me@gw:22").host;
        assert_eq!(host.link(), RemoteLink::Address("ssh://me@gw:22".into()));
        assert_eq!(via.link(), RemoteLink::Via("docker exec -i 'a b'".into()));
        let link = address("ssh://[::1]/x").host.link();
        assert_eq!(link, RemoteLink::Address("ssh://[::1]".into()));
        assert_eq!(host.command(&["unused"], "a b"), ["ssh", "-T", "-p", "22", "--", "me@gw", "a b"]);
        assert!(Transport::from_command("docker 'x").is_err());
        assert!(Transport::from_command("  ").is_err());
        assert!(Transport::from_command("--privileged").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn the_remote_command_line_keeps_every_word_through_both_shells() {
        let words = ["clawscope", "commit", "agent:main:it's $(id)", "--apply"].map(str::to_owned);
        let line = address("ssh://gw").host.line(&words);
        let far = shell_words::split(&line).unwrap().pop().unwrap();
        assert_eq!(shell_words::split(&far).unwrap(), words);
        let line = Transport::from_command("docker exec -i gw").unwrap().line(&words);
        assert_eq!(shell_words::split(&line).unwrap()[4..], words);
    }
}
