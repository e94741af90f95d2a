//! A running program. A thread serves each of its three pipes, so that none blocks another.

use std::io::{self, Read, Write as _};
use std::process::{Child as Process, Command, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::summarize::CancelToken;

/// Limit for the bytes of a summary.
pub const MAX_OUTPUT_BYTES: usize = 1 << 20;
/// Limit for the kept end of the error stream, which names the cause of a failure.
const STDERR_TAIL_BYTES: usize = 2000;
/// Time that a program has to end after a signal.
const TERMINATION_GRACE: Duration = Duration::from_millis(300);

/// State of the program's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputState {
    Open,
    Complete,
    /// The output exceeds the limit.
    TooLarge,
}

#[derive(Debug, Default)]
struct PipeBuffer {
    bytes: Vec<u8>,
    is_closed: bool,
}

/// A program that is stopped on drop.
#[derive(Debug)]
pub(super) struct Child {
    process: Process,
    stdout: Arc<Mutex<PipeBuffer>>,
    stderr: Arc<Mutex<PipeBuffer>>,
    has_ended: bool,
}

impl Child {
    /// Starts a program with piped streams and writes `input` to it.
    pub(super) fn spawn(mut command: Command, input: Vec<u8>) -> io::Result<Self> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut process = command.spawn()?;
        let (out, err) = (Arc::default(), Arc::default());
        if let Some(mut pipe) = process.stdin.take() {
            // A program need not read its input to the end.
            thread::spawn(move || _ = pipe.write_all(&input));
        }
        if let Some(pipe) = process.stdout.take() {
            read_pipe(pipe, &out, |bytes| bytes.len() <= MAX_OUTPUT_BYTES);
        }
        if let Some(pipe) = process.stderr.take() {
            read_pipe(pipe, &err, |bytes| {
                if bytes.len() > STDERR_TAIL_BYTES {
                    bytes.drain(..bytes.len() - STDERR_TAIL_BYTES);
                }
                true
            });
        }
        Ok(Self { process, stdout: out, stderr: err, has_ended: false })
    }

    /// Returns the exit status; `None` while it runs.
    pub(super) fn status(&mut self) -> io::Result<Option<ExitStatus>> {
        let status = self.process.try_wait()?;
        self.has_ended |= status.is_some();
        Ok(status)
    }

    pub(super) fn output_state(&self) -> OutputState {
        let out = locked(&self.stdout);
        match (out.bytes.len() > MAX_OUTPUT_BYTES, out.is_closed) {
            (true, _) => OutputState::TooLarge,
            (false, true) => OutputState::Complete,
            (false, false) => OutputState::Open,
        }
    }

    pub(super) fn take_output(&self) -> Vec<u8> {
        std::mem::take(&mut locked(&self.stdout).bytes)
    }

    pub(super) fn is_stderr_closed(&self) -> bool {
        locked(&self.stderr).is_closed
    }

    /// Returns the end of the error stream as a sentence fragment; empty without output.
    pub(super) fn stderr_tail(&self) -> String {
        let text = String::from_utf8_lossy(&locked(&self.stderr).bytes).trim().to_owned();
        if text.is_empty() { String::new() } else { format!(". Its last output: {text}") }
    }

    /// Waits at most `time` for the end; returns whether the program ended.
    fn ends_within(&mut self, time: Duration) -> bool {
        let (never, policy) = (CancelToken::new(), Duration::from_millis(10));
        let mut waited = Duration::ZERO;
        while !matches!(self.status(), Ok(Some(_)) | Err(_)) {
            if waited >= time {
                return false;
            }
            never.wait(policy);
            waited += policy;
        }
        true
    }

    /// Stops the process group, first with TERM, then with KILL. After the program's end KILL is sent only while a pipe
    /// is still open: an empty group's id may belong to another group by now.
    #[cfg(unix)]
    fn stop(&mut self) {
        use rustix::process::{Pid, Signal, kill_process_group};
        let Some(group) = Pid::from_raw(self.process.id() as i32) else { return };
        if !self.has_ended {
            _ = kill_process_group(group, Signal::TERM);
            self.ends_within(TERMINATION_GRACE);
        }
        if !self.has_ended || !locked(&self.stdout).is_closed || !locked(&self.stderr).is_closed {
            _ = kill_process_group(group, Signal::KILL);
            self.ends_within(TERMINATION_GRACE);
        }
    }

    #[cfg(not(unix))]
    fn stop(&mut self) {
        if !self.has_ended {
            _ = self.process.kill();
            self.ends_within(TERMINATION_GRACE);
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Reads a pipe to its end, while `keep` returns true.
fn read_pipe(
    mut pipe: impl Read + Send + 'static,
    written: &Arc<Mutex<PipeBuffer>>,
    keep: impl Fn(&mut Vec<u8>) -> bool + Send + 'static,
) {
    let written = Arc::clone(written);
    thread::spawn(move || {
        let mut buffer = [0; 8192];
        loop {
            match pipe.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    let mut written = locked(&written);
                    written.bytes.extend_from_slice(&buffer[..count]);
                    if !keep(&mut written.bytes) {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        locked(&written).is_closed = true;
    });
}

fn locked(written: &Mutex<PipeBuffer>) -> MutexGuard<'_, PipeBuffer> {
    written.lock().unwrap_or_else(PoisonError::into_inner)
}
