//! The command that reaches another machine: ssh for `ssh://HOST[/PATH]`, the person's own for `--via`.

use std::io;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::app::copied_store::MachineOption;
use crate::text::{shell, visible};

/// The options with which `docker exec` and its like give the program a terminal.
const TERMINAL_OPTIONS: [&str; 4] = ["-t", "-it", "-ti", "--tty"];
/// Programs whose subcommand `exec` gives a terminal only with such an option.
const EXEC_PROGRAMS: [&str; 5] = ["docker", "podman", "nerdctl", "kubectl", "oc"];

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

/// Whether the program on the other machine gets a terminal: the screen needs one, and a pipe must not have one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Terminal {
    Given,
    None,
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

    /// Returns the program and the arguments that run `words` there.
    pub(super) fn command(&self, words: &[String], terminal: Terminal) -> Vec<String> {
        match self {
            Self::Ssh { destination, port } => {
                let option = if terminal == Terminal::Given { "-t" } else { "-T" };
                let mut command = vec!["ssh".to_owned(), option.to_owned()];
                if let Some(port) = port {
                    command.extend(["-p".to_owned(), port.to_string()]);
                }
                // A login shell that waits for the program would keep signals and the terminal from it.
                let line = format!("exec {}", posix_line(words));
                command.extend(["--".to_owned(), destination.clone(), line]);
                command
            }
            Self::Via(via) => [with_terminal(via, terminal), words.to_vec()].concat(),
        }
    }

    /// The machine in messages.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Ssh { destination, .. } => destination.clone(),
            Self::Via(words) => format!("`{}`", own_line(words)),
        }
    }

    /// The program that reaches the machine.
    pub(super) fn program(&self) -> &str {
        match self {
            Self::Ssh { .. } => "ssh",
            Self::Via(words) => words.first().map_or("", String::as_str),
        }
    }

    /// Returns the option of a command line that reaches the machine.
    pub(super) fn option(&self) -> MachineOption {
        match self {
            Self::Ssh { destination, port } => {
                let (user, name) = destination
                    .rsplit_once('@')
                    .map_or(("", destination.as_str()), |(user, name)| (user, name));
                let user = if user.is_empty() { String::new() } else { format!("{user}@") };
                let name = if name.contains(':') { format!("[{name}]") } else { name.to_owned() };
                let port = port.map(|port| format!(":{port}")).unwrap_or_default();
                MachineOption::Address(format!("ssh://{user}{name}{port}"))
            }
            Self::Via(words) => MachineOption::Via(own_line(words)),
        }
    }
}

/// Adds or removes the option for a terminal after `exec`; other commands pass on the terminal that they have.
fn with_terminal(via: &[String], terminal: Terminal) -> Vec<String> {
    let is_exec_program = |word: &String| {
        let name = word.rsplit(['/', '\\']).next().unwrap_or_default();
        EXEC_PROGRAMS.contains(&name.trim_end_matches(".exe"))
    };
    let program = via.iter().position(is_exec_program);
    let exec = program.and_then(|at| Some(at + via[at..].iter().position(|word| word == "exec")?));
    let Some(exec) = exec else { return via.to_vec() };
    let (head, options) = via.split_at(exec + 1);
    let is_given = options.iter().any(|word| TERMINAL_OPTIONS.contains(&word.as_str()));
    let mut words = head.to_vec();
    match terminal {
        Terminal::Given if !is_given => words.push("-t".to_owned()),
        Terminal::Given => {}
        Terminal::None => {
            // Without a terminal `-it` keeps the part that passes on the input.
            words.extend(options.iter().filter_map(|word| match word.as_str() {
                "-it" | "-ti" => Some("-i".to_owned()),
                word if TERMINAL_OPTIONS.contains(&word) => None,
                word => Some(word.to_owned()),
            }));
            return words;
        }
    }
    words.extend_from_slice(options);
    words
}

/// Joins words for a shell of the other machine, which is a POSIX shell even if this one is not.
fn posix_line(words: &[String]) -> String {
    words.iter().map(|word| shell::posix_word(word)).collect::<Vec<_>>().join(" ")
}

/// Joins words for a shell of this machine.
fn own_line(words: &[String]) -> String {
    words.iter().map(|word| shell::word(word)).collect::<Vec<_>>().join(" ")
}

/// The exit code of a command that a signal stopped.
pub(super) const STOPPED: u8 = 130;

/// A terminal sends ctrl-c to the command and to this process in any order; so long, a command that ended waits for it.
const SIGNAL_WAIT: Duration = Duration::from_millis(100);

/// A request to stop, which a signal makes on another thread.
#[derive(Debug, Default)]
pub(super) struct StopRequest {
    is_made: Mutex<bool>,
    changed: Condvar,
}

impl StopRequest {
    pub(super) fn make(&self) {
        *self.is_made.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    pub(super) fn is_made(&self) -> bool {
        *self.is_made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the request explains that a command ended early.
    pub(super) fn explains_end(&self) -> bool {
        let is_made = self.is_made.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(is_made, SIGNAL_WAIT, |is_made| !*is_made);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// A command that cannot be run on this machine.
#[derive(Debug, thiserror::Error)]
#[error("cannot run {}: {source}. Install it, or name another command with --via.", visible(.program))]
pub(super) struct StartError {
    program: String,
    source: io::Error,
}

impl StartError {
    pub(super) fn new(program: &str, source: io::Error) -> Self {
        Self { program: program.to_owned(), source }
    }
}

#[cfg(test)]
mod tests {
    use super::super::address::{Address, parse_address};
    use super::*;

    fn address(text: &str) -> Address {
        parse_address(text).expect("an address").expect("a valid one")
    }

    fn words(line: &str) -> Vec<String> {
        shell_words::split(line).unwrap()
    }

    fn via(line: &str, terminal: Terminal) -> String {
        let via = Transport::from_command(line).unwrap();
        via.command(&words("clawscope x"), terminal).join(" ")
    }

    #[test]
    fn a_program_runs_through_the_persons_command_without_a_local_shell() {
        let via = Transport::from_command("docker exec -i 'a b'").unwrap();
        assert_eq!(
            via.command(&words("clawscope x"), Terminal::None),
            ["docker", "exec", "-i", "a b", "clawscope", "x"]
        );
        assert_eq!(via.name(), "`docker exec -i 'a b'`");
        assert_eq!(via.option(), MachineOption::Via("docker exec -i 'a b'".into()));
        let host = address("ssh://me@gw:22").host;
        assert_eq!(host.option(), MachineOption::Address("ssh://me@gw:22".into()));
        assert_eq!(address("ssh://[::1]/x").host.option(), MachineOption::Address("ssh://[::1]".into()));
        for (terminal, option) in [(Terminal::None, "-T"), (Terminal::Given, "-t")] {
            let command = host.command(&words("a 'b c'"), terminal);
            assert_eq!(command, ["ssh", option, "-p", "22", "--", "me@gw", "exec a 'b c'"]);
        }
        assert!(Transport::from_command("docker 'x").is_err());
        assert!(Transport::from_command("  ").is_err());
        assert!(Transport::from_command("--privileged").is_err());
    }

    #[test]
    fn a_container_gets_a_terminal_for_the_screen_and_none_for_a_pipe() {
        for (line, given, none) in [
            ("docker exec -i gw", "docker exec -t -i gw", "docker exec -i gw"),
            ("docker exec -it gw", "docker exec -it gw", "docker exec -i gw"),
            ("sudo docker exec -i -t gw", "sudo docker exec -i -t gw", "sudo docker exec -i gw"),
            ("kubectl exec -i pod -c c --", "kubectl exec -t -i pod -c c --", "kubectl exec -i pod -c c --"),
            ("/usr/bin/podman exec --tty gw", "/usr/bin/podman exec --tty gw", "/usr/bin/podman exec gw"),
            ("env -t exec", "env -t exec", "env -t exec"),
        ] {
            assert_eq!(via(line, Terminal::Given), format!("{given} clawscope x"));
            assert_eq!(via(line, Terminal::None), format!("{none} clawscope x"));
        }
    }

    #[cfg(unix)]
    #[test]
    fn every_word_survives_the_shell_of_the_other_machine() {
        let hostile = [
            "clawscope",
            "it's",
            "$(id)",
            "`id`",
            "a;id",
            "a|b",
            "a\nb",
            "ends\n",
            "-x",
            "",
            "é 漢",
            "*",
            "~root",
            "!!",
            "\\",
            "a\tb",
            "#c",
            "\"$HOME\"",
            "\u{1b}]0;x\u{7}",
            "=x",
            "{a,b}",
        ]
        .map(str::to_owned);
        let command = address("ssh://gw").host.command(&hostile, Terminal::None);
        let line = command.last().unwrap().replacen("exec clawscope", "printf '%s\\0'", 1);
        for shell in ["sh", "bash", "dash", "zsh"] {
            let Ok(made) = std::process::Command::new(shell).args(["-c", &line]).output() else { continue };
            let read = String::from_utf8(made.stdout).unwrap();
            assert_eq!(read.split_terminator('\0').collect::<Vec<_>>(), hostile[1..], "{shell}");
        }
    }
}
