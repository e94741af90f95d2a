//! clawscope's own settings: defaults < files < environment; flags come last, where they are given.
//!
//! Two files in one folder: `config.toml` (theme, ruleset, mouse, motion, ASCII signs, who writes summaries) and
//! `keymap.toml` (single keys). Both may be missing,
//! and neither is ever written. What stands in them is checked before the screen is taken: a slip names its
//! file, line and key. Which themes and actions there are is known further down, so names are handed on with their origin.

mod files;
mod summarizer;
mod variables;

use std::path::PathBuf;

pub use files::{config_dir, load};
pub use summarizer::{Api, SummarizerConfig, SummarizerKind};

/// The settings in force, and the text of the keymap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The theme by its name; none: whichever fits the terminal.
    pub theme: Option<NamedChoice>,
    /// The mouse is taken.
    pub mouse: bool,
    /// Changed values flash for a moment.
    pub motion: bool,
    /// The gateway version whose rules apply, as it was written; none: as the store tells.
    pub ruleset: Option<NamedChoice>,
    /// Signs of ASCII alone; none: as the terminal and the locale say.
    pub ascii: Option<bool>,
    /// The person's keys.
    pub keymap: Option<KeymapFile>,
    /// Who writes summaries.
    pub summarizer: SummarizerConfig,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            theme: None,
            ruleset: None,
            mouse: true,
            motion: true,
            ascii: None,
            keymap: None,
            summarizer: SummarizerConfig::default(),
        }
    }
}

/// A name that a person gave, and where: what a complaint about it begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedChoice {
    /// The name.
    pub name: String,
    /// The file and key, the variable or the flag.
    pub origin: String,
}

/// The text of a keymap, and its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeymapFile {
    /// The file.
    pub path: PathBuf,
    /// What stands in it.
    pub text: String,
}

/// Settings that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file that is there and cannot be read.
    #[error("{}: cannot be read: {source}. Make it readable, or move it away.", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Not TOML, a key there is not, or a value of another kind.
    #[error("{}: {source}", path.display())]
    Toml {
        /// The file.
        path: PathBuf,
        /// Line, key and what was expected.
        source: Box<toml::de::Error>,
    },
    /// A variable that is neither yes nor no.
    #[error("{name}={value:?}: expected 1, true, yes or on; or 0, false, no or off")]
    NotBoolean {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
    },
}
