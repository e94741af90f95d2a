//! The pi coding agent's own sessions: directories per working directory, no index file (store R).

use std::path::{Path, PathBuf};

use super::kept::Kept;
use super::key::Kind;
use super::session::{Session, stem_of};
use super::sessions::header_id_and_cwd;
use super::shape::is_pi_cwd_dir;
use crate::error::{Finding, Severity};
use crate::gateway::env::Environment;
use crate::gateway::secrets::is_secret_file;
use crate::ids::SessionKey;

/// What sessions of pi have as their agent.
pub const PI_AGENT: &str = "pi";

/// pi's agent dir (store R1): `PI_CODING_AGENT_DIR`, else `.pi/agent` in the user's home. The gateway's own home
/// variable does not count.
pub fn pi_agent_dir(env: &Environment) -> PathBuf {
    let home = || env.first(&["HOME", "USERPROFILE"]).map(PathBuf::from).or_else(|| env.os_home.clone());
    let home = || home().unwrap_or_else(|| env.cwd.clone());
    match env.get("PI_CODING_AGENT_DIR") {
        Some("~") => home(),
        Some(own) => match own.strip_prefix("~/") {
            Some(rest) => home().join(rest),
            None => env.cwd.join(own),
        },
        None => home().join(".pi").join("agent"),
    }
}

/// Sessions of an agent dir: those below `sessions`, and files that one old version left in the agent dir itself (store
/// R5).
pub fn agent_dir_sessions(dir: &Path, findings: &mut Vec<Finding>) -> Vec<Session> {
    let mut sessions = sessions_in(&dir.join("sessions"), findings);
    sessions.extend(transcripts_in(dir, findings).iter().map(|path| session_of(path)));
    sessions
}

/// Sessions of a sessions dir: files in it (`--session-dir`) and in its directories per working directory.
pub fn sessions_in(dir: &Path, findings: &mut Vec<Finding>) -> Vec<Session> {
    let mut paths = transcripts_in(dir, findings);
    for sub in directories_in(dir) {
        paths.extend(transcripts_in(&sub, findings));
    }
    paths.iter().map(|path| session_of(path)).collect()
}

fn session_of(path: &Path) -> Session {
    let (id, cwd) = header_id_and_cwd(path);
    let stem = stem_of(path);
    let id = id.unwrap_or_else(|| stem.rsplit('_').next().unwrap_or(&stem).to_owned());
    let project = cwd.as_deref().and_then(|cwd| cwd.rsplit(['/', '\\']).find(|part| !part.is_empty()));
    let mut session = Session {
        key: SessionKey(format!("{PI_AGENT}:{id}")),
        agent: PI_AGENT.to_owned(),
        kind: Kind::Pi,
        title: project.unwrap_or(&stem).to_owned(),
        id,
        path: Some(path.to_path_buf()),
        kept: Kept::File,
        row: None,
        cwd,
        flags: Vec::new(),
        bytes: 0,
        modified_ms: None,
    };
    session.examine();
    session
}

/// Every `*.jsonl` directly in a directory, by name. A directory that cannot be read is a finding; a missing one is not.
fn transcripts_in(dir: &Path, findings: &mut Vec<Finding>) -> Vec<PathBuf> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) => {
            if error.kind() != std::io::ErrorKind::NotFound {
                let what = format!("cannot be listed: {error}");
                findings.push(Finding::new(
                    dir,
                    Severity::Error,
                    what,
                    "check the permissions of the directory",
                ));
            }
            return Vec::new();
        }
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| {
        path.extension().is_some_and(|extension| extension == "jsonl")
            && path.is_file()
            && !is_secret_file(path)
    });
    paths.sort();
    paths
}

fn directories_in(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut dirs: Vec<PathBuf> = entries
        .filter(|entry| is_pi_cwd_dir(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    dirs.sort();
    dirs
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn the_agent_dir_follows_its_variable_or_the_users_home() {
        let at =
            |vars: &[(&str, &str)]| pi_agent_dir(&Environment::new(vars.iter().copied(), None, "/w".into()));
        let home = ("HOME", "/h");
        assert_eq!(at(&[home, ("OPENCLAW_HOME", "/claw")]), Path::new("/h/.pi/agent"));
        assert_eq!(at(&[home, ("PI_CODING_AGENT_DIR", "~/p")]), Path::new("/h/p"));
        assert_eq!(at(&[home, ("PI_CODING_AGENT_DIR", "~")]), Path::new("/h"));
        assert_eq!(at(&[home, ("PI_CODING_AGENT_DIR", "/p")]), Path::new("/p"));
        assert_eq!(at(&[home, ("PI_CODING_AGENT_DIR", "~p")]), Path::new("/w/~p"));
    }

    #[test]
    fn sessions_are_found_per_working_directory_flat_and_in_the_agent_dir() {
        let dir = tempfile::tempdir().unwrap();
        let header = |id: &str| {
            format!("{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\",\"cwd\":\"/home/u/app\"}}\n")
        };
        let name = "2026-02-21T05-16-55-686Z_0f.jsonl";
        write(&dir.path().join("sessions/--home-u-app--").join(name), &header("a"));
        write(&dir.path().join("sessions").join(name), &header("b"));
        write(&dir.path().join("old.jsonl"), &header("c"));
        write(&dir.path().join("sessions/--x--/2026_zz.jsonl"), "broken");
        write(&dir.path().join("sessions/other/x.jsonl"), &header("no"));
        write(&dir.path().join("auth.json"), "{}");
        let mut findings = Vec::new();
        let sessions = agent_dir_sessions(dir.path(), &mut findings);
        let seen: Vec<_> = sessions.iter().map(|s| (s.id.as_str(), s.title.as_str())).collect();
        assert_eq!(seen, [("b", "app"), ("a", "app"), ("zz", "2026_zz"), ("c", "app")]);
        assert_eq!(findings, []);
        assert_eq!(sessions[1].key.0, "pi:a");
        assert_eq!(sessions[1].cwd.as_deref(), Some("/home/u/app"));
        assert!(sessions[1].bytes > 0 && sessions[1].modified_ms.is_some());
    }
}
