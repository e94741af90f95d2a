//! A program that writes summaries: it reads the request on standard input and writes the summary to standard output.
//!
//! No shell is involved. The program gets its own process group, so that its child processes end with it on a
//! cancellation or timeout.

mod child;

use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

pub use child::MAX_OUTPUT_BYTES;
use child::{Child, OutputState};

use crate::format::format_duration;
use crate::policy::compact::SummaryRequest;
use crate::policy::compact::request::SYSTEM_PROMPT;
use crate::summarize::{CallError, CancelToken, Summarizer, SummarizerKind};
use crate::units::Millis;

/// Interval between checks of a running program.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Time for which an ended program's child processes may keep its output open.
const OUTPUT_GRACE: Duration = Duration::from_secs(1);

/// A program as summarizer.
#[derive(Debug, Clone)]
pub struct CommandSummarizer {
    program: String,
    arguments: Vec<String>,
    timeout: Duration,
}

impl CommandSummarizer {
    /// `program` is looked up in `PATH`; each call may take `timeout`.
    pub fn new(program: String, arguments: Vec<String>, timeout: Duration) -> Self {
        Self { program, arguments, timeout }
    }

    fn spawn(&self, request: &SummaryRequest<'_>) -> Result<Child, CallError> {
        // Malformed messages give no prompt (compaction 3.16).
        let odd =
            |_| CallError::Refused("the runtime cannot convert the shape of a message to text".to_owned());
        let input = format!("{SYSTEM_PROMPT}\n\n{}", request.prompt().map_err(odd)?.to_string_lossy());
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env("CLAWSCOPE_SUMMARY_MAX_TOKENS", format!("{}", request.max_tokens.get()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Child::spawn(command, input.into_bytes()).map_err(|error| {
            let name = &self.program;
            CallError::Permanent(format!(
                "{name}: cannot start the program: {error}. Check `command` under [summarizer] in \
                 config.toml."
            ))
        })
    }

    /// Waits for the program's end; fails on a timeout, too much output or a cancellation.
    fn wait_for_end(&self, child: &mut Child, cancel: &CancelToken) -> Result<ExitStatus, CallError> {
        let begun = Instant::now();
        loop {
            if child.output_state() == OutputState::TooLarge {
                return Err(CallError::Refused(format!(
                    "{}: the output exceeds {MAX_OUTPUT_BYTES} bytes",
                    self.program
                )));
            }
            match child.status() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) => {}
                Err(error) => {
                    return Err(CallError::Transient(format!("{}: lost the program: {error}", self.program)));
                }
            }
            if begun.elapsed() >= self.timeout {
                let why = format!(
                    "{}: did not finish within {} and was stopped{}",
                    self.program,
                    format_duration(Millis(self.timeout.as_secs_f64() * 1_000.0)),
                    child.stderr_tail()
                );
                return Err(CallError::Transient(why));
            }
            if cancel.wait(POLL_INTERVAL) {
                return Err(CallError::Cancelled);
            }
        }
    }

    /// Returns the output of a successful program.
    fn read_summary(
        &self,
        child: &mut Child,
        status: ExitStatus,
        cancel: &CancelToken,
    ) -> Result<String, CallError> {
        let begun = Instant::now();
        // The last output may still be in the pipe when the program has ended.
        let speaks = |child: &Child| {
            child.output_state() == OutputState::Open || !status.success() && !child.is_stderr_closed()
        };
        while speaks(child) && begun.elapsed() < OUTPUT_GRACE && !cancel.wait(POLL_INTERVAL) {}
        let name = &self.program;
        if !status.success() {
            return Err(CallError::Transient(format!("{name}: failed with {status}{}", child.stderr_tail())));
        }
        if child.output_state() == OutputState::TooLarge {
            return Err(CallError::Refused(format!("{name}: the output exceeds {MAX_OUTPUT_BYTES} bytes")));
        }
        let text = String::from_utf8(child.take_output())
            .map_err(|_| CallError::Refused(format!("{name}: the output is not UTF-8")))?;
        match text.trim() {
            "" => Err(CallError::Transient(format!("{name}: the output is empty{}", child.stderr_tail()))),
            text => Ok(text.to_owned()),
        }
    }
}

impl Summarizer for CommandSummarizer {
    fn kind(&self) -> SummarizerKind {
        SummarizerKind::Command
    }

    fn summarise(&self, request: &SummaryRequest<'_>, cancel: &CancelToken) -> Result<String, CallError> {
        let mut child = self.spawn(request)?;
        // Dropping the child kills its process group.
        let status = self.wait_for_end(&mut child, cancel)?;
        self.read_summary(&mut child, status, cancel)
    }
}

#[cfg(test)]
#[cfg(unix)]
#[path = "command/tests.rs"]
mod tests;
