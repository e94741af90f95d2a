//! The options of the program, from config and flags.

use crate::app::state::Options;
use crate::config::{AlertsConfig, SummarizerConfig};
use crate::gateway::env::Environment;
use crate::gateway::ruleset::RulesetChoice;

/// The options of the program.
#[derive(Debug, Clone)]
pub struct RunOptions {
    pub app: Options,
    /// Whether to choose `dark`, `light` or `mono` by the terminal and the environment.
    pub auto_theme: bool,
    /// Whether signs are ASCII only.
    pub ascii: bool,
    /// Restricts the list to this agent.
    pub agent: Option<String>,
    /// The ruleset from the flags; `None` uses the store's own.
    pub ruleset: Option<RulesetChoice>,
    /// The settings of alerts.
    pub alerts: AlertsConfig,
    /// The program or model that writes summaries.
    pub summarizer: SummarizerConfig,
    pub environment: Environment,
    /// The reason that the screen only reads, and the alternative; `None` allows writing.
    pub read_only: Option<String>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            app: Options::default(),
            auto_theme: true,
            ascii: false,
            agent: None,
            ruleset: None,
            alerts: AlertsConfig::default(),
            summarizer: SummarizerConfig::default(),
            environment: Environment::from_process(),
            read_only: None,
        }
    }
}
