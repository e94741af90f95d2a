//! What is wrong with the files that were read: every complaint names the place, what was expected, and what to do.

use std::fmt;
use std::path::PathBuf;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; nothing is missing because of it.
    Note,
    /// Something is not as it should be, and was worked around.
    Warning,
    /// Something could not be read.
    Error,
}

impl Severity {
    /// The word for it in lists and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One complaint about one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file or directory.
    pub path: PathBuf,
    /// Line in it, from 1.
    pub line: Option<u64>,
    /// Session key or entry id, where one is concerned.
    pub entry: Option<String>,
    /// How bad it is.
    pub severity: Severity,
    /// What was found, or expected and not found.
    pub what: String,
    /// What to do about it.
    pub next: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.severity.name(), self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(entry) = &self.entry {
            write!(f, " [{entry}]")?;
        }
        write!(f, ": {} ({})", self.what, self.next)
    }
}
