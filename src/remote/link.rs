//! The link: the person's own command, and clawscope at its other end.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::host::Transport;
use super::protocol::{
    Answer, Greeting, MAX_ANSWER_BYTES, MAX_NOISE_BYTES, PROTOCOL, read_line, receive, send,
};
use crate::text::visible;

/// The words that start the serving side.
const SERVE: [&str; 3] = ["clawscope", "serve", "--stdio"];
/// The same for a shell of the other machine. A login without a terminal often lacks the folders of a person's programs.
const SERVE_SHELL: &str = r#"PATH="$PATH:$HOME/.local/bin:$HOME/.cargo/bin:/usr/local/bin"; export PATH; exec clawscope serve --stdio"#;
/// Lines of the error stream that are kept for a message.
const MAX_KEPT_LINES: usize = 5;
/// Bytes of one line of the error stream.
const MAX_ERROR_LINE_BYTES: u64 = 1 << 16;
/// Wait for the command to end by itself.
const END_WAIT: Duration = Duration::from_secs(2);
/// Wait for its last words.
const REST_WAIT: Duration = Duration::from_millis(500);

/// The reason that there is no link.
#[derive(Debug, thiserror::Error)]
pub(super) enum LinkError {
    #[error("clawscope is not installed there")]
    NotInstalled,
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("{0}")]
    Greeting(io::Error),
    #[error(
        "clawscope {there} there and {} here do not understand each other (protocols {protocol} and {PROTOCOL}). \
         Install the same version on both.",
        env!("CARGO_PKG_VERSION")
    )]
    Protocol { there: String, protocol: u32 },
    /// The command ended before it answered, with its last words.
    #[error("{0}")]
    Ended(String),
}

/// A command that cannot be run on this machine.
#[derive(Debug, thiserror::Error)]
#[error("cannot run {}: {source}. Install it, or name another command with --via.", visible(.program))]
pub(super) struct StartError {
    program: String,
    source: io::Error,
}

/// A running link.
#[derive(Debug)]
pub(super) struct Link {
    process: Process,
    output: BufReader<ChildStdout>,
    /// The version of clawscope there.
    pub(super) version: String,
}

/// The command of a link. Dropping it ends the command.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    input: Option<ChildStdin>,
    errors: ErrorStream,
}

impl Link {
    /// Starts clawscope on the other machine and exchanges greetings.
    ///
    /// # Errors
    /// The command fails, there is no clawscope, or it has another protocol.
    pub(super) fn open(host: &Transport) -> Result<Self, LinkError> {
        let command = host.command(&SERVE, &format!("sh -c '{SERVE_SHELL}'"));
        let (mut process, output) = Process::start(&command)?;
        let mut output = BufReader::new(output);
        // A command that ended already is reported by its exit code.
        _ = process.send(&Greeting::own());
        let greeting = match read_greeting(&mut output) {
            Ok(Some(greeting)) => greeting,
            Ok(None) => return Err(process.failure()),
            Err(error) => return Err(LinkError::Greeting(error)),
        };
        process.errors.show();
        let version = visible(&greeting.version).into_owned();
        if greeting.clawscope_protocol != PROTOCOL {
            let protocol = greeting.clawscope_protocol;
            return Err(LinkError::Protocol { there: version, protocol });
        }
        Ok(Self { process, output, version })
    }

    pub(super) fn send(&mut self, message: &impl serde::Serialize) -> io::Result<()> {
        self.process.send(message)
    }

    /// Reads the next message; `None` at the end of the link.
    ///
    /// # Errors
    /// The other side breaks the protocol.
    pub(super) fn receive(&mut self) -> io::Result<Option<Answer>> {
        receive(&mut self.output, MAX_ANSWER_BYTES)
    }

    /// Describes why the link ended early.
    pub(super) fn end(mut self) -> String {
        self.process.end_text()
    }

    /// Splits the link for a reader and a writer.
    pub(super) fn split(self) -> (Process, BufReader<ChildStdout>) {
        (self.process, self.output)
    }
}

/// Reads the greeting; ignores the output of a login shell before it.
fn read_greeting(output: &mut BufReader<ChildStdout>) -> io::Result<Option<Greeting>> {
    let mut ignored = 0;
    while ignored < MAX_NOISE_BYTES {
        let Some(line) = read_line(output, MAX_NOISE_BYTES as u64)? else { return Ok(None) };
        if let Ok(greeting) = serde_json::from_slice(&line) {
            return Ok(Some(greeting));
        }
        ignored += line.len() + 1;
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidData,
        "the command prints something else than clawscope's answer",
    ))
}

impl Process {
    /// Starts a command; returns its standard output too.
    ///
    /// # Errors
    /// The program is missing, or it cannot be executed.
    pub(super) fn start(command: &[String]) -> Result<(Self, ChildStdout), StartError> {
        let failed = |source: io::Error| {
            let program = command.first().cloned().unwrap_or_default();
            StartError { program, source }
        };
        let (name, arguments) =
            command.split_first().ok_or_else(|| failed(io::ErrorKind::InvalidInput.into()))?;
        let mut child = Command::new(name)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let errors = ErrorStream::start(&mut child);
        let output = child.stdout.take().ok_or_else(|| failed(io::ErrorKind::BrokenPipe.into()))?;
        Ok((Self { input: child.stdin.take(), child, errors }, output))
    }

    pub(super) fn send(&mut self, message: &impl serde::Serialize) -> io::Result<()> {
        match &mut self.input {
            Some(input) => send(input, message),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Writes a script to the command and ends its input.
    pub(super) fn write_script(&mut self, script: &str) {
        if let Some(mut input) = self.input.take() {
            // A command that ended already is reported by its exit code.
            _ = input.write_all(script.as_bytes());
        }
    }

    /// Keeps the error stream off the screen.
    pub(super) fn hide_errors(&self) {
        self.errors.hide();
    }

    /// Describes how the command ended, with its last words.
    pub(super) fn end_text(&mut self) -> String {
        let status = self.wait();
        let words = self.errors.last_lines();
        let end = match status.and_then(|status| status.code()) {
            Some(code) => format!("the command ended with exit code {code}"),
            None => "the command was ended by a signal".to_owned(),
        };
        if words.is_empty() { format!("{end}.") } else { format!("{end}: {words}") }
    }

    /// Returns the reason that the command ended before a greeting.
    fn failure(&mut self) -> LinkError {
        let text = self.end_text();
        let code = self.wait().and_then(|status| status.code());
        let words = self.errors.last_lines().to_lowercase();
        let is_missing = words.contains("not found") || words.contains("no such file");
        if matches!(code, Some(126 | 127)) || is_missing && words.contains("clawscope") {
            return LinkError::NotInstalled;
        }
        LinkError::Ended(text)
    }

    /// Waits a little for the end, then ends the command.
    pub(super) fn wait(&mut self) -> Option<ExitStatus> {
        drop(self.input.take());
        if let Ok(Some(status)) = self.child.try_wait() {
            return Some(status);
        }
        self.errors.wait_for_end(END_WAIT);
        // A command that is ending keeps its exit code.
        if matches!(self.child.try_wait(), Ok(None)) {
            _ = self.child.kill();
        }
        self.child.wait().ok()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.wait();
    }
}

/// The error stream of the command: buffered until the link is open, then shown.
#[derive(Debug)]
struct ErrorStream {
    state: Arc<Mutex<ErrorLines>>,
    /// Disconnected at the end of the stream.
    end: Receiver<()>,
}

#[derive(Debug, Default)]
struct ErrorLines {
    is_shown: bool,
    last: Vec<String>,
}

impl ErrorStream {
    fn start(child: &mut Child) -> Self {
        let state = Arc::new(Mutex::new(ErrorLines::default()));
        let own = Arc::clone(&state);
        let (open, end) = channel();
        if let Some(stream) = child.stderr.take() {
            std::thread::spawn(move || {
                let _open: Sender<()> = open;
                let mut stream = BufReader::new(stream);
                let mut line = Vec::new();
                while let Ok(1..) = (&mut stream).take(MAX_ERROR_LINE_BYTES).read_until(b'\n', &mut line) {
                    let text = String::from_utf8_lossy(&line);
                    lock(&own).push(&visible(text.trim_end_matches(['\r', '\n'])));
                    line.clear();
                }
            });
        }
        Self { state, end }
    }

    /// Shows the buffered and all later output.
    fn show(&self) {
        let mut lines = lock(&self.state);
        lines.is_shown = true;
        for line in std::mem::take(&mut lines.last) {
            lines.push(&line);
        }
    }

    fn hide(&self) {
        lock(&self.state).is_shown = false;
    }

    /// Waits for the end of the stream, which a process that the command left behind may hold open.
    fn wait_for_end(&self, at_most: Duration) {
        // The other end sends nothing: any answer is the end or the time.
        _ = self.end.recv_timeout(at_most);
    }

    /// Returns the last lines; the command must have ended.
    fn last_lines(&self) -> String {
        self.wait_for_end(REST_WAIT);
        lock(&self.state).last.join("\n")
    }
}

impl ErrorLines {
    fn push(&mut self, line: &str) {
        if self.is_shown {
            // Without an error stream there is no place for an error.
            _ = writeln!(io::stderr(), "{line}");
        }
        self.last.push(line.to_owned());
        if self.last.len() > MAX_KEPT_LINES {
            self.last.remove(0);
        }
    }
}

fn lock(state: &Mutex<ErrorLines>) -> MutexGuard<'_, ErrorLines> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
