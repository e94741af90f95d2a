//! Where a setting's value comes from, so that every screen can name the file and the line.

use std::fmt;
use std::path::PathBuf;

/// Origin of one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Provenance {
    /// Built in.
    Default,
    /// Built in, and no setting in this version; the words say since when.
    Fixed(&'static str),
    /// A configuration file.
    File {
        /// The file that holds the key; an included one where that is the case.
        path: PathBuf,
        /// Its line, from 1; unknown for keys that only a merge produced.
        line: Option<u32>,
        /// Full key, such as `agents.defaults.contextPruning.ttl`.
        key: String,
    },
    /// The gateway's own rule filled it in while loading.
    Rule {
        /// Name of the rule.
        rule: &'static str,
        /// What made the rule apply.
        why: String,
    },
    /// The command line.
    Flag,
    /// Moved on the screen.
    Tuned,
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Fixed(why) => f.write_str(why),
            Self::File { path, line: Some(line), .. } => write!(f, "{}:{line}", path.display()),
            Self::File { path, line: None, .. } => write!(f, "{}", path.display()),
            Self::Rule { rule, why } => write!(f, "{rule}: {why}"),
            Self::Flag => f.write_str("command line"),
            Self::Tuned => f.write_str("tuned"),
        }
    }
}

/// A value, what it would be without any configuration, and its origin.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting<T> {
    /// In force.
    pub value: T,
    /// Built in.
    pub default: T,
    /// Origin of `value`.
    pub provenance: Provenance,
}
