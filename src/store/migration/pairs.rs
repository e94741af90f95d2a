//! Which file belongs to which session of a database, and which files and sessions stand alone.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::compare::compare;
use super::{Alone, Pair, Why};
use crate::gateway::secrets::is_secret_file;
use crate::store::archive::{FileKind, classify, imported_name};
use crate::store::header::read_header;
use crate::store::kept::Kept;
use crate::store::rows::load_rows;
use crate::store::session::{Flag, Session, short_stem};
use crate::store::source::Source;
use crate::store::sqlite::Schema;
use crate::store::survey::{Holding, Store};

/// How the import of 2026.8 names files that no row of a session names.
const SET_ASIDE: &str = "archive-tier.";

/// What there is to compare.
#[derive(Default)]
pub(super) struct Work<'a> {
    pub pairs: Vec<Candidate<'a>>,
    pub alone: Vec<Alone>,
    pub without_file: u64,
    pub archives: u64,
}

/// A file and the session it was imported as.
pub(super) struct Candidate<'a> {
    file: PathBuf,
    session: &'a Session,
    is_put_away: bool,
}

impl Candidate<'_> {
    /// Compares the two.
    pub(super) fn compared(self) -> Pair {
        let Self { file, session, is_put_away } = self;
        let path = session.path.as_deref().unwrap_or(Path::new(""));
        let sources = Source::open(&file).and_then(|file| Ok((file, session.kept.open(path, None)?)));
        let result = sources.and_then(|(file, rows)| compare(&session.id, &file, &rows, !is_put_away));
        Pair {
            agent: session.agent.clone(),
            key: session.key.0.clone(),
            session: session.id.clone(),
            database: session.kept.database().map(Path::to_path_buf).unwrap_or_default(),
            file,
            is_put_away,
            result,
        }
    }
}

/// Finds the pairs of a store.
pub(super) fn of(store: &Store) -> Work<'_> {
    let mut finder = Finder { stored: stored(store), store, rows: HashMap::new(), work: Work::default() };
    let mut seen = HashSet::new();
    for session in
        store.sessions.iter().filter(|session| session.kept == Kept::File && !session.has(Flag::Missing))
    {
        let Some(path) = session.path.as_deref().filter(|path| !is_secret_file(path)) else { continue };
        if session.archived() {
            finder.work.archives += 1;
        } else if seen.insert(path) {
            finder.add(path, session);
        }
    }
    let paired: HashSet<&Path> =
        finder.work.pairs.iter().filter_map(|pair| pair.session.path.as_deref()).collect();
    let has_file = |session: &&Session| session.path.as_deref().is_some_and(|path| paired.contains(path));
    let without = finder
        .stored
        .values()
        .flatten()
        .filter(|session| !has_file(session) && !session.has(Flag::Missing))
        .count();
    finder.work.without_file = without as u64;
    finder.work
}

/// The sessions of databases by id; of one with rows and an archive in a database, the rows.
fn stored(store: &Store) -> HashMap<&str, Vec<&Session>> {
    let mut stored: HashMap<&str, Vec<&Session>> = HashMap::new();
    for session in store.sessions.iter().filter(|session| session.kept.database().is_some()) {
        let own = stored.entry(session.id.as_str()).or_default();
        let has_rows = matches!(session.kept, Kept::Rows { .. }) && !session.has(Flag::Missing);
        match own.iter_mut().find(|other| other.kept.database() == session.kept.database()) {
            Some(slot) if has_rows => *slot = session,
            Some(_) => {}
            None => own.push(session),
        }
    }
    stored
}

struct Finder<'a> {
    store: &'a Store,
    stored: HashMap<&'a str, Vec<&'a Session>>,
    /// File names and session ids that the rows beside a file tell, by folder.
    rows: HashMap<PathBuf, Vec<(String, String)>>,
    work: Work<'a>,
}

impl<'a> Finder<'a> {
    fn add(&mut self, path: &'a Path, file: &'a Session) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_put_away = matches!(classify(&name), FileKind::MovedAside(_));
        let original = imported_name(&name).unwrap_or(&name).to_owned();
        let named = self.named(path, &original);
        let mut sessions: Vec<_> = named.iter().filter_map(|id| self.session(&file.agent, id)).collect();
        if sessions.is_empty() {
            sessions.extend(self.guessed(path, &original, &file.agent));
        }
        if sessions.is_empty() {
            let why = self.why(&file.agent, &name, is_put_away);
            let session = named.into_iter().next().unwrap_or_else(|| file.id.clone());
            self.work.alone.push(Alone { agent: file.agent.clone(), session, file: path.to_owned(), why });
        }
        let pair = |session| Candidate { file: path.to_owned(), session, is_put_away };
        self.work.pairs.extend(sessions.into_iter().map(pair));
    }

    /// The session that a file is named after, else the one that its header names.
    fn guessed(&self, path: &Path, original: &str, agent: &str) -> Option<&'a Session> {
        let stem = original.strip_suffix(".jsonl").unwrap_or(original);
        // An import puts the key in front of the name.
        let last = stem.rsplit('.').next().unwrap_or(stem);
        let by_name = [stem, last].into_iter().find_map(|stem| self.session(agent, short_stem(stem)));
        by_name.or_else(|| self.session(agent, &read_header(path)?.id))
    }

    /// The session of this id in a database of the agent, or in one that agents share.
    fn session(&self, agent: &str, id: &str) -> Option<&'a Session> {
        let owns = |session: &&&Session| {
            let own = |holding: &&Holding| session.kept.database() == Some(holding.path.as_path());
            let schema = self.store.databases.iter().find(own).and_then(|holding| holding.schema.as_ref());
            schema.is_some_and(|schema| is_of(schema, agent))
        };
        let sessions = self.stored.get(id)?;
        sessions.iter().find(owns).or_else(|| sessions.iter().find(|session| session.agent == agent)).copied()
    }

    /// The ids under which rows name a file, which count more than what it says itself.
    fn named(&mut self, path: &Path, original: &str) -> Vec<String> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        let rows = self.rows.entry(folder.to_path_buf()).or_insert_with(|| rows_in(folder));
        let is_own = |name: &str| {
            let ends = |name: &str| original == name || original.ends_with(&format!(".{name}"));
            ends(name) || ends(&archived_name(name))
        };
        let mut ids: Vec<String> =
            rows.iter().filter(|(name, _)| is_own(name)).map(|(_, id)| id.clone()).collect();
        ids.sort();
        ids.dedup();
        ids
    }

    fn why(&self, agent: &str, name: &str, is_put_away: bool) -> Why {
        let of_agent = |path: &Path| path.ancestors().nth(2).is_some_and(|dir| dir.ends_with(agent));
        let databases = &self.store.databases;
        let readable =
            databases.iter().any(|it| it.schema.as_ref().is_some_and(|schema| is_of(schema, agent)));
        let unreadable = databases.iter().any(|it| it.schema.is_none() && of_agent(&it.path));
        match () {
            () if readable && name.starts_with(SET_ASIDE) => Why::SetAside,
            () if readable => Why::Lost,
            () if unreadable => Why::Unreadable,
            () if is_put_away => Why::DatabaseGone,
            () => Why::NoDatabase,
        }
    }
}

/// The name that an import gives a file that it puts away: of plain characters, and not too long.
fn archived_name(name: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "_.-".contains(char);
    let mut plain = String::new();
    for char in name.chars() {
        if is_plain(char) {
            plain.push(char);
        } else if !plain.ends_with('\u{0}') {
            plain.push('\u{0}');
        }
    }
    plain.replace('\u{0}', "_").chars().take(160).collect()
}

/// Whether a database is an agent's own.
fn is_of(schema: &Schema, agent: &str) -> bool {
    schema.agent.as_deref().is_none_or(|own| own == agent)
}

/// File names with session ids, from the rows in a folder: those in use, and those that an import put away.
fn rows_in(folder: &Path) -> Vec<(String, String)> {
    let items = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = items.map(|item| item.path()).filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name == "sessions.json" || imported_name(&name).is_some_and(|name| name.ends_with("sessions.json"))
    });
    let rows = files.flat_map(|path| load_rows(&path).rows);
    let named = |row: crate::store::rows::Row| {
        let id = row.session_id?;
        let file = row.session_file.unwrap_or_else(|| format!("{id}.jsonl"));
        let name = file.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
        (!name.is_empty()).then_some((name, id))
    };
    rows.filter_map(named).collect()
}
