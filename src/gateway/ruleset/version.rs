//! A version as a person or a file writes it, and the ruleset that comes nearest to it.

use std::fmt;
use std::str::FromStr;

use super::Ruleset;
use super::pi::PiRelease;

/// A version: `2026.9.6`, `2026.3`, `2026.9.x`, `v2026.2.19-beta.1`, or one of the runtime alone: `pi-0.55`, `pi-1.5.2`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    text: String,
    parts: Parts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parts {
    /// Year, month and day of a gateway; a part that is not told is the greatest there could be.
    Gateway([u32; 3]),
    /// The agent runtime: major, minor and patch; a part that is not told is the greatest there could be.
    Pi([u32; 3]),
}

/// A text that is no version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no version; expected one of {known}, or a version such as 2026.9.6",
    known = Ruleset::ALL.map(Ruleset::id).join(", ")
)]
pub struct UnknownVersion(String);

/// What the gateway's versions begin with; anything earlier is no such number.
const FIRST_YEAR: u32 = 2025;
/// The minor versions of the runtime whose rules are known: all from the first to the last.
const KNOWN_PI: [[u32; 2]; 2] = [[0, 55], [1, 5]];
/// The rulesets of the gateway, oldest first, and the first version each holds for.
const KNOWN: [([u32; 3], Ruleset); 3] = [
    ([2026, 2, 19], Ruleset::V2026_2_19),
    ([2026, 3, 2], Ruleset::V2026_3_2),
    ([2026, 9, 0], Ruleset::V2026_9),
];

impl FromStr for Version {
    type Err = UnknownVersion;

    fn from_str(text: &str) -> Result<Self, UnknownVersion> {
        let text = text.trim();
        let unknown = || UnknownVersion(text.to_owned());
        let parts = match text.strip_prefix("pi-") {
            Some(text) => Parts::Pi(pi_parts(text).ok_or_else(unknown)?),
            None => Parts::Gateway(gateway_parts(text).ok_or_else(unknown)?),
        };
        Ok(Self { text: text.to_owned(), parts })
    }
}

/// `2026.9.6` with or without a `v` before it, and whatever a pre-release has behind it.
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

/// `0.55.3`; at least one part, at most three.
fn pi_parts(text: &str) -> Option<[u32; 3]> {
    let mut parts = [u32::MAX; 3];
    for (at, word) in text.split('.').enumerate() {
        let number = word.parse().ok().filter(|_| word.bytes().all(|byte| byte.is_ascii_digit()))?;
        *parts.get_mut(at)? = number;
    }
    Some(parts)
}

impl Version {
    /// Year, month and day of a gateway's version; none of the runtime's own.
    pub fn gateway(&self) -> Option<[u32; 3]> {
        match self.parts {
            Parts::Gateway(parts) => Some(parts),
            Parts::Pi(_) => None,
        }
    }

    /// The newest known ruleset that is not newer; the oldest for a version before all of them.
    pub fn ruleset(&self) -> Ruleset {
        let parts = match self.parts {
            Parts::Gateway(parts) => parts,
            Parts::Pi(parts) => return Ruleset::of_pi(PiRelease(parts)),
        };
        let not_newer = KNOWN.iter().rev().find(|(first, _)| *first <= parts);
        not_newer.map_or(Ruleset::V2026_2_19, |(_, ruleset)| *ruleset)
    }

    /// What to say where the ruleset is not the version's own.
    pub fn note(&self) -> Option<String> {
        let parts = match self.parts {
            Parts::Gateway(parts) => parts,
            Parts::Pi(parts) => return self.pi_note([parts[0], parts[1]]),
        };
        let (ruleset, text) = (self.ruleset(), &self.text);
        let (first, _) = KNOWN.iter().find(|(_, known)| *known == ruleset)?;
        let own = if first[2] == 0 { parts[..2] == first[..2] } else { parts == *first };
        if own {
            return None;
        }
        let why = if parts < *first { "the oldest that are known" } else { "the nearest that are not newer" };
        Some(format!("{text} has no rules of its own here; those of {} are used, {why}", ruleset.id()))
    }

    fn pi_note(&self, minor: [u32; 2]) -> Option<String> {
        let [first, last] = KNOWN_PI;
        let why = match minor {
            minor if minor < first => "the oldest that are known",
            minor if minor > last => "the nearest that are not newer",
            _ => return None,
        };
        let (text, id) = (&self.text, self.ruleset().id());
        Some(format!("{text} has no rules of its own here; those of {id} are used, {why}"))
    }

    /// Whether this is later than the reference, whose keys are the ones known in full.
    pub fn is_after_reference(&self) -> bool {
        matches!(self.parts, Parts::Gateway(parts) if parts > [2026, 3, 2])
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
    fn a_version_gets_the_rules_of_its_own_or_the_nearest_not_newer() {
        use Ruleset::{Pi0_55, Pi0_80_0, Pi0_80_4, Pi0_86, Pi0_87, Pi1_4, Pi1_5, Pi1_5_0};
        use Ruleset::{V2026_2_19, V2026_3_2, V2026_9};
        for (text, ruleset, told) in [
            ("2026.2.19", V2026_2_19, false),
            ("2026.3.2", V2026_3_2, false),
            ("v2026.3.2", V2026_3_2, false),
            ("2026.3.2-beta.1", V2026_3_2, false),
            ("2026.9.6", V2026_9, false),
            ("2026.9.x", V2026_9, false),
            ("2026.9", V2026_9, false),
            ("2026.3.1", V2026_2_19, true),
            ("2026.2.20", V2026_2_19, true),
            ("2026.3", V2026_3_2, true),
            ("2026.8.30", V2026_3_2, true),
            ("2026.10.1", V2026_9, true),
            ("2027.1.1", V2026_9, true),
            ("2026.1.5", V2026_2_19, true),
            ("2025.12.31", V2026_2_19, true),
        ] {
            assert_eq!(nearest(text), (ruleset, told), "{text}");
        }
        for (text, ruleset, told) in [
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
            ("pi-1.6", Pi1_5, true),
            ("pi-1", Pi1_5, true),
        ] {
            assert_eq!(nearest(text), (ruleset, told), "{text}");
        }
    }

    #[test]
    fn the_note_says_which_rules_are_used_and_why() {
        let note = |text: &str| text.parse::<Version>().unwrap().note().unwrap();
        assert_eq!(
            note("2026.5.1"),
            "2026.5.1 has no rules of its own here; those of 2026.3.2 are used, the nearest that are not newer"
        );
        assert!(note("2026.1.1").ends_with("those of 2026.2.19 are used, the oldest that are known"));
    }

    #[test]
    fn what_is_no_version_lists_the_known_ones() {
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
            assert!(error.contains("2026.2.19, 2026.3.2, 2026.9, pi-0.55, pi-1.5"), "{error}");
        }
    }
}
