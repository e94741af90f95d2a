//! Which ruleset holds for a store, and what tells so.

use std::path::{Path, PathBuf};

use super::{PiRelease, Ruleset, UnknownVersion, Version};
use crate::gateway::config::GatewayConfig;
use crate::gateway::provenance::Provenance;
use crate::js;

/// The key that a gateway writes its own version to whenever it writes its configuration.
const TOUCHED_BY: [&str; 2] = ["meta", "lastTouchedVersion"];

/// The first releases that keep sessions in a database.
const FIRST_DATABASE: &str = "2026.8.1 (betas from 2026.7.2)";

/// How a store keeps its sessions, as far as that tells a version.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Era {
    /// As files: any gateway up to the file era's last.
    #[default]
    Files,
    /// In a database, which stable releases have from 2026.8.1 on, and betas from 2026.7.2 on (sqlite A7, releases).
    Database(PathBuf),
    /// Without a gateway: the agent runtime's own.
    Pi,
}

/// What a transcript tells of the pi that wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PiMark {
    /// The first release that writes such a thing.
    pub since: PiRelease,
    /// The newest rules that nothing speaks against.
    pub ruleset: Ruleset,
    /// What tells so, in words.
    pub why: String,
}

/// A ruleset and where the choice comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// The rules.
    pub ruleset: Ruleset,
    /// What settled it.
    pub from: Provenance,
    /// What to say where the version found is not the one the rules were read from.
    pub note: Option<String>,
}

impl Default for Chosen {
    /// The reference, for want of anything that tells.
    fn default() -> Self {
        Self { ruleset: Ruleset::default(), from: Provenance::Default, note: None }
    }
}

impl Chosen {
    /// A version that someone named; `from` says where.
    ///
    /// # Errors
    /// A text that is no version; the error lists the known ones.
    pub fn named(text: &str, from: Provenance) -> Result<Self, UnknownVersion> {
        let version: Version = text.parse()?;
        Ok(Self { ruleset: version.ruleset(), note: version.note(), from })
    }

    /// What the store itself tells: how it keeps sessions, then the version that last wrote its
    /// configuration, else the reference. A version that cannot be read decides nothing, and that is said.
    pub fn detect(config: &GatewayConfig, era: &Era) -> Self {
        let rule =
            |ruleset, rule, why: String| Self { ruleset, from: Provenance::Rule { rule, why }, note: None };
        match era {
            Era::Pi => rule(Ruleset::Pi0_55, "store", "pi's own sessions".to_owned()),
            Era::Files => Self::written(config).unwrap_or_default().saying_unknown(config),
            Era::Database(path) => {
                // The configuration may be older than the database beside it, never the other way round.
                let written = Self::written(config).filter(|chosen| chosen.ruleset >= Ruleset::V2026_8_1);
                let newest = || rule(Ruleset::NEWEST, "store", database_words(path, config));
                written.unwrap_or_else(newest).saying_unknown(config)
            }
        }
    }

    /// The same with the version of pi that its settings name; a text that is no version tells nothing.
    #[must_use]
    pub fn or_pi(self, version: Option<(String, Provenance)>) -> Self {
        let named = version.and_then(|(text, from)| Self::named(&format!("pi-{text}"), from).ok());
        named.filter(|_| self.is_pis_oldest()).unwrap_or(self)
    }

    /// The same for one transcript. Where nothing but pi's own store, or for a file `alone` nothing at all, has settled
    /// it, a mark of pi's own does; so it does where pi's settings name an older version than the mark proves.
    #[must_use]
    pub fn for_transcript(&self, alone: bool, mark: impl FnOnce() -> Option<PiMark>) -> Self {
        let named = matches!(self.from, Provenance::File { .. }) && self.ruleset.is_pi();
        let open = named || self.is_pis_oldest() || self.from == Provenance::Default && alone;
        let newer = |mark: &PiMark| !named || self.ruleset < Ruleset::of_pi(mark.since);
        match open.then(mark).flatten().filter(newer) {
            Some(PiMark { ruleset, why, .. }) => {
                Self { ruleset, from: Provenance::Rule { rule: "transcript", why }, note: None }
            }
            None => self.clone(),
        }
    }

    /// Whether it is pi's own store alone that says so, which tells no release.
    fn is_pis_oldest(&self) -> bool {
        let by_store = matches!(self.from, Provenance::Rule { rule, .. } if rule == "store");
        by_store && self.ruleset == Ruleset::Pi0_55
    }

    fn written(config: &GatewayConfig) -> Option<Self> {
        let text = touched_by(config)?;
        Self::named(&text, config.provenance(&TOUCHED_BY)).ok()
    }

    /// The same choice, and that the version which last wrote the configuration is none that is known, where it is not.
    fn saying_unknown(self, config: &GatewayConfig) -> Self {
        let unknown = touched_by(config).filter(|text| text.parse::<Version>().is_err());
        let note = unknown.map(|text| {
            let (place, span) = (config.provenance(&TOUCHED_BY), self.ruleset.span());
            format!("{place}: last written by {text:?}, which is no known release; the rules of {span} are assumed. --ruleset names others.")
        });
        Self { note: note.or(self.note), ..self }
    }

    /// What settled it, in words: file, line and key; the flag; the rule.
    pub fn from_words(&self) -> String {
        match &self.from {
            Provenance::File { key, .. } => format!("{}, {key}", self.from),
            Provenance::Default => "default: the reference".to_owned(),
            Provenance::Rule { why, .. } => why.clone(),
            Provenance::Tuned => "chosen on the screen".to_owned(),
            Provenance::Flag | Provenance::Fixed(_) => self.from.to_string(),
        }
    }
}

/// The version that last wrote the configuration, as it is written there.
fn touched_by(config: &GatewayConfig) -> Option<String> {
    Some(config.value(&TOUCHED_BY).and_then(js::Value::as_str)?.to_string_lossy())
}

/// What a database says of the version, and that the configuration beside it is older where it names a version.
fn database_words(path: &Path, config: &GatewayConfig) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let known = touched_by(config).filter(|text| text.parse::<Version>().is_ok());
    let older = known.map(|text| format!("; openclaw.json was last written by {text}")).unwrap_or_default();
    format!("{name} holds sessions, as releases from {FIRST_DATABASE} on do{older}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::env::Environment;
    use std::io::Write as _;

    fn detected(text: &str, era: &Era) -> Chosen {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("openclaw.json");
        std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
        Chosen::detect(&GatewayConfig::load(Some(&path), &Environment::default(), dir.path()), era)
    }

    fn database() -> Era {
        Era::Database("/s/agents/main/agent/openclaw-agent.sqlite".into())
    }

    #[test]
    fn the_version_that_wrote_the_configuration_decides_with_file_and_line() {
        let chosen = detected("{\n meta: {\n lastTouchedVersion: '2026.2.19' } }", &Era::Files);
        assert_eq!((chosen.ruleset, &chosen.note), (Ruleset::V2026_2_19, &None));
        assert!(chosen.from_words().ends_with("openclaw.json:3, meta.lastTouchedVersion"));
    }

    #[test]
    fn a_version_that_was_not_opened_says_which_rules_are_used() {
        let chosen = detected("{ meta: { lastTouchedVersion: '2026.5.6' } }", &Era::Files);
        assert_eq!(chosen.ruleset, Ruleset::V2026_5_2);
        assert!(chosen.note.unwrap().starts_with("2026.5.6 was not opened; the rules of 2026.5.2–5.12"));
    }

    #[test]
    fn a_store_that_tells_nothing_is_read_by_the_reference() {
        for text in ["{}", "{ meta: { lastTouchedVersion: 5 } }", "{"] {
            let chosen = detected(text, &Era::Files);
            assert_eq!(chosen, Chosen::default(), "{text}");
            assert_eq!(chosen.from_words(), "default: the reference");
        }
    }

    #[test]
    fn a_writer_that_is_no_known_release_is_named() {
        let chosen = detected("{ meta: { lastTouchedVersion: '0.1.5-fix.1' } }", &Era::Files);
        assert_eq!(chosen.ruleset, Ruleset::default());
        let note = chosen.note.unwrap();
        assert!(
            note.contains("openclaw.json:1: last written by \"0.1.5-fix.1\", which is no known release"),
            "{note}"
        );
        let hostile = detected("{ meta: { lastTouchedVersion: '\\u001b[31mdev' } }", &database());
        assert!(
            hostile.note.unwrap().contains("dev\", which is no known release; the rules of 2026.9.2–9.6")
        );
    }

    #[test]
    fn a_database_is_of_2026_9_whatever_an_older_configuration_says() {
        let old = detected("{ meta: { lastTouchedVersion: '2026.3.2' } }", &database());
        assert_eq!(old.ruleset, Ruleset::NEWEST);
        assert_eq!(
            old.from_words(),
            "openclaw-agent.sqlite holds sessions, as releases from 2026.8.1 (betas from 2026.7.2) on do; openclaw.json was last written by 2026.3.2"
        );
        for text in ["{}", "{ meta: { lastTouchedVersion: 'dev' } }"] {
            let words = detected(text, &database()).from_words();
            assert!(words.ends_with("2026.8.1 (betas from 2026.7.2) on do"), "{words}");
        }
        let new = detected("{ meta: { lastTouchedVersion: '2026.9.6' } }", &database());
        assert!(new.from_words().ends_with("openclaw.json:1, meta.lastTouchedVersion"));
    }

    #[test]
    fn pis_own_sessions_follow_the_pi_that_wrote_them() {
        let chosen = detected("{}", &Era::Pi);
        assert_eq!(chosen.ruleset, Ruleset::Pi0_55);
        let mark = || Some(system_message("line 2 is a system message"));
        assert_eq!(chosen.for_transcript(false, || None), chosen);
        let today = chosen.for_transcript(false, mark);
        assert_eq!(
            (today.ruleset, today.from_words().as_str()),
            (Ruleset::Pi1_5, "line 2 is a system message")
        );
    }

    fn system_message(why: &str) -> PiMark {
        PiMark { since: PiRelease([0, 86, 0]), ruleset: Ruleset::Pi1_5, why: why.to_owned() }
    }

    #[test]
    fn the_version_in_pis_settings_holds_unless_a_transcript_proves_a_newer_one() {
        let from = || Provenance::File {
            path: "settings.json".into(),
            line: Some(2),
            key: "lastChangelogVersion".to_owned(),
        };
        let named = |text: &str| detected("{}", &Era::Pi).or_pi(Some((text.to_owned(), from())));
        let own = |text: &str| named(text).for_transcript(false, || Some(system_message("a mark"))).ruleset;
        assert_eq!(named("1.4.0").ruleset, Ruleset::Pi1_4);
        assert_eq!(named("1.4.0").from_words(), "settings.json:2, lastChangelogVersion");
        assert_eq!(
            [own("1.4.0"), own("0.86.1"), own("0.85.0")],
            [Ruleset::Pi1_4, Ruleset::Pi0_86, Ruleset::Pi1_5]
        );
        assert_eq!(named("unreleased").ruleset, Ruleset::Pi0_55);
        let gateway = detected("{ meta: { lastTouchedVersion: '2026.3.2' } }", &Era::Files);
        assert_eq!(gateway.clone().or_pi(Some(("1.4.0".to_owned(), from()))), gateway);
    }

    #[test]
    fn a_transcript_decides_nothing_where_something_else_did() {
        let mark = || Some(system_message("a mark"));
        let files = detected("{}", &Era::Files);
        assert_eq!(files.for_transcript(false, mark).ruleset, Ruleset::V2026_3_2);
        assert_eq!(files.for_transcript(true, mark).ruleset, Ruleset::Pi1_5);
        let asked = Chosen::named("pi-0.55", Provenance::Flag).unwrap();
        assert_eq!(asked.for_transcript(true, mark), asked);
    }
}
