//! Runs clawscope on another machine through the person's own command. Input, output and errors are those of this
//! process, so the answer arrives byte for byte; nothing is read, kept or changed on its way.

use std::io::{self, IsTerminal as _};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::arguments::RemoteCommand;
use super::transport::{STOPPED, StartError, StopRequest, Terminal, Transport};
use crate::cli::Cli;
use crate::command::environment::Invocation;
use crate::command::failure::Failure;
use crate::gateway::env::Environment;
use crate::runtime::{LentTerminal, REMOTE_VARIABLE, interruptible};
use crate::text::visible;

/// Looks for clawscope and runs it. A login without a terminal often lacks the folders of a person's programs.
const SCRIPT: &str = "PATH=\"$PATH:$HOME/.local/bin:$HOME/.cargo/bin:/usr/local/bin:/opt/homebrew/bin\"; export PATH; \
                      command -v clawscope >/dev/null 2>&1 || exit 127; exec clawscope \"$@\"";
/// The exit codes of a shell that cannot run a program.
const NOT_INSTALLED: [i32; 2] = [126, 127];
/// The exit code with which ssh reports its own failure; clawscope has no such code.
const LINK_FAILED: i32 = 255;
/// The exit code of a program that shows that programs start there.
const REACHED: i32 = 73;

/// The end of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// clawscope ended there with this exit code.
    Code(u8),
    /// The other machine has no clawscope.
    NotInstalled,
    /// The link failed; with the exit code of the command, if a signal did not end it.
    Link(Option<i32>),
}

/// Runs a command there; returns its exit code, and `None` where clawscope is not installed.
///
/// # Errors
/// The link cannot be opened or ended early.
pub(super) fn run(remote: &RemoteCommand, cli: &Cli, invocation: &Invocation) -> Result<Option<u8>, Failure> {
    let terminal = if cli.command.is_none() { Terminal::Given } else { Terminal::None };
    if terminal == Terminal::Given && !io::stdout().is_terminal() {
        return Err(Failure::unreadable(
            "standard output is not a terminal. Use `clawscope sessions` or another command to print.",
        ));
    }
    let words = far_words(&remote.words, terminal, &invocation.env);
    let command = remote.host.command(&words, terminal);
    let failed =
        |error: &dyn std::error::Error| Failure::unreadable(format!("{}: {error}", remote.host.name()));
    let lent = (terminal == Terminal::Given).then(LentTerminal::lend);
    let (program, arguments) = command.split_first().map_or(("", &[][..]), |(first, rest)| (first, rest));
    let mut command = Command::new(program);
    let run = run_to_end(command.args(arguments)).map_err(|source| failed(&StartError::new(program, source)));
    let (end, is_stopped) = run?;
    if let Some(lent) = lent {
        lent.take_back(matches!(end, End::Link(_)));
    }
    match end {
        _ if is_stopped => Ok(Some(STOPPED)),
        End::Code(code) if code != 0 && !is_reached(&remote.host) => {
            Err(link_failure(&remote.host, Some(code.into())))
        }
        End::Code(code) => Ok(Some(code)),
        End::NotInstalled => Ok(None),
        End::Link(code) => Err(link_failure(&remote.host, code)),
    }
}

/// Whether the command of `--via` starts programs there. Its own failures have exit codes that clawscope has too: `docker
/// exec` ends with 1 where there is no container. ssh has its own code for them.
fn is_reached(host: &Transport) -> bool {
    if matches!(host, Transport::Ssh { .. }) {
        return true;
    }
    let words = ["sh".to_owned(), "-c".to_owned(), format!("exit {REACHED}")];
    let command = host.command(&words, Terminal::None);
    let Some((program, arguments)) = command.split_first() else { return false };
    let mut probe = Command::new(program);
    probe.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.code() == Some(REACHED))
}

/// Returns the words that run a clawscope command there. A screen needs the person's terminal by name.
fn far_words(words: &[String], terminal: Terminal, env: &Environment) -> Vec<String> {
    let is_plain =
        |value: &str| value.chars().all(|char| char.is_ascii_alphanumeric() || "-._+".contains(char));
    let variable = |name: &str| {
        let value = env.get(name).filter(|value| is_plain(value))?;
        Some(format!("{name}={value}"))
    };
    let mut line = Vec::new();
    if terminal == Terminal::Given {
        line.push("env".to_owned());
        line.extend(["TERM", "COLORTERM"].into_iter().filter_map(variable));
        line.push(format!("{REMOTE_VARIABLE}=1"));
    }
    line.extend(["sh", "-c", SCRIPT, "clawscope"].map(str::to_owned));
    line.extend_from_slice(words);
    line
}

/// Runs a command; a signal that would end this process ends the command first. Returns whether one did.
fn run_to_end(command: &mut Command) -> io::Result<(End, bool)> {
    // The id of the process, 0 before it starts.
    let (request, process) = (Arc::new(StopRequest::default()), Arc::new(AtomicU32::new(0)));
    let (own_request, own_process) = (Arc::clone(&request), Arc::clone(&process));
    let stop = move || {
        own_request.make();
        terminate(own_process.load(Ordering::SeqCst));
    };
    interruptible(stop, || {
        let mut child = command.spawn()?;
        process.store(child.id(), Ordering::SeqCst);
        if request.is_made() {
            terminate(child.id());
        }
        let end = End::from_status(child.wait()?);
        let is_stopped = if matches!(end, End::Link(_)) { request.explains_end() } else { request.is_made() };
        Ok((end, is_stopped))
    })?
}

#[cfg(unix)]
fn terminate(id: u32) {
    let process = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(process) = process {
        // A command that has ended needs no signal.
        _ = rustix::process::kill_process(process, rustix::process::Signal::TERM);
    }
}

/// A console sends ctrl-c to the command too.
#[cfg(not(unix))]
fn terminate(_: u32) {}

impl End {
    fn from_status(status: ExitStatus) -> Self {
        match status.code() {
            Some(code) if NOT_INSTALLED.contains(&code) => Self::NotInstalled,
            Some(code) => u8::try_from(code)
                .ok()
                .filter(|_| code != LINK_FAILED)
                .map_or(Self::Link(Some(code)), Self::Code),
            None => Self::Link(None),
        }
    }
}

/// Returns the failure for a link that was never open or ended early; its own words are on the error stream.
fn link_failure(host: &Transport, code: Option<i32>) -> Failure {
    let program = visible(host.program()).into_owned();
    let end = match code {
        Some(code) => format!("{program} ended with exit code {code}"),
        None => format!("{program} was ended by a signal"),
    };
    Failure::unreadable(format!(
        "{}: {end}, so there was no connection or it ended early. The answer may be incomplete. Check the address, and run \
         the command again.",
        host.name()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_screen_takes_the_name_of_the_terminal_along() {
        let env = Environment::new(
            [("TERM", "xterm-kitty"), ("COLORTERM", "a; id"), ("HOME", "/h")],
            None,
            "/".into(),
        );
        let words = ["tree".to_owned(), "K".to_owned()];
        let far = far_words(&words, Terminal::None, &env);
        assert_eq!(far, ["sh", "-c", SCRIPT, "clawscope", "tree", "K"]);
        let far = far_words(&[], Terminal::Given, &env);
        assert_eq!(far, ["env", "TERM=xterm-kitty", "CLAWSCOPE_REMOTE=1", "sh", "-c", SCRIPT, "clawscope"]);
    }

    #[cfg(unix)]
    #[test]
    fn the_codes_of_clawscope_of_the_shell_and_of_the_link_are_told_apart() {
        use std::os::unix::process::ExitStatusExt as _;
        let end = |code: i32| End::from_status(ExitStatus::from_raw(code << 8));
        for code in 0..=5 {
            assert_eq!(end(i32::from(code)), End::Code(code));
        }
        assert_eq!((end(127), end(126)), (End::NotInstalled, End::NotInstalled));
        assert_eq!(end(255), End::Link(Some(255)));
        assert_eq!(End::from_status(ExitStatus::from_raw(9)), End::Link(None));
    }
}
