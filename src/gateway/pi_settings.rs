//! pi's own settings: the global file, overridden by a project's; for the newest pi, both overridden by those of a
//! single model (store R6, store-pi-1.5 A8). Each value carries its file and line, like the gateway's.

use std::path::{Path, PathBuf};

use super::compaction::{
    CompactionSettings, merge_settings, pi_compaction, pi_compaction_for_model, whole_tokens,
};
use super::effective::ResolvedSetting;
use super::lines::key_line;
use super::registry::Provenance;
use crate::files;
use crate::js::{self, Object, Value};

pub const FILE_NAME: &str = "settings.json";
/// The key that holds the version whose changelog pi showed last.
const LAST_VERSION: &str = "lastChangelogVersion";
const OVERRIDES: &str = "modelOverrides";

/// Settings and their defaults as JSON; `null` for no default.
const SETTINGS: [(&str, &str); 13] = [
    ("sessionDir", "null"),
    ("defaultProvider", "null"),
    ("defaultModel", "null"),
    ("compaction.enabled", "true"),
    ("compaction.reserveTokens", "16384"),
    ("compaction.keepRecentTokens", "20000"),
    ("branchSummary.reserveTokens", "16384"),
    ("branchSummary.skipPrompt", "false"),
    ("retry.enabled", "true"),
    ("retry.maxRetries", "3"),
    ("retry.baseDelayMs", "2000"),
    ("retry.maxAgentDelayMs", "60000"),
    ("cacheWarming", "\"idle\""),
];

/// A settings file on disk.
#[derive(Debug, Clone, PartialEq)]
struct SettingsFile {
    path: PathBuf,
    text: String,
    /// `None` if the file is missing or holds no JSON object; pi treats both alike.
    value: Option<Value>,
}

impl SettingsFile {
    fn read(path: &Path) -> Self {
        let text = files::read_text(path, files::SMALL_FILE_BYTES).unwrap_or_default();
        Self {
            value: js::parse(&text).ok().filter(|value| matches!(value, Value::Object(_))),
            path: path.to_path_buf(),
            text,
        }
    }

    fn get(&self, path: &[&str]) -> Option<&Value> {
        path.iter().try_fold(self.value.as_ref()?, |value, key| value.get(key))
    }

    fn provenance(&self, path: &[&str]) -> Provenance {
        Provenance::File { path: self.path.clone(), line: key_line(&self.text, path), key: path.join(".") }
    }
}

/// The settings files of pi that apply to the sessions of one working directory.
#[derive(Debug, Clone, PartialEq)]
pub struct PiSettings {
    global: SettingsFile,
    project: Option<SettingsFile>,
    merged: Value,
}

/// A token setting of a compaction: its value, its origin, and the place for a new value.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenSetting {
    pub value: f64,
    /// The unchecked value in the file; `None` for the default.
    pub raw_value: Option<Value>,
    pub provenance: Provenance,
    pub file: PathBuf,
    /// The path in `file`; a model's own value is below `compaction.modelOverrides[provider/id].`.
    pub path: String,
}

impl PiSettings {
    /// Reads the global file and, if it exists, the project's.
    pub fn read(global: &Path, project: Option<&Path>) -> Self {
        let global = SettingsFile::read(global);
        let project = project.map(SettingsFile::read).filter(|file| file.value.is_some());
        let merged =
            merge_settings(global.value.as_ref(), project.as_ref().and_then(|file| file.value.as_ref()));
        Self { global, project, merged }
    }

    /// Lists the files with settings; the one that overrides comes first.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let global = Some(&self.global).filter(|file| file.value.is_some());
        self.project.iter().chain(global).map(|file| file.path.as_path())
    }

    /// Returns the last version of pi that showed its changelog, with its origin.
    pub fn last_version(&self) -> Option<(String, Provenance)> {
        let text = self.global.get(&[LAST_VERSION])?.as_str()?.to_string_lossy();
        Some((text, self.global.provenance(&[LAST_VERSION])))
    }

    /// The global file, even if it does not exist.
    pub fn global(&self) -> &Path {
        &self.global.path
    }

    /// Returns the compaction settings; `model` is `None` for a pi without model overrides.
    pub fn compaction(&self, model: Option<&str>) -> CompactionSettings {
        match model {
            Some(model) => pi_compaction_for_model(&self.merged, model),
            None => pi_compaction(Some(&self.merged)),
        }
    }

    /// Returns a token setting of a compaction, such as `reserveTokens`; `model` is `provider/id` for a pi with model
    /// overrides.
    pub fn token_setting(&self, key: &str, model: Option<&str>) -> TokenSetting {
        let in_force = self.compaction(model);
        let value =
            if key == "reserveTokens" { in_force.reserve_tokens } else { in_force.keep_recent_tokens };
        let counts = |path: &[&str]| {
            let written = path.iter().try_fold(&self.merged, |value, key| value.get(key));
            written.filter(|written| {
                if model.is_some() { whole_tokens(written).is_some() } else { written.as_f64().is_some() }
            })
        };
        let own = model.map(|model| {
            (vec!["compaction", OVERRIDES, model, key], format!("compaction.{OVERRIDES}[{model}].{key}"))
        });
        let plain = (vec!["compaction", key], format!("compaction.{key}"));
        let (path, named) = own.filter(|(path, _)| counts(path).is_some()).unwrap_or(plain);
        let provenance = self.provenance(&path);
        let file = match &provenance {
            Provenance::File { path, .. } => path.clone(),
            _ => self.global.path.clone(),
        };
        // A value that pi refuses is reported as written but not in force.
        let written = path.iter().try_fold(&self.merged, |value, key| value.get(key)).cloned();
        let provenance = match (&provenance, counts(&path)) {
            (Provenance::File { .. }, None) => Provenance::Rule {
                rule: "default",
                why: format!("{provenance} must be a whole number of tokens; pi refuses it"),
            },
            _ => provenance,
        };
        TokenSetting { value: value.get(), raw_value: written, provenance, file, path: named }
    }

    /// Returns the origin of a value; `Default` if no file has it.
    fn provenance(&self, path: &[&str]) -> Provenance {
        let file =
            self.project.iter().chain(std::iter::once(&self.global)).find(|file| file.get(path).is_some());
        file.map_or(Provenance::Default, |file| file.provenance(path))
    }

    /// Lists every setting that affects sessions; those of single models come last.
    pub fn effective_rows(&self) -> Vec<ResolvedSetting> {
        let mut rows: Vec<ResolvedSetting> = SETTINGS
            .iter()
            .map(|(key, default)| {
                let path: Vec<&str> = key.split('.').collect();
                let token = key.strip_prefix("compaction.").filter(|key| key.ends_with("Tokens"));
                let checked = token.map(|key| self.token_setting(key, Some("")));
                let default = || js::parse(default).unwrap_or(Value::Null);
                let written = || path.iter().try_fold(&self.merged, |value, key| value.get(key)).cloned();
                let (value, provenance) = match checked {
                    Some(checked) => (checked.value.into(), checked.provenance),
                    None => (written().unwrap_or_else(default), self.provenance(&path)),
                };
                ResolvedSetting {
                    key: (*key).to_owned(),
                    value,
                    provenance,
                    overridden: self.overridden(&path),
                }
            })
            .collect();
        rows.extend(self.model_overrides());
        rows
    }

    /// The global file's value that the project's overrides.
    fn overridden(&self, path: &[&str]) -> Vec<Provenance> {
        let both = self.project.as_ref().is_some_and(|file| file.get(path).is_some());
        let below = Some(&self.global).filter(|file| both && file.get(path).is_some());
        below.map(|file| file.provenance(path)).into_iter().collect()
    }

    fn model_overrides(&self) -> Vec<ResolvedSetting> {
        let models =
            self.merged.get("compaction").and_then(|raw| raw.get(OVERRIDES)).and_then(Value::as_object);
        let models = models.into_iter().flat_map(Object::iter);
        let mut rows = Vec::new();
        for (model, own) in models {
            let model = model.to_string_lossy();
            for (key, value) in own.as_object().into_iter().flat_map(Object::iter) {
                let key = key.to_string_lossy();
                let path = ["compaction", OVERRIDES, model.as_str(), key.as_str()];
                rows.push(ResolvedSetting {
                    key: format!("compaction.{OVERRIDES}[{model}].{key}"),
                    value: value.clone(),
                    provenance: self.provenance(&path),
                    overridden: self.overridden(&path),
                });
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn settings(global: &str, project: Option<&str>) -> (tempfile::TempDir, PiSettings) {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
            path
        };
        let global = write("global.json", global);
        let project = project.map(|text| write("project.json", text));
        let settings = PiSettings::read(&global, project.as_deref());
        (dir, settings)
    }

    const GLOBAL: &str = "{\n \"compaction\": {\n  \"reserveTokens\": 9000,\n  \"modelOverrides\": { \"p/m\": {\n   \"reserveTokens\": 7000 } }\n } }";

    #[test]
    fn a_value_names_the_file_and_line_that_say_it() {
        let (dir, settings) = settings(GLOBAL, Some("{\"compaction\":{\"keepRecentTokens\":500}}"));
        let reported = |key: &str, model: &str| {
            let token = settings.token_setting(key, Some(model));
            (token.value, token.provenance.to_string(), token.path)
        };
        let at = |name: &str, line: u32| format!("{}:{line}", dir.path().join(name).display());
        let plain = (9000.0, at("global.json", 3), "compaction.reserveTokens".to_owned());
        assert_eq!(reported("reserveTokens", "x/y"), plain);
        let own = (7000.0, at("global.json", 5), "compaction.modelOverrides[p/m].reserveTokens".to_owned());
        assert_eq!(reported("reserveTokens", "p/m"), own);
        assert_eq!(reported("keepRecentTokens", "p/m").1, at("project.json", 1));
        // Older pi has no settings for single models.
        assert_eq!(settings.token_setting("reserveTokens", None).value, 9000.0);
    }

    #[test]
    fn without_a_file_defaults_apply_and_changes_belong_in_the_global_file() {
        let dir = tempfile::tempdir().unwrap();
        let global = dir.path().join(FILE_NAME);
        let settings = PiSettings::read(&global, None);
        let token = settings.token_setting("keepRecentTokens", Some("p/m"));
        assert_eq!((token.value, token.provenance, token.file), (20_000.0, Provenance::Default, global));
        assert_eq!(settings.files().count(), 0);
        assert!(settings.effective_rows().iter().all(|row| row.provenance == Provenance::Default));
    }

    #[test]
    fn a_value_that_pi_refuses_is_reported_and_ignored() {
        let (_dir, settings) = settings(r#"{"compaction":{"reserveTokens":-5}}"#, None);
        let token = settings.token_setting("reserveTokens", Some("p/m"));
        assert_eq!(token.value, 16_384.0);
        assert!(token.provenance.to_string().contains("pi refuses it"), "{}", token.provenance);
        assert_eq!(token.raw_value, Some((-5).into()));
    }

    #[test]
    fn rows_hold_every_setting_and_those_of_single_models() {
        let (_dir, settings) = settings(GLOBAL, Some(r#"{"compaction":{"reserveTokens":1}}"#));
        let rows = settings.effective_rows();
        let row = |key: &str| rows.iter().find(|row| row.key == key).unwrap();
        assert_eq!(row("compaction.reserveTokens").overridden.len(), 1);
        assert_eq!(row("compaction.modelOverrides[p/m].reserveTokens").value, 7000.into());
        assert_eq!(row("retry.maxRetries").value, 3.into());
        assert_eq!(rows.len(), SETTINGS.len() + 1);
    }
}
