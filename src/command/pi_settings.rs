//! pi's own settings for `doctor`: the global file, and the overrides of each project.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::preview::format_value;
use crate::diagnostic::{Diagnostic, Severity};
use crate::doc::{Align, Cell, Doc, Table, Tone};
use crate::gateway::effective::{ResolvedSetting, overridden_text};
use crate::gateway::pi_settings::PiSettings;
use crate::gateway::registry::Provenance;
use crate::js::{self, JsString, Value};
use crate::redact::masked_value;
use crate::store::discovery::Store;
use crate::store::path_kind::load_settings;
use crate::text::truncate;

#[derive(Debug)]
pub(super) struct PiSettingsReport {
    /// The global file.
    pub settings: PiSettings,
    /// Settings without a project.
    pub rows: Vec<ResolvedSetting>,
    /// Overrides by the project's working directory.
    pub project_rows: Vec<(String, Vec<ResolvedSetting>)>,
}

impl PiSettingsReport {
    /// Reads the settings files; `None` if the store is not pi's.
    pub(super) fn load(store: &Store) -> Option<Self> {
        let settings = load_settings(&store.path_kind, None).filter(|_| store.ruleset.id.is_pi())?;
        let folders: BTreeSet<&str> = store.sessions.iter().filter_map(|it| it.cwd.as_deref()).collect();
        let of_project = |cwd: &str| {
            let own = load_settings(&store.path_kind, Some(cwd))?;
            let file = own.files().next().filter(|file| *file != own.global())?.to_path_buf();
            let from_it = |row: &ResolvedSetting| matches!(&row.provenance, Provenance::File { path, .. } if *path == file);
            Some((cwd.to_owned(), own.effective_rows().into_iter().filter(from_it).collect::<Vec<_>>()))
        };
        let projects = folders.into_iter().filter_map(of_project).collect();
        Some(Self { rows: settings.effective_rows(), settings, project_rows: projects })
    }

    /// Reports configured values that pi refuses to start with.
    pub(super) fn diagnostics(&self) -> Vec<Diagnostic> {
        let refused = |row: &&ResolvedSetting| matches!(row.provenance, Provenance::Rule { .. });
        let finding = |row: &ResolvedSetting| {
            let what = format!("{}: {}", row.key, row.provenance);
            Diagnostic::new(
                self.settings.global(),
                Severity::Warning,
                what,
                "write a whole number of tokens, 0 or more",
            )
        };
        self.rows.iter().filter(refused).map(finding).collect()
    }

    /// Provider and model of a new session; empty where no setting names one.
    pub(super) fn default_model(&self) -> (String, String) {
        let text = |key: &str| {
            let row = self.rows.iter().find(|row| row.key == key);
            row.and_then(|row| row.value.as_str()).map(JsString::to_string_lossy).unwrap_or_default()
        };
        (text("defaultProvider"), text("defaultModel"))
    }

    /// Returns the settings with origin, then the overrides by project folder.
    pub(super) fn reported(&self) -> Vec<ReportedSetting> {
        let projects = self.project_rows.iter();
        let overrides = projects
            .flat_map(|(cwd, rows)| rows.iter().map(|row| ReportedSetting::from(row).in_project(cwd)));
        self.rows.iter().map(ReportedSetting::from).chain(overrides).collect()
    }

    pub(super) fn write(&self, rows: &[ReportedSetting], doc: &mut Doc) {
        let of_all = rows.iter().filter(|row| row.project.is_none());
        doc.table(ReportedSetting::table("pi's settings", Align::Right, of_all));
        if self.settings.files().next().is_none() {
            let words = format!("{} does not exist: pi uses its defaults", self.settings.global().display());
            doc.say(Tone::Dim, &words);
        }
        for (cwd, _) in &self.project_rows {
            doc.gap();
            doc.say(Tone::Plain, cwd);
            let own = rows.iter().filter(|row| row.project.as_ref() == Some(cwd));
            doc.table(ReportedSetting::table("project setting", Align::Right, own));
        }
        doc.gap();
    }
}

/// Columns of an object in a table; `--json` has it whole.
const MAX_OBJECT_COLUMNS: usize = 80;

/// A setting with its origin.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ReportedSetting {
    /// The folder whose own settings hold it; absent in the settings of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    pub key: String,
    pub value: Value,
    /// The origin of the value.
    from: String,
    /// The origins that it overrides.
    over: Vec<String>,
    #[serde(skip)]
    pub is_default: bool,
}

impl ReportedSetting {
    pub(super) fn new(key: &str, value: &Value, from: &Provenance, over: &[Provenance]) -> Self {
        Self {
            project: None,
            key: key.to_owned(),
            value: masked_value(value),
            from: from.to_string(),
            over: over.iter().map(ToString::to_string).collect(),
            is_default: *from == Provenance::Default,
        }
    }

    /// Lists settings by key under the name of their group.
    pub(super) fn table<'a>(name: &str, values: Align, rows: impl Iterator<Item = &'a Self>) -> Table {
        let mut table = Table::new(&[(name, Align::Left), ("value", values), ("from", Align::Left)]);
        for row in rows {
            let value = match &row.value {
                Value::Object(_) => truncate(&js::stringify(&row.value), MAX_OBJECT_COLUMNS).0,
                Value::Null => "-".to_owned(),
                value => format_value(None, value),
            };
            let from = format!("{} {}", row.from, overridden_text(&row.over));
            table.push(vec![row.key.as_str().into(), value.into(), Cell::new(from.trim_end(), Tone::Dim)]);
        }
        table
    }

    pub(super) fn in_project(self, folder: &str) -> Self {
        Self { project: Some(folder.to_owned()), ..self }
    }
}

impl From<&ResolvedSetting> for ReportedSetting {
    fn from(row: &ResolvedSetting) -> Self {
        Self::new(&row.key, &row.value, &row.provenance, &row.overridden)
    }
}
