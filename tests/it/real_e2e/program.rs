//! A child process that answers one line of JSON with another, and ends with the value that drives it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use std::{fs, thread};

use serde_json::Value;

/// Longer than any step takes, on a machine that does much else.
const DEADLINE: Duration = Duration::from_mins(4);

/// A running program.
pub(super) struct Program {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    /// Holds what it prints beside its answers.
    log: PathBuf,
}

impl Program {
    /// Starts it; errors go to the file `log`.
    pub(super) fn start(command: &mut Command, log: PathBuf) -> Self {
        let errors = fs::File::create(&log).expect("a log");
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let mut child = command.spawn().expect("the program starts");
        let input = child.stdin.take().expect("its input");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, input, lines, log }
    }

    pub(super) fn send(&mut self, line: &Value) {
        writeln!(self.input, "{line}").and_then(|()| self.input.flush()).expect("the program reads");
    }

    /// The next line that `wanted` makes a value of; the others are dropped. `None` if the program ends before.
    pub(super) fn wait<T>(&self, mut wanted: impl FnMut(&str) -> Option<T>) -> Option<T> {
        let end = Instant::now() + DEADLINE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    if let Some(found) = wanted(&line) {
                        return Some(found);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => panic!("the program does not answer:\n{}", self.log()),
            }
        }
    }

    /// The same for a program that goes on; `what` is expected of it.
    pub(super) fn expect<T>(&self, what: &str, wanted: impl FnMut(&str) -> Option<T>) -> T {
        self.wait(wanted)
            .unwrap_or_else(|| panic!("the program ended instead of printing {what}:\n{}", self.log()))
    }

    /// What it printed beside its answers.
    pub(super) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended already.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
