//! Limits of a copy, so that a store, or a machine that lies, cannot fill the disk or go on for ever.

use std::time::Duration;

use crate::format::{format_duration, format_number, format_size};
use crate::gateway::setting_value::parse_duration;
use crate::units::{Bytes, Millis};

/// Limits of one copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::remote) struct CopyLimits {
    /// Bytes of the archive.
    pub(super) size: Bytes,
    pub(super) files: u64,
    pub(super) folders: u64,
    /// Time of all tries together.
    pub(super) time: Duration,
}

impl Default for CopyLimits {
    fn default() -> Self {
        Self { size: Bytes(2_000_000_000), files: 200_000, folders: 20_000, time: Duration::from_mins(10) }
    }
}

/// The limit that a copy reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::remote) enum Limit {
    Size,
    Files,
    Folders,
    Time,
}

/// A value of `--copy` that is no limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("--copy={text}: expected limits such as size=8GB,files=500000,folders=100000,time=30m")]
pub(in crate::remote) struct InvalidLimits {
    text: String,
}

impl CopyLimits {
    /// Parses `size=8GB,files=500000,folders=100000,time=30m`; limits that the text does not name keep their default.
    ///
    /// # Errors
    /// The text names another limit, or none.
    pub(in crate::remote) fn parse(text: &str) -> Result<Self, InvalidLimits> {
        let mut parts = text.split(',').filter(|_| !text.is_empty());
        let limits = parts.try_fold(Self::default(), Self::with);
        limits.ok_or_else(|| InvalidLimits { text: text.to_owned() })
    }

    fn with(self, part: &str) -> Option<Self> {
        let (name, value) = part.trim().split_once('=')?;
        Some(match name {
            "size" => Self { size: parse_size(value)?, ..self },
            "files" => Self { files: parse_count(value)?, ..self },
            "folders" => Self { folders: parse_count(value)?, ..self },
            "time" => Self { time: parse_time(value)?, ..self },
            _ => return None,
        })
    }

    /// Describes a limit, and returns the option that doubles it.
    pub(in crate::remote) fn describe(&self, limit: Limit) -> (String, String) {
        match limit {
            Limit::Size => {
                let more = self.size.get().saturating_mul(2).div_ceil(1_000_000);
                (format!("more than {}", format_size(self.size)), format!("--copy=size={more}MB"))
            }
            Limit::Files => {
                let more = self.files.saturating_mul(2);
                (format!("more than {} files", format_number(self.files)), format!("--copy=files={more}"))
            }
            Limit::Folders => {
                let more = self.folders.saturating_mul(2);
                (
                    format!("more than {} folders", format_number(self.folders)),
                    format!("--copy=folders={more}"),
                )
            }
            Limit::Time => {
                let time = format_duration(Millis(self.time.as_millis() as f64));
                let more = self.time.as_secs().max(1).saturating_mul(2);
                (format!("a copy that takes longer than {time}"), format!("--copy=time={more}s"))
            }
        }
    }
}

fn parse_count(text: &str) -> Option<u64> {
    text.parse().ok().filter(|count| *count > 0)
}

/// Parses bytes with a decimal unit.
fn parse_size(text: &str) -> Option<Bytes> {
    let units = [("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1_000)];
    let upper = text.to_ascii_uppercase();
    let (number, unit) = units
        .iter()
        .find_map(|(name, bytes)| Some((upper.strip_suffix(name)?, *bytes)))
        .unwrap_or((upper.as_str(), 1));
    parse_count(number.trim())?.checked_mul(unit).map(Bytes)
}

fn parse_time(text: &str) -> Option<Duration> {
    let Millis(ms) = parse_duration(&text.into())?;
    Some(Duration::from_millis(ms as u64)).filter(|time| !time.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_are_named_replace_the_defaults() {
        let own = CopyLimits::default();
        assert_eq!(CopyLimits::parse(""), Ok(own));
        let all = CopyLimits::parse("size=8GB,files=500000,folders=100000,time=30m").unwrap();
        assert_eq!(
            all,
            CopyLimits {
                size: Bytes(8_000_000_000),
                files: 500_000,
                folders: 100_000,
                time: Duration::from_mins(30)
            }
        );
        assert_eq!(CopyLimits::parse("time=5s"), Ok(CopyLimits { time: Duration::from_secs(5), ..own }));
        assert_eq!(CopyLimits::parse("size=10 kb"), Ok(CopyLimits { size: Bytes(10_000), ..own }));
        for text in [
            "x",
            "size",
            "size=",
            "size=-1",
            "size=0",
            "size=1XB",
            "files=1k",
            "time=0",
            "disk=1",
            "size=99999999TB",
        ] {
            assert!(CopyLimits::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_option_that_a_message_offers_doubles_the_limit() {
        let own = CopyLimits::default();
        for limit in [Limit::Size, Limit::Files, Limit::Folders, Limit::Time] {
            let (_, option) = own.describe(limit);
            let raised = CopyLimits::parse(option.strip_prefix("--copy=").unwrap()).unwrap();
            let sizes =
                |limits: CopyLimits| [limits.size.get(), limits.files, limits.folders, limits.time.as_secs()];
            let (before, after) = (sizes(own), sizes(raised));
            let grown: Vec<_> =
                before.iter().zip(after).filter(|(before, after)| **before != *after).collect();
            assert!(matches!(grown.as_slice(), [(before, after)] if **before * 2 == *after), "{option}");
        }
    }
}
