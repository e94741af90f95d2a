//! Sessions of the pi coding agent: one folder per working directory, without an index file (store R).

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::archive::is_jsonl_path;
use super::entry::Role;
use super::key::SessionKind;
use super::location::Location;
use super::measure::role_of;
use super::path_kind::{configured_session_dirs, is_pi_cwd_dir, is_pi_transcript, pi_agent_dir};
use super::session::{Session, session_stem};
use super::session_builder::read_id_and_cwd;
use super::source::Source;
use crate::diagnostic::{Diagnostic, Severity};
use crate::gateway::env::Environment;
use crate::gateway::substitute::is_secret_file;
use crate::ids::SessionKey;
use crate::js::{self, Value};
use crate::units::{Bytes, Moment};

/// Maximum depth of folders searched below a sessions dir.
const MAX_DEPTH: usize = 6;
/// Maximum number of folders searched: the user may name a folder that holds far more than sessions.
const MAX_FOLDERS: usize = 20_000;

/// Agent id of pi sessions.
pub const PI_AGENT: &str = "pi";

/// Lists the sessions of an agent dir: those of configured session dirs, those below `sessions`, and files that one old
/// version left in the agent dir itself (store R5, store-pi-1.5 A2). Configured dirs count only for the agent dir of
/// the environment.
pub fn list_agent_dir_sessions(
    dir: &Path,
    env: &Environment,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Session> {
    let own = pi_agent_dir(env) == dir;
    let named = configured_session_dirs(env, dir).into_iter().filter(|named| own && named.path.is_dir());
    let mut seen = HashSet::new();
    let mut sessions = Vec::new();
    for named in named.collect::<Vec<_>>() {
        if sessions.is_empty() {
            let what = format!("pi writes its new sessions here, because of {}", named.source);
            let next = "This folder holds the sessions of all projects; clawscope also lists those in \
                 `sessions` of the agent dir.";
            diagnostics.push(Diagnostic::new(&named.path, Severity::Note, what, next));
        }
        sessions.extend(list_sessions(&named.path, diagnostics));
    }
    sessions.extend(list_sessions(&dir.join("sessions"), diagnostics));
    sessions.extend(list_transcripts(dir, diagnostics).iter().map(|path| read_session(path)));
    sessions.retain(|session| session.path.clone().is_none_or(|path| seen.insert(path)));
    if own {
        diagnostics.extend(missing_cwd_diagnostics(&sessions));
    }
    sessions
}

/// Reports working directories that no longer exist, each once with its first session: pi then asks the user, or fails
/// (store-pi-1.5 L3).
fn missing_cwd_diagnostics(sessions: &[Session]) -> Vec<Diagnostic> {
    let mut looked_at = HashSet::new();
    let lost = sessions.iter().filter_map(|session| {
        let cwd = session.cwd.as_deref().filter(|cwd| Path::new(cwd).is_absolute())?;
        let path = session.path.as_ref().filter(|_| looked_at.insert(cwd) && !Path::new(cwd).exists())?;
        let what = format!("its working directory {cwd} no longer exists");
        let next = "pi in a terminal prompts for another directory; without a terminal it refuses to continue \
             these sessions.";
        Some(Diagnostic::new(path, Severity::Note, what, next).about(session.key.0.as_str()))
    });
    lost.collect()
}

/// Lists the sessions of a sessions dir: its own files (`--session-dir`), those in its folders per working directory,
/// and those in folders that group or nest these.
pub fn list_sessions(dir: &Path, diagnostics: &mut Vec<Diagnostic>) -> Vec<Session> {
    let mut paths = list_transcripts(dir, diagnostics);
    for sub in list_folders_below(dir) {
        let is_pis = is_in_cwd_dir(&sub, dir);
        let found = list_transcripts(&sub, diagnostics).into_iter();
        paths.extend(found.filter(|path| is_pis || is_session_file(path)));
    }
    paths.iter().map(|path| read_session(path)).collect()
}

/// Whether pi would write here: inside a folder of a working directory, at any depth below `root`.
fn is_in_cwd_dir(dir: &Path, root: &Path) -> bool {
    let below = dir.strip_prefix(root).unwrap_or(dir);
    below.iter().any(|name| is_pi_cwd_dir(&name.to_string_lossy()))
}

/// Whether a file in another folder is surely a session: any program may store JSON lines there.
fn is_session_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    is_pi_transcript(&name) || read_id_and_cwd(path).0.is_some()
}

pub(super) fn read_session(path: &Path) -> Session {
    let (id, cwd) = read_id_and_cwd(path);
    let stem = session_stem(path);
    // An id may contain `_`: it is everything after the first one (store-pi-1.5 A4).
    let id = id.unwrap_or_else(|| stem.split_once('_').map_or(stem.as_str(), |(_, id)| id).to_owned());
    let project = cwd.as_deref().and_then(|cwd| cwd.rsplit(['/', '\\']).find(|part| !part.is_empty()));
    let mut session = Session {
        key: SessionKey(format!("{PI_AGENT}:{id}")),
        agent: PI_AGENT.to_owned(),
        kind: SessionKind::Pi,
        title: project.unwrap_or(&stem).to_owned(),
        id,
        path: Some(path.to_path_buf()),
        location: Location::File,
        record: None,
        cwd,
        parent_session: None,
        flags: Vec::new(),
        bytes: Bytes::ZERO,
        modified_ms: None,
        active_ms: None,
    };
    session.load_file_metadata();
    session.active_ms = last_activity(path, session.bytes);
    session
}

/// Bytes at the end of a transcript that are searched for its last message.
const TAIL_BYTES: u64 = 32 * 1024;

/// Returns the time of the last message of the user or the model; `None` when the end of the
/// transcript holds none. System messages and bookkeeping do not count (store-pi-1.5 A6).
fn last_activity(path: &Path, bytes: Bytes) -> Option<Moment> {
    let source = Source::open(path).ok()?;
    let from = bytes.get().saturating_sub(TAIL_BYTES);
    let tail = source.read_span(from, (bytes.get() - from) as usize).ok()?;
    let text = String::from_utf8_lossy(&tail);
    let mut lines = text.rsplit('\n').filter_map(|line| js::parse(line).ok());
    lines.find_map(|line| message_time(&line))
}

fn message_time(line: &Value) -> Option<Moment> {
    let message = line.get("message")?;
    let speaks = matches!(role_of(message), Role::User | Role::Assistant);
    let own = message.get("timestamp").and_then(Value::as_f64).map(Moment).filter(|at| at.is_finite());
    let time = own.unwrap_or_else(|| js::date_value(line.get("timestamp")));
    (speaks && time.is_finite()).then_some(time.to_whole())
}

/// Returns every `*.jsonl` directly in a folder, sorted. An unreadable folder is a diagnostic; a missing one is not.
fn list_transcripts(dir: &Path, diagnostics: &mut Vec<Diagnostic>) -> Vec<PathBuf> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) => {
            if error.kind() != std::io::ErrorKind::NotFound {
                let what = format!("cannot list the folder: {error}");
                diagnostics.push(Diagnostic::new(
                    dir,
                    Severity::Error,
                    what,
                    "check the folder's permissions",
                ));
            }
            return Vec::new();
        }
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| is_jsonl_path(path) && path.is_file() && !is_secret_file(path));
    paths.sort();
    paths
}

/// Returns the folders below a folder, sorted, to the depth at which sessions are grouped. A folder reached twice
/// through links is listed once.
fn list_folders_below(root: &Path) -> Vec<PathBuf> {
    let mut seen: HashSet<PathBuf> = root.canonicalize().into_iter().collect();
    let (mut found, mut level) = (Vec::new(), vec![root.to_path_buf()]);
    for _ in 0..MAX_DEPTH {
        let below = level.iter().flat_map(|dir| list_folders(dir));
        level = below.filter(|dir| dir.canonicalize().is_ok_and(|real| seen.insert(real))).collect();
        level.truncate(MAX_FOLDERS.saturating_sub(found.len()));
        found.extend(level.iter().cloned());
    }
    found.sort();
    found
}

fn list_folders(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let is_shown = |entry: &std::fs::DirEntry| !entry.file_name().to_string_lossy().starts_with('.');
    let mut dirs: Vec<PathBuf> =
        entries.filter(is_shown).map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
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
        write(&dir.path().join("sessions/other/x.jsonl"), &header("x"));
        write(&dir.path().join("sessions/other/data.jsonl"), "{\"rows\":1}\n");
        write(&dir.path().join("sessions/projects/team/--home-u-app--").join(name), &header("deep"));
        write(&dir.path().join("sessions/--x--/runs/1.jsonl"), &header("run"));
        write(&dir.path().join("sessions/--x--/2026_zz.trajectory.jsonl"), "{}");
        write(&dir.path().join("auth.json"), "{}");
        let mut diagnostics = Vec::new();
        let env = Environment::new([("HOME", "/h")], None, "/w".into());
        let sessions = list_agent_dir_sessions(dir.path(), &env, &mut diagnostics);
        let seen: Vec<_> = sessions.iter().map(|s| (s.id.as_str(), s.title.as_str())).collect();
        let expected = ["b", "a", "zz", "run", "x", "deep", "c"]
            .map(|id| (id, if id == "zz" { "2026_zz" } else { "app" }));
        assert_eq!(seen, expected);
        assert_eq!(diagnostics, []);
        let own =
            Environment::new([("PI_CODING_AGENT_DIR", dir.path().to_string_lossy())], None, "/w".into());
        list_agent_dir_sessions(dir.path(), &own, &mut diagnostics);
        assert_eq!(diagnostics.len(), 1, "{diagnostics:?}");
        assert!(diagnostics[0].message.contains("/home/u/app no longer exists"), "{diagnostics:?}");
        assert_eq!(sessions[1].key.0, "pi:a");
        assert_eq!(sessions[1].cwd.as_deref(), Some("/home/u/app"));
        assert!(sessions[1].bytes > Bytes(0) && sessions[1].modified_ms.is_some());
    }

    #[test]
    fn a_named_session_dir_comes_before_the_usual_one() {
        let dir = tempfile::tempdir().unwrap();
        let header = |id: &str| format!("{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\"}}\n");
        let name = "2026-10-21T05-16-55-686Z_a_b.jsonl";
        write(&dir.path().join("agent/sessions/--x--").join(name), &header("usual"));
        write(&dir.path().join("own").join(name), "no header");
        let text = dir.path().to_string_lossy().into_owned();
        let vars = [
            ("PI_CODING_AGENT_DIR".to_owned(), format!("{text}/agent")),
            ("PI_CODING_AGENT_SESSION_DIR".to_owned(), format!("{text}/own")),
        ];
        let env = Environment::new(vars, None, "/w".into());
        let mut diagnostics = Vec::new();
        let sessions = list_agent_dir_sessions(&dir.path().join("agent"), &env, &mut diagnostics);
        assert_eq!(sessions.iter().map(|session| session.id.as_str()).collect::<Vec<_>>(), ["a_b", "usual"]);
        assert!(
            diagnostics[0].message.ends_with("because of PI_CODING_AGENT_SESSION_DIR"),
            "{diagnostics:?}"
        );
    }

    #[test]
    fn the_last_activity_is_the_last_user_or_assistant_message() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("2026-10-21T05-16-55-686Z_a.jsonl");
        let lines = [
            r#"{"type":"session","version":3,"id":"a"}"#,
            r#"{"type":"message","message":{"role":"user","content":"","timestamp":7}}"#,
            r#"{"type":"message","message":{"role":"system","content":"","timestamp":8}}"#,
            r#"{"type":"usage","timestamp":"2026-10-21T05:16:55.686Z"}"#,
        ];
        write(&path, &(lines.join("\n") + "\n"));
        assert_eq!(read_session(&path).updated_ms(), Some(Moment(7.0)));
        write(&path, lines[0]);
        assert!(read_session(&path).updated_ms() > Some(Moment(8.0)), "the file's own time");
    }
}
