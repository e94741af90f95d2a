//! Resolves the location of the sessions: the gateway's store, a path from the command line, or the built-in demo
//! store.

use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::gateway::env::{Environment, effective_home};
use crate::gateway::state_dir::state_dir;
use crate::store::demo;
use crate::store::discovery::{Store, discover, discover_with};
use crate::store::path_kind::{PathKind, configured_session_dirs, pi_agent_dir};
use crate::store::sqlite::SizeCache;
use crate::text::shell;
use crate::units::Moment;

/// The location that a person requested.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum StoreRequest {
    /// The gateway's state dir, else pi's sessions, else the demo store.
    #[default]
    Default,
    /// A state dir, sessions dir, `sessions.json`, transcript, or one of pi's directories.
    Path(PathBuf),
    Demo,
}

/// A location that can be listed repeatedly. Owns the temporary folder of the demo store and deletes it on drop.
#[derive(Debug)]
pub struct StoreLocation {
    env: Environment,
    path: Option<PathBuf>,
    demo_dir: Option<TempDir>,
    demo_requested: bool,
    /// The options that select it.
    options: String,
    /// Reused by later scans.
    size_cache: SizeCache,
}

impl StoreLocation {
    /// Resolves a request in this environment; writes the demo store to disk if it is needed.
    pub fn new(place: &StoreRequest, env: Environment) -> io::Result<Self> {
        let pi = pi_agent_dir(&env);
        let path = match place {
            StoreRequest::Path(path) => Some(path.clone()),
            StoreRequest::Default if has_pi_sessions(&env, &pi) && !state_dir(&env).exists => Some(pi),
            StoreRequest::Default | StoreRequest::Demo => None,
        };
        let demo = match place {
            StoreRequest::Demo => Some(create_demo_dir()?),
            StoreRequest::Default if missing_store(&env).is_some() => Some(create_demo_dir()?),
            StoreRequest::Default | StoreRequest::Path(_) => None,
        };
        Ok(Self {
            options: options_of(place, &env),
            env,
            path,
            demo_dir: demo,
            demo_requested: *place == StoreRequest::Demo,
            size_cache: SizeCache::default(),
        })
    }

    /// Scans the location.
    pub fn survey(&self) -> Store {
        let mut found = match &self.demo_dir {
            Some(dir) => {
                discover(Some(dir.path()), &Environment::new([("HOME", "/nonexistent")], None, "/".into()))
            }
            None => discover_with(self.path.as_deref(), &self.env, &self.size_cache),
        };
        found.options.clone_from(&self.options);
        found
    }

    pub fn is_demo(&self) -> bool {
        self.demo_dir.is_some()
    }

    /// Returns the missing gateway store that the demo store replaces.
    pub fn missing_store(&self) -> Option<PathBuf> {
        (self.is_demo() && !self.demo_requested).then(|| state_dir(&self.env).path)
    }

    /// Returns the display name of that missing store.
    pub fn missing_store_name(&self) -> Option<String> {
        self.missing_store().map(|path| abbreviate_home(&path, &effective_home(&self.env)))
    }

    /// Returns the current time of the demo store, so that its sessions have always just ended; `None` for real
    /// stores.
    pub fn demo_now_ms(&self) -> Option<Moment> {
        self.is_demo().then_some(demo::NOW_MS)
    }

    /// Returns the display name: `demo store`, or the path with `~`.
    pub fn display_name(&self, store: &Store) -> String {
        if self.is_demo() {
            return "demo store".to_owned();
        }
        let named = self.path.as_deref().unwrap_or(&store.state_dir);
        // The state dir inside a named home folder or backup is what was read.
        let is_inside = matches!(&store.path_kind, PathKind::StateDir(dir) if dir.parent() == Some(named));
        let path = if is_inside { &store.state_dir } else { named };
        abbreviate_home(path, &effective_home(&self.env))
    }
}

/// Returns the options of a command line that select a location.
fn options_of(place: &StoreRequest, env: &Environment) -> String {
    match (place, env.get("OPENCLAW_PROFILE")) {
        (StoreRequest::Path(path), _) => format!("--store {}", shell::word(&path.to_string_lossy())),
        (StoreRequest::Demo, _) => "--demo".to_owned(),
        (StoreRequest::Default, Some(profile)) => format!("--profile {}", shell::word(profile)),
        (StoreRequest::Default, None) => String::new(),
    }
}

/// Returns the gateway store that is missing in this environment, where the demo store replaces it.
pub fn missing_store(env: &Environment) -> Option<PathBuf> {
    let dir = state_dir(env);
    (!dir.exists && !has_pi_sessions(env, &pi_agent_dir(env))).then_some(dir.path)
}

/// Whether pi has sessions in its usual folder or in a configured one.
fn has_pi_sessions(env: &Environment, agent_dir: &Path) -> bool {
    let named = || configured_session_dirs(env, agent_dir).into_iter().any(|named| named.path.is_dir());
    agent_dir.join("sessions").is_dir() || agent_dir.is_dir() && named()
}

fn create_demo_dir() -> io::Result<TempDir> {
    let dir = tempfile::Builder::new().prefix("clawscope-demo-").tempdir()?;
    demo::write_to(dir.path())?;
    Ok(dir)
}

/// Replaces the home folder with `~`.
pub fn abbreviate_home(path: &Path, home: &Path) -> String {
    match path.strip_prefix(home) {
        Ok(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Ok(rest) if home.components().count() > 1 => format!("~/{}", rest.display()),
        _ => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(home: &Path) -> Environment {
        Environment::new([("HOME", home.to_string_lossy())], None, home.to_path_buf())
    }

    #[test]
    fn without_a_state_dir_the_demo_opens_and_names_the_missing_dir() {
        let home = tempfile::tempdir().unwrap();
        let place = StoreLocation::new(&StoreRequest::Default, env(home.path())).unwrap();
        assert!(place.is_demo());
        assert_eq!(place.missing_store(), Some(home.path().join(".openclaw")));
        assert_eq!(place.demo_now_ms(), Some(demo::NOW_MS));
        let store = place.survey();
        assert!(store.sessions.len() >= 10, "{} sessions", store.sessions.len());
        assert_eq!(place.display_name(&store), "demo store");
    }

    #[test]
    fn the_demo_folder_is_removed_at_the_end() {
        let home = tempfile::tempdir().unwrap();
        let place = StoreLocation::new(&StoreRequest::Demo, env(home.path())).unwrap();
        let dir = place.survey().state_dir;
        assert!(dir.is_dir() && place.missing_store().is_none());
        drop(place);
        assert!(!dir.exists());
    }

    #[test]
    fn the_state_dir_comes_before_pi_sessions_and_those_before_the_demo() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join(".pi/agent/sessions/--w--")).unwrap();
        let place = StoreLocation::new(&StoreRequest::Default, env(home.path())).unwrap();
        assert_eq!(place.display_name(&place.survey()), "~/.pi/agent");
        std::fs::create_dir_all(home.path().join(".openclaw/agents")).unwrap();
        let place = StoreLocation::new(&StoreRequest::Default, env(home.path())).unwrap();
        assert_eq!(place.display_name(&place.survey()), "~/.openclaw");
    }
}
