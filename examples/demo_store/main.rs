//! Generates the built-in demo store from fixed seeds and freezes it in `assets/demo/store.zst`:
//! `cargo run --example demo_store`. The program `zstd` must be installed.
//!
//! After a change here, run it and commit the archive; the tests here fail while the two differ.
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

use anyhow::{Context as _, Result, ensure};
use serde_json::{Map, Value};
use session::DemoSession;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const CONFIG: &str = include_str!("openclaw.json");
const ARCHIVE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/demo/store.zst");

fn main() -> Result<()> {
    let plain = archive(&files());
    compress(&plain)?;
    let packed = std::fs::metadata(ARCHIVE)?.len();
    writeln!(std::io::stdout(), "{ARCHIVE}: {packed} bytes for {}", plain.len())?;
    Ok(())
}

/// Joins the files in the form that `clawscope::store::demo` unpacks: a line `<bytes> <path>`, then the bytes.
fn archive(files: &[(PathBuf, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (path, bytes) in files {
        let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
        out.extend(format!("{} {}\n", bytes.len(), parts.join("/")).into_bytes());
        out.extend(bytes);
    }
    out
}

/// Writes the archive with `zstd`, because our own encoder needs more than twice the bytes. It adds no checksum: the
/// tests compare every byte.
fn compress(plain: &[u8]) -> Result<()> {
    let mut zstd = Command::new("zstd")
        .args(["-19", "--no-check", "--quiet", "--force", "-o", ARCHIVE])
        .arg(format!("--stream-size={}", plain.len()))
        .stdin(Stdio::piped())
        .spawn()
        .context("cannot start zstd; install it")?;
    zstd.stdin.take().context("zstd has no input")?.write_all(plain).context("zstd stopped reading")?;
    let status = zstd.wait()?;
    ensure!(status.success(), "zstd failed: {status}");
    Ok(())
}

/// Returns every file of the demo state dir: path relative to the state dir, bytes. Pure and deterministic.
fn files() -> Vec<(PathBuf, Vec<u8>)> {
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
