//! `--replay NAME=SETTINGS`: settings under which every session is replayed.

use std::path::Path;

use crate::command::failure::Failure;
use crate::command::presets::preset_settings;
use crate::gateway::env::{Environment, absolute};
use crate::js::stringify;
use crate::session::setting_change::{SettingChange, read_changes};

/// Names the recorded trace in the tables.
pub(super) const RECORDED: &str = "recorded";

/// Changed settings under a name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NamedReplay {
    pub(super) name: String,
    pub(super) changes: Vec<SettingChange>,
}

impl NamedReplay {
    /// Returns a text that differs where the name or the settings do.
    pub(super) fn identity(&self) -> String {
        let changes =
            self.changes.iter().map(|change| format!("{}={}", change.key(), stringify(&change.value)));
        format!("{}: {}", self.name, changes.collect::<Vec<_>>().join("\n"))
    }
}

/// Parses every `--replay`.
pub(super) fn parse(texts: &[String], env: &Environment) -> Result<Vec<NamedReplay>, Failure> {
    let mut replays: Vec<NamedReplay> = Vec::new();
    for text in texts {
        let replay = parse_one(text, env)?;
        if replay.name == RECORDED || replays.iter().any(|known| known.name == replay.name) {
            let name = replay.name;
            return Err(Failure::usage(format!(
                "--replay {text}: the name {name} is taken. Choose another."
            )));
        }
        replays.push(replay);
    }
    Ok(replays)
}

fn parse_one(text: &str, env: &Environment) -> Result<NamedReplay, Failure> {
    let parts = text.split_once('=').filter(|(name, settings)| !name.is_empty() && !settings.is_empty());
    let Some((name, settings)) = parts else {
        return Err(Failure::usage(format!(
            "--replay {text}: expected NAME=SETTINGS, such as short=contextPruning.ttl=5m"
        )));
    };
    Ok(NamedReplay { name: name.to_owned(), changes: changes(settings, env)? })
}

/// Reads `KEY=VALUE[,KEY=VALUE]`, a preset or a file.
fn changes(settings: &str, env: &Environment) -> Result<Vec<SettingChange>, Failure> {
    if settings.contains('=') {
        return Ok(read_changes(None, &split_settings(settings))?);
    }
    let path = Path::new(settings);
    match preset_settings("--replay", path, env)? {
        Some(sets) => Ok(read_changes(None, &sets)?),
        None => Ok(read_changes(Some(&absolute(&env.cwd, path)), &[])?),
    }
}

/// Splits at commas; a part without `=` belongs to the value before it, as in `tools.allow=read,exec`.
fn split_settings(text: &str) -> Vec<String> {
    let mut sets: Vec<String> = Vec::new();
    for part in text.split(',') {
        match sets.last_mut().filter(|_| !part.contains('=')) {
            Some(last) => {
                last.push(',');
                last.push_str(part);
            }
            None => sets.push(part.to_owned()),
        }
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(texts: &[&str]) -> Result<Vec<NamedReplay>, String> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        parse(&texts, &Environment::new([("HOME", "/nowhere")], None, "/".into())).map_err(|failure| {
            match failure {
                Failure::Reported { message, .. } => message,
                other => format!("{other:?}"),
            }
        })
    }

    #[test]
    fn a_list_of_settings_has_a_name() {
        let replays = parsed(&["short=contextPruning.ttl=5m,contextPruning.keepLastAssistants=1"]).unwrap();
        let keys: Vec<&str> = replays[0].changes.iter().map(SettingChange::key).collect();
        assert_eq!(
            (replays[0].name.as_str(), keys),
            ("short", vec!["contextPruning.ttl", "contextPruning.keepLastAssistants"])
        );
        let other = parsed(&["short=contextPruning.ttl=6m,contextPruning.keepLastAssistants=1"]).unwrap();
        assert_ne!(replays[0].identity(), other[0].identity());
    }

    #[test]
    fn a_comma_inside_a_value_does_not_end_it() {
        assert_eq!(split_settings("a=read,exec,b=1"), ["a=read,exec", "b=1"]);
    }

    #[test]
    fn names_are_distinct_and_mistakes_name_the_option() {
        for (texts, expected) in [
            (vec!["a=contextPruning.ttl=5m", "a=contextPruning.ttl=6m"], "the name a is taken"),
            (vec!["recorded=contextPruning.ttl=5m"], "the name recorded is taken"),
            (vec!["a"], "expected NAME=SETTINGS"),
            (vec!["a=nosuchpreset"], "--replay nosuchpreset: neither a file nor a preset"),
            (vec!["a=contextPruning.nosuch=1"], "nosuch"),
        ] {
            let error = parsed(&texts).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
