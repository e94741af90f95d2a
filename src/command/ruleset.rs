//! The ruleset of a command: how flag, variable and file select it, how results show it, and which settings it lacks.

use super::failure::Failure;
use super::output::Output;
use crate::cli::StoreArgs;
use crate::config::{self, Config};
use crate::doc::Tone;
use crate::gateway::env::Environment;
use crate::gateway::registry::Provenance;
use crate::gateway::ruleset::RulesetChoice;
use crate::session::LoadedSession;
pub(super) use crate::session::json::{RulesetJson, ruleset_json};
use crate::session::session_settings::describe_untried;
use crate::session::setting_change::{SettingChange, describe_missing};

/// Returns the ruleset from the flag, `CLAWSCOPE_RULESET` or `config.toml`, in this order; `None` leaves the choice to
/// the store.
pub(super) fn requested_ruleset(
    args: &StoreArgs,
    env: &Environment,
) -> Result<Option<RulesetChoice>, Failure> {
    if args.ruleset.is_some() {
        return requested_ruleset_from(args, &Config::default());
    }
    requested_ruleset_from(args, &config::load(env).map_err(|error| Failure::usage(error.to_string()))?)
}

/// Like [`requested_ruleset`], with the settings already read.
pub(super) fn requested_ruleset_from(
    args: &StoreArgs,
    config: &Config,
) -> Result<Option<RulesetChoice>, Failure> {
    let (text, from, origin) = match (&args.ruleset, &config.ruleset) {
        (Some(text), _) => (text, Provenance::Flag, "--ruleset"),
        (None, Some(named)) => {
            let from = Provenance::Rule { rule: "own settings", why: named.origin.clone() };
            (&named.name, from, named.origin.as_str())
        }
        (None, None) => return Ok(None),
    };
    RulesetChoice::from_version(text, from)
        .map(Some)
        .map_err(|error| Failure::usage(format!("{origin}: {error}")))
}

/// Says on the error stream which rules stand in for a release without known ones. A mistake in the name is left to the
/// command that reads it.
pub(super) fn note_unknown_release(
    args: &StoreArgs,
    env: &Environment,
    output: &mut Output,
) -> Result<(), Failure> {
    let requested = requested_ruleset(args, env).ok().flatten();
    match requested.and_then(|chosen| chosen.note) {
        Some(note) => Ok(output.note(&format!("note: {note}"))?),
        None => Ok(()),
    }
}

/// Prints the ruleset on one line, and notes about it.
pub(super) fn print_ruleset(chosen: &RulesetChoice, output: &mut Output) -> Result<(), Failure> {
    let line = format!("rules of {} ({})", chosen.id.display_name(), chosen.provenance_text());
    output.line(Tone::Dim, &line)?;
    if let Some(note) = &chosen.note {
        output.line(Tone::Warning, note)?;
    }
    Ok(())
}

/// Refuses a setting that the version does not support: the gateway would ignore it.
pub(super) fn refuse_unsupported(changes: &[SettingChange], session: &LoadedSession) -> Result<(), Failure> {
    for change in changes {
        let Some(why) = describe_missing(session, change.id) else { continue };
        if let Some(why) = describe_untried(change.id.spec()) {
            let (place, key) = (&change.origin, change.key());
            return Err(Failure::usage(format!("{place}: {key} cannot be tried: {why}. Remove it.")));
        }
        let (place, key, name) = (&change.origin, change.key(), session.ruleset.id.display_name());
        return Err(Failure::usage(format!(
            "{place}: {key} cannot be set: {name} does not read it ({why}). Remove it, or choose another release with --ruleset."
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::NamedChoice;
    use crate::gateway::ruleset::Ruleset;

    fn error_text(result: Result<Option<RulesetChoice>, Failure>) -> String {
        match result {
            Ok(Some(chosen)) => format!("{} {}", chosen.id.id(), chosen.provenance_text()),
            Ok(None) => String::new(),
            Err(Failure::Reported { exit, message, .. }) => format!("{} {message}", exit.code()),
            Err(Failure::OutputClosed | Failure::CheckFailed) => "closed".to_owned(),
        }
    }

    #[test]
    fn the_flag_overrides_config_toml_and_a_mistake_names_its_origin() {
        let flag = |text: &str| StoreArgs { ruleset: Some(text.into()), ..StoreArgs::default() };
        let own = |name: &str| Config {
            ruleset: Some(NamedChoice { name: name.into(), origin: "/h/config.toml: ruleset".into() }),
            ..Config::default()
        };
        let none = StoreArgs::default();
        assert_eq!(
            error_text(requested_ruleset_from(&flag("2026.9.6"), &own("2026.2.19"))),
            "2026.9.6 command line"
        );
        assert_eq!(
            error_text(requested_ruleset_from(&none, &own("2026.2.19"))),
            "2026.2.17 /h/config.toml: ruleset"
        );
        assert_eq!(error_text(requested_ruleset_from(&none, &Config::default())), "");
        let slip = error_text(requested_ruleset_from(&none, &own("newest")));
        assert!(slip.starts_with("2 /h/config.toml: ruleset: \"newest\" is no release"), "{slip}");
    }

    #[test]
    fn the_json_has_id_name_and_origin() {
        let chosen = RulesetChoice::from_version("2026.5.6", Provenance::Flag).unwrap();
        let json = crate::js::json_text(&ruleset_json(&chosen)).unwrap();
        assert!(json.starts_with(
            r#"{"id":"2026.5.2","name":"openclaw 2026.5.2–5.6","release":"2026.5.6","from":"command line""#
        ));
        assert_eq!(RulesetChoice::default().id, Ruleset::V2026_3_2);
    }
}
