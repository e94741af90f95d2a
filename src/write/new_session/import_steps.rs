//! The commands that bring a staged session into its gateway.

use std::io;
use std::path::{Path, PathBuf};

use crate::commit::Refusal;
use crate::gateway::env::Environment;
use crate::gateway::state_dir::state_dir;
use crate::session::LoadedSession;
use crate::store::sqlite::{DATABASE_NAME, database_of};
use crate::text::shell;

/// A step, in the order of [`ImportStep::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportStep {
    /// Stops the gateway, which holds the lock that the importer needs.
    Stop,
    /// Copies the staged files to where the importer reads.
    Install,
    Import,
    Validate,
    Start,
}

impl ImportStep {
    pub const ALL: [Self; 5] = [Self::Stop, Self::Install, Self::Import, Self::Validate, Self::Start];

    /// Returns the arguments of `openclaw`; `None` for the copy.
    pub(super) fn arguments(self, agent: &str) -> Option<Vec<String>> {
        let doctor = |mode| vec!["doctor", "--session-sqlite", mode, "--session-sqlite-agent", agent];
        let words = match self {
            Self::Stop => vec!["gateway", "stop"],
            Self::Install => return None,
            Self::Import => doctor("import"),
            Self::Validate => doctor("validate"),
            Self::Start => vec!["gateway", "start"],
        };
        Some(words.into_iter().map(str::to_owned).collect())
    }
}

/// The steps as command lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportLines {
    /// The state dir, unless `openclaw` uses it anyway in this environment.
    pub(super) named_state_dir: Option<PathBuf>,
    pub lines: Vec<String>,
}

impl ImportLines {
    /// `staged` is the folder with the two files.
    pub(super) fn new(place: &GatewayPlace, staged: PathBuf, env: &Environment) -> Self {
        let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
        let named = place.state_dir.clone();
        let named = (real(state_dir(env).path) != real(named.clone())).then_some(named);
        let word = |path: PathBuf| shell::word(&path.to_string_lossy());
        let prefix = named
            .as_ref()
            .map_or_else(String::new, |dir| format!("OPENCLAW_STATE_DIR={} ", word(dir.clone())));
        let target = word(place.sessions_dir());
        let files = word(staged);
        let line = |step: ImportStep| match step.arguments(&place.agent) {
            Some(words) => {
                let words: Vec<String> = words.iter().map(|text| shell::word(text)).collect();
                format!("{prefix}openclaw {}", words.join(" "))
            }
            None => format!("mkdir -p {target} && cp -n {files}/* {target}"),
        };
        let lines = ImportStep::ALL.into_iter().map(line).collect();
        Self { named_state_dir: named, lines }
    }
}

/// Reasons why there is no new session, or not the planned one. The old session is never touched.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("{}: cannot write the new session there: {source}. Check the free space and that you may write to it. Nothing was imported.", .path.display())]
    Stage { path: PathBuf, source: io::Error },
    #[error("{}: the staged session reads back differently from the plan. Nothing was imported; please report this.", .path.display())]
    NotAsPlanned { path: PathBuf },
    #[error("found no `openclaw` in PATH. The new session is in {}; run the lines of `clawscope commit --apply` where openclaw is.", .folder.display())]
    NoProgram { folder: PathBuf },
    #[error(
        "the gateway (process {process}) still runs after `openclaw gateway stop`. Nothing was imported. Stop it where you started it, and try again."
    )]
    StillRuns { process: u32 },
    #[error(
        "the gateway (process {process}) runs, and `openclaw gateway stop` failed{output}. Nothing was imported. Stop the gateway where you started it, and try again."
    )]
    NotStopped { process: u32, output: String },
    #[error(
        "the session grew after clawscope read it. Nothing was imported. Reload the session and make the plan again."
    )]
    Grown,
    #[error("{}: cannot copy the staged session there: {source}. Nothing was imported.", .path.display())]
    Install { path: PathBuf, source: io::Error },
    #[error("`{line}` failed{output}. The database is as the gateway left it; the staged session is in {}.", .folder.display())]
    Step { line: String, output: String, folder: PathBuf },
    #[error("{}: cannot read the imported session back: {source}. Look at it with `clawscope sessions`.", .path.display())]
    ReadBack { path: PathBuf, source: io::Error },
    #[error("{}: the imported session differs from the promise: {what}. The old session is as it was; do not continue with the new one. Please report this.", .path.display())]
    Differs { path: PathBuf, what: String },
    #[error("{}: the old session's entries changed during the import. Compare it with a backup, and please report this.", .path.display())]
    OldChanged { path: PathBuf },
}

impl ImportError {
    /// Whether nothing was imported.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::NoProgram { .. } | Self::NotStopped { .. } | Self::StillRuns { .. } | Self::Grown
        )
    }
}

/// A database at its default path, and the folders around it (sqlite A1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayPlace {
    pub state_dir: PathBuf,
    /// The agent's folder name, which is its id.
    pub agent: String,
    pub database: PathBuf,
}

impl GatewayPlace {
    /// Finds the place of a session's database, and checks that an import takes in nothing else.
    pub(super) fn of(session: &LoadedSession) -> Result<Self, Refusal> {
        let path = session.source.path();
        let database = database_of(path).unwrap_or_else(|| path.to_path_buf());
        let Some(place) = Self::at(&database) else {
            return Err(Refusal::Database { path: path.to_path_buf(), instead: export_instead(session) });
        };
        match place.waiting_file() {
            Some(file) => Err(Refusal::ImportWaiting { path: file }),
            None => Ok(place),
        }
    }

    fn at(database: &Path) -> Option<Self> {
        let agent = database.parent()?.parent()?;
        let agents = agent.parent()?;
        let is_default = database.file_name()? == DATABASE_NAME
            && database.parent()?.ends_with("agent")
            && agents.file_name()? == "agents";
        is_default.then_some(())?;
        Some(Self {
            state_dir: agents.parent()?.to_path_buf(),
            agent: agent.file_name()?.to_str()?.to_owned(),
            database: database.to_path_buf(),
        })
    }

    /// The folder from which the importer reads.
    pub fn sessions_dir(&self) -> PathBuf {
        self.state_dir.join(self.sessions_part())
    }

    /// The same folder, below a state dir.
    pub(super) fn sessions_part(&self) -> PathBuf {
        Path::new("agents").join(&self.agent).join("sessions")
    }

    /// The database that the gateway of this state dir shares among its agents (sqlite A2).
    pub(super) fn shared_database(&self) -> PathBuf {
        self.state_dir.join("state").join("openclaw.sqlite")
    }

    /// Returns a file in the importer's folder that it would take in as well.
    pub(super) fn waiting_file(&self) -> Option<PathBuf> {
        let found = std::fs::read_dir(self.sessions_dir()).into_iter().flatten().flatten();
        let is_read = |name: &str| {
            name == "sessions.json" || Path::new(name).extension().is_some_and(|end| end == "jsonl")
        };
        found.filter(|item| item.file_name().to_str().is_some_and(is_read)).map(|item| item.path()).min()
    }
}

fn export_instead(session: &LoadedSession) -> String {
    format!(
        "Its importer reads only the default folder of an agent. Export the planned branch as a transcript: `clawscope \
         export {} --format pi --policy … --out branch.jsonl`.",
        shell::word(&session.item.key.0)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_database_at_its_default_path_has_a_place() {
        let place = GatewayPlace::at(Path::new("/s/agents/main/agent/openclaw-agent.sqlite")).unwrap();
        assert_eq!((place.state_dir.as_path(), place.agent.as_str()), (Path::new("/s"), "main"));
        assert_eq!(place.sessions_dir(), Path::new("/s/agents/main/sessions"));
        for other in [
            "/s/openclaw-agent.sqlite",
            "/s/agents/main/openclaw-agent.sqlite",
            "/s/agents/main/agent/own.sqlite",
        ] {
            assert_eq!(GatewayPlace::at(Path::new(other)), None, "{other}");
        }
    }

    #[test]
    fn files_that_an_import_would_take_in_too_are_found() {
        let state = tempfile::tempdir().unwrap();
        let database = state.path().join("agents/main/agent/openclaw-agent.sqlite");
        let place = GatewayPlace::at(&database).unwrap();
        assert_eq!(place.waiting_file(), None, "no folder");
        std::fs::create_dir_all(place.sessions_dir().join("cold")).unwrap();
        std::fs::File::create(place.sessions_dir().join("a.deleted.zst")).unwrap();
        assert_eq!(place.waiting_file(), None);
        std::fs::File::create(place.sessions_dir().join("b.jsonl")).unwrap();
        assert_eq!(place.waiting_file(), Some(place.sessions_dir().join("b.jsonl")));
    }
}
