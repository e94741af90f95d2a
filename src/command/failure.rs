//! Why a command did not do what was asked: an exit code, a sentence and what to do next.

use std::io;

use crate::inspect::setting_change::ChangeError;
use crate::store::find::FindError;

/// The exit codes, as `--help` lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Success,
    /// The question's answer is no.
    CheckFailed,
    /// A bad option, key or value.
    Usage,
    /// A store or a transcript cannot be read.
    Unreadable,
    /// Nothing was written, for a reason.
    Refused,
}

impl Exit {
    /// The number the shell sees.
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::CheckFailed => 1,
            Self::Usage => 2,
            Self::Unreadable => 3,
            Self::Refused => 4,
        }
    }

    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Success => "done",
            Self::CheckFailed => "no",
            Self::Usage => "usage",
            Self::Unreadable => "unreadable",
            Self::Refused => "refused",
        }
    }
}

/// A command that ended early.
#[derive(Debug)]
pub enum Failure {
    /// The reader of the output went away, as `head` does. That is no error.
    OutputClosed,
    /// The question's answer is no, and was printed.
    CheckFailed,
    /// Something to tell.
    Reported {
        /// The exit code.
        exit: Exit,
        /// What is wrong: the file, the key, what was expected. Not yet made safe for the screen.
        message: String,
        /// Names that would have fitted.
        candidates: Vec<String>,
    },
}

impl Failure {
    /// A bad option, key or value.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::reported(Exit::Usage, message)
    }

    /// A store or a transcript that cannot be read.
    pub fn unreadable(message: impl Into<String>) -> Self {
        Self::reported(Exit::Unreadable, message)
    }

    /// A write that is not done.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::reported(Exit::Refused, message)
    }

    fn reported(exit: Exit, message: impl Into<String>) -> Self {
        Self::Reported { exit, message: message.into(), candidates: Vec::new() }
    }

    /// The exit code it ends with.
    pub fn exit(&self) -> Exit {
        match self {
            Self::OutputClosed => Exit::Success,
            Self::CheckFailed => Exit::CheckFailed,
            Self::Reported { exit, .. } => *exit,
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::OutputClosed;
        }
        Self::unreadable(format!("the output cannot be written: {error}"))
    }
}

impl From<ChangeError> for Failure {
    fn from(error: ChangeError) -> Self {
        Self::usage(error.0)
    }
}

/// A text that means no session is like a file that is not there; one that means several is a bad argument.
impl From<FindError> for Failure {
    fn from(error: FindError) -> Self {
        let message = error.to_string();
        match error {
            FindError::NotFound { candidates, .. } => Self::Reported {
                exit: Exit::Unreadable,
                message: format!("{message}. `clawscope sessions` lists them all."),
                candidates,
            },
            FindError::Ambiguous { candidates, .. } => {
                Self::Reported { exit: Exit::Usage, message, candidates }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_pipe_is_no_error_and_other_failures_of_the_output_are() {
        let closed = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!(closed.exit().code(), 0);
        let full = Failure::from(io::Error::from(io::ErrorKind::StorageFull));
        assert_eq!(full.exit().code(), 3);
    }

    #[test]
    fn an_ambiguous_name_is_a_usage_error_and_keeps_its_candidates() {
        let found =
            FindError::Ambiguous { text: "a".into(), count: 2, candidates: vec!["ab".into(), "ac".into()] };
        let Failure::Reported { exit, candidates, .. } = Failure::from(found) else { panic!("told") };
        assert_eq!((exit, candidates.len()), (Exit::Usage, 2));
    }
}
