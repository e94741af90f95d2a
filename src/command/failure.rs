//! Failures of commands: an exit code, a sentence and the next step. Scripts rely on the codes, so `--help` lists them.

use std::ffi::OsString;
use std::io;

use crate::session::setting_change::ChangeError;
use crate::store::body::BodyError;
use crate::store::find::FindError;
use crate::text::{shell, visible};

/// Begins the line with the command to type instead.
pub(super) const RETRY_LEAD: &str = "Type: ";

/// The exit codes, as `--help` lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Success,
    /// The check ran and its answer is no.
    CheckFailed,
    /// Invalid option, key or value.
    Usage,
    /// A store or a transcript cannot be read.
    Unreadable,
    /// The command declined to write.
    Refused,
}

impl Exit {
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::CheckFailed => 1,
            Self::Usage => 2,
            Self::Unreadable => 3,
            Self::Refused => 4,
        }
    }

    /// Name of the code in JSON.
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

/// An early end of a command.
#[derive(Debug)]
pub enum Failure {
    /// The reader of the output closed the pipe, as `head` does. This is not an error.
    OutputClosed,
    /// The check's answer is no; the command printed it already.
    CheckFailed,
    Reported {
        exit: Exit,
        /// The problem: the file, the key, the expected value. Not yet escaped for the terminal.
        message: String,
        /// Valid names close to the invalid one.
        candidates: Vec<String>,
        /// The argument that the first candidate can replace.
        typed: Option<String>,
    },
}

impl Failure {
    pub fn usage(message: impl Into<String>) -> Self {
        Self::reported(Exit::Usage, message)
    }

    pub fn unreadable(message: impl Into<String>) -> Self {
        Self::reported(Exit::Unreadable, message)
    }

    pub fn refused(message: impl Into<String>) -> Self {
        Self::reported(Exit::Refused, message)
    }

    fn reported(exit: Exit, message: impl Into<String>) -> Self {
        Self::Reported { exit, message: message.into(), candidates: Vec::new(), typed: None }
    }

    /// Adds the command line with the first candidate in the place of the argument that was typed. `words` is the command
    /// line with the program's name.
    #[must_use]
    pub fn with_retry(mut self, words: &[OsString]) -> Self {
        if let Self::Reported { message, candidates, typed: Some(typed), .. } = &mut self
            && let Some(name) = candidates.first()
            && words.iter().any(|word| word == typed.as_str())
            && visible(name) == name.as_str()
        {
            let words = words.iter().skip(1).map(|word| match word.to_string_lossy() {
                word if word == typed.as_str() => shell::word(name),
                word => shell::word(&word),
            });
            let line = std::iter::once("clawscope".to_owned()).chain(words).collect::<Vec<_>>().join(" ");
            *message = format!("{message}\n{RETRY_LEAD}{line}");
        }
        self
    }

    /// The problem in words, for a command that continues with the other sessions.
    pub(super) fn message(&self) -> &str {
        match self {
            Self::Reported { message, .. } => message,
            Self::OutputClosed => "the output is closed",
            Self::CheckFailed => "the check failed",
        }
    }

    /// Adds another command line to type, unless the message has one.
    #[must_use]
    pub fn or_retry(mut self, line: impl FnOnce() -> Option<String>) -> Self {
        if let Self::Reported { message, .. } = &mut self
            && !message.contains(RETRY_LEAD)
            && let Some(line) = line()
        {
            *message = format!("{message}\n{line}");
        }
        self
    }

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
        Self::unreadable(format!("cannot write the output: {error}"))
    }
}

impl From<BodyError> for Failure {
    fn from(error: BodyError) -> Self {
        Self::unreadable(error.to_string())
    }
}

impl From<ChangeError> for Failure {
    fn from(error: ChangeError) -> Self {
        Self::usage(error.0)
    }
}

/// An unknown session is like a missing file (unreadable); an ambiguous one is a usage error.
impl From<FindError> for Failure {
    fn from(error: FindError) -> Self {
        let message = error.to_string();
        match error {
            FindError::NotFound { candidates, .. } => Self::Reported {
                exit: Exit::Unreadable,
                message: format!("{message}. `clawscope sessions` lists all sessions."),
                candidates,
                typed: None,
            },
            FindError::Ambiguous { candidates, .. } => {
                Self::Reported { exit: Exit::Usage, message, candidates, typed: None }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_pipe_exits_with_0_and_other_output_errors_with_3() {
        let closed = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!(closed.exit().code(), 0);
        let full = Failure::from(io::Error::from(io::ErrorKind::StorageFull));
        assert_eq!(full.exit().code(), 3);
    }

    #[test]
    fn the_line_to_type_has_the_candidate_in_place_of_the_word() {
        let words = ["clawscope", "tree", "main", "--store", "a b"].map(OsString::from);
        let failure = Failure::Reported {
            exit: Exit::Usage,
            message: "which?".into(),
            candidates: vec!["agent:main:main".into()],
            typed: Some("main".into()),
        };
        let Failure::Reported { message, .. } = failure.with_retry(&words) else { panic!("another failure") };
        assert_eq!(message, "which?\nType: clawscope tree agent:main:main --store 'a b'");
    }

    #[test]
    fn an_ambiguous_name_is_a_usage_error_and_keeps_its_candidates() {
        let found =
            FindError::Ambiguous { text: "a".into(), count: 2, candidates: vec!["ab".into(), "ac".into()] };
        let Failure::Reported { exit, candidates, .. } = Failure::from(found) else {
            panic!("another failure")
        };
        assert_eq!((exit, candidates.len()), (Exit::Usage, 2));
    }
}
