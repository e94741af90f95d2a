//! Failures of a link that was open.

use std::io;

use super::arguments::RemoteCommand;
use crate::command::failure::Failure;
use crate::text::visible;

/// Returns the failure for a link that ended early.
pub(super) fn cut_off(remote: &RemoteCommand, reason: &str) -> Failure {
    Failure::unreadable(format!(
        "{}: the link ended before the answer was complete; {reason}\nNothing is lost: clawscope wrote nothing there. Run \
         the command again.",
        remote.host.name()
    ))
}

/// Returns the failure for a side that breaks the protocol.
pub(super) fn broken(remote: &RemoteCommand, error: &io::Error) -> Failure {
    Failure::unreadable(format!(
        "{}: the answer is not clawscope's: {}. Check the command and clawscope there.",
        remote.host.name(),
        visible(&error.to_string())
    ))
}

/// Returns the error for a message that breaks the protocol.
pub(super) fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
