//! The table `[too-often]` of `config.toml`: when a replay says that a policy fires too often.

use serde::de::{Deserialize, Deserializer, Error as _};

use super::alerts::Share;

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
