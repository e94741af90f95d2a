//! Named presets: settings that a person keeps under a name, one file `presets/NAME.toml` in the settings folder. The keys
//! are those of `--set`, either quoted (`"contextPruning.ttl" = "30m"`) or as tables.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::config_dir;
use super::files::describe_fault;
use crate::files;
use crate::gateway::env::Environment;
use crate::gateway::state_dir::is_plain_name;

const FOLDER: &str = "presets";
const EXTENSION: &str = "toml";

/// A preset: keys of `--set` with their values as text, sorted by key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preset {
    pub name: String,
    pub values: Vec<(String, String)>,
}

/// A file among the presets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresetFile {
    pub name: String,
    /// The settings, or why the file cannot be used.
    pub values: Result<Vec<(String, String)>, String>,
}

#[derive(Debug, thiserror::Error)]
pub enum PresetError {
    #[error("preset {0:?}: expected a letter or digit, then up to 63 letters, digits, `_` or `-`")]
    Name(String),
    #[error("no home folder, so there is no place for presets. Set HOME or XDG_CONFIG_HOME.")]
    NoFolder,
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// Contains the line and the mistake in it.
    #[error("{}: {fault}", path.display())]
    Toml { path: PathBuf, fault: String },
}

/// Returns the folder of the presets; `None` without a home.
pub fn presets_dir(env: &Environment) -> Option<PathBuf> {
    config_dir(env).map(|folder| folder.join(FOLDER))
}

/// Lists the names of the presets, sorted.
pub fn preset_names(env: &Environment) -> Vec<String> {
    let files = presets_dir(env).map(|folder| files_in(&folder)).unwrap_or_default();
    let mut names: Vec<String> = files
        .iter()
        .filter(|path| path.extension().is_some_and(|own| own == EXTENSION))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .filter(|name| is_plain_name(name))
        .collect();
    names.sort_unstable();
    names
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Reads every preset, sorted by name.
pub fn list_presets(env: &Environment) -> Vec<PresetFile> {
    let read = |name: String| {
        let values = read_preset(env, &name).map(|preset| preset.values);
        PresetFile { name, values: values.map_err(|error| error.to_string()) }
    };
    preset_names(env).into_iter().map(read).collect()
}

/// Deletes a preset.
///
/// # Errors
/// Fails for a name that no preset can have, and if there is no such file.
pub fn delete_preset(env: &Environment, name: &str) -> Result<(), PresetError> {
    let path = preset_path(env, name)?;
    fs::remove_file(&path).map_err(|source| PresetError::Io { path, source })
}

/// Reads a preset.
///
/// # Errors
/// Fails for a name that no preset can have, and for a file that cannot be read or is not TOML.
pub fn read_preset(env: &Environment, name: &str) -> Result<Preset, PresetError> {
    let path = preset_path(env, name)?;
    let text = files::read_text(&path, files::SMALL_FILE_BYTES)
        .map_err(|source| PresetError::Io { path: path.clone(), source })?;
    let table: toml::Table = toml::from_str(&text)
        .map_err(|error| PresetError::Toml { path, fault: describe_fault(&text, &error) })?;
    let mut values = Vec::new();
    flatten("", &table, &mut values);
    Ok(Preset { name: name.to_owned(), values })
}

/// Writes a preset and replaces one of the same name. A reader sees the old file or the new one, never a part.
///
/// # Errors
/// Fails for a name that no preset can have, and if the file cannot be written.
pub fn write_preset(env: &Environment, preset: &Preset) -> Result<PathBuf, PresetError> {
    let path = preset_path(env, &preset.name)?;
    let table: toml::Table =
        preset.values.iter().map(|(key, value)| (key.clone(), toml::Value::String(value.clone()))).collect();
    write_atomically(&path, &table.to_string())
        .map_err(|source| PresetError::Io { path: path.clone(), source })?;
    Ok(path)
}

fn write_atomically(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    files::replace(path, text.as_bytes())
}

fn preset_path(env: &Environment, name: &str) -> Result<PathBuf, PresetError> {
    if !is_plain_name(name) {
        return Err(PresetError::Name(name.to_owned()));
    }
    let folder = presets_dir(env).ok_or(PresetError::NoFolder)?;
    Ok(folder.join(format!("{name}.{EXTENSION}")))
}

/// Collects the values of a table with dotted keys.
fn flatten(prefix: &str, table: &toml::Table, values: &mut Vec<(String, String)>) {
    for (key, value) in table {
        let key = format!("{prefix}{key}");
        match value {
            toml::Value::Table(table) => flatten(&format!("{key}."), table, values),
            value => values.push((key, value_text(value))),
        }
    }
}

/// Formats a value as `--set` takes it; the items of a list are separated by commas.
fn value_text(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Array(items) => items.iter().map(value_text).collect::<Vec<_>>().join(","),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn home() -> (tempfile::TempDir, Environment) {
        let dir = tempfile::tempdir().unwrap();
        let env = Environment::new([("HOME", dir.path().to_string_lossy())], None, "/".into());
        (dir, env)
    }

    fn write(path: PathBuf, text: &str) {
        fs::File::create(path).and_then(|mut file| file.write_all(text.as_bytes())).unwrap();
    }

    #[test]
    fn a_preset_reads_back_as_written() {
        let (_dir, env) = home();
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let values = vec![pair("contextPruning.ttl", "30m"), pair("historyLimit", "20")];
        let preset = Preset { name: "lean".to_owned(), values };
        write_preset(&env, &preset).unwrap();
        let path = write_preset(&env, &preset).unwrap();
        assert_eq!(read_preset(&env, "lean").unwrap(), preset);
        assert_eq!(preset_names(&env), ["lean"]);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        let listed = PresetFile { name: "lean".to_owned(), values: Ok(preset.values) };
        assert_eq!(list_presets(&env), [listed]);
        delete_preset(&env, "lean").unwrap();
        assert!(matches!(delete_preset(&env, "lean"), Err(PresetError::Io { .. })));
        assert!(matches!(delete_preset(&env, "../lean"), Err(PresetError::Name(_))));
    }

    #[test]
    fn keys_may_be_tables_and_values_numbers() {
        let (_dir, env) = home();
        let folder = presets_dir(&env).unwrap();
        fs::create_dir_all(&folder).unwrap();
        write(
            folder.join("a.toml"),
            "historyLimit = 20\n[contextPruning]\nttl = \"5m\"\ntools.deny = [\"a\", \"b\"]\n",
        );
        let read = read_preset(&env, "a").unwrap();
        let texts: Vec<String> = read.values.iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(texts, ["contextPruning.tools.deny=a,b", "contextPruning.ttl=5m", "historyLimit=20"]);
    }

    #[test]
    fn names_that_leave_the_folder_and_broken_files_are_refused() {
        let (_dir, env) = home();
        for name in ["../x", "", "a/b", ".hidden"] {
            assert!(matches!(read_preset(&env, name), Err(PresetError::Name(_))), "{name:?}");
        }
        assert!(matches!(read_preset(&env, "none"), Err(PresetError::Io { .. })));
        let folder = presets_dir(&env).unwrap();
        fs::create_dir_all(&folder).unwrap();
        write(folder.join("b.toml"), "a = = 1");
        assert!(read_preset(&env, "b").unwrap_err().to_string().contains("b.toml"));
        assert_eq!(preset_names(&Environment::default()), [""; 0]);
    }
}
