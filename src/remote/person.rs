//! The person's part of a request: the terminal, the zone and the settings of this machine.

use std::fs;
use std::path::{Path, PathBuf};

use super::arguments::RemoteCommand;
use super::protocol::Request;
use crate::cli::Cli;
use crate::command::environment::Invocation;
use crate::command::failure::Failure;
use crate::command::output::Output;
use crate::config::presets::{preset_names, presets_dir};
use crate::config::{self, config_dir};
use crate::files::{self, SMALL_FILE_BYTES};
use crate::gateway::config::local_time_zone;
use crate::gateway::env::{Environment, absolute};

/// The variables that concern the display.
pub(super) const VARIABLES: [&str; 11] = [
    "CLAWSCOPE_ASCII",
    "CLAWSCOPE_MOTION",
    "CLAWSCOPE_MOUSE",
    "CLAWSCOPE_RULESET",
    "CLAWSCOPE_THEME",
    "COLORTERM",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "NO_COLOR",
    "TERM",
];

/// The keys of config.toml that concern the display. All others name programs, services and keys of this machine.
const KEYS: [&str; 6] = ["ascii", "motion", "mouse", "ruleset", "theme", "time"];
/// Bytes of all settings files in a request.
const MAX_FILES_BYTES: usize = 16 << 20;

/// Builds the request for another machine.
///
/// # Errors
/// A settings file is faulty or cannot be read.
pub(super) fn request(
    remote: &RemoteCommand,
    cli: &Cli,
    invocation: &Invocation,
    output: &Output,
) -> Result<Request, Failure> {
    let env = &invocation.env;
    // Faults are reported here, with the file and line of this machine.
    config::load(env).map_err(|error| Failure::usage(error.to_string()))?;
    let mut files = Vec::new();
    if let Some(folder) = config_dir(env) {
        files.extend(display_settings(&folder.join("config.toml")));
        files.extend(attach(&folder.join("keymap.toml")));
    }
    if let Some(folder) = presets_dir(env) {
        files
            .extend(preset_names(env).iter().filter_map(|name| attach(&folder.join(format!("{name}.toml")))));
    }
    files.extend(settings_argument(cli, env)?);
    if files.iter().map(|(_, text)| text.len()).sum::<usize>() > MAX_FILES_BYTES {
        let limit = MAX_FILES_BYTES >> 20;
        return Err(Failure::usage(format!(
            "the presets and settings files have more than {limit} MB. Delete some."
        )));
    }
    let variable = |name: &&str| ((*name).to_owned(), env.raw(name).map(str::to_owned));
    Ok(Request {
        words: remote.words.clone(),
        typed: remote.typed.clone(),
        columns: output.width(),
        colour: output.has_colour(),
        to_file: remote.out.is_some(),
        zone: local_time_zone(env).iana_name().map(str::to_owned),
        variables: VARIABLES.iter().map(variable).collect(),
        settings_folder: config_dir(env),
        files,
        screen: None,
    })
}

fn attach(path: &Path) -> Option<(PathBuf, String)> {
    files::read_text(path, SMALL_FILE_BYTES).ok().map(|text| (path.to_path_buf(), text))
}

/// The keys of config.toml that concern the display.
fn display_settings(path: &Path) -> Option<(PathBuf, String)> {
    let (path, text) = attach(path)?;
    let mut table: toml::Table = toml::from_str(&text).ok()?;
    table.retain(|key, _| KEYS.contains(&key));
    Some((path, table.to_string()))
}

/// The file of `--settings`, under the name that the person typed. A name without a file can be a preset.
fn settings_argument(cli: &Cli, env: &Environment) -> Result<Option<(PathBuf, String)>, Failure> {
    let Some(name) = cli.settings() else { return Ok(None) };
    let path = absolute(&env.cwd, name);
    if !path.is_file() && !name.to_string_lossy().contains(['/', '.']) {
        return Ok(None);
    }
    let text = fs::metadata(&path).and_then(|_| files::read_text(&path, SMALL_FILE_BYTES));
    let failed =
        |error| Failure::usage(format!("--settings {}: cannot read the file: {error}.", name.display()));
    text.map(|text| Some((name.to_path_buf(), text))).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_keys_of_the_person_are_not_sent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        let text = "theme = \"light\"\n[alerts]\ncommand = [\"x\"]\n[summarizer]\nkind = \"http\"\nurl = \"u\"\n\
                    [[command]]\nname = \"a\"\nkey = \"f5\"\ncommand = \"ls\"\n";
        files::replace::replace(&path, text.as_bytes()).unwrap();
        assert_eq!(display_settings(&path).unwrap().1, "theme = \"light\"\n");
        assert_eq!(display_settings(&folder.path().join("none")), None);
    }
}
