//! Finds the databases of a gateway, and names the transcripts in them (sqlite A).

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::open::connect;
use crate::gateway::config::{GatewayConfig, normalise_agent_id};
use crate::gateway::env::Environment;
use crate::store::locate::Agent;

/// Name of an agent's database, in `agents/<id>/agent` (sqlite A1).
pub const DATABASE_NAME: &str = "openclaw-agent.sqlite";

/// Separates the database from the item in a made-up path.
const ITEM_SEPARATOR: char = '#';

/// Returns the made-up path of an item in a database, for lists, errors and JSON: `…/openclaw-agent.sqlite#<name>`. No
/// such file exists.
pub fn item_path(database: &Path, name: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(ITEM_SEPARATOR.to_string());
    path.push(name.replace(['/', '\\', ITEM_SEPARATOR], "_"));
    path.into()
}

/// Returns the database in such a path; `None` for any other path.
pub fn database_of(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let (database, _) = name.rsplit_once(ITEM_SEPARATOR)?;
    let is_database = [".sqlite", ".db"].iter().any(|end| database.ends_with(end));
    is_database.then(|| path.with_file_name(database))
}

/// Returns the folder for artifacts of a database: the sibling `sessions` of a folder `agent`, else the database's own
/// folder (sqlite A5).
pub(in crate::store) fn artifact_dir(database: &Path) -> PathBuf {
    let own = database.parent().unwrap_or(Path::new("/"));
    if own.ends_with("agent") { own.with_file_name("sessions") } else { own.to_path_buf() }
}

/// Finds the databases of a gateway, each once with its agent: at the default paths, at the path from `session.store`,
/// and in the gateway's registry (sqlite A1, A2, A4). Returns existing paths only, files or not.
pub(in crate::store) fn find_databases(
    config: &GatewayConfig,
    env: &Environment,
    state: &Path,
    agents: &[Agent],
) -> Vec<(String, PathBuf)> {
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    let mut add = |agent: &str, path: PathBuf| {
        if path.exists() && found.iter().all(|(_, own)| *own != path) {
            found.push((agent.to_owned(), path));
        }
    };
    for agent in agents {
        add(&agent.id, default_path(state, &agent.id));
    }
    let default = config.default_agent_id();
    for agent in agents {
        for path in configured_paths(config, env, &agent.id, agent.id == default) {
            add(&agent.id, path);
        }
    }
    for (agent, path) in registered_databases(state) {
        add(&agent, state.join(path));
    }
    found
}

fn default_path(state: &Path, agent: &str) -> PathBuf {
    state.join("agents").join(agent).join("agent").join(DATABASE_NAME)
}

/// Returns the paths from `session.store` (sqlite A4). Beside a shared database, agents other than the default one have
/// numbered files.
fn configured_paths(
    config: &GatewayConfig,
    env: &Environment,
    agent: &str,
    is_default: bool,
) -> Vec<PathBuf> {
    let text = config.root.pointer("/session/store").and_then(serde_json::Value::as_str).map(str::trim);
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Vec::new() };
    let shared = !text.contains("{agentId}");
    let store = env.resolve(&text.replace("{agentId}", &normalise_agent_id(agent)));
    let first = database_of_store_file(&store);
    if !shared || is_default || store.extension().is_some_and(|end| end == "sqlite") {
        return vec![first];
    }
    let base = first.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = |number: u32| match number {
        1 => format!("{base}.{agent}.sqlite"),
        number => format!("{base}.{agent}.{number}.sqlite"),
    };
    let beside = (1..).map(|number| first.with_file_name(name(number))).take_while(|path| path.is_file());
    beside.collect()
}

/// Returns the database that replaces a `sessions.json`.
fn database_of_store_file(store: &Path) -> PathBuf {
    if store.extension().is_some_and(|end| end == "sqlite") {
        return store.to_path_buf();
    }
    if store.file_name().is_none_or(|name| name != "sessions.json") {
        return store.with_extension("sqlite");
    }
    let sessions = store.parent().filter(|dir| dir.ends_with("sessions"));
    let agent =
        sessions.and_then(Path::parent).filter(|dir| dir.parent().is_some_and(|it| it.ends_with("agents")));
    agent.map_or_else(|| store.with_file_name(DATABASE_NAME), |agent| agent.join("agent").join(DATABASE_NAME))
}

/// Reads the agent databases that the gateway registered in its shared database. Nothing else is read there, because it
/// holds secrets (sqlite A2).
fn registered_databases(state: &Path) -> Vec<(String, PathBuf)> {
    let path = state.join("state").join("openclaw.sqlite");
    if !path.is_file() {
        return Vec::new();
    }
    let ask = |connection: &Connection| -> rusqlite::Result<Vec<(String, PathBuf)>> {
        let mut rows = connection.prepare("SELECT agent_id, path FROM agent_databases ORDER BY agent_id")?;
        rows.query_map([], |row| Ok((row.get(0)?, PathBuf::from(row.get::<_, String>(1)?))))?.collect()
    };
    connect(&path).and_then(|(connection, _)| ask(&connection)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_in_a_database_has_a_path_with_a_fragment() {
        let database = Path::new("/s/agents/main/agent/openclaw-agent.sqlite");
        let path = item_path(database, "11-22");
        assert_eq!(path, Path::new("/s/agents/main/agent/openclaw-agent.sqlite#11-22"));
        assert_eq!(database_of(&path).as_deref(), Some(database));
        assert_eq!(database_of(&item_path(database, "a/b#c")).as_deref(), Some(database));
        assert_eq!(database_of(Path::new("/s/a#b.jsonl")), None);
        assert_eq!(database_of(database), None);
    }

    #[test]
    fn a_store_file_leads_to_the_database_that_took_its_place() {
        let to = |store: &str| database_of_store_file(Path::new(store)).to_string_lossy().into_owned();
        assert_eq!(to("/s/agents/a/sessions/sessions.json"), "/s/agents/a/agent/openclaw-agent.sqlite");
        assert_eq!(to("/x/sessions.json"), "/x/openclaw-agent.sqlite");
        assert_eq!(to("/x/foo.json"), "/x/foo.sqlite");
        assert_eq!(to("/x/y.sqlite"), "/x/y.sqlite");
    }

    #[test]
    fn moved_out_archives_are_in_the_sessions_folder() {
        assert_eq!(artifact_dir(Path::new("/s/agents/a/agent/x.sqlite")), Path::new("/s/agents/a/sessions"));
        assert_eq!(artifact_dir(Path::new("/x/y.sqlite")), Path::new("/x"));
    }
}
