//! The table `[too-often]` of `config.toml`: when a replay says that a policy fires too often.

use serde::de::{Deserialize, Deserializer, Error as _};

/// A policy fires too often if it fires at least `times` times and frees less than `freed` each time.
#[derive(Debug, Clone, Copy, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FiringLimits {
    /// Number of firings from which a policy counts as too frequent.
    pub times: usize,
    /// Share of the window that each event should free.
    #[serde(deserialize_with = "share")]
    pub freed: f64,
}

impl Default for FiringLimits {
    fn default() -> Self {
        Self { times: 3, freed: 0.02 }
    }
}

// A share is never NaN.
impl Eq for FiringLimits {}

fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Share::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

// The table `[alerts]` of `config.toml`: at which shares of the window a session alerts, and how.

/// The largest share that makes sense: a prompt of twice the window.
const MAX_SHARE: f64 = 2.0;

#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AlertsConfig {
    /// Shares of the window; an empty list turns alerts off.
    #[serde(deserialize_with = "shares")]
    pub at: Vec<f64>,
    /// Whether the terminal's bell rings.
    pub bell: bool,
    /// Whether the terminal shows a desktop notification (OSC 9).
    pub notify: bool,
    /// The program and its arguments, to which the sentence is added; no shell is involved.
    pub command: Vec<String>,
}

impl Default for AlertsConfig {
    fn default() -> Self {
        Self { at: vec![0.8, 0.95], bell: true, notify: false, command: Vec::new() }
    }
}

// Shares are never NaN.
impl Eq for AlertsConfig {}

/// A text that is not a share of the window.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?}: expected a share of the window, such as 80% or 0.8")]
pub struct ShareError(String);

/// Parses a share of the window: `80%` or `0.8`.
pub fn parse_share(text: &str) -> Result<f64, ShareError> {
    let expected = || ShareError(text.to_owned());
    let text = text.trim();
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse(),
    };
    share.ok().filter(|share| is_share(*share)).ok_or_else(expected)
}

fn is_share(share: f64) -> bool {
    share > 0.0 && share <= MAX_SHARE
}

#[derive(serde::Deserialize)]
#[serde(untagged)]
pub(super) enum Share {
    Number(f64),
    Text(String),
}

impl Share {
    /// Returns the share, or the expected form.
    pub(super) fn parse(self) -> Result<f64, ShareError> {
        match self {
            Self::Number(share) if is_share(share) => Ok(share),
            Self::Number(share) => parse_share(&share.to_string()),
            Self::Text(text) => parse_share(&text),
        }
    }
}

fn shares<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    let values = Vec::<Share>::deserialize(deserializer)?;
    values.into_iter().map(Share::parse).collect::<Result<_, _>>().map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_limits_have_defaults_and_a_share_is_a_number_or_a_percentage() {
        let read = |text: &str| toml::from_str::<FiringLimits>(text);
        assert_eq!(read("").unwrap(), FiringLimits { times: 3, freed: 0.02 });
        assert_eq!(read("times = 5\nfreed = \"10%\"").unwrap(), FiringLimits { times: 5, freed: 0.1 });
        assert_eq!(read("freed = 0.5").unwrap().freed, 0.5);
        assert!(read("freed = \"much\"").unwrap_err().to_string().contains("such as 80% or 0.8"));
        assert!(read("freed = 0").is_err() && read("often = 3").is_err());
    }
}

#[cfg(test)]
mod alerts_tests {
    use super::*;

    #[test]
    fn a_share_is_a_percentage_or_a_fraction() {
        assert_eq!(
            ["80%", " 0.8 ", "100 %", "104%"].map(|text| parse_share(text).ok()),
            [Some(0.8), Some(0.8), Some(1.0), Some(1.04)]
        );
        for text in ["", "80", "0", "-5%", "NaN", "inf", "%", "900%"] {
            assert!(parse_share(text).unwrap_err().to_string().contains("80% or 0.8"), "{text}");
        }
    }

    #[test]
    fn the_table_takes_both_forms() {
        let read = |text: &str| toml::from_str::<AlertsConfig>(text);
        let config = read("at = [0.7, \"90%\"]\nbell = false\n").unwrap();
        assert_eq!((config.at, config.bell, config.notify), (vec![0.7, 0.9], false, false));
        assert!(read("at = []").unwrap().at.is_empty());
        assert!(read("at = [80]").unwrap_err().to_string().contains("80% or 0.8"));
    }
}
