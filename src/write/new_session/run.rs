//! Runs the person's own `openclaw` to import a staged session, and reads the result back from the database.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest as _, Sha256};

use crate::commit::{Clock, remove_copy, write_private};
use crate::config::log_dir;
use crate::context::bodies::read_message;
use crate::context::build_context;
use crate::format::quantity;
use crate::gateway::env::Environment;
use crate::gateway::programs::find_program;
use crate::gateway::ruleset::Ruleset;
use crate::ids::LineIds;
use crate::session::LoadedSession;
use crate::store::gateway_process::find_writer;
use crate::store::load::load;
use crate::store::location::Location;
use crate::store::migration;
use crate::store::source::Source;
use crate::store::sqlite::item_path;
use crate::text::shell;
use crate::transcript::{Leaf, Tree};
use crate::units::Millis;
use crate::write::new_session::NewSession;
use crate::write::new_session::import_steps::{ImportError, ImportLines, ImportStep};
use crate::write::new_session::record::file_name;
use crate::{js, text};

/// Time that a stopped gateway has to close its databases.
const STOP_WAIT: Millis = Millis(20_000.0);

const STOP_POLL: Millis = Millis(100.0);

/// Lines of a failed command that are shown.
const SHOWN_LINES: usize = 6;

/// Bytes that are read at once for a digest.
const DIGEST_STEP: u64 = 1 << 20;

/// A session that the gateway has taken in, as promised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedSession {
    pub key: String,
    pub id: String,
    pub title: String,
    /// Number of messages that were compared.
    pub messages: usize,
    /// Entries that the gateway stored in its own newer form, such as labels of inbound context.
    pub rewritten: u64,
    /// Whether a running gateway was stopped and started again.
    pub restarted: bool,
}

impl ImportedSession {
    /// Describes the result for the status line.
    pub fn describe(&self) -> String {
        let messages = quantity(self.messages as u64, "message");
        let rewritten = (self.rewritten > 0)
            .then(|| format!(" The gateway keeps {} in its newer form.", quantity(self.rewritten, "entry")));
        let restarted = if self.restarted { " The gateway runs again." } else { "" };
        format!(
            "Session \"{}\" imported: {messages} as planned, the old session as before.{}{restarted}",
            self.title,
            rewritten.unwrap_or_default()
        )
    }

    /// The command that continues with the new session.
    pub fn next_step(&self) -> String {
        format!("Continue: `openclaw agent --session-id {} --message …`.", shell::word(&self.id))
    }
}

/// Imports a staged session with `openclaw`: stops a running gateway, imports, validates, reads back, and starts the gateway again.
///
/// # Errors
/// A step fails, or the result is not the promised one. A gateway that ran is started again in every case.
pub fn run_import(
    staged: &StagedSession,
    session: &LoadedSession,
    env: &Environment,
    clock: &dyn Clock,
) -> Result<ImportedSession, ImportError> {
    let folder = || staged.folder.clone();
    let program = find_program(env, "openclaw").ok_or_else(|| ImportError::NoProgram { folder: folder() })?;
    let named_state_dir = staged.lines(env).named_state_dir;
    let run = Import { staged, session, program, named_state_dir };
    let Some(process) = running_gateway(staged) else { return run.import(false) };
    run.step(ImportStep::Stop).map_err(|error| match error {
        ImportError::Step { output, .. } => ImportError::NotStopped { process, output },
        other => other,
    })?;
    let imported = match wait_for_end(staged, clock) {
        None => run.import(true),
        Some(_) => Err(ImportError::StillRuns { process }),
    };
    let started = run.step(ImportStep::Start);
    let imported = imported?;
    started.map(|()| imported)
}

/// Returns the process of a running gateway.
pub(super) fn running_gateway(staged: &StagedSession) -> Option<u32> {
    let place = &staged.session.place;
    find_writer(&[place.database.clone(), place.shared_database()])
}

fn wait_for_end(staged: &StagedSession, clock: &dyn Clock) -> Option<u32> {
    let mut left = STOP_WAIT;
    loop {
        let process = running_gateway(staged)?;
        if left <= Millis::ZERO {
            return Some(process);
        }
        clock.pause(STOP_POLL);
        left -= STOP_POLL;
    }
}

struct Import<'a> {
    staged: &'a StagedSession,
    session: &'a LoadedSession,
    program: PathBuf,
    named_state_dir: Option<PathBuf>,
}

impl Import<'_> {
    fn import(&self, restarted: bool) -> Result<ImportedSession, ImportError> {
        let old = self.old_session()?;
        let known = self.session.source.len().map_err(|source| self.unreadable(source))?;
        if old.len().map_err(|source| self.unreadable(source))? != known {
            return Err(ImportError::Grown);
        }
        let before = digest(&old).map_err(|source| self.unreadable(source))?;
        let path = self.staged.session.place.sessions_dir();
        let imported = self
            .staged
            .install()
            .map_err(|source| ImportError::Install { path, source })
            .and_then(|()| self.step(ImportStep::Import))
            .and_then(|()| self.step(ImportStep::Validate));
        if imported.is_err() {
            self.staged.uninstall();
        }
        imported?;
        let after = self.old_session()?;
        if digest(&after).map_err(|source| self.unreadable(source))? != before {
            return Err(ImportError::OldChanged { path: self.session.source.path().to_path_buf() });
        }
        self.read_back(restarted)
    }

    /// Runs a step and waits for its end.
    fn step(&self, step: ImportStep) -> Result<(), ImportError> {
        let Some(mut arguments) = step.arguments(&self.staged.session.place.agent) else { return Ok(()) };
        if step == ImportStep::Stop {
            // The person has confirmed, and openclaw sees no terminal.
            arguments.push("--force".to_owned());
        }
        let mut command = Command::new(&self.program);
        command.args(&arguments).stdin(Stdio::null());
        if let Some(dir) = &self.named_state_dir {
            command.env("OPENCLAW_STATE_DIR", dir);
        }
        let failed = |output: String| ImportError::Step {
            line: format!("openclaw {}", arguments.join(" ")),
            output,
            folder: self.staged.folder.clone(),
        };
        let ended = command.output().map_err(|error| failed(format!(": {error}")))?;
        if ended.status.success() {
            return Ok(());
        }
        Err(failed(last_lines(&[ended.stdout, ended.stderr].concat())))
    }

    fn old_session(&self) -> Result<Source, ImportError> {
        self.open(&self.session.item.id)
    }

    fn open(&self, session_id: &str) -> Result<Source, ImportError> {
        let database = &self.staged.session.place.database;
        let location =
            Location::DatabaseRows { database: database.clone(), session_id: session_id.to_owned() };
        let path = item_path(database, session_id);
        location.open(&path, None).map_err(|source| ImportError::ReadBack { path, source })
    }

    fn unreadable(&self, source: io::Error) -> ImportError {
        ImportError::ReadBack { path: self.session.source.path().to_path_buf(), source }
    }

    /// Compares the imported entries with the staged file, and their context with the promise.
    fn read_back(&self, restarted: bool) -> Result<ImportedSession, ImportError> {
        let new = &self.staged.session;
        let rows = self.open(&new.id)?;
        let path = || rows.path().to_path_buf();
        let failed = |source| ImportError::ReadBack { path: path(), source };
        let differs = |what: &str| ImportError::Differs { path: path(), what: what.to_owned() };
        let file = Source::open(&self.staged.transcript()).map_err(failed)?;
        let compared = migration::compare(&new.id, &file, &rows, false).map_err(failed)?;
        if let Some(fault) = compared.faults.first() {
            return Err(differs(&format!("line {} of the staged transcript is not there", fault.line)));
        }
        let (leaf, messages) = read_context(&rows, self.session.ruleset.id).map_err(failed)?;
        // A newer form of a text is known to the comparison; everything else is equal, byte by byte.
        let as_promised = messages.len() == new.expected.len()
            && (compared.counts.rewritten > 0 || messages == new.expected);
        if leaf != new.prepared.leaf || !as_promised {
            return Err(differs("its messages are not those of the plan"));
        }
        Ok(ImportedSession {
            key: new.key.0.clone(),
            id: new.id.clone(),
            title: new.title.clone(),
            messages: messages.len(),
            rewritten: compared.counts.rewritten,
            restarted,
        })
    }
}

/// Returns the end of a command's output, as a fragment of a sentence.
fn last_lines(output: &[u8]) -> String {
    let words = String::from_utf8_lossy(output);
    let lines: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let shown = &lines[lines.len().saturating_sub(SHOWN_LINES)..];
    if shown.is_empty() { String::new() } else { format!(": {}", text::visible(&shown.join(" / "))) }
}

/// Hashes all bytes of a source.
fn digest(source: &Source) -> io::Result<[u8; 32]> {
    let (mut hash, end, mut at) = (Sha256::new(), source.len()?, 0);
    while at < end {
        let step = DIGEST_STEP.min(end - at);
        hash.update(source.read_span(at, step as usize)?);
        at += step;
    }
    Ok(hash.finalize().into())
}

// Writes a new session into a private folder, in the layout that the gateway's importer reads, and checks it.

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
