//! `clawscope presets` and `--settings NAME`: settings that a person keeps under a name.

use super::environment::Invocation;
use super::failure::Failure;
use super::output::{Output, Tone};
use super::suggest::did_you_mean;
use super::table::{Align, Cell, Table};
use crate::cli::Cli;
use crate::config::presets::{preset_names, presets_dir, read_preset};
use crate::gateway::env::{Environment, absolute};

/// Replaces the name of a preset in `--settings` by its settings, before those of `--set`. A file of that name comes
/// first.
pub(super) fn resolve(cli: &mut Cli, env: &Environment) -> Result<(), Failure> {
    let Some((settings, sets)) = cli.settings_mut() else { return Ok(()) };
    let Some(name) = settings.as_deref().filter(|path| !absolute(&env.cwd, path).exists()) else {
        return Ok(());
    };
    let name = name.to_string_lossy().into_owned();
    let known = preset_names(env);
    if !known.contains(&name) {
        if name.contains(['/', '.']) {
            return Ok(());
        }
        let near = did_you_mean(&name, known.iter().map(String::as_str));
        return Err(Failure::usage(format!(
            "--settings {name}: neither a file nor a preset. `clawscope presets` lists the presets.{near}"
        )));
    }
    let preset = read_preset(env, &name).map_err(|error| Failure::usage(format!("--settings {error}")))?;
    let own = preset.values.iter().map(|(key, value)| format!("{key}={value}"));
    sets.splice(..0, own);
    *settings = None;
    Ok(())
}

/// Lists the presets with their settings.
pub(super) fn run(invocation: &Invocation, output: &mut Output) -> Result<(), Failure> {
    let names = preset_names(&invocation.env);
    let folder = presets_dir(&invocation.env).map(|folder| folder.display().to_string()).unwrap_or_default();
    if names.is_empty() {
        let hint = format!("no presets. A preset is a file NAME.toml in {folder} with the keys of --set.");
        return Ok(output.line(Tone::Plain, &hint)?);
    }
    let mut table = Table::new(&[("preset", Align::Left), ("settings", Align::Left)]);
    for name in names {
        let (text, tone) = match read_preset(&invocation.env, &name) {
            Ok(preset) => {
                let values: Vec<String> =
                    preset.values.iter().map(|(key, value)| format!("{key}={value}")).collect();
                (values.join(" "), Tone::Plain)
            }
            Err(error) => (error.to_string().replace('\n', " "), Tone::Bad),
        };
        table.push(vec![name.into(), Cell::new(&text, tone)]);
    }
    Ok(table.print(output, "")?)
}
