//! Runs a command's work so that ctrl-c ends it in order: the programs that it started are stopped first.

use std::io;
use std::thread;

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
