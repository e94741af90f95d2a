//! What the system tells the program to do.

use std::io;

/// A signal that means something here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignalAction {
    /// Leave, orderly (SIGTERM, SIGHUP, SIGINT).
    Quit,
    /// Give the terminal back and stop (SIGTSTP).
    Suspend,
    /// The program runs on after a stop; the terminal may look like anything (SIGCONT).
    Resume,
}

#[cfg(unix)]
pub(super) use unix::{Signals, stop};

#[cfg(unix)]
mod unix {
    use tokio::signal::unix::{Signal, SignalKind, signal};

    use super::{SignalAction, io};

    /// Waits for signals.
    #[derive(Debug)]
    pub(in crate::runtime) struct Signals {
        terminate: Signal,
        hang_up: Signal,
        interrupt: Signal,
        suspend: Signal,
        resume: Signal,
    }

    impl Signals {
        pub(in crate::runtime) fn new() -> io::Result<Self> {
            // SIGTSTP and SIGCONT have no name of their own there; these numbers hold on every system
            // this is built for.
            let of = |number: rustix::process::Signal| signal(SignalKind::from_raw(number.as_raw()));
            Ok(Self {
                terminate: signal(SignalKind::terminate())?,
                hang_up: signal(SignalKind::hangup())?,
                interrupt: signal(SignalKind::interrupt())?,
                suspend: of(rustix::process::Signal::TSTP)?,
                resume: of(rustix::process::Signal::CONT)?,
            })
        }

        pub(in crate::runtime) async fn next(&mut self) -> SignalAction {
            tokio::select! {
                biased;
                _ = self.terminate.recv() => SignalAction::Quit,
                _ = self.hang_up.recv() => SignalAction::Quit,
                _ = self.interrupt.recv() => SignalAction::Quit,
                _ = self.suspend.recv() => SignalAction::Suspend,
                _ = self.resume.recv() => SignalAction::Resume,
            }
        }
    }

    /// Stops this program and what it was started with, as ctrl-z does everywhere. Returns when it is
    /// continued.
    pub(in crate::runtime) fn stop() -> io::Result<()> {
        Ok(rustix::process::kill_current_process_group(rustix::process::Signal::STOP)?)
    }
}

#[cfg(not(unix))]
pub(super) use other::{Signals, stop};

#[cfg(not(unix))]
mod other {
    use super::{Caught, io};

    /// Waits for ctrl-c from outside the terminal.
    #[derive(Debug)]
    pub(in crate::runtime) struct Signals;

    impl Signals {
        pub(in crate::runtime) fn new() -> io::Result<Self> {
            Ok(Self)
        }

        pub(in crate::runtime) async fn next(&mut self) -> SignalAction {
            match tokio::signal::ctrl_c().await {
                Ok(()) => SignalAction::Quit,
                Err(_) => std::future::pending().await,
            }
        }
    }

    /// There is no job control to stop for.
    pub(in crate::runtime) fn stop() -> io::Result<()> {
        Ok(())
    }
}
