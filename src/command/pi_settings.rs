//! pi's own settings for `doctor`: the global file's, and what projects put over them.

use std::collections::BTreeSet;

use super::doctor::setting_value;
use super::failure::Failure;
use super::output::{Output, Tone};
use super::preview::value_words;
use super::table::{Align, Cell, Table};
use crate::error::{Finding, Severity};
use crate::gateway::effective::{Effective, over_words};
use crate::gateway::pi_settings::PiSettings;
use crate::gateway::provenance::Provenance;
use crate::js::{JsString, Object, Value};
use crate::store::pi_dirs::settings_at;
use crate::store::survey::Store;

/// What pi's settings files say.
#[derive(Debug)]
pub(super) struct PiFacts {
    /// The global file.
    pub settings: PiSettings,
    /// Every setting as it is without a project.
    pub rows: Vec<Effective>,
    /// By working directory, what its project puts over that.
    pub projects: Vec<(String, Vec<Effective>)>,
}

impl PiFacts {
    /// Reads them; none where the store is no place of pi's.
    pub(super) fn of(store: &Store) -> Option<Self> {
        let settings = settings_at(&store.shape, None).filter(|_| store.ruleset.ruleset.is_pi())?;
        let folders: BTreeSet<&str> = store.sessions.iter().filter_map(|it| it.cwd.as_deref()).collect();
        let of_project = |cwd: &str| {
            let own = settings_at(&store.shape, Some(cwd))?;
            let file = own.files().next().filter(|file| *file != own.global())?.to_path_buf();
            let from_it =
                |row: &Effective| matches!(&row.provenance, Provenance::File { path, .. } if *path == file);
            Some((cwd.to_owned(), own.rows().into_iter().filter(from_it).collect::<Vec<_>>()))
        };
        let projects = folders.into_iter().filter_map(of_project).collect();
        Some(Self { rows: settings.rows(), settings, projects })
    }

    /// Values that are written down and that pi refuses to start with.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let refused = |row: &&Effective| matches!(row.provenance, Provenance::Rule { .. });
        let finding = |row: &Effective| {
            let what = format!("{}: {}", row.key, row.provenance);
            Finding::new(
                self.settings.global(),
                Severity::Warning,
                what,
                "write a whole number of tokens, 0 or more",
            )
        };
        self.rows.iter().filter(refused).map(finding).collect()
    }

    /// Provider and model of a new session, where the settings name one.
    pub(super) fn model(&self) -> (String, String) {
        let text = |key: &str| {
            let row = self.rows.iter().find(|row| row.key == key);
            row.and_then(|row| row.value.as_str()).map(JsString::to_string_lossy).unwrap_or_default()
        };
        (text("defaultProvider"), text("defaultModel"))
    }

    /// Each with where it comes from, projects' own behind, by their folder.
    pub(super) fn values(&self) -> Vec<Value> {
        let value =
            |row: &Effective| setting_value(&row.key, &row.value, &row.provenance.to_string(), &row.over);
        let of_project = |(cwd, rows): &(String, Vec<Effective>)| {
            let with = |row: &Effective| {
                let mut members = Object::from([("project", Value::from(cwd.as_str()))]);
                if let Value::Object(own) = value(row) {
                    own.into_iter().for_each(|(key, member)| members.insert(key, member));
                }
                Value::from(members)
            };
            rows.iter().map(with).collect::<Vec<_>>()
        };
        self.rows.iter().map(value).chain(self.projects.iter().flat_map(of_project)).collect()
    }

    pub(super) fn print(&self, output: &mut Output) -> Result<(), Failure> {
        let mut table =
            Table::new(&[("pi's settings", Align::Left), ("value", Align::Right), ("from", Align::Flexible)]);
        for row in &self.rows {
            table.push(cells(&row.key, row));
        }
        table.print(output, "")?;
        if self.settings.files().next().is_none() {
            let line = format!("{} is not there: pi runs on its defaults", self.settings.global().display());
            output.line(Tone::Dim, &line)?;
        }
        for (cwd, rows) in &self.projects {
            output.line(Tone::Plain, "")?;
            let mut table = Table::new(&[
                ("in the project", Align::Left),
                ("value", Align::Right),
                ("from", Align::Flexible),
            ]);
            for row in rows {
                table.push(cells(&row.key, row));
            }
            output.line(Tone::Plain, cwd)?;
            table.print(output, "  ")?;
        }
        Ok(output.line(Tone::Plain, "")?)
    }
}

fn cells(key: &str, row: &Effective) -> Vec<Cell> {
    let over = if row.over.is_empty() { String::new() } else { format!(" {}", over_words(&row.over)) };
    let value = if row.value == Value::Null { "-".to_owned() } else { value_words(None, &row.value) };
    vec![key.into(), value.as_str().into(), Cell::new(&format!("{}{over}", row.provenance), Tone::Dim)]
}
