//! The embedded table of well-known models: windows, output limits and list prices (`assets/models.toml`).

use std::sync::LazyLock;

use crate::units::Tokens;
use serde::Deserialize;

/// The digits of a year, with which the date after an id begins.
const MIN_DATE_DIGITS: usize = 4;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelEntry {
    /// The id without a date or variant: `claude-opus-4` also stands for `claude-opus-4-20250514`, not for
    /// `claude-opus-4-8`.
    pub id: String,
    /// The maker's own provider.
    pub provider: String,
    /// The context window in tokens.
    pub window: Tokens,
    /// The maximum tokens of one answer.
    pub max_output: f64,
    pub price: Price,
}

/// A list price in USD per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Prompt tokens that the provider had not cached.
    pub input: f64,
    pub output: f64,
    /// Prompt tokens read from the cache; 0 if the provider does not sell them.
    pub cache_read: f64,
    /// Prompt tokens written to the cache; 0 if they cost no more than input.
    pub cache_write: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalog {
    /// ISO date.
    pub as_of: String,
    /// In order of precedence.
    #[serde(rename = "model")]
    pub models: Vec<ModelEntry>,
}

#[expect(clippy::expect_used, reason = "the table is part of the program and a test parses it")]
static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
    toml::from_str(include_str!("../../assets/models.toml")).expect("assets/models.toml is a valid table")
});

pub fn catalog() -> &'static Catalog {
    &CATALOG
}

/// Finds the entry for a model id under any provider; prefers the entry of the same provider.
pub fn find(provider: &str, model: &str) -> Option<&'static ModelEntry> {
    let id = bare_id(model);
    let fits = || CATALOG.models.iter().filter(|entry| matches_id(&entry.id, &id));
    fits().find(|entry| entry.provider.eq_ignore_ascii_case(provider)).or_else(|| fits().next())
}

/// Lower case, without a reseller's prefix; Claude ids use dashes.
fn bare_id(model: &str) -> String {
    let model = model.to_lowercase();
    let id = model.rsplit('/').next().unwrap_or_default();
    match id.find("claude-") {
        Some(at) => id[at..].replace('.', "-"),
        None => id.to_owned(),
    }
}

/// Words after an id that name a smaller or larger model, with another price and often another window.
const SIBLINGS: [&str; 11] =
    ["mini", "nano", "micro", "lite", "small", "large", "air", "flash", "turbo", "pro", "max"];

/// Whether an id is the pattern, or the same version of it with a date or variant. A number of one or two digits goes on
/// the version, so it names another model, and so does the name of a sibling.
fn matches_id(pattern: &str, id: &str) -> bool {
    let Some(rest) = id.strip_prefix(pattern) else { return false };
    let word = rest.split(['-', '@', ':']).nth(1).unwrap_or_default();
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let is_version = digits > 0 && digits < MIN_DATE_DIGITS && digits == word.len();
    let is_sibling = rest.split(['-', '@', ':']).any(|word| SIBLINGS.contains(&word));
    rest.is_empty() || rest.starts_with([':', '@']) || rest.starts_with('-') && !is_version && !is_sibling
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_plausible_and_reachable() {
        for entry in &catalog().models {
            assert!(
                entry.window >= Tokens(100_000.0) && entry.max_output <= entry.window.get(),
                "{}",
                entry.id
            );
            assert!(entry.price.output > entry.price.input && entry.price.cache_read < entry.price.input);
            assert_eq!(find(&entry.provider, &entry.id), Some(entry), "a prefix of {} precedes it", entry.id);
        }
        assert!(catalog().as_of.parse::<jiff::civil::Date>().is_ok());
    }

    #[test]
    fn ids_are_found_in_every_resellers_spelling() {
        for (provider, model, id) in [
            ("anthropic", "claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
            ("anthropic", "claude-sonnet-4-20250514", "claude-sonnet-4"),
            ("openrouter", "anthropic/claude-opus-4.6", "claude-opus-4-6"),
            ("amazon-bedrock", "us.anthropic.claude-opus-4-1-20250805-v1:0", "claude-opus-4-1"),
            ("openai", "gpt-5-2025-08-07", "gpt-5"),
            ("openai", "gpt-5.2-codex", "gpt-5.2"),
            ("openrouter", "moonshotai/kimi-k2.5", "kimi-k2.5"),
        ] {
            assert_eq!(find(provider, model).map(|entry| entry.id.as_str()), Some(id), "{provider} {model}");
        }
    }

    #[test]
    fn an_unknown_model_is_not_guessed() {
        for model in [
            "",
            "llama-4",
            "gpt-50",
            "gpt-5.2-nano",
            "gpt-5.2-codex-max",
            "claude-",
            "kimi-k2x",
            "claude-opus-4-8",
            "claude-opus-4-7-20260401",
        ] {
            assert_eq!(find("openai", model), None, "{model}");
        }
    }
}
