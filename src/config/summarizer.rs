//! Who writes summaries: the table `[summarizer]` of `config.toml`. Nothing in it leaves the machine unless `kind` says so;
//! a key is named by its variable and never stands here.

use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error as _};

use crate::gateway::duration::parse_duration_ms;

/// Time that one call may take unless the file says otherwise, in ms: the gateway's own limit (compaction 2.19).
const DEFAULT_TIMEOUT_MS: u64 = 300_000;

/// What writes a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SummarizerKind {
    /// clawscope itself, out of the conversation's own words; offline.
    #[default]
    Extractive,
    /// A program of the person's.
    Command,
    /// A model behind an HTTP address.
    Http,
}

impl SummarizerKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Extractive, Self::Command, Self::Http];

    /// Its name in files and options.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Extractive => "extractive",
            Self::Command => "command",
            Self::Http => "http",
        }
    }
}

/// Which protocol an HTTP address speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// Chat completions, as `OpenAI` has them and many servers after it.
    #[default]
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
}

impl Api {
    /// Where its own maker serves it.
    pub const fn default_url(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com",
        }
    }
}

/// The table `[summarizer]`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct SummarizerConfig {
    /// What writes a summary unless an option says otherwise.
    pub kind: SummarizerKind,
    /// The program and its arguments; no shell takes part.
    pub command: Vec<String>,
    /// Time that one call may take.
    #[serde(deserialize_with = "duration")]
    pub timeout: Duration,
    /// The protocol of `url`.
    pub api: Api,
    /// Where the API is, up to what its paths have in common; none: its maker's.
    pub url: Option<String>,
    /// The model's id.
    pub model: Option<String>,
    /// The environment variable that holds the key; none: no key is sent.
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
    let ms = parse_duration_ms(&text.as_str().into()).filter(|ms| *ms >= 1.0);
    ms.map(|ms| Duration::from_millis(ms as u64))
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
    fn slips_are_told_with_what_was_expected() {
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
