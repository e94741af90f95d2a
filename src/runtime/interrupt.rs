//! Runs a command's work so that ctrl-c ends it in order: the programs that it started are stopped first.

use std::{io, thread};

use tokio::sync::oneshot;

use crate::runtime::signals::{SignalAction, Signals, stop};

/// Runs `work` on this thread. Each quit signal calls `end`, and the work may then finish.
///
/// # Errors
/// The system provides no signals or threads; `work` did not start.
pub fn interruptible<T>(end: impl Fn() + Send + 'static, work: impl FnOnce() -> T) -> io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (done, mut wait) = oneshot::channel::<()>();
    // Signals are received before the work starts, so that none is missed.
    let mut signals = {
        let _inside = runtime.enter();
        Signals::new()?
    };
    let watching = thread::Builder::new().name("signals".to_owned()).spawn(move || {
        runtime.block_on(async {
            loop {
                tokio::select! {
                    _ = &mut wait => break,
                    caught = signals.next() => match caught {
                        SignalAction::Quit | SignalAction::Interrupt => end(),
                        SignalAction::Suspend => _ = stop(),
                        SignalAction::Resume => {}
                    },
                }
            }
        });
    })?;
    let result = work();
    drop(done);
    _ = watching.join();
    Ok(result)
}

// Notices that no one reads the standard output any more. A command that prints seldom would learn it only with its next
// line, and a command that ssh started would run on after its link.

/// Calls `ended` when the reader of the standard output is gone. Returns at once.
#[cfg(unix)]
pub fn on_output_end(ended: impl FnOnce() + Send + 'static) {
    use rustix::event::{PollFd, PollFlags, poll};
    let wait = move || {
        let output = std::io::stdout();
        // Without a request, the system only reports an error or the end of the other side.
        let mut polled = [PollFd::new(&output, PollFlags::empty())];
        while poll(&mut polled, None).is_err_and(|error| error == rustix::io::Errno::INTR) {}
        if polled[0].revents().intersects(PollFlags::ERR | PollFlags::HUP) {
            ended();
        }
    };
    // Without a thread, the next line notices it.
    drop(std::thread::Builder::new().name("output-end".to_owned()).spawn(wait));
}

/// The next line notices it.
#[cfg(not(unix))]
pub fn on_output_end(_: impl FnOnce() + Send + 'static) {}
