//! A running program with its three pipes, each served by a thread, so that none can block another.

use std::io::{self, Read, Write as _};
use std::process::{Child as Process, Command, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::MAX_OUTPUT;
use crate::summarize::Cancel;

/// Bytes of the error stream that are kept: its end says what went wrong.
const LAST_WORDS: usize = 2000;
/// How long a program that is told to end may take for it.
const GRACE: Duration = Duration::from_millis(300);

/// How much a program has written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grown {
    /// More may come.
    Open,
    /// All of it.
    Whole,
    /// More than is taken.
    TooLarge,
}

#[derive(Debug, Default)]
struct Written {
    bytes: Vec<u8>,
    closed: bool,
}

/// A program that ends with this value.
#[derive(Debug)]
pub(super) struct Child {
    process: Process,
    out: Arc<Mutex<Written>>,
    err: Arc<Mutex<Written>>,
    ended: bool,
}

impl Child {
    /// Starts a program whose three streams are pipes, and writes `input` to it.
    pub(super) fn spawn(mut command: Command, input: Vec<u8>) -> io::Result<Self> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut process = command.spawn()?;
        let (out, err) = (Arc::default(), Arc::default());
        if let Some(mut pipe) = process.stdin.take() {
            // A program may not read to the end, or not at all: that is its own affair.
            thread::spawn(move || _ = pipe.write_all(&input));
        }
        if let Some(pipe) = process.stdout.take() {
            serve(pipe, &out, |bytes| bytes.len() <= MAX_OUTPUT);
        }
        if let Some(pipe) = process.stderr.take() {
            serve(pipe, &err, |bytes| {
                if bytes.len() > LAST_WORDS {
                    bytes.drain(..bytes.len() - LAST_WORDS);
                }
                true
            });
        }
        Ok(Self { process, out, err, ended: false })
    }

    /// How it ended; none while it runs.
    pub(super) fn status(&mut self) -> io::Result<Option<ExitStatus>> {
        let status = self.process.try_wait()?;
        self.ended |= status.is_some();
        Ok(status)
    }

    /// How much it has written.
    pub(super) fn output(&self) -> Grown {
        let out = locked(&self.out);
        match (out.bytes.len() > MAX_OUTPUT, out.closed) {
            (true, _) => Grown::TooLarge,
            (false, true) => Grown::Whole,
            (false, false) => Grown::Open,
        }
    }

    /// What it has written.
    pub(super) fn take_output(&self) -> Vec<u8> {
        std::mem::take(&mut locked(&self.out).bytes)
    }

    /// Whether all of its error stream is here.
    pub(super) fn has_spoken(&self) -> bool {
        locked(&self.err).closed
    }

    /// The end of its error stream as a half sentence; empty where it said nothing.
    pub(super) fn last_words(&self) -> String {
        let text = String::from_utf8_lossy(&locked(&self.err).bytes).trim().to_owned();
        if text.is_empty() { String::new() } else { format!(". It said last: {text}") }
    }

    /// Whether it is gone within a time.
    fn ends_within(&mut self, time: Duration) -> bool {
        let (never, step) = (Cancel::new(), Duration::from_millis(10));
        let mut waited = Duration::ZERO;
        while !matches!(self.status(), Ok(Some(_)) | Err(_)) {
            if waited >= time {
                return false;
            }
            never.wait(step);
            waited += step;
        }
        true
    }

    /// Ends the group: told to, then made to. Once the program is gone its group is looked for only while something that
    /// it left behind holds a pipe: a group without members may be another's by now.
    #[cfg(unix)]
    fn stop(&mut self) {
        use rustix::process::{Pid, Signal, kill_process_group};
        let Some(group) = Pid::from_raw(self.process.id() as i32) else { return };
        if !self.ended {
            _ = kill_process_group(group, Signal::TERM);
            self.ends_within(GRACE);
        }
        if !self.ended || !locked(&self.out).closed || !locked(&self.err).closed {
            _ = kill_process_group(group, Signal::KILL);
            self.ends_within(GRACE);
        }
    }

    #[cfg(not(unix))]
    fn stop(&mut self) {
        if !self.ended {
            _ = self.process.kill();
            self.ends_within(GRACE);
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Reads a pipe to its end, as long as `keep` wants what is there.
fn serve(
    mut pipe: impl Read + Send + 'static,
    written: &Arc<Mutex<Written>>,
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
        locked(&written).closed = true;
    });
}

fn locked(written: &Mutex<Written>) -> MutexGuard<'_, Written> {
    written.lock().unwrap_or_else(PoisonError::into_inner)
}
