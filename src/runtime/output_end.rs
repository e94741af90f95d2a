//! Notices that no one reads the standard output any more. A command that prints seldom would learn it only with its next
//! line, and a command that ssh started would run on after its link.

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
