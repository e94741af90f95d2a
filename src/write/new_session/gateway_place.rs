//! The place of a database in its gateway's folder, from which the importer also reads.

use std::path::{Path, PathBuf};

use crate::commit::Refusal;
use crate::session::LoadedSession;
use crate::store::sqlite::{DATABASE_NAME, database_of};
use crate::text::shell;

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
