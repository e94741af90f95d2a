//! Work of a command that ctrl-c ends in order, and not in the middle: what it started is stopped first.

use std::io;
use std::thread;

use tokio::sync::oneshot;

use crate::runtime::signals::{SignalAction, Signals, stop};

/// Does `work` on this thread. When the system tells the program to leave, `end` is called, once for every time, and the
/// work is waited for.
///
/// # Errors
/// When the system gives no signals or threads. Then nothing was begun.
pub fn interruptible<T>(end: impl Fn() + Send + 'static, work: impl FnOnce() -> T) -> io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (done, mut wait) = oneshot::channel::<()>();
    // Signals are taken over before the work begins, so that none falls in between.
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
                        SignalAction::Quit => end(),
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
