//! Chooses the ruleset of a store and records why, so that a person can check the choice.
//!
//! The evidence, strongest first: the release that last wrote a database or `openclaw.json`, the way in which the
//! store keeps its sessions, the marks of pi in a transcript, the date of the newest transcript, the reference version. For example, a database written
//! by 2026.9.2 next to an `openclaw.json` written by 2026.3.2 gets the rules of 2026.9.2, because 2026.3.2 has no
//! databases.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use jiff::civil::Date;

use super::{PiRelease, Ruleset, UnknownVersion, Version};
use crate::gateway::config::GatewayConfig;
use crate::gateway::models::{ModelList, Program};
use crate::gateway::registry::Provenance;

/// The day of the oldest known release.
const FIRST_RELEASE_DATE: Date = jiff::civil::date(2026, 1, 24);

const FIRST_DATABASE: &str = "2026.8.1 (betas from 2026.7.2)";

/// The storage format of a store, if it reveals a version.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Era {
    /// JSONL files: any gateway up to the last one that writes files.
    #[default]
    Files,
    /// A database: stable releases from 2026.8.1 on, betas from 2026.7.2 on (sqlite A7, releases).
    Database {
        /// The database file; among several, the one that the newest release wrote.
        path: PathBuf,
        /// The release that last wrote the database, according to the database itself (sqlite B1).
        written_by: Option<String>,
    },
    /// Sessions of pi itself, without a gateway.
    Pi,
}

/// Evidence in a transcript of the pi release that wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PiMark {
    /// The first release that writes this.
    pub since: PiRelease,
    /// The newest ruleset that the transcript does not contradict.
    pub ruleset: Ruleset,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulesetChoice {
    pub id: Ruleset,
    /// The release that was named or found, exactly as written there.
    pub release: Option<String>,
    pub provenance: Provenance,
    /// A warning for the person when clawscope does not know the release exactly.
    pub note: Option<String>,
}

impl Default for RulesetChoice {
    /// The reference version, which applies without any evidence.
    fn default() -> Self {
        Self::new(Ruleset::default(), Provenance::Default)
    }
}

impl RulesetChoice {
    pub fn new(id: Ruleset, provenance: Provenance) -> Self {
        Self { id, release: None, provenance, note: None }
    }

    /// Builds the choice from a version that a person or a file names; `from` is that source.
    ///
    /// # Errors
    /// Fails when the text is not a version; the error lists the known ones.
    pub fn from_version(text: &str, from: Provenance) -> Result<Self, UnknownVersion> {
        let version: Version = text.parse()?;
        let release = Some(text.trim().to_owned());
        Ok(Self { id: version.ruleset(), release, note: version.note(), provenance: from })
    }

    /// Chooses from the store only: from the storage format, then the version that last wrote the configuration,
    /// then the reference. An unreadable version decides nothing and becomes a note.
    pub fn detect(config: &GatewayConfig, era: &Era) -> Self {
        match era {
            Era::Pi => Self::new(Ruleset::Pi0_55, store_provenance("pi's own sessions".to_owned())),
            Era::Files => Self::from_config(config).unwrap_or_default().with_unknown_note(config),
            Era::Database { path, written_by } => {
                let (config_says, name) = (Self::from_config(config), file_name(path));
                let own = written_by.as_deref().and_then(|text| {
                    let why = format!("{text} last wrote {name}{}", older_config_note(config));
                    Self::from_version(text, store_provenance(why)).ok()
                });
                // Either may be older: the configuration or the database.
                let newest = own.into_iter().chain(config_says).filter(Self::has_databases);
                let unknown = || {
                    let why = format!(
                        "{name} contains sessions, as in releases since {FIRST_DATABASE}{}",
                        older_config_note(config)
                    );
                    Self::new(Ruleset::NEWEST, store_provenance(why))
                };
                newest.max_by_key(|chosen| chosen.id).unwrap_or_else(unknown).with_unknown_note(config)
            }
        }
    }

    fn has_databases(&self) -> bool {
        !self.id.is_pi() && self.id >= Ruleset::V2026_8_1
    }

    /// Uses the version of pi that its settings name, if only pi's own store decided so far. Ignores a text that is
    /// not a version.
    #[must_use]
    pub fn or_pi_version(self, version: Option<(String, Provenance)>) -> Self {
        let named = version.and_then(|(text, from)| Self::from_version(&format!("pi-{text}"), from).ok());
        named.filter(|_| self.is_pi_fallback()).unwrap_or(self)
    }

    /// Guesses the release that was current on the date of the newest transcript, if nothing else decided. A store of
    /// files is older than the first release with a database.
    #[must_use]
    pub fn or_date(self, newest: Option<Date>) -> Self {
        let Some(date) = newest.filter(|_| self.provenance == Provenance::Default && self.note.is_none())
        else {
            return self;
        };
        // A date before the first release is a clock that was not set.
        if date < FIRST_RELEASE_DATE {
            return self;
        }
        let part = |number: i16| u32::try_from(number).unwrap_or_default();
        let current =
            Ruleset::for_gateway([part(date.year()), part(date.month().into()), part(date.day().into())]);
        let id = current.clamp(Ruleset::V2026_1_24, Ruleset::V2026_7_33);
        let why = format!(
            "guessed from the date: nothing names a release, and the newest transcript is of {date}, when {} was \
             current",
            id.display_name()
        );
        Self::new(id, Provenance::Rule { rule: "date", why })
    }

    /// Refines the choice for one transcript. A mark of pi decides where only pi's own store did, where nothing did
    /// and the file is `alone`, and where pi's settings name an older version than the mark proves.
    #[must_use]
    pub fn for_transcript(&self, alone: bool, mark: impl FnOnce() -> Option<PiMark>) -> Self {
        let named = matches!(self.provenance, Provenance::File { .. }) && self.id.is_pi();
        let open = named || self.is_pi_fallback() || self.provenance == Provenance::Default && alone;
        let newer = |mark: &PiMark| !named || self.id < Ruleset::for_pi(mark.since);
        match open.then(mark).flatten().filter(newer) {
            Some(PiMark { ruleset, reason: why, .. }) => {
                Self::new(ruleset, Provenance::Rule { rule: "transcript", why })
            }
            None => self.clone(),
        }
    }

    /// The models that the release lists: that of the store, the newest of a guessed range; every list where nothing tells.
    pub fn models(&self) -> ModelList {
        let named = self.release.as_deref().and_then(|text| text.parse::<Version>().ok());
        let is_dated = || matches!(self.provenance, Provenance::Rule { rule: "date", .. });
        let guessed = || is_dated().then(|| self.id.releases().last()).flatten();
        match named.map(|version| version.list_release()) {
            Some((program, release)) => ModelList::of(program, release),
            None => guessed()
                .and_then(|(number, _)| format!("2026.{number}").parse::<Version>().ok())
                .map_or_else(ModelList::default, |version| {
                    ModelList::of(Program::Gateway, version.list_release().1)
                }),
        }
    }

    /// Whether nothing in the store names a release.
    pub fn is_guess(&self) -> bool {
        self.provenance == Provenance::Default
            || matches!(self.provenance, Provenance::Rule { rule: "date", .. })
    }

    /// Whether only pi's own store decided, which reveals no release.
    fn is_pi_fallback(&self) -> bool {
        let by_store = matches!(self.provenance, Provenance::Rule { rule, .. } if rule == "store");
        by_store && self.id == Ruleset::Pi0_55
    }

    fn from_config(config: &GatewayConfig) -> Option<Self> {
        let text = config.written_by.as_deref()?;
        Self::from_version(text, config.written_by_place()).ok()
    }

    /// Adds a note if the version that last wrote the configuration is unknown.
    fn with_unknown_note(self, config: &GatewayConfig) -> Self {
        let unknown = config.written_by.as_deref().filter(|text| text.parse::<Version>().is_err());
        let note = unknown.map(|text| {
            let (place, span) = (config.written_by_place(), self.id.release_span());
            format!(
                "{place}: {text:?} is not a known release; clawscope assumes the rules of {span}. Use \
                 --ruleset to choose another."
            )
        });
        Self { note: note.or(self.note), ..self }
    }

    /// Describes the reason: file, line and key; the flag; or the rule.
    pub fn provenance_text(&self) -> String {
        match &self.provenance {
            Provenance::File { key, .. } => format!("{}, {key}", self.provenance),
            Provenance::Default => "clawscope's default".to_owned(),
            Provenance::Rule { why, .. } => why.clone(),
            Provenance::Tuned => "chosen on the screen".to_owned(),
            Provenance::Flag | Provenance::Fixed(_) => self.provenance.to_string(),
        }
    }
}

fn store_provenance(why: String) -> Provenance {
    Provenance::Rule { rule: "store", why }
}

fn file_name(path: &Path) -> Cow<'_, str> {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy()
}

/// Names the release that wrote `openclaw.json`; empty if it names no known one.
fn older_config_note(config: &GatewayConfig) -> String {
    let known = config.written_by.as_deref().filter(|text| text.parse::<Version>().is_ok());
    known.map(|text| format!("; {text} last wrote openclaw.json")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::env::Environment;
    use std::io::Write as _;

    fn detected(text: &str, era: &Era) -> RulesetChoice {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("openclaw.json");
        std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
        RulesetChoice::detect(&GatewayConfig::load(Some(&path), &Environment::default(), dir.path()), era)
    }

    fn database() -> Era {
        written(None)
    }

    fn written(by: Option<&str>) -> Era {
        let path = "/s/agents/main/agent/openclaw-agent.sqlite".into();
        Era::Database { path, written_by: by.map(str::to_owned) }
    }

    #[test]
    fn the_version_that_wrote_the_configuration_decides_with_file_and_line() {
        let chosen = detected("{\n meta: {\n lastTouchedVersion: '2026.2.19' } }", &Era::Files);
        assert_eq!((chosen.id, &chosen.note), (Ruleset::V2026_2_17, &None));
        assert!(chosen.provenance_text().ends_with("openclaw.json:3, meta.lastTouchedVersion"));
    }

    #[test]
    fn a_version_that_was_not_published_says_which_rules_are_used() {
        let chosen = detected("{ meta: { lastTouchedVersion: '2026.5.8' } }", &Era::Files);
        assert_eq!(chosen.id, Ruleset::V2026_5_7);
        assert!(
            chosen
                .note
                .unwrap()
                .starts_with("no release 2026.5.8 was published; clawscope uses the rules of 2026.5.7")
        );
    }

    #[test]
    fn a_store_without_a_version_gets_the_reference_rules() {
        for text in ["{}", "{ meta: { lastTouchedVersion: 5 } }", "{"] {
            let chosen = detected(text, &Era::Files);
            assert_eq!(chosen, RulesetChoice::default(), "{text}");
            assert_eq!(chosen.provenance_text(), "clawscope's default");
        }
    }

    #[test]
    fn an_unknown_writer_release_is_named_in_the_note() {
        let chosen = detected("{ meta: { lastTouchedVersion: '0.1.5-fix.1' } }", &Era::Files);
        assert_eq!(chosen.id, Ruleset::default());
        let note = chosen.note.unwrap();
        assert!(note.contains("openclaw.json:1: \"0.1.5-fix.1\" is not a known release"), "{note}");
        let hostile = detected("{ meta: { lastTouchedVersion: '\\u001b[31mdev' } }", &database());
        assert!(
            hostile
                .note
                .unwrap()
                .contains("dev\" is not a known release; clawscope assumes the rules of 2026.9.6")
        );
    }

    #[test]
    fn a_database_without_a_release_gets_the_newest_rules_despite_an_older_configuration() {
        let old = detected("{ meta: { lastTouchedVersion: '2026.3.2' } }", &database());
        assert_eq!(old.id, Ruleset::NEWEST);
        assert_eq!(
            old.provenance_text(),
            "openclaw-agent.sqlite contains sessions, as in releases since 2026.8.1 (betas from 2026.7.2); 2026.3.2 last wrote openclaw.json"
        );
        for text in ["{}", "{ meta: { lastTouchedVersion: 'dev' } }"] {
            let words = detected(text, &database()).provenance_text();
            assert!(words.ends_with("since 2026.8.1 (betas from 2026.7.2)"), "{words}");
        }
        let new = detected("{ meta: { lastTouchedVersion: '2026.9.6' } }", &database());
        assert!(new.provenance_text().ends_with("openclaw.json:1, meta.lastTouchedVersion"));
    }

    #[test]
    fn the_newer_of_database_and_configuration_decides() {
        let config = |release: &str| format!("{{ meta: {{ lastTouchedVersion: '{release}' }} }}");
        let chosen = |release: &str, by: &str| detected(&config(release), &written(Some(by))).id;
        assert_eq!(chosen("2026.3.2", "2026.8.1"), Ruleset::V2026_8_1);
        assert_eq!(chosen("2026.9.6", "2026.8.1"), Ruleset::V2026_9_6);
        assert_eq!(chosen("2026.8.1", "2026.9.4"), Ruleset::V2026_9_3);
        let words = detected("{}", &written(Some("2026.8.1"))).provenance_text();
        assert_eq!(words, "2026.8.1 last wrote openclaw-agent.sqlite");
        // A text that no release writes there decides nothing.
        for odd in ["dev", "pi-0.60", "2026.3.2", ""] {
            assert_eq!(detected("{}", &written(Some(odd))).id, Ruleset::NEWEST, "{odd}");
        }
    }

    #[test]
    fn the_choice_keeps_the_exact_release_and_its_range() {
        let found = detected("{ meta: { lastTouchedVersion: '2026.4.21' } }", &Era::Files);
        assert_eq!(
            (found.release.as_deref(), found.id.release_span()),
            (Some("2026.4.21"), "2026.4.15–4.23")
        );
        assert_eq!(detected("{}", &Era::Files).release, None);
    }

    #[test]
    fn pi_sessions_follow_the_pi_that_wrote_them() {
        let chosen = detected("{}", &Era::Pi);
        assert_eq!(chosen.id, Ruleset::Pi0_55);
        let mark = || Some(system_message("line 2 is a system message"));
        assert_eq!(chosen.for_transcript(false, || None), chosen);
        let today = chosen.for_transcript(false, mark);
        assert_eq!(
            (today.id, today.provenance_text().as_str()),
            (Ruleset::Pi1_5, "line 2 is a system message")
        );
    }

    fn system_message(why: &str) -> PiMark {
        PiMark { since: PiRelease([0, 86, 0]), ruleset: Ruleset::Pi1_5, reason: why.to_owned() }
    }

    #[test]
    fn the_version_in_pis_settings_holds_unless_a_transcript_proves_a_newer_one() {
        let from = || Provenance::File {
            path: "settings.json".into(),
            line: Some(2),
            key: "lastChangelogVersion".to_owned(),
        };
        let named = |text: &str| detected("{}", &Era::Pi).or_pi_version(Some((text.to_owned(), from())));
        let own = |text: &str| named(text).for_transcript(false, || Some(system_message("a mark"))).id;
        assert_eq!(named("1.4.0").id, Ruleset::Pi1_4);
        assert_eq!(named("1.4.0").provenance_text(), "settings.json:2, lastChangelogVersion");
        assert_eq!(
            [own("1.4.0"), own("0.86.1"), own("0.85.0")],
            [Ruleset::Pi1_4, Ruleset::Pi0_86, Ruleset::Pi1_5]
        );
        assert_eq!(named("unreleased").id, Ruleset::Pi0_55);
        let gateway = detected("{ meta: { lastTouchedVersion: '2026.3.2' } }", &Era::Files);
        assert_eq!(gateway.clone().or_pi_version(Some(("1.4.0".to_owned(), from()))), gateway);
    }

    #[test]
    fn a_transcript_overrides_no_earlier_choice() {
        let mark = || Some(system_message("a mark"));
        let files = detected("{}", &Era::Files);
        assert_eq!(files.for_transcript(false, mark).id, Ruleset::V2026_3_2);
        assert_eq!(files.for_transcript(true, mark).id, Ruleset::Pi1_5);
        let requested = RulesetChoice::from_version("pi-0.55", Provenance::Flag).unwrap();
        assert_eq!(requested.for_transcript(true, mark), requested);
    }
}
