//! Parses a version as a person or a file writes it, and finds the nearest ruleset.
//!
//! A part that is missing or `x` means the newest release that fits: `2026.9` and `2026.9.x` get the rules of the
//! newest release of 2026.9.

use std::fmt;
use std::str::FromStr;

use super::Ruleset;
use super::pi_release::PiRelease;
use super::releases::ReleaseStatus;
use crate::gateway::models::Program;

/// A version: `2026.9.6`, `2026.3`, `2026.9.x`, `v2026.2.19-beta.1`, or one of pi: `pi-0.55`, `pi-1.5.2`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    text: String,
    parts: VersionParts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VersionParts {
    /// Year, month and day of a gateway; a missing part is `u32::MAX`.
    Gateway([u32; 3]),
    /// Major, minor and patch of pi; a missing part is `u32::MAX`.
    Pi([u32; 3]),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no release; expected one such as 2026.4.15 (known: {oldest} to {newest}), or \
     {pi}",
    oldest = Ruleset::GATEWAYS[0].id(),
    newest = Ruleset::newest_release(),
    pi = Ruleset::PI_ENDS.map(Ruleset::id).join(" to ")
)]
pub struct UnknownVersion(String);

/// The first year in the gateway's version numbers.
const FIRST_YEAR: u32 = 2025;
/// The first and the last known minor version of pi; every one between is known too.
const KNOWN_PI: [[u32; 2]; 2] = [[0, 55], [1, 6]];
impl FromStr for Version {
    type Err = UnknownVersion;

    fn from_str(text: &str) -> Result<Self, UnknownVersion> {
        let text = text.trim();
        let unknown = || UnknownVersion(text.to_owned());
        let parts = match text.strip_prefix("pi-") {
            Some(text) => VersionParts::Pi(pi_parts(text).ok_or_else(unknown)?),
            None => VersionParts::Gateway(gateway_parts(text).ok_or_else(unknown)?),
        };
        Ok(Self { text: text.to_owned(), parts })
    }
}

/// Parses `2026.9.6` with or without a leading `v`; ignores a pre-release suffix.
fn gateway_parts(text: &str) -> Option<[u32; 3]> {
    let numbers = text.strip_prefix('v').unwrap_or(text).split(['-', '+']).next()?;
    let mut parts = [u32::MAX; 3];
    let mut open = false;
    for (at, word) in numbers.split('.').enumerate() {
        let slot = parts.get_mut(at)?;
        if at > 0 && (word == "x" || word == "*") {
            open = true;
            continue;
        }
        if open {
            return None;
        }
        *slot = word.parse().ok().filter(|_| word.bytes().all(|byte| byte.is_ascii_digit()))?;
    }
    (FIRST_YEAR..10_000).contains(&parts[0]).then_some(parts)
}

/// Parses `0.55.3`, with one to three parts.
fn pi_parts(text: &str) -> Option<[u32; 3]> {
    let mut parts = [u32::MAX; 3];
    for (at, word) in text.split('.').enumerate() {
        let number = word.parse().ok().filter(|_| word.bytes().all(|byte| byte.is_ascii_digit()))?;
        *parts.get_mut(at)? = number;
    }
    Some(parts)
}

impl Version {
    /// Year, month and day of a gateway's version; `None` for pi.
    pub fn gateway(&self) -> Option<[u32; 3]> {
        match self.parts {
            VersionParts::Gateway(parts) => Some(parts),
            VersionParts::Pi(_) => None,
        }
    }

    /// The program and its release, for the list of models.
    pub fn list_release(&self) -> (Program, [u32; 3]) {
        match self.parts {
            VersionParts::Gateway(parts) => (Program::Gateway, parts),
            VersionParts::Pi(parts) => (Program::Pi, parts),
        }
    }

    /// Returns the newest known ruleset that is not newer; the oldest for a version before all of them.
    pub fn ruleset(&self) -> Ruleset {
        match self.parts {
            VersionParts::Gateway(parts) => Ruleset::for_gateway(parts),
            VersionParts::Pi(parts) => Ruleset::for_pi(PiRelease(parts)),
        }
    }

    /// Warns if the rules were not read from this exact version; `None` if they were.
    pub fn note(&self) -> Option<String> {
        match self.parts {
            VersionParts::Gateway(parts) => self.gateway_note(parts),
            VersionParts::Pi(parts) => self.pi_note([parts[0], parts[1]]),
        }
    }

    fn pi_note(&self, minor: [u32; 2]) -> Option<String> {
        let [first, last] = KNOWN_PI;
        let why = match minor {
            minor if minor < first => "the oldest known release",
            minor if minor > last => "the newest known release before it",
            _ => return None,
        };
        let (text, id) = (&self.text, self.ruleset().id());
        Some(format!("clawscope has no rules for {text}; it uses those of {id}, {why}"))
    }

    fn gateway_note(&self, parts: [u32; 3]) -> Option<String> {
        let (ruleset, text) = (Ruleset::for_gateway(parts), &self.text);
        let those = format!("the rules of {}", ruleset.release_span());
        let newest = gateway_parts(&Ruleset::newest_release()).unwrap_or_default();
        // A missing part means the last of its releases, which is known if a later release is.
        let is_open = parts.contains(&u32::MAX);
        if parts > newest {
            let same_month = is_open && parts[..2] == newest[..2];
            return (!same_month).then(|| {
                format!(
                    "{text} is newer than every known release; clawscope uses {those}, the \
                     newest it knows"
                )
            });
        }
        if parts < Ruleset::GATEWAYS[0].range().first {
            return Some(format!(
                "{text} is older than every known release; clawscope uses {those}, the oldest it knows"
            ));
        }
        if is_open {
            return None;
        }
        match ruleset.range().release_status(&self.number(parts)) {
            ReleaseStatus::Asked => None,
            ReleaseStatus::Between => Some(format!(
                "{text} was not asked itself; clawscope uses {those}, which the releases asked before and after it share"
            )),
            ReleaseStatus::NeverAsked => {
                Some(format!("{text} was never asked; clawscope assumes {those}, the nearest that was"))
            }
            ReleaseStatus::Unpublished => Some(format!(
                "no release {text} was published; clawscope uses {those}, the nearest older release"
            )),
        }
    }

    /// The number after the year: `4.15`, or `2.6-3` for a release that was published again.
    fn number(&self, [_, month, day]: [u32; 3]) -> String {
        let again = self.text.split_once('-').map(|(_, again)| again);
        let again =
            again.filter(|again| !again.is_empty() && again.bytes().all(|byte| byte.is_ascii_digit()));
        let again = again.map(|again| format!("-{again}")).unwrap_or_default();
        format!("{month}.{day}{again}")
    }

    /// Whether a person or a file means this release; a pre-release belongs to its release.
    pub fn is_release(&self, name: &str) -> bool {
        let text = self.text.trim_start_matches('v');
        text == name
            || text.split_once("-beta").or_else(|| text.split_once('+')).is_some_and(|(own, _)| own == name)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nearest(text: &str) -> (Ruleset, bool) {
        let version: Version = text.parse().unwrap();
        (version.ruleset(), version.note().is_some())
    }

    #[test]
    fn a_release_gets_its_rules_or_those_of_the_nearest_older_one() {
        use Ruleset::{Pi0_55, Pi0_80_0, Pi0_80_4, Pi0_86, Pi0_87, Pi1_4, Pi1_5, Pi1_5_0};
        for (text, id, reported) in [
            ("2026.2.19", "2026.2.17", false),
            ("v2026.3.2", "2026.3.2", false),
            ("2026.3.2-beta.1", "2026.3.2", false),
            ("2026.9.6", "2026.9.6", false),
            ("2026.9.x", "2026.9.6", false),
            ("2026.9", "2026.9.6", false),
            ("2026.9.1", "2026.8.1", false),
            ("2026.8.30", "2026.8.1", true),
            ("2026.1.24-3", "2026.1.24", false),
            ("2026.1.27", "2026.1.24", true),
            ("2026.1.30", "2026.1.30", false),
            ("2026.2.6", "2026.2.6", false),
            ("2026.2.6-3", "2026.2.6", false),
            ("2026.3.1", "2026.3.1", false),
            ("2026.3.12", "2026.3.11", true),
            ("2026.4.21", "2026.4.15", false),
            ("2026.4.23", "2026.4.15", false),
            ("2026.6.5", "2026.6.1", false),
            ("2026.3", "2026.3.31", false),
            ("2026.9.7", "2026.9.6", true),
            ("2026.10.1", "2026.9.6", true),
            ("2026.10", "2026.9.6", true),
            ("2027.1.1", "2026.9.6", true),
            ("2026.1.5", "2026.1.24", true),
            ("2025.12.31", "2026.1.24", true),
        ] {
            let (ruleset, note) = nearest(text);
            assert_eq!((ruleset.id(), note), (id, reported), "{text}");
        }
        for (text, ruleset, reported) in [
            ("pi-0.55.3", Pi0_55, false),
            ("pi-0.54.2", Pi0_55, true),
            ("pi-0.80.3", Pi0_80_0, false),
            ("pi-0.80", Pi0_80_4, false),
            ("pi-0.86.2", Pi0_86, false),
            ("pi-0.87", Pi0_87, false),
            ("pi-1.4.0", Pi1_4, false),
            ("pi-1.5.0", Pi1_5_0, false),
            ("pi-1.5", Pi1_5, false),
            ("pi-1.5.2", Pi1_5, false),
            ("pi-1.6.0", Pi1_5, false),
            ("pi-1.7", Pi1_5, true),
            ("pi-1", Pi1_5, true),
        ] {
            assert_eq!(nearest(text), (ruleset, reported), "{text}");
        }
    }

    #[test]
    fn the_note_says_which_rules_are_used_and_why() {
        let note = |text: &str| text.parse::<Version>().unwrap().note().unwrap();
        assert_eq!(
            note("2026.3.12"),
            "no release 2026.3.12 was published; clawscope uses the rules of 2026.3.11–3.13, the nearest older release"
        );
        assert_eq!(
            note("2026.12.1"),
            "2026.12.1 is newer than every known release; clawscope uses the rules of 2026.9.6, the newest it knows"
        );
        assert!(note("2026.1.1").ends_with("clawscope uses the rules of 2026.1.24, the oldest it knows"));
    }

    #[test]
    fn every_published_release_has_rules_and_those_not_asked_have_a_note() {
        for ruleset in Ruleset::ALL {
            for (release, evidence) in ruleset.releases() {
                let version: Version = format!("2026.{release}").parse().unwrap();
                let is_asked = evidence == ReleaseStatus::Asked;
                assert_eq!((version.ruleset(), version.note().is_none()), (ruleset, is_asked), "{release}");
            }
        }
    }

    #[test]
    fn an_invalid_version_error_lists_the_known_ones() {
        for text in [
            "",
            "latest",
            "2026.x.3",
            "2026.3.2.1",
            "3.2",
            "2026.+3",
            "2026..2",
            "pi-",
            "pi-x.5",
            "pi-1.5.2.1",
        ] {
            let error = text.parse::<Version>().unwrap_err().to_string();
            assert!(error.ends_with("(known: 2026.1.24 to 2026.9.6), or pi-0.55 to pi-1.5"), "{error}");
        }
    }
}
