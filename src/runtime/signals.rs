//! Signals of the operating system.

use std::io;

/// The meaning of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignalAction {
    /// Quit in order (SIGTERM, SIGHUP, SIGQUIT, SIGABRT, SIGUSR1, SIGUSR2).
    Quit,
    /// Someone pressed ctrl-c (SIGINT).
    Interrupt,
    /// Restore the terminal and stop (SIGTSTP).
    Suspend,
    /// Continue after a stop; other programs may have drawn on the terminal (SIGCONT).
    Resume,
}

#[cfg(unix)]
pub(super) use unix::{Signals, stop};

#[cfg(unix)]
mod unix {
    use tokio::signal::unix::{Signal, SignalKind, signal};

    use super::{SignalAction, io};

    #[derive(Debug)]
    pub(in crate::runtime) struct Signals {
        terminate: Signal,
        hang_up: Signal,
        interrupt: Signal,
        /// Signals that would end the process at once and leave the terminal in raw mode.
        others: [Signal; 4],
        suspend: Signal,
        resume: Signal,
    }

    impl Signals {
        pub(in crate::runtime) fn new() -> io::Result<Self> {
            // `SignalKind` has no constructors for SIGTSTP and SIGCONT; rustix has their numbers for every supported
            // system.
            let of = |number: rustix::process::Signal| signal(SignalKind::from_raw(number.as_raw()));
            Ok(Self {
                terminate: signal(SignalKind::terminate())?,
                hang_up: signal(SignalKind::hangup())?,
                interrupt: signal(SignalKind::interrupt())?,
                others: [
                    signal(SignalKind::quit())?,
                    of(rustix::process::Signal::ABORT)?,
                    signal(SignalKind::user_defined1())?,
                    signal(SignalKind::user_defined2())?,
                ],
                suspend: of(rustix::process::Signal::TSTP)?,
                resume: of(rustix::process::Signal::CONT)?,
            })
        }

        pub(in crate::runtime) async fn next(&mut self) -> SignalAction {
            let [quit, abort, user_1, user_2] = &mut self.others;
            tokio::select! {
                biased;
                _ = quit.recv() => SignalAction::Quit,
                _ = abort.recv() => SignalAction::Quit,
                _ = user_1.recv() => SignalAction::Quit,
                _ = user_2.recv() => SignalAction::Quit,
                _ = self.terminate.recv() => SignalAction::Quit,
                _ = self.hang_up.recv() => SignalAction::Quit,
                _ = self.interrupt.recv() => SignalAction::Interrupt,
                _ = self.suspend.recv() => SignalAction::Suspend,
                _ = self.resume.recv() => SignalAction::Resume,
            }
        }
    }

    /// Stops the process group like ctrl-z does. Returns when it is continued.
    pub(in crate::runtime) fn stop() -> io::Result<()> {
        Ok(rustix::process::kill_current_process_group(rustix::process::Signal::STOP)?)
    }
}

#[cfg(not(unix))]
pub(super) use other::{Signals, stop};

#[cfg(not(unix))]
mod other {
    use super::{SignalAction, io};

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

    /// Does nothing: there is no job control.
    pub(in crate::runtime) fn stop() -> io::Result<()> {
        Ok(())
    }
}
