//! `clawscope settings --presets` and `--settings NAME`: settings that a person keeps under a name.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::environment::Invocation;
use super::failure::Failure;
use super::output::Output;
use super::suggest::did_you_mean;
use crate::cli::Cli;
use crate::config::presets::{PresetError, PresetFile, list_presets, preset_names, presets_dir, read_preset};
use crate::doc::{Align, Cell, Table, Tone};
use crate::export::json::JsonOutput;
use crate::gateway::env::{Environment, absolute};
use crate::js::Members;
use crate::session::setting_change::parse_preset;

/// Replaces the name of a preset in `--settings` with its settings, before those of `--set`. A file of that name comes
/// first.
pub(super) fn resolve(cli: &mut Cli, env: &Environment) -> Result<(), Failure> {
    let Some((settings, sets)) = cli.settings_mut() else { return Ok(()) };
    let Some(name) = settings.as_deref() else { return Ok(()) };
    if let Some(own) = preset_settings("--settings", name, env)? {
        sets.splice(..0, own);
        *settings = None;
    }
    Ok(())
}

/// Returns the `KEY=VALUE` texts of a preset; `None` for a file. `option` names the option in errors.
pub(super) fn preset_settings(
    option: &str,
    name: &Path,
    env: &Environment,
) -> Result<Option<Vec<String>>, Failure> {
    let path = absolute(&env.cwd, name);
    if path.exists() && !path.is_dir() {
        return Ok(None);
    }
    let name = name.to_string_lossy().into_owned();
    let known = preset_names(env);
    if !known.contains(&name) {
        if name.contains(['/', '.']) {
            return Ok(None);
        }
        let near = did_you_mean(&name, known.iter().map(String::as_str));
        return Err(Failure::usage(format!(
            "{option} {name}: neither a file nor a preset. `clawscope settings --presets` lists the presets.{near}"
        )));
    }
    let preset = read_preset(env, &name).map_err(|error| Failure::usage(format!("{option} {error}")))?;
    // A fault is the preset's, not that of the `--set` that its values become.
    parse_preset(&name, &preset.values)?;
    Ok(Some(preset.values.iter().map(|(key, value)| format!("{key}={value}")).collect()))
}

/// The presets of a person.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PresetsJson {
    /// The folder of the presets, which need not exist.
    folder: String,
    presets: Vec<PresetJson>,
}

impl JsonOutput for PresetsJson {}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PresetJson {
    name: String,
    /// The keys of `--set` with their values; null if the file cannot be read.
    settings: Option<Members<String>>,
    /// The reason that the file cannot be read.
    error: Option<String>,
}

fn preset_json(file: PresetFile) -> PresetJson {
    let (settings, error) = match file.values {
        Ok(values) => (Some(values.into_iter().collect()), None),
        Err(error) => (None, Some(error)),
    };
    PresetJson { name: file.name, settings, error }
}

/// Lists the presets with their settings.
pub(super) fn run(json: bool, invocation: &Invocation, output: &mut Output) -> Result<(), Failure> {
    let folder =
        presets_dir(&invocation.env).ok_or_else(|| Failure::usage(PresetError::NoFolder.to_string()))?;
    let folder = folder.display().to_string();
    let files = list_presets(&invocation.env);
    if json {
        let presets = files.into_iter().map(preset_json).collect();
        return Ok(output.json(&PresetsJson { folder, presets })?);
    }
    if files.is_empty() {
        let hint = format!("no presets. A preset is a file NAME.toml in {folder} with the keys of --set.");
        return Ok(output.line(Tone::Plain, &hint)?);
    }
    let mut table = Table::new(&[("preset", Align::Left), ("settings", Align::Left)]);
    for file in files {
        let (text, tone) = match file.values {
            Ok(values) => match parse_preset(&file.name, &values) {
                Ok(_) => {
                    let values: Vec<String> =
                        values.iter().map(|(key, value)| format!("{key}={value}")).collect();
                    (values.join(" "), Tone::Plain)
                }
                Err(error) => (error.0, Tone::Bad),
            },
            Err(error) => (error.replace('\n', " "), Tone::Bad),
        };
        table.push(vec![file.name.into(), Cell::new(&text, tone)]);
    }
    Ok(table.print(output, "")?)
}
