//! The origin of a setting's value, so that every screen can name the file and the line.

use std::fmt;
use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Provenance {
    Default,
    /// Built in and not configurable in this version; the text gives the release since which.
    Fixed(&'static str),
    File {
        /// The file that holds the key, possibly an included one.
        path: PathBuf,
        /// The line from 1; `None` for keys that only a merge produced.
        line: Option<u32>,
        /// The full key, such as `agents.defaults.contextPruning.ttl`.
        key: String,
    },
    /// Filled in by a rule of the gateway while loading.
    Rule {
        rule: &'static str,
        why: String,
    },
    Flag,
    /// Changed on the screen.
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

impl serde::Serialize for Provenance {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

crate::units::schema_of!(Provenance, String);

/// A value, its value without any configuration, and its origin.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting<T> {
    pub value: T,
    pub default: T,
    pub provenance: Provenance,
}

impl<T> Setting<T> {
    /// Gives value and default a unit.
    pub fn map<U>(self, unit: impl Fn(T) -> U) -> Setting<U> {
        Setting { value: unit(self.value), default: unit(self.default), provenance: self.provenance }
    }
}
