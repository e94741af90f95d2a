//! Writes a new session into a private folder, in the layout that the gateway's importer reads, and checks it.

use std::io;
use std::path::{Path, PathBuf};

use crate::commit::{remove_copy, write_private};
use crate::config::log_dir;
use crate::context::bodies::read_message;
use crate::context::build_context;
use crate::gateway::env::Environment;
use crate::gateway::ruleset::Ruleset;
use crate::ids::LineIds;
use crate::js;
use crate::store::load::load;
use crate::store::source::Source;
use crate::transcript::{Leaf, Tree};
use crate::write::new_session::NewSession;
use crate::write::new_session::import_error::ImportError;
use crate::write::new_session::import_steps::ImportLines;
use crate::write::new_session::record::file_name;

/// The folder for staged sessions, one folder each.
pub fn staging_root(env: &Environment) -> PathBuf {
    log_dir(env).join("commits")
}

/// A new session in its private folder, read back and as planned.
#[derive(Debug, Clone)]
pub struct StagedSession {
    pub session: NewSession,
    pub folder: PathBuf,
}

impl NewSession {
    /// Names and bytes of the files. The transcript comes first, so that no record names a missing one.
    fn files(&self) -> [(String, &[u8]); 2] {
        let transcript = (file_name(&self.id), self.transcript.as_bytes());
        [transcript, (RECORDS_NAME.to_owned(), self.records.as_bytes())]
    }

    /// Writes the session below `root` and reads it back under the rules of its gateway.
    ///
    /// # Errors
    /// The folder cannot be written, or what is read back is not what was planned.
    pub fn stage(self, root: &Path, rules: Ruleset, env: &Environment) -> Result<StagedSession, ImportError> {
        let folder = root.join(&self.id);
        let sessions = folder.join(self.place.sessions_part());
        let failed = |source| ImportError::Stage { path: folder.clone(), source };
        for (name, bytes) in self.files() {
            write_private(&sessions.join(name), bytes).map_err(failed)?;
        }
        let file = sessions.join(file_name(&self.id));
        let source = Source::open(&file).map_err(failed)?;
        let (leaf, messages) = read_context(&source, rules).map_err(failed)?;
        let expected = self.expected.iter();
        if leaf != self.prepared.leaf || !messages.iter().eq(expected) {
            return Err(ImportError::NotAsPlanned { path: file });
        }
        let staged = StagedSession { session: self, folder };
        let lines = staged.lines(env).lines;
        // Where no gateway runs, stopping one fails; the importer checks for itself.
        let script = lines.join("\n").replacen('\n', "\nset -e\n", 1) + "\n";
        let path = staged.script();
        write_private(&path, script.as_bytes()).map_err(|source| ImportError::Stage { path, source })?;
        Ok(staged)
    }
}

impl StagedSession {
    /// The file with the lines to run.
    pub fn script(&self) -> PathBuf {
        self.folder.join("import.sh")
    }

    /// The folder with the staged files.
    pub(super) fn sessions_dir(&self) -> PathBuf {
        self.folder.join(self.session.place.sessions_part())
    }

    /// The path of the staged transcript.
    pub(super) fn transcript(&self) -> PathBuf {
        self.sessions_dir().join(file_name(&self.session.id))
    }

    /// The commands that import the session.
    pub fn lines(&self, env: &Environment) -> ImportLines {
        ImportLines::new(&self.session.place, self.sessions_dir(), env)
    }

    /// Copies the staged files to the folder from which the importer reads; overwrites nothing.
    pub(super) fn install(&self) -> io::Result<()> {
        let target = self.session.place.sessions_dir();
        self.session
            .files()
            .into_iter()
            .try_for_each(|(name, bytes)| write_private(&target.join(name), bytes))
    }

    /// Removes the copies that the importer has left, after a failure.
    pub(super) fn uninstall(&self) {
        let target = self.session.place.sessions_dir();
        for (name, bytes) in self.session.files() {
            // The next commit names what cannot be removed.
            _ = remove_copy(&target.join(name), bytes);
        }
    }
}

const RECORDS_NAME: &str = "sessions.json";

/// Reads the leaf and the messages of a transcript: canonical JSON, in order.
pub(super) fn read_context(source: &Source, rules: Ruleset) -> io::Result<(String, Vec<String>)> {
    let index = load(source, &mut LineIds, &mut |_, _| true).map_err(io::Error::other)?;
    let tree = Tree::under(rules.rules(), &index);
    let no_context = || io::Error::other("the runtime cannot build a context from it");
    let context = build_context(&index, &tree, &Leaf::Own).map_err(|_| no_context())?;
    let json = |message| read_message(source, &index, message).map(|value| js::stringify(&value));
    let messages = context.messages.iter().map(json).collect::<Result<_, _>>().map_err(io::Error::other)?;
    Ok((context.leaf.map(|leaf| index.display_id(leaf)).unwrap_or_default(), messages))
}
