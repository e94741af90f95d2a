//! The embedded demo store: a gateway's state dir with more than ten sessions of two agents, generated from fixed
//! seeds. All content is invented. Each session shows one reason why a context window fills up, or why it does not.
mod branching;
mod content;
mod json;
mod model;
mod nodes;
mod prompt;
mod prompt_report;
mod rng;
mod scenarios;
mod session;
mod template;
#[cfg(test)]
mod tests;
mod tool;
mod transcript_writer;
mod web_tool;

use serde_json::{Map, Value};
use session::DemoSession;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Current time of the demo store, in ms since the epoch: 2026-03-05T14:06:41Z, minutes after its last entry.
pub const NOW_MS: i64 = 1_772_719_601_000;

const CONFIG: &str = include_str!("../../../assets/demo/openclaw.json");

/// Returns every file of the demo state dir: path relative to the state dir, bytes. Pure and deterministic.
pub fn files() -> Vec<(PathBuf, Vec<u8>)> {
    let sessions = sessions();
    let mut files = vec![(PathBuf::from("openclaw.json"), CONFIG.as_bytes().to_vec())];
    for agent in ["main", "research"] {
        let folder = Path::new("agents").join(agent).join("sessions");
        files.push((folder.join("sessions.json"), rows(&sessions, agent)));
        let of_agent = sessions.iter().filter(|session| session.agent == agent);
        files.extend(of_agent.filter_map(|session| {
            session.file.as_ref().map(|file| (folder.join(file), session.bytes.clone()))
        }));
    }
    files
}

/// Writes the demo state dir into `dir`, which must exist and should be empty.
///
/// # Errors
/// A folder or file in `dir` cannot be created or written.
pub fn write_to(dir: &Path) -> std::io::Result<()> {
    for (path, bytes) in files() {
        let path = dir.join(path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        File::create(path)?.write_all(&bytes)?;
    }
    Ok(())
}

/// Returns all sessions, in the order of their rows.
fn sessions() -> Vec<DemoSession> {
    let stories: [fn() -> Vec<DemoSession>; 10] = [
        scenarios::telegram::sessions,
        scenarios::slack::sessions,
        scenarios::feishu::sessions,
        scenarios::discord::sessions,
        scenarios::cron::sessions,
        scenarios::whatsapp::sessions,
        scenarios::research::sessions,
        scenarios::crawl::sessions,
        scenarios::llvm::sessions,
        scenarios::leftovers::sessions,
    ];
    stories.iter().flat_map(|story| story()).collect()
}

/// Builds the `sessions.json` of one agent (store C1).
fn rows(sessions: &[DemoSession], agent: &str) -> Vec<u8> {
    let rows: Map<String, Value> = sessions
        .iter()
        .filter(|session| session.agent == agent)
        .flat_map(|session| session.rows.iter().cloned())
        .collect();
    json::pretty(&Value::Object(rows)).into_bytes()
}
