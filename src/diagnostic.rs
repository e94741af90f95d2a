//! What can be wrong with what was read, said so that a person can act on it: the file, the line or
//! entry, what was found, and what to do next.

use std::fmt;
use std::path::PathBuf;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; nothing is lost.
    Note,
    /// Something was left out or guessed.
    Warning,
    /// The thing named could not be read or must not be written.
    Error,
}

impl Severity {
    /// The word used on screen and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One thing found while reading a store, a config or a transcript. Findings never stop the reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file concerned.
    pub path: PathBuf,
    /// Its line, counted from 1, where there is one.
    pub line: Option<u64>,
    /// The entry or key concerned, where there is one.
    pub subject: Option<String>,
    /// How much it matters.
    pub severity: Severity,
    /// What was found, in one sentence.
    pub message: String,
    /// What to do next, or what was done.
    pub advice: String,
}

impl Diagnostic {
    /// A finding about a whole file; [`Diagnostic::at_line`] and [`Diagnostic::about`] narrow it down.
    pub fn new(
        path: impl Into<PathBuf>,
        severity: Severity,
        what: impl Into<String>,
        next: impl Into<String>,
    ) -> Self {
        Self {
            path: path.into(),
            line: None,
            subject: None,
            severity,
            message: what.into(),
            advice: next.into(),
        }
    }

    /// The same finding, at a line (counted from 1).
    #[must_use]
    pub fn at_line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    /// The same finding, about an entry id or a key.
    #[must_use]
    pub fn about(mut self, entry: impl Into<String>) -> Self {
        self.subject = Some(entry.into());
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.severity.as_str(), self.path.display())?;
        if let Some(line) = self.line {
            write!(f, " line {line}")?;
        }
        if let Some(entry) = &self.subject {
            write!(f, " ({entry})")?;
        }
        let mut next = self.advice.chars();
        let first = next.next().into_iter().flat_map(char::to_uppercase);
        write!(f, ": {}. {}{}", self.message, first.collect::<String>(), next.as_str())
    }
}
