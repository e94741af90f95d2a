//! The reason for which the gateway would refuse a configuration file, with its place in the file.

use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::diagnostic::{Diagnostic, Severity};
use crate::files::PathText;

/// A configuration that the gateway would refuse.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema, thiserror::Error)]
pub struct ConfigError {
    #[serde(with = "PathText")]
    pub path: PathBuf,
    /// From 1.
    pub line: Option<u32>,
    /// From 1, in characters.
    pub column: Option<u32>,
    #[serde(rename = "what")]
    pub message: String,
    /// The next step.
    #[serde(rename = "next")]
    pub advice: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        for number in [self.line, self.column].into_iter().flatten() {
            write!(f, ":{number}")?;
        }
        write!(f, ": {} ({})", self.message, self.advice)
    }
}

impl From<&ConfigError> for Diagnostic {
    fn from(error: &ConfigError) -> Self {
        Self {
            path: error.path.clone(),
            line: error.line.map(u64::from),
            subject: None,
            severity: Severity::Error,
            message: error.message.clone(),
            advice: error.advice.clone(),
        }
    }
}
