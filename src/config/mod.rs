//! clawscope's own settings: defaults < files < environment < flags.
//!
//! Two files in one folder: `config.toml` (theme, ruleset, mouse, motion, ASCII signs, alerts, own
//! commands, summarizer) and `keymap.toml`
//! (single keys). Both are optional, and clawscope never writes them. [`presets`] holds a person's named settings too.
//! They are checked before the screen starts, so a mistake is reported with file, line and key. Only later modules know
//! the themes and actions, so this module passes names on with their origin.

mod commands;
mod files;
mod firing;
pub mod presets;
mod summarizer;

use std::path::PathBuf;

pub use commands::{CommandError, CommandRow, CustomCommand, RowVariable};
pub use files::{config_dir, is_first_run, load, log_dir, remember_first_run};
pub use firing::{AlertsConfig, FiringLimits, parse_share};
pub use summarizer::{SummarizerConfig, SummarizerKind};

/// The settings in force, and the text of the keymap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The theme; `None` selects the one that fits the terminal.
    pub theme: Option<NamedChoice>,
    pub mouse: bool,
    /// Whether changed values flash for a moment.
    pub motion: bool,
    /// The gateway version whose rules apply, as written; `None` lets the store decide.
    pub ruleset: Option<NamedChoice>,
    /// Whether only ASCII signs are drawn; `None` lets the terminal and the locale decide.
    pub ascii: Option<bool>,
    /// Whether times are in UTC instead of the local zone.
    pub utc: bool,
    pub keymap: Option<KeymapFile>,
    pub alerts: AlertsConfig,
    /// The limits above which a replay reports a policy as firing too often.
    pub too_often: FiringLimits,
    /// The person's own commands, in the order of the file.
    pub commands: Vec<CustomCommand>,
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
            utc: false,
            keymap: None,
            alerts: AlertsConfig::default(),
            too_often: FiringLimits::default(),
            commands: Vec::new(),
            summarizer: SummarizerConfig::default(),
        }
    }
}

/// A name that a person chose, and its place, with which an error about it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedChoice {
    pub name: String,
    /// The file and key, the variable or the flag.
    pub origin: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeymapFile {
    pub path: PathBuf,
    pub text: String,
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file that exists and cannot be read.
    #[error("{}: cannot read the file: {source}. Make it readable, or move it away.", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    /// Invalid TOML, an unknown key, or a value of a wrong type.
    #[error("{}: {fault}. `clawscope guide config` shows every key.", path.display())]
    Toml {
        path: PathBuf,
        /// The line and what was expected.
        fault: String,
    },
    /// A variable that is neither yes nor no.
    #[error("{name}={value:?}: expected 1, true, yes or on; or 0, false, no or off")]
    NotBoolean { name: &'static str, value: String },
}
