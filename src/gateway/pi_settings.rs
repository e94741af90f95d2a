//! pi's own settings: the global file, a project's over it, and for today's pi those of one model over both (store R6,
//! store-pi-1.5 A8). Each value with the file and line that says it, as for the gateway's.

use std::path::{Path, PathBuf};

use super::compaction::{
    CompactionSettings, merge_settings, pi_compaction, pi_compaction_for_model, whole_tokens,
};
use super::effective::ResolvedSetting;
use super::lines::key_line;
use super::provenance::Provenance;
use crate::js::{self, Object, Value};

/// Name of both files.
pub const FILE_NAME: &str = "settings.json";
/// The key in which pi keeps the version whose changes it has shown.
const LAST_VERSION: &str = "lastChangelogVersion";
/// The settings of single models.
const OVERRIDES: &str = "modelOverrides";

/// A setting and what is in force without it, as JSON; `null` where nothing is.
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

/// One settings file, as it is on disk.
#[derive(Debug, Clone, PartialEq)]
struct SettingsFile {
    path: PathBuf,
    text: String,
    /// Nothing where there is no such file, or no JSON in it, which is as good as none to pi.
    value: Option<Value>,
}

impl SettingsFile {
    fn read(path: &Path) -> Self {
        let text =
            if path.is_file() { std::fs::read_to_string(path).unwrap_or_default() } else { String::new() };
        Self {
            value: js::parse(&text).ok().filter(|value| matches!(value, Value::Object(_))),
            path: path.to_path_buf(),
            text,
        }
    }

    fn get(&self, path: &[&str]) -> Option<&Value> {
        path.iter().try_fold(self.value.as_ref()?, |value, key| value.get(key))
    }

    /// The line that says what stands at a path.
    fn provenance(&self, path: &[&str]) -> Provenance {
        Provenance::File { path: self.path.clone(), line: key_line(&self.text, path), key: path.join(".") }
    }
}

/// What pi's settings files say for the sessions of one working directory.
#[derive(Debug, Clone, PartialEq)]
pub struct PiSettings {
    global: SettingsFile,
    project: Option<SettingsFile>,
    merged: Value,
}

/// A token setting of a compaction: where its value comes from, and where another would be written.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenSetting {
    /// In force.
    pub value: f64,
    /// As the file has it, not checked; none at the default.
    pub raw_value: Option<Value>,
    /// Origin.
    pub provenance: Provenance,
    /// The file to change.
    pub file: PathBuf,
    /// The path in it; a model's own value stands under `compaction.modelOverrides[provider/id].`.
    pub path: String,
}

impl PiSettings {
    /// Reads the global file, and that of a project where there is one.
    pub fn read(global: &Path, project: Option<&Path>) -> Self {
        let global = SettingsFile::read(global);
        let project = project.map(SettingsFile::read).filter(|file| file.value.is_some());
        let merged =
            merge_settings(global.value.as_ref(), project.as_ref().and_then(|file| file.value.as_ref()));
        Self { global, project, merged }
    }

    /// The files that say something, the strongest first.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let global = Some(&self.global).filter(|file| file.value.is_some());
        self.project.iter().chain(global).map(|file| file.path.as_path())
    }

    /// The version of pi that was started last, where it kept that, and the line that says so.
    pub fn last_version(&self) -> Option<(String, Provenance)> {
        let text = self.global.get(&[LAST_VERSION])?.as_str()?.to_string_lossy();
        Some((text, self.global.provenance(&[LAST_VERSION])))
    }

    /// The global file, whether it is there or not.
    pub fn global(&self) -> &Path {
        &self.global.path
    }

    /// The settings of a compaction: before today's pi the plain ones.
    pub fn compaction(&self, model: Option<&str>) -> CompactionSettings {
        match model {
            Some(model) => pi_compaction_for_model(&self.merged, model),
            None => pi_compaction(Some(&self.merged)),
        }
    }

    /// One token setting of a compaction, such as `reserveTokens`; `model` is `provider/id` where single models may have
    /// their own.
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
        // What pi refuses is told as what it is: written down, and not in force.
        let written = path.iter().try_fold(&self.merged, |value, key| value.get(key)).cloned();
        let provenance = match (&provenance, counts(&path)) {
            (Provenance::File { .. }, None) => Provenance::Rule {
                rule: "default",
                why: format!("{provenance} is no whole number of tokens, which pi refuses"),
            },
            _ => provenance,
        };
        TokenSetting { value, raw_value: written, provenance, file, path: named }
    }

    /// The file and line that say a value; the default where none does.
    fn provenance(&self, path: &[&str]) -> Provenance {
        let file =
            self.project.iter().chain(std::iter::once(&self.global)).find(|file| file.get(path).is_some());
        file.map_or(Provenance::Default, |file| file.provenance(path))
    }

    /// Every setting that decides about sessions, models' own ones last.
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

    /// The global file's value where the project's goes over it.
    fn overridden(&self, path: &[&str]) -> Vec<Provenance> {
        let both = self.project.as_ref().is_some_and(|file| file.get(path).is_some());
        let below = Some(&self.global).filter(|file| both && file.get(path).is_some());
        below.map(|file| file.provenance(path)).into_iter().collect()
    }

    /// A row for every value of every single model.
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
        let told = |key: &str, model: &str| {
            let token = settings.token_setting(key, Some(model));
            (token.value, token.provenance.to_string(), token.path)
        };
        let at = |name: &str, line: u32| format!("{}:{line}", dir.path().join(name).display());
        let plain = (9000.0, at("global.json", 3), "compaction.reserveTokens".to_owned());
        assert_eq!(told("reserveTokens", "x/y"), plain);
        let own = (7000.0, at("global.json", 5), "compaction.modelOverrides[p/m].reserveTokens".to_owned());
        assert_eq!(told("reserveTokens", "p/m"), own);
        assert_eq!(told("keepRecentTokens", "p/m").1, at("project.json", 1));
        // Before today's pi no model has its own.
        assert_eq!(settings.token_setting("reserveTokens", None).value, 9000.0);
    }

    #[test]
    fn without_a_file_the_defaults_are_told_and_the_global_file_is_where_to_write() {
        let dir = tempfile::tempdir().unwrap();
        let global = dir.path().join(FILE_NAME);
        let settings = PiSettings::read(&global, None);
        let token = settings.token_setting("keepRecentTokens", Some("p/m"));
        assert_eq!((token.value, token.provenance, token.file), (20_000.0, Provenance::Default, global));
        assert_eq!(settings.files().count(), 0);
        assert!(settings.effective_rows().iter().all(|row| row.provenance == Provenance::Default));
    }

    #[test]
    fn a_value_that_pi_refuses_is_told_and_not_in_force() {
        let (_dir, settings) = settings(r#"{"compaction":{"reserveTokens":-5}}"#, None);
        let token = settings.token_setting("reserveTokens", Some("p/m"));
        assert_eq!(token.value, 16_384.0);
        assert!(token.provenance.to_string().contains("which pi refuses"), "{}", token.provenance);
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
