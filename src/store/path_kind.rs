//! Classifies a path from the command line, by its name and its content.

use std::path::{Path, PathBuf};

use super::archive::{FileKind, classify, is_jsonl};
use super::sqlite::DATABASE_NAME;
use crate::files;
use crate::gateway::env::Environment;
use crate::gateway::pi_settings::{FILE_NAME, PiSettings};
use crate::gateway::state_dir::{config_in, state_dir_in};
use crate::gateway::substitute::is_secret_file;
use crate::js::{self, Value};

/// Limit of folder entries searched for grouped sessions, because the folder may be anyone's.
const MAX_GROUPS: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathKind {
    StateDir(PathBuf),
    /// Sessions dir of one agent.
    SessionsDir(PathBuf),
    /// A `sessions.json`.
    StoreFile(PathBuf),
    Transcript(PathBuf),
    PiAgentDir(PathBuf),
    /// pi's sessions dir: with one folder per working directory, or one of those, or a flat one.
    PiSessionsDir(PathBuf),
    /// Database of an agent, from 2026.8.1 on.
    Database(PathBuf),
    /// Nothing, or nothing that holds sessions.
    Nothing(PathBuf),
}

/// Classifies an absolute path.
pub fn classify_path(path: &Path) -> PathKind {
    let own = path.to_path_buf();
    if path.is_dir() {
        return classify_dir(path);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if !path.is_file() || is_secret_file(path) || matches!(classify(&name), FileKind::Recording) {
        return PathKind::Nothing(own);
    }
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("json") => PathKind::StoreFile(own),
        Some("sqlite" | "db") => PathKind::Database(own),
        _ => PathKind::Transcript(own),
    }
}

fn classify_dir(dir: &Path) -> PathKind {
    let own = dir.to_path_buf();
    let sessions = dir.join("sessions");
    let names = DirNames::read(dir);
    let below = DirNames::read(&sessions);
    let is_agents_child = |dir: &Path| dir.parent().is_some_and(|parent| parent.ends_with("agents"));
    let database = [dir.join(DATABASE_NAME), dir.join("agent").join(DATABASE_NAME)]
        .into_iter()
        .find(|path| path.is_file());
    if dir.join("agents").is_dir() || config_in(dir).is_some() {
        PathKind::StateDir(own)
    } else if let Some(database) = database {
        PathKind::Database(database)
    } else if names.contains("sessions.json")
        || (dir.ends_with("sessions") && dir.parent().is_some_and(is_agents_child))
    {
        PathKind::SessionsDir(own)
    } else if below.contains("sessions.json") || (sessions.is_dir() && is_agents_child(dir)) {
        PathKind::SessionsDir(sessions)
    } else if below.any(is_pi_cwd_dir) || names.contains("settings.json") && sessions.is_dir() {
        PathKind::PiAgentDir(own)
    } else if names.any(is_pi_cwd_dir) || names.any(is_pi_transcript) || looks_like_pi_dir(dir, &names) {
        PathKind::PiSessionsDir(own)
    } else if below.any(is_pi_transcript) {
        PathKind::PiSessionsDir(sessions)
    } else if names.any(is_jsonl) {
        PathKind::SessionsDir(own)
    } else if below.any(is_jsonl) {
        PathKind::SessionsDir(sessions)
    } else if let Some(state) = state_dir_in(dir) {
        // A home folder or a backup of one.
        PathKind::StateDir(state)
    } else if has_nested_sessions(dir) {
        PathKind::PiSessionsDir(own)
    } else {
        PathKind::Nothing(own)
    }
}

/// Whether this is pi's folder for one working directory, with any names of its files.
fn looks_like_pi_dir(dir: &Path, names: &DirNames) -> bool {
    let is_own = dir.file_name().is_some_and(|name| is_pi_cwd_dir(&name.to_string_lossy()));
    is_own && names.any(is_jsonl)
}

/// Whether pi's folders lie one or two levels down, as when sessions are grouped by project.
fn has_nested_sessions(dir: &Path) -> bool {
    let below = |dir: &Path| {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries.take(MAX_GROUPS).map(|entry| entry.path()).filter(|path| path.is_dir()).collect::<Vec<_>>()
    };
    let is_pis =
        |dir: &PathBuf| DirNames::read(dir).any(|name| is_pi_cwd_dir(name) || is_pi_transcript(name));
    let groups = below(dir);
    groups.iter().any(is_pis) || groups.iter().any(|group| below(group).iter().any(is_pis))
}

/// Names in a folder; empty when it cannot be read.
struct DirNames(Vec<String>);

impl DirNames {
    fn read(dir: &Path) -> Self {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        Self(entries.filter_map(|entry| entry.file_name().into_string().ok()).collect())
    }

    fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|own| own == name)
    }

    fn any(&self, test: fn(&str) -> bool) -> bool {
        self.0.iter().any(|name| test(name))
    }
}

/// Whether a name is that of pi's folder for one working directory (store R2).
pub fn is_pi_cwd_dir(name: &str) -> bool {
    name.len() >= 4 && name.starts_with("--") && name.ends_with("--")
}

/// Whether a name is `<ISO time with dashes>_<id>.jsonl`, as pi names its files (store R3).
pub(super) fn is_pi_transcript(name: &str) -> bool {
    let stem = name.strip_suffix(".jsonl").filter(|_| is_jsonl(name));
    let Some((time, id)) = stem.and_then(|stem| stem.split_once('_')) else {
        return false;
    };
    let shape: Vec<u8> = time.bytes().map(|b| if b.is_ascii_digit() { b'0' } else { b }).collect();
    shape == b"0000-00-00T00-00-00-000Z" && !id.is_empty()
}

// The folders of pi: its agent dir, and the session dirs that a variable or a setting names instead of the default
// (store R1, store-pi-1.5 A1–A3).

/// Environment variable that names a session dir.
const SESSION_DIR_VARIABLE: &str = "PI_CODING_AGENT_SESSION_DIR";
/// Setting that names a session dir.
const SESSION_DIR_KEY: &str = "sessionDir";

/// A session dir with the origin of its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredDir {
    pub path: PathBuf,
    /// The variable, or the file and key.
    pub source: String,
}

/// Returns pi's agent dir (store-pi-1.5 A1): `PI_CODING_AGENT_DIR`, else `.pi/agent` in the user's home. The gateway's
/// home variable does not count. The value is used verbatim, white space included.
pub fn pi_agent_dir(env: &Environment) -> PathBuf {
    match env.verbatim("PI_CODING_AGENT_DIR") {
        Some(own) => expand_path(env, own),
        None => home(env).join(".pi").join("agent"),
    }
}

fn home(env: &Environment) -> PathBuf {
    let named = env.first(&["HOME", "USERPROFILE"]).map(PathBuf::from);
    named.or_else(|| env.os_home.clone()).unwrap_or_else(|| env.cwd.clone())
}

/// Expands a path as pi does: `~`, `~/…` and `file:` URLs; a relative path starts at the working directory.
fn expand_path(env: &Environment, text: &str) -> PathBuf {
    if text == "~" {
        return home(env);
    }
    if let Some(rest) = text.strip_prefix("~/") {
        return home(env).join(rest);
    }
    env.cwd.join(text.strip_prefix("file://").unwrap_or(text))
}

/// Returns the configured session dirs, pi's first choice first: from the variable, the project's settings, the global
/// settings (store-pi-1.5 A2). A relative dir of a settings file is tried in the working directory, as pi does, and
/// next to the file, as other readers do.
pub fn configured_session_dirs(env: &Environment, agent_dir: &Path) -> Vec<ConfiguredDir> {
    let mut dirs = Vec::new();
    if let Some(own) = env.verbatim(SESSION_DIR_VARIABLE) {
        dirs.push(ConfiguredDir { path: expand_path(env, own), source: SESSION_DIR_VARIABLE.to_owned() });
    }
    for file in [env.cwd.join(".pi/settings.json"), agent_dir.join("settings.json")] {
        let Some(text) = session_dir_setting(&file) else { continue };
        let from = format!("{}: {SESSION_DIR_KEY}", file.display());
        let beside = file.parent().map(|dir| dir.join(&text));
        let relative = Path::new(&text).is_relative() && !text.starts_with('~') && !text.starts_with("file:");
        dirs.push(ConfiguredDir { path: expand_path(env, &text), source: from.clone() });
        dirs.extend(beside.filter(|_| relative).map(|path| ConfiguredDir { path, source: from }));
    }
    dirs
}

fn session_dir_setting(file: &Path) -> Option<String> {
    let settings = read_settings_file(file)?;
    let text = settings.get(SESSION_DIR_KEY).and_then(Value::as_str)?.to_string_lossy();
    (!text.is_empty()).then_some(text)
}

/// Returns the agent dir of a path of pi: the folder that holds, or would hold, its global settings and models.
pub fn agent_dir_of(shape: &PathKind) -> Option<PathBuf> {
    let (place, levels) = match shape {
        PathKind::PiAgentDir(dir) => return Some(dir.clone()),
        PathKind::PiSessionsDir(dir) => (dir, 2),
        PathKind::Transcript(file) => (file, 3),
        _ => return None,
    };
    let above = || place.ancestors().skip(1).take(levels);
    let holds = |dir: &&Path| dir.join(FILE_NAME).is_file();
    let usual = || place.ancestors().take(levels).find(|dir| dir.ends_with("sessions"))?.parent();
    above().find(holds).or_else(usual).or_else(|| place.parent()).map(Path::to_path_buf)
}

/// Reads pi's settings for the sessions of a working directory; `None` when the path is not pi's.
pub fn load_settings(shape: &PathKind, cwd: Option<&str>) -> Option<PiSettings> {
    let global = agent_dir_of(shape)?.join(FILE_NAME);
    let project = cwd.map(|cwd| Path::new(cwd).join(".pi").join(FILE_NAME));
    Some(PiSettings::read(&global, project.as_deref()))
}

/// Reads a settings file; `None` when it is missing or not JSON, which pi treats alike.
pub fn read_settings_file(file: &Path) -> Option<Value> {
    let text = files::read_text(file, files::SMALL_FILE_BYTES).ok()?;
    js::parse(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn env(vars: &[(&str, &str)], cwd: &Path) -> Environment {
        Environment::new(vars.iter().copied(), None, cwd.to_path_buf())
    }

    #[test]
    fn the_agent_dir_follows_its_variable_or_the_users_home() {
        let at = |vars: &[(&str, &str)]| pi_agent_dir(&env(vars, Path::new("/w")));
        let home = ("HOME", "/h");
        assert_eq!(at(&[home, ("OPENCLAW_HOME", "/claw")]), Path::new("/h/.pi/agent"));
        assert_eq!(at(&[home, ("PI_CODING_AGENT_DIR", "~/p")]), Path::new("/h/p"));
        assert_eq!(at(&[home, ("PI_CODING_AGENT_DIR", "~")]), Path::new("/h"));
        assert_eq!(at(&[home, ("PI_CODING_AGENT_DIR", "/p")]), Path::new("/p"));
        assert_eq!(at(&[home, ("PI_CODING_AGENT_DIR", "~p")]), Path::new("/w/~p"));
        assert_eq!(at(&[home, ("PI_CODING_AGENT_DIR", "file:///p")]), Path::new("/p"));
        assert_eq!(at(&[home, ("PI_CODING_AGENT_DIR", "")]), Path::new("/h/.pi/agent"));
    }

    #[test]
    fn the_variable_comes_before_the_project_and_that_before_the_global_settings() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
        };
        write("agent/settings.json", r#"{"sessionDir":"own"}"#);
        let agent = dir.path().join("agent");
        let project = dir.path().join("project");
        let paths = |vars: &[(&str, &str)]| -> Vec<PathBuf> {
            configured_session_dirs(&env(vars, &project), &agent)
                .into_iter()
                .map(|named| named.path)
                .collect()
        };
        assert_eq!(paths(&[]), [project.join("own"), agent.join("own")]);
        write("project/.pi/settings.json", r#"{"sessionDir":"~/s"}"#);
        let vars = [("HOME", "/h"), (SESSION_DIR_VARIABLE, "/env")];
        let expected = [PathBuf::from("/env"), "/h/s".into(), project.join("own"), agent.join("own")];
        assert_eq!(paths(&vars), expected);
        write("agent/settings.json", "{");
        assert_eq!(paths(&vars)[..2], expected[..2]);
    }
}
