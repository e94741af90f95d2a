//! A second process that restores the terminal when this one dies without a chance to do so: killed by the system
//! because memory ran out, aborted by a failed allocation or a full stack, or killed by a person.
//!
//! A signal handler cannot do that: nothing runs after SIGKILL, and code after an abort runs in a process whose memory
//! is damaged. The watcher is this program again, started with [`ARGUMENT`]. It reads a pipe that the system closes when
//! the first process has ended. It also gets the last events of the log, for the crash report that the dead process cannot
//! write. Where it cannot be started, the terminal is restored by everything else as before.

use std::ffi::OsString;
#[cfg(unix)]
use std::io;
#[cfg(unix)]
use std::os::unix::process::CommandExt as _;
#[cfg(unix)]
use std::path::{Path, PathBuf};
use std::process::ExitCode;
#[cfg(unix)]
use std::process::{Child, Command, Stdio};
#[cfg(unix)]
use std::sync::{Mutex, PoisonError};

#[cfg(unix)]
use rustix::fs::{OFlags, fcntl_setfl};

use crate::gateway::env::Environment;
#[cfg(unix)]
use crate::runtime::{log, terminal_modes, watcher_pipe};

/// First argument of the watcher's command line.
const ARGUMENT: &str = "__watch-terminal";
/// The watcher's name in lists of processes.
#[cfg(unix)]
const NAME: &str = "clawscope";

/// Runs the watcher if the command line is its own.
pub fn watch_terminal(words: &[OsString], env: &Environment) -> Option<ExitCode> {
    let is_watcher = words.get(1).is_some_and(|word| word == ARGUMENT);
    is_watcher.then(|| {
        watcher::run(&words[2..], env);
        ExitCode::SUCCESS
    })
}

/// The running watcher.
#[cfg(unix)]
static WATCHER: Mutex<Option<Child>> = Mutex::new(None);

/// Starts the watcher. The terminal must still have the modes to restore.
#[cfg(unix)]
pub(super) fn start() {
    match spawn() {
        Ok(mut watcher) => {
            watcher_pipe::set(watcher.stdin.take());
            *WATCHER.lock().unwrap_or_else(PoisonError::into_inner) = Some(watcher);
            for event in log::recent_events() {
                watcher_pipe::note_event(&event);
            }
        }
        Err(error) => tracing::warn!(%error, "no terminal watcher"),
    }
}

#[cfg(unix)]
fn spawn() -> io::Result<Child> {
    let child = Command::new(own_program()?)
        .arg0(NAME)
        .arg(ARGUMENT)
        .args(terminal_modes::read()?.words())
        .stdin(Stdio::piped())
        .spawn()?;
    // A stopped watcher must not stop this process too.
    if let Some(pipe) = &child.stdin {
        fcntl_setfl(pipe, OFlags::NONBLOCK)?;
    }
    Ok(child)
}

/// Returns this very program. Another one is at its path if it was updated since it started, and that one may know no
/// watcher.
#[cfg(unix)]
fn own_program() -> io::Result<PathBuf> {
    let link = Path::new("/proc/self/exe");
    if link.exists() { Ok(link.to_owned()) } else { std::env::current_exe() }
}

/// Ends the watcher before the process group is stopped: if this process is killed then, it would stay stopped.
#[cfg(unix)]
pub(super) fn end() {
    watcher_pipe::set(None);
    let watcher = WATCHER.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(mut watcher) = watcher {
        // It would end with its pipe, but not while it is stopped.
        _ = watcher.kill();
        _ = watcher.wait();
    }
}

/// Windows restores the modes of a console that its program leaves behind when the next program sets its own.
#[cfg(not(unix))]
pub(super) fn start() {}

#[cfg(not(unix))]
pub(super) fn end() {}

#[cfg(unix)]
mod watcher {
    use std::collections::VecDeque;
    use std::ffi::OsString;
    use std::io::{self, BufRead as _, Write as _};

    use rustix::process::Signal;
    use tokio::signal::unix::{SignalKind, signal};

    use crate::gateway::env::Environment;
    use crate::runtime::terminal::restore_codes;
    use crate::runtime::terminal_modes::TerminalModes;
    use crate::runtime::{crash, log};

    /// Signals that reach all processes of a terminal or a name. The watcher outlives them; it ends with its pipe.
    const OUTLIVED: [Signal; 10] = [
        Signal::HUP,
        Signal::INT,
        Signal::QUIT,
        Signal::ABORT,
        Signal::USR1,
        Signal::USR2,
        Signal::TERM,
        Signal::TSTP,
        Signal::TTIN,
        Signal::TTOU,
    ];

    pub(super) fn run(words: &[OsString], env: &Environment) {
        let modes = TerminalModes::from_words(words);
        if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() {
            let _inside = runtime.enter();
            // A handler stays when no one waits for the signal.
            for caught in OUTLIVED {
                _ = signal(SignalKind::from_raw(caught.as_raw()));
            }
        }
        set_process_name();
        let (is_held, events) = read_to_end();
        if is_held {
            restore(modes);
            crash::report_death(env, &events);
        }
    }

    /// Reads until the other process has ended. Returns whether it held the terminal, and its last events.
    fn read_to_end() -> (bool, Vec<String>) {
        let (mut is_held, mut events) = (false, VecDeque::new());
        for line in io::stdin().lock().split(b'\n').map_while(Result::ok) {
            match String::from_utf8_lossy(&line).split_once(' ') {
                Some(("event", event)) => log::push_recent(&mut events, event.to_owned()),
                _ if line == b"held" => is_held = true,
                _ if line == b"released" => is_held = false,
                _ => {}
            }
        }
        (is_held, events.into())
    }

    fn restore(modes: Option<TerminalModes>) {
        // If the terminal is closed, an error cannot be shown.
        _ = io::stdout().write_all(&restore_codes());
        _ = io::stdout().flush();
        if let Some(modes) = modes {
            _ = modes.apply();
        }
    }

    /// Takes another name than the watched process, so that killing all processes of that name spares this one.
    fn set_process_name() {
        #[cfg(target_os = "linux")]
        let _ = rustix::thread::set_name(c"terminal-watch");
    }
}

#[cfg(not(unix))]
mod watcher {
    pub(super) fn run(_: &[std::ffi::OsString], _: &crate::gateway::env::Environment) {}
}
