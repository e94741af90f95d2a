//! The table `[summarizer]` of `config.toml`, which selects the writer of summaries: clawscope itself, or a person's
//! program.

use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error as _};

use crate::gateway::setting_value::parse_duration;
use crate::units::Millis;

/// The default time limit of one call in ms, equal to the gateway's (compaction 2.19).
const DEFAULT_TIMEOUT_MS: u64 = 300_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SummarizerKind {
    /// clawscope itself, from the conversation's own words; offline.
    #[default]
    Extractive,
    Command,
}

impl SummarizerKind {
    pub const ALL: [Self; 2] = [Self::Extractive, Self::Command];

    /// The name in files and options.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Extractive => "extractive",
            Self::Command => "command",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct SummarizerConfig {
    /// The writer, unless an option overrides it.
    pub kind: SummarizerKind,
    /// The program and its arguments; no shell is involved.
    pub command: Vec<String>,
    #[serde(deserialize_with = "duration")]
    pub timeout: Duration,
}

impl Default for SummarizerConfig {
    fn default() -> Self {
        Self {
            kind: SummarizerKind::default(),
            command: Vec::new(),
            timeout: Duration::from_millis(DEFAULT_TIMEOUT_MS),
        }
    }
}

fn duration<'de, D: Deserializer<'de>>(text: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(text)?;
    let ms = parse_duration(&text.as_str().into()).filter(|ms| *ms >= Millis(1.0));
    ms.map(|ms| Duration::from_millis(ms.whole()))
        .ok_or_else(|| D::Error::custom(format!("{text:?}: expected a duration such as \"90s\" or \"2m\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_table_is_offline() {
        let config: SummarizerConfig = toml::from_str("").unwrap();
        assert_eq!(config, SummarizerConfig::default());
        assert_eq!((config.kind, config.timeout.as_secs()), (SummarizerKind::Extractive, 300));
    }

    #[test]
    fn every_key_is_read() {
        let text = "kind = \"command\"\ncommand = [\"sum\", \"-x\"]\ntimeout = \"2m\"\n";
        let config: SummarizerConfig = toml::from_str(text).unwrap();
        assert_eq!(config.kind, SummarizerKind::Command);
        assert_eq!((config.command.len(), config.timeout.as_secs()), (2, 120));
    }

    #[test]
    fn mistakes_name_the_expected_values() {
        for (text, words) in [
            ("kind = \"magic\"", &["magic", "extractive"][..]),
            ("timeout = \"soon\"", &["soon", "2m"]),
            ("timeout = \"0s\"", &["0s"]),
            ("model = \"gpt\"", &["model", "command"]),
        ] {
            let error = toml::from_str::<SummarizerConfig>(text).unwrap_err().to_string();
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
        }
    }
}
