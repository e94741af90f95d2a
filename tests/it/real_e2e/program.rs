//! A child process that answers one line of JSON with another, and ends with the value that drives it.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Longer than any step takes, on a machine that does much else.
const DEADLINE: Duration = Duration::from_mins(4);

/// A running program.
pub(super) struct Program {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    /// What it prints beside its answers.
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

    /// The next line that `wanted` makes a value of; the others are dropped.
    pub(super) fn wait<T>(&self, what: &str, mut wanted: impl FnMut(&str) -> Option<T>) -> T {
        let end = Instant::now() + DEADLINE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            let line = line.unwrap_or_else(|error| {
                let log = fs::read_to_string(&self.log).unwrap_or_default();
                panic!("the program is expected to print {what}: {error}\n{log}")
            });
            if let Some(found) = wanted(&line) {
                return found;
            }
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended already.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
