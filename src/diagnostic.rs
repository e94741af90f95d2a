//! A problem in the data that clawscope read, described so that a person can act on it: the file, the line or entry,
//! the problem, and the next step.

use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::files::PathText;
use crate::ids::word_in_json;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; nothing is lost.
    Note,
    /// Something was omitted or guessed.
    Warning,
    /// The named thing could not be read or must not be written.
    Error,
}

word_in_json!(Severity, as_str);

impl Severity {
    /// The word on screen and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A problem in the data that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Diagnostic {
    pub severity: Severity,
    #[serde(with = "PathText")]
    pub path: PathBuf,
    /// From 1; null for the whole file.
    pub line: Option<u64>,
    /// The entry, key or session that it is about.
    #[serde(rename = "entry")]
    pub subject: Option<String>,
    /// The problem in one sentence.
    #[serde(rename = "what")]
    pub message: String,
    /// The next step.
    #[serde(rename = "next")]
    pub advice: String,
}

impl Diagnostic {
    /// Builds a diagnostic for a whole file; [`Diagnostic::at_line`] and [`Diagnostic::about`] narrow it.
    pub fn new(
        path: impl Into<PathBuf>,
        severity: Severity,
        message: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            path: path.into(),
            line: None,
            subject: None,
            severity,
            message: message.into(),
            advice: advice.into(),
        }
    }

    /// Sets the line, counted from 1.
    #[must_use]
    pub fn at_line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    /// Sets the entry id or the key.
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
        write!(f, ": {}. {}", self.message, capitalized(&self.advice))
    }
}

/// Starts a sentence with a capital, unless its first word is the name of a program.
fn capitalized(sentence: &str) -> String {
    let is_name = ["clawscope ", "pi "].iter().any(|name| sentence.starts_with(name));
    let mut rest = sentence.chars();
    match rest.next().filter(|_| !is_name) {
        Some(first) => first.to_uppercase().chain(rest).collect(),
        None => sentence.to_owned(),
    }
}
