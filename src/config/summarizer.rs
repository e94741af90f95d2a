//! The table `[summarizer]` of `config.toml`, which selects the writer of summaries. Text leaves the machine only if
//! `kind` says so. The file names the variable that holds an API key and never the key itself.

use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error as _};

use crate::gateway::duration::parse_duration;
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
    Http,
}

impl SummarizerKind {
    pub const ALL: [Self; 3] = [Self::Extractive, Self::Command, Self::Http];

    /// The name in files and options.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Extractive => "extractive",
            Self::Command => "command",
            Self::Http => "http",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// Chat completions of `OpenAI`, which many servers offer.
    #[default]
    OpenAi,
    Anthropic,
}

impl Api {
    /// The address of the protocol's maker.
    pub const fn default_url(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com",
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
    /// The protocol of `url`.
    pub api: Api,
    /// The base address of the API; `None` for the maker's.
    pub url: Option<String>,
    pub model: Option<String>,
    /// The environment variable that holds the API key; `None` sends no key.
    pub key_env: Option<String>,
}

impl Default for SummarizerConfig {
    fn default() -> Self {
        Self {
            kind: SummarizerKind::default(),
            command: Vec::new(),
            timeout: Duration::from_millis(DEFAULT_TIMEOUT_MS),
            api: Api::default(),
            url: None,
            model: None,
            key_env: None,
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
        let text = "kind = \"http\"\ncommand = [\"sum\", \"-x\"]\ntimeout = \"2m\"\napi = \"anthropic\"\n\
                    url = \"http://127.0.0.1:1\"\nmodel = \"m\"\nkey-env = \"K\"\n";
        let config: SummarizerConfig = toml::from_str(text).unwrap();
        assert_eq!((config.kind, config.api), (SummarizerKind::Http, Api::Anthropic));
        assert_eq!((config.command.len(), config.timeout.as_secs()), (2, 120));
        let texts = [config.url, config.model, config.key_env].map(Option::unwrap);
        assert_eq!(texts, ["http://127.0.0.1:1", "m", "K"]);
    }

    #[test]
    fn mistakes_name_the_expected_values() {
        for (text, words) in [
            ("kind = \"magic\"", &["magic", "extractive"][..]),
            ("timeout = \"soon\"", &["soon", "2m"]),
            ("timeout = \"0s\"", &["0s"]),
            ("key = \"secret\"", &["key", "key-env"]),
            ("api = \"gpt\"", &["gpt", "openai", "anthropic"]),
        ] {
            let error = toml::from_str::<SummarizerConfig>(text).unwrap_err().to_string();
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
        }
    }
}
