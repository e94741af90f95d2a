//! Lists the sessions of a store's databases, and says of each database without any why it has none.

use std::path::{Path, PathBuf};

use super::contents::Store;
use super::database_info::DatabaseInfo;
use super::path_kind::PathKind;
use super::sqlite::{self, Database, OpenError, SizeCache};
use crate::diagnostic::{Diagnostic, Severity};

/// Adds the sessions of databases, each found for an agent. A database without sessions serves another purpose.
pub(super) fn add_databases(store: &mut Store, files: &[(String, PathBuf)], sizes: &SizeCache) {
    for (agent, path) in files {
        match Database::open(path) {
            Ok(database) => add_database(store, agent, &database, sizes),
            Err(error) if is_worth_reporting(store, path) => {
                let finding = Diagnostic::new(path, Severity::Error, error.to_string(), error.next_step());
                store.diagnostics.push(finding);
                store.databases.push(DatabaseInfo { path: path.clone(), schema: None });
            }
            Err(_) if std::fs::metadata(path).is_ok_and(|meta| meta.len() == 0) => {
                let what = "the database is empty (0 bytes): it contains no sessions";
                let next = "the gateway fills it when it starts; if it contained sessions before, restore it from a \
                     backup";
                store.diagnostics.push(Diagnostic::new(path, Severity::Warning, what, next));
            }
            Err(_) => store.diagnostics.extend(no_sessions_diagnostic(path)),
        }
    }
}

/// Returns a note that this database is from a release that keeps sessions in files, so that no one searches it for
/// them.
pub(super) fn no_sessions_diagnostic(path: &Path) -> Option<Diagnostic> {
    let version = sqlite::version_without_sessions(path)?;
    let what = format!(
        "contains no sessions: schema version {version} belongs to releases 2026.6.11 to 2026.7.35, which \
         keep sessions in files"
    );
    Some(Diagnostic::new(path, Severity::Note, what, sqlite::NO_SESSIONS_HINT))
}

/// Records databases whose sessions are not listed: their existence decides the version of the gateway, whichever part
/// of its store was named.
pub(super) fn note_databases(store: &mut Store, files: &[(String, PathBuf)]) {
    for (_, path) in files {
        let schema = Database::open(path).ok().map(|database| database.schema().clone());
        if schema.is_some()
            || is_worth_reporting(store, path) && path.metadata().is_ok_and(|meta| meta.len() > 0)
        {
            store.databases.push(DatabaseInfo { path: path.clone(), schema });
        }
    }
}

/// Whether to report a database that could not be opened: the user named it, or it holds sessions (sqlite A7). An
/// unreadable database counts as holding sessions, because silence would look like an empty store.
fn is_worth_reporting(store: &Store, path: &Path) -> bool {
    matches!(&store.path_kind, PathKind::Database(own) if own == path)
        || sqlite::has_sessions(path).unwrap_or(true)
}

fn add_database(store: &mut Store, agent: &str, database: &Database, sizes: &SizeCache) {
    let schema = database.schema();
    let owner = schema.agent.clone().unwrap_or_else(|| agent.to_owned());
    let mut note = |severity, what: String, next: &str| {
        store.diagnostics.push(Diagnostic::new(database.path(), severity, what, next));
    };
    if schema.is_older_than_known() {
        let what = format!("the database has the older schema version {}", schema.version);
        note(
            Severity::Note,
            what,
            "clawscope reads its tables like those of version 23; `openclaw doctor` migrates it",
        );
    }
    if database.is_immutable() {
        let what = "opened as an unchanging file, because clawscope may not write in its folder".to_owned();
        note(Severity::Note, what, "reload to see what a running gateway writes");
    }
    store.databases.push(DatabaseInfo { path: database.path().to_path_buf(), schema: Some(schema.clone()) });
    let added = sqlite::add_sessions(database, &owner, &mut store.sessions, &mut store.diagnostics, sizes);
    if let Err(error) = added.map_err(OpenError::from) {
        let finding = Diagnostic::new(database.path(), Severity::Error, error.to_string(), error.next_step());
        store.diagnostics.push(finding);
    }
}

/// Marks every file next to a database as imported or not.
pub(super) fn mark_leftovers_of_databases(store: &mut Store) {
    for holding in store.databases.clone() {
        let Some(agent) = holding.schema.as_ref().and_then(|schema| schema.agent.clone()) else { continue };
        // It opened a moment ago; if it no longer does, its files stay unmarked.
        let Ok(database) = Database::open(&holding.path) else { continue };
        sqlite::mark_leftovers(&database, &agent, &mut store.sessions, &mut store.diagnostics);
    }
}
