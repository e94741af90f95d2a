//! Builds the configured summarizer, or returns the setting that prevents it.

use crate::config::SummarizerConfig;
use crate::gateway::env::Environment;
use crate::summarize::command::CommandSummarizer;
use crate::summarize::extractive::ExtractiveSummarizer;
use crate::summarize::http::{Address, AddressError, ApiKey, HttpSummarizer};
use crate::summarize::{Summarizer, SummarizerKind};

/// A missing or invalid setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SummarizerError {
    /// `command` names no program.
    #[error(
        "summarizer command: no program is configured. Set command = [\"PROGRAM\", \"ARGUMENT\"] under \
         [summarizer] in config.toml."
    )]
    NoProgram,
    /// `http` names no model.
    #[error("summarizer http: no model is configured. Set model = \"ID\" under [summarizer] in config.toml.")]
    NoModel,
    /// The variable for the key is unset or empty.
    #[error(
        "summarizer http: the environment variable {variable} contains no key. Set it, or change key-env \
         under [summarizer] in config.toml."
    )]
    NoKey { variable: String },
    /// The address is invalid or insecure.
    #[error("summarizer http: {0}")]
    Address(#[from] AddressError),
}

/// Builds a summarizer of this kind. Reads its key here, from the variable that the configuration names.
pub fn build_summarizer(
    kind: SummarizerKind,
    config: &SummarizerConfig,
    env: &Environment,
) -> Result<Box<dyn Summarizer>, SummarizerError> {
    match kind {
        SummarizerKind::Extractive => Ok(Box::new(ExtractiveSummarizer)),
        SummarizerKind::Command => {
            let (program, arguments) = config.command.split_first().ok_or(SummarizerError::NoProgram)?;
            Ok(Box::new(CommandSummarizer::new(program.clone(), arguments.to_vec(), config.timeout)))
        }
        SummarizerKind::Http => {
            let model = config
                .model
                .clone()
                .filter(|model| !model.trim().is_empty())
                .ok_or(SummarizerError::NoModel)?;
            let url = config.url.as_deref().unwrap_or(config.api.default_url());
            let address = Address::new(url, config.key_env.is_some())?;
            let no_key = |variable: &String| SummarizerError::NoKey { variable: variable.clone() };
            let key = config.key_env.as_ref();
            let key = key.map(|name| ApiKey::from_env(name, env).ok_or_else(|| no_key(name))).transpose()?;
            Ok(Box::new(HttpSummarizer::new(config.api, address, model, key, config.timeout)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(kind: SummarizerKind, config: &SummarizerConfig) -> Result<SummarizerKind, SummarizerError> {
        let env = Environment::new([("KEY", "k")], None, "/".into());
        build_summarizer(kind, config, &env).map(|summarizer| summarizer.kind())
    }

    #[test]
    fn without_settings_only_the_extractive_one_works() {
        let config = SummarizerConfig::default();
        assert_eq!(chosen(SummarizerKind::Extractive, &config), Ok(SummarizerKind::Extractive));
        assert_eq!(chosen(SummarizerKind::Command, &config), Err(SummarizerError::NoProgram));
        assert_eq!(chosen(SummarizerKind::Http, &config), Err(SummarizerError::NoModel));
    }

    #[test]
    fn a_named_key_must_be_set() {
        let config = |name: &str| SummarizerConfig {
            model: Some("m".to_owned()),
            key_env: Some(name.to_owned()),
            ..SummarizerConfig::default()
        };
        assert_eq!(chosen(SummarizerKind::Http, &config("KEY")), Ok(SummarizerKind::Http));
        let missing = chosen(SummarizerKind::Http, &config("OTHER")).unwrap_err();
        assert_eq!(missing, SummarizerError::NoKey { variable: "OTHER".to_owned() });
        let plain = SummarizerConfig { url: Some("http://example.com".to_owned()), ..config("KEY") };
        assert!(chosen(SummarizerKind::Http, &plain).unwrap_err().to_string().contains("https"));
    }
}
