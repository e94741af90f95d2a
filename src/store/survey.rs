//! What there is: every agent and session of a store, found without reading a single transcript in full.
//!
//! Nothing found here is fatal. What cannot be read becomes a finding, and the rest is listed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::agents::{Agent, agents, store_files, transcript_dirs};
use super::archive::{FileKind, classify};
use super::distinct::distinct_keys;
use super::era::era;
use super::kept::Kept;
use super::listing::Listing;
use super::locate::{Place, locate};
use super::pi;
use super::pi_dirs::{agent_dir_of, settings_at};
use super::rows::load_rows;
use super::session::{Flag, Session};
use super::sessions::{of_archive, of_file, of_moved_aside, of_orphan, of_row};
use super::shape::{Shape, is_pi_cwd_dir, shape_of};
use super::sqlite::{self, Database, Sizes};
use crate::error::{Finding, Severity};
use crate::gateway::config::GatewayConfig;
use crate::gateway::env::{Environment, absolute};
use crate::gateway::ruleset::{Chosen, Era};
use crate::gateway::secrets::is_secret_file;
use crate::gateway::state_dir::{ancient_sessions_dir, config_in, config_path, state_dir};
use crate::ids::SessionKey;

/// The file of rows.
const ROWS: &str = "sessions.json";
/// Folders above a transcript that may hold the store it belongs to.
const MAX_ABOVE: usize = 4;
/// Where an import moves the files that it took into a database, in the folder of the agent (sqlite A6).
const IMPORT_ARCHIVE: &str = "session-sqlite-import-archive";

/// Everything found at one place.
#[derive(Debug, Clone)]
pub struct Store {
    /// What was looked at.
    pub shape: Shape,
    /// The gateway's state dir; for pi and single files the directory that holds them.
    pub state_dir: PathBuf,
    /// The gateway's configuration; empty where there is none.
    pub config: Arc<GatewayConfig>,
    /// The rules its sessions are read by: what the store itself tells, unless someone chose others.
    pub ruleset: Chosen,
    /// The databases that hold sessions, readable or not.
    pub databases: Vec<Holding>,
    /// By id.
    pub agents: Vec<Agent>,
    /// Rows first, in the order of their files, then orphans, then archives; agent by agent.
    pub sessions: Vec<Session>,
    /// What could not be read or is odd, the configuration's included.
    pub findings: Vec<Finding>,
}

/// A database of sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holding {
    /// Where it lies.
    pub path: PathBuf,
    /// What it says of itself; none where it is not read.
    pub schema: Option<sqlite::Schema>,
}

impl Store {
    /// Reads the models that the agents' own registries list (store A8).
    pub fn read_registries(&mut self, env: &Environment) {
        let agents = self.agents.iter().map(|agent| agent.id.as_str());
        let config = Arc::make_mut(&mut self.config);
        config.read_registries(env, &self.state_dir, agents, &mut self.findings);
    }

    /// Its sessions by their keys, which differ.
    pub fn by_key(&self) -> HashMap<&SessionKey, &Session> {
        self.sessions.iter().map(|session| (&session.key, session)).collect()
    }

    /// Whether anything but transcripts says that a gateway keeps its sessions here.
    pub fn is_of_gateway(&self) -> bool {
        self.config.path.as_deref().is_some_and(Path::exists)
            || self.state_dir.join("agents").is_dir()
            || self.state_dir.join(ROWS).is_file()
    }

    /// The ruleset that configuration and files tell.
    pub fn own_ruleset(&self) -> Chosen {
        let era = era(&self.shape, &self.sessions, &self.databases);
        let chosen = Chosen::detect(&self.config, &era);
        let settings = (era == Era::Pi).then(|| settings_at(&self.shape, None)).flatten();
        chosen.or_pi(settings.and_then(|settings| settings.last_version()))
    }
}

/// Looks at `path`, or at the gateway's state dir when there is none. Relative paths start at `env.cwd`.
pub fn survey(path: Option<&Path>, env: &Environment) -> Store {
    survey_again(path, env, &Sizes::default())
}

/// The same, with what is known from looking before: the sizes of transcripts in databases.
pub fn survey_again(path: Option<&Path>, env: &Environment, sizes: &Sizes) -> Store {
    let store = look(path, &Around { env, sizes });
    Store { ruleset: store.own_ruleset(), ..store }
}

/// What looking takes besides a place.
#[derive(Debug, Clone, Copy)]
struct Around<'a> {
    env: &'a Environment,
    sizes: &'a Sizes,
}

fn look(path: Option<&Path>, around: &Around<'_>) -> Store {
    let env = around.env;
    let Some(path) = path else {
        let state = state_dir(env).path;
        let config = GatewayConfig::load(config_path(env, &state).as_deref(), env, &state);
        return if state.is_dir() {
            gateway(Shape::StateDir(state.clone()), state, config, around, None)
        } else {
            nothing(state, config)
        };
    };
    let path = absolute(&env.cwd, path);
    // The environment's own configuration says nothing about a store that was named: the one beside it does.
    let config_of = |state: &Path| GatewayConfig::load(config_in(state).as_deref(), env, state);
    match shape_of(&path) {
        Shape::StateDir(state) => {
            let config = config_of(&state);
            gateway(Shape::StateDir(state.clone()), state, config, around, None)
        }
        Shape::Sessions(dir) => one_agent(Shape::Sessions(dir.clone()), &dir.join("sessions.json"), around),
        Shape::Rows(file) => one_agent(Shape::Rows(file.clone()), &file, around),
        Shape::Transcript(file) => transcript(&file, around),
        Shape::PiAgentDir(dir) => {
            let list = |dir: &Path, findings: &mut Vec<Finding>| pi::agent_dir_sessions(dir, env, findings);
            pi_store(Shape::PiAgentDir(dir.clone()), &dir, list)
        }
        Shape::PiSessions(dir) => pi_store(Shape::PiSessions(dir.clone()), &dir, pi::sessions_in),
        Shape::Database(file) if sqlite::version_without_sessions(&file).is_some() => {
            let dir = sqlite::artifact_dir(&file);
            let mut store = one_agent(Shape::Sessions(dir.clone()), &dir.join(ROWS), around);
            if store.findings.iter().all(|finding| finding.path != file) {
                store.findings.extend(without_sessions(&file));
            }
            store
        }
        Shape::Database(file) => database(&file, around),
        Shape::Nothing(path) => nothing(path, GatewayConfig::empty()),
    }
}

fn empty(shape: Shape, state_dir: PathBuf, config: GatewayConfig) -> Store {
    let config = Arc::new(config);
    let error = config.error.as_ref().map(Finding::from);
    let findings = error.into_iter().chain(config.findings.iter().cloned()).collect();
    let ruleset = Chosen::default();
    Store {
        shape,
        state_dir,
        config,
        ruleset,
        databases: Vec::new(),
        agents: Vec::new(),
        sessions: Vec::new(),
        findings,
    }
}

fn nothing(path: PathBuf, config: GatewayConfig) -> Store {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (what, next) = match classify(&name) {
        FileKind::Recording if path.is_file() => {
            ("is the gateway's recording of its runs, no transcript", "name the transcript beside it")
        }
        _ => {
            let what = if path.exists() { "holds no sessions" } else { "does not exist" };
            (what, "name a state dir, a sessions dir, a sessions.json or a transcript")
        }
    };
    let finding = Finding::new(&path, Severity::Error, what, next);
    let mut store = empty(Shape::Nothing(path.clone()), path, config);
    store.findings.push(finding);
    store
}

/// One database: the agent and the state dir around it, where it lies at the usual place.
fn database(file: &Path, around: &Around<'_>) -> Store {
    let own = file.parent().unwrap_or(Path::new("/"));
    let agent = own
        .parent()
        .filter(|agent| own.ends_with("agent") && agent.parent().is_some_and(|it| it.ends_with("agents")));
    let state = agent.and_then(|agent| agent.ancestors().nth(2)).unwrap_or(own).to_path_buf();
    let name = agent
        .and_then(Path::file_name)
        .map_or_else(|| "main".into(), |name| name.to_string_lossy().into_owned());
    let config = GatewayConfig::load(config_in(&state).as_deref(), around.env, &state);
    let mut store = empty(Shape::Database(file.to_path_buf()), state, config);
    add_databases(&mut store, &[(name, file.to_path_buf())], around.sizes);
    let mut owners: Vec<String> = store.sessions.iter().map(|session| session.agent.clone()).collect();
    owners.sort();
    owners.dedup();
    store.agents = owners.into_iter().map(|id| Agent { id, on_disk: true, configured: false }).collect();
    let artifacts = sqlite::artifact_dir(file);
    let owner = store.agents.first().map_or_else(|| "main".to_owned(), |agent| agent.id.clone());
    if artifacts != own || agent.is_none() {
        add_unnamed(&mut store, &mut BTreeMap::new(), &[(owner, artifacts)]);
    }
    add_moved_aside(&mut store);
    finish_databases(&mut store);
    distinct_keys(&mut store.sessions);
    store
}

/// Reads these databases, each looked for by an agent. One that holds no sessions is of another use.
fn add_databases(store: &mut Store, files: &[(String, PathBuf)], sizes: &Sizes) {
    for (agent, path) in files {
        match Database::open(path) {
            Ok(database) => add_database(store, agent, &database, sizes),
            Err(error) if is_of_use(store, path) => {
                let finding = Finding::new(path, Severity::Error, error.to_string(), error.next());
                store.findings.push(finding);
                store.databases.push(Holding { path: path.clone(), schema: None });
            }
            Err(_) if std::fs::metadata(path).is_ok_and(|meta| meta.len() == 0) => {
                let what = "is empty: 0 bytes, no session is in it";
                let next =
                    "a gateway that starts fills it; where sessions were in it, put it back from a backup";
                store.findings.push(Finding::new(path, Severity::Warning, what, next));
            }
            Err(_) => store.findings.extend(without_sessions(path)),
        }
    }
}

/// That a database is of a release which keeps its sessions in files, so that nobody looks for them in it.
fn without_sessions(path: &Path) -> Option<Finding> {
    let version = sqlite::version_without_sessions(path)?;
    let what = format!(
        "holds no sessions: its schema version {version} is of the releases 2026.6.11 to 2026.7.35, which keep them in files"
    );
    Some(Finding::new(path, Severity::Note, what, sqlite::NO_SESSIONS_NEXT))
}

/// Notes databases whose sessions are not listed: that there are any tells the version of the whole gateway, whichever part of
/// its store was named.
fn note_databases(store: &mut Store, files: &[(String, PathBuf)]) {
    for (_, path) in files {
        let schema = Database::open(path).ok().map(|database| database.schema().clone());
        if schema.is_some() || is_of_use(store, path) && path.metadata().is_ok_and(|meta| meta.len() > 0) {
            store.databases.push(Holding { path: path.clone(), schema });
        }
    }
}

/// Whether a database that could not be opened is one to speak of: it was named, or sessions are in it (sqlite A7). Of one
/// that cannot be read nobody knows; silence would pass for a store without sessions.
fn is_of_use(store: &Store, path: &Path) -> bool {
    matches!(&store.shape, Shape::Database(own) if own == path)
        || sqlite::holds_sessions(path).unwrap_or(true)
}

fn add_database(store: &mut Store, agent: &str, database: &Database, sizes: &Sizes) {
    let schema = database.schema();
    let owner = schema.agent.clone().unwrap_or_else(|| agent.to_owned());
    let mut note = |severity, what: String, next: &str| {
        store.findings.push(Finding::new(database.path(), severity, what, next));
    };
    if schema.is_older() {
        let what = format!("has the older schema version {}", schema.version);
        note(
            Severity::Note,
            what,
            "its tables are read as those of version 23; `openclaw doctor` migrates it",
        );
    }
    if database.is_still() {
        let what = "was opened as a file that nobody writes, as nothing may be written beside it".to_owned();
        note(Severity::Note, what, "what a running gateway writes meanwhile shows only after a reload");
    }
    store.databases.push(Holding { path: database.path().to_path_buf(), schema: Some(schema.clone()) });
    let added = sqlite::add_sessions(database, &owner, &mut store.sessions, &mut store.findings, sizes);
    if let Err(error) = added {
        let what = format!("its sessions cannot be read: {error}");
        let next = "reload; if it stays so, let `openclaw doctor` look at it";
        store.findings.push(Finding::new(database.path(), Severity::Error, what, next));
    }
}

/// Says of every file beside a database whether its entries are in it.
fn finish_databases(store: &mut Store) {
    for holding in store.databases.clone() {
        let Some(agent) = holding.schema.as_ref().and_then(|schema| schema.agent.clone()) else { continue };
        // It was readable a moment ago.
        let Ok(database) = Database::open(&holding.path) else { continue };
        sqlite::mark_leftovers(&database, &agent, &mut store.sessions, &mut store.findings);
    }
}

fn pi_store(shape: Shape, dir: &Path, list: impl FnOnce(&Path, &mut Vec<Finding>) -> Vec<Session>) -> Store {
    let mut store = empty(shape, dir.to_path_buf(), GatewayConfig::empty());
    store.sessions = list(dir, &mut store.findings);
    if let Some(agent_dir) = agent_dir_of(&store.shape) {
        Arc::make_mut(&mut store.config).read_registry(pi::PI_AGENT, &agent_dir, &mut store.findings);
    }
    distinct_keys(&mut store.sessions);
    store.agents = vec![Agent { id: pi::PI_AGENT.to_owned(), on_disk: true, configured: false }];
    store
}

/// The agent of a store file and the state dir around it, where the file lies at the usual place.
fn agent_around(rows: &Path) -> (String, PathBuf) {
    let dir = rows.parent().unwrap_or(Path::new("/"));
    let agent = dir.parent().filter(|_| dir.ends_with("sessions") || dir.ends_with(IMPORT_ARCHIVE));
    let agents = agent.and_then(Path::parent).filter(|agents| agents.ends_with("agents"));
    match (agent.and_then(Path::file_name), agents.and_then(Path::parent)) {
        (Some(agent), Some(state)) => (agent.to_string_lossy().into_owned(), state.to_path_buf()),
        _ => ("main".to_owned(), dir.to_path_buf()),
    }
}

fn one_agent(shape: Shape, rows: &Path, around: &Around<'_>) -> Store {
    let (agent, state) = agent_around(rows);
    let config = GatewayConfig::load(config_in(&state).as_deref(), around.env, &state);
    gateway(shape, state, config, around, Some((agent, rows.to_path_buf())))
}

/// A single transcript: the store around it tells what it knows of it, but nothing else is listed. Its rules are those
/// under which that store would list it.
fn transcript(file: &Path, around: &Around<'_>) -> Store {
    let shape = Shape::Transcript(file.to_path_buf());
    if is_pis(file) {
        return pi_store(shape, file.parent().unwrap_or(file), |_, _| vec![pi::session_of(file)]);
    }
    let rows = rows_around(file);
    let mut store = one_agent(shape, &rows, around);
    let real = real(file);
    store.sessions.retain(|session| session.path.as_deref().is_some_and(|path| self::real(path) == real));
    if store.sessions.is_empty() {
        store.sessions.push(unnamed(file, &store, &agent_around(&rows).0));
    }
    store.sessions.truncate(1);
    finish_databases(&mut store);
    // The row tells of the file a link leads to, but it is the link that was named: it is read, never written.
    if file.is_symlink() {
        store.sessions[0].path = Some(file.to_path_buf());
        store.sessions[0].examine();
    }
    let kept = store.sessions[0].agent.clone();
    store.agents.retain(|agent| agent.id == kept);
    store
}

/// A transcript that no row names, as the list of its folder has it.
fn unnamed(file: &Path, store: &Store, agent: &str) -> Session {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    match classify(&name) {
        _ if !store.is_of_gateway() => of_file(file),
        FileKind::MovedAside(_) => of_moved_aside(file, agent),
        _ => of_archive(file, agent).unwrap_or_else(|| of_orphan(file, agent)),
    }
}

/// The store file that may name a transcript: beside it, or above it where the rows name files in folders.
fn rows_around(file: &Path) -> PathBuf {
    let beside = file.with_file_name(ROWS);
    let above = file.ancestors().skip(1).take(MAX_ABOVE).map(|dir| dir.join(ROWS));
    above.into_iter().find(|rows| rows.is_file()).unwrap_or(beside)
}

/// Whether a transcript lies where only pi keeps its sessions.
fn is_pis(file: &Path) -> bool {
    let above = || file.ancestors().skip(1).take(MAX_ABOVE);
    let in_cwd_dir =
        above().any(|dir| dir.file_name().is_some_and(|name| is_pi_cwd_dir(&name.to_string_lossy())));
    let is_pis = |shape: Shape| matches!(shape, Shape::PiSessions(_) | Shape::PiAgentDir(_));
    let listed_by = |dir: &Path| is_pis(shape_of(dir));
    in_cwd_dir || file.parent().is_some_and(listed_by)
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

/// Folders without links in their paths, each looked up once: of a file in one it is enough to know whether it is a link.
#[derive(Debug, Default)]
struct Folders(HashMap<PathBuf, PathBuf>);

impl Folders {
    /// As [`real`].
    fn real(&mut self, path: &Path) -> PathBuf {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return real(path) };
        match path.symlink_metadata() {
            Ok(meta) if meta.is_symlink() => real(path),
            Ok(_) => match self.0.get(folder) {
                Some(known) => known.join(name),
                None => self.0.entry(folder.to_path_buf()).or_insert_with(|| real(folder)).join(name),
            },
            Err(_) => path.to_path_buf(),
        }
    }
}

/// A gateway's store; only one agent's part of it when `only` names an agent and its store file.
fn gateway(
    shape: Shape,
    state: PathBuf,
    config: GatewayConfig,
    around: &Around<'_>,
    only: Option<(String, PathBuf)>,
) -> Store {
    let mut store = empty(shape, state, config);
    store.agents = agents(&store.config, &store.state_dir, &mut store.findings);
    store.read_registries(around.env);
    let all_databases = sqlite::databases(&store.config, around.env, &store.state_dir, &store.agents);
    let files = match only {
        Some((agent, rows)) => {
            store.agents.retain(|own| own.id == agent);
            if store.agents.is_empty() {
                store.agents.push(Agent { id: agent.clone(), on_disk: true, configured: false });
            }
            vec![(agent, rows)]
        }
        None => store_files(&store.config, around.env, &store.state_dir, &store.agents, &mut store.findings),
    };
    let databases = match &store.shape {
        Shape::Rows(_) | Shape::Transcript(_) => Vec::new(),
        _ => sqlite::databases(&store.config, around.env, &store.state_dir, &store.agents),
    };
    add_databases(&mut store, &databases, around.sizes);
    if store.databases.is_empty() {
        note_databases(&mut store, &all_databases);
    }
    let ancient = ancient_sessions_dir(around.env);
    let mut listings = BTreeMap::new();
    for (agent, rows) in &files {
        add_rows(&mut store, &mut listings, agent, rows, &ancient);
    }
    drop_run_twins(&mut store.sessions);
    let is_single = matches!(store.shape, Shape::Transcript(_));
    if !is_single {
        let dirs = transcript_dirs(&files, &store.state_dir);
        add_unnamed(&mut store, &mut listings, &dirs);
    }
    if matches!(store.shape, Shape::StateDir(_) | Shape::Sessions(_)) {
        add_moved_aside(&mut store);
    }
    if !is_single {
        finish_databases(&mut store);
    }
    distinct_keys(&mut store.sessions);
    mark_locked(&mut store.sessions, &mut listings);
    store.findings.extend(store.sessions.iter().filter_map(no_file));
    store
}

fn add_rows(
    store: &mut Store,
    listings: &mut BTreeMap<PathBuf, Listing>,
    agent: &str,
    file: &Path,
    ancient: &Path,
) {
    let loaded = load_rows(file);
    store.findings.extend(loaded.findings);
    let dir = file.parent().unwrap_or(Path::new("/"));
    listings.entry(dir.to_path_buf()).or_insert_with(|| Listing::read(dir));
    let place = Place::new(dir, agent, &store.state_dir, Some(ancient));
    for row in loaded.rows {
        let located = locate(&row, &place);
        if located.is_none() {
            let what = "the row has no usable sessionId and no usable sessionFile";
            let next = "the session is listed without a transcript";
            store.findings.push(Finding::new(file, Severity::Warning, what, next).about(row.key.clone()));
        }
        store.sessions.push(of_row(row, agent, located));
    }
}

/// A cron run stands under two keys; the second is left out where the first has the same transcript (store D4).
fn drop_run_twins(sessions: &mut Vec<Session>) {
    let twin = |session: &Session| super::key::is_cron_run(&session.key.0);
    let place = |session: &Session| (session.agent.clone(), session.path.clone());
    let runs: HashSet<_> = sessions.iter().filter(|s| twin(s)).map(place).collect();
    let bases: HashSet<_> = sessions.iter().filter(|s| !twin(s)).map(place).collect();
    sessions.retain(|session| !twin(session) || !bases.contains(&place(session)));
    for session in sessions.iter_mut().filter(|s| !twin(s) && s.path.is_some()) {
        if runs.contains(&place(session)) {
            session.flag(Flag::RunTwin);
        }
    }
}

/// Transcripts that no row of any store names, and archives (store G, F).
fn add_unnamed(store: &mut Store, listings: &mut BTreeMap<PathBuf, Listing>, dirs: &[(String, PathBuf)]) {
    let mut folders = Folders::default();
    let paths = store.sessions.iter().filter_map(|session| session.path.as_deref());
    let named: HashSet<PathBuf> = paths.map(|path| folders.real(path)).collect();
    for (agent, dir) in dirs {
        let listing = listings.entry(dir.clone()).or_insert_with(|| Listing::read(dir));
        store.findings.append(&mut listing.findings);
        let mut is_free =
            |path: &PathBuf| !named.contains(&folders.real(path)) && !path.is_dir() && !is_secret_file(path);
        let orphans = listing.transcripts.iter().map(|name| dir.join(name)).filter(&mut is_free);
        store.sessions.extend(orphans.map(|path| of_orphan(&path, agent)));
        // What a database put aside is in it too.
        let known: HashSet<String> = store.sessions.iter().filter_map(archive_in_database).collect();
        let archives = listing.archives.iter().filter(|name| !known.contains(*name));
        let archives = archives.map(|name| dir.join(name)).filter(is_free);
        store.sessions.extend(archives.filter_map(|path| of_archive(&path, agent)));
    }
}

/// What an import moved aside when it took the files of an agent into its database (sqlite A6).
fn add_moved_aside(store: &mut Store) {
    for agent in store.agents.clone() {
        let dir = store.state_dir.join("agents").join(&agent.id).join(IMPORT_ARCHIVE);
        let mut listing = Listing::read(&dir);
        store.findings.append(&mut listing.findings);
        store
            .sessions
            .extend(listing.moved_aside.iter().map(|name| of_moved_aside(&dir.join(name), &agent.id)));
    }
}

/// The name under which an archive in a database is published as a file (sqlite C9).
fn archive_in_database(session: &Session) -> Option<String> {
    let in_database = matches!(session.kept, Kept::Archive { .. });
    let name = session.path.as_deref().filter(|_| in_database)?.file_name()?.to_string_lossy().into_owned();
    name.rsplit_once('#').map(|(_, name)| name.to_owned())
}

/// Something lies where a transcript should, but there is nothing to read in it.
fn no_file(session: &Session) -> Option<Finding> {
    let path =
        session.path.as_deref().filter(|_| session.has(Flag::Missing) && session.kept == Kept::File)?;
    let what = match path.symlink_metadata().ok()? {
        meta if meta.is_symlink() => "is a link that leads to no regular file",
        _ => "is not a regular file",
    };
    let next = "the session is listed without a transcript; put the transcript there";
    Some(Finding::new(path, Severity::Warning, what, next).about(session.key.0.clone()))
}

fn mark_locked(sessions: &mut [Session], listings: &mut BTreeMap<PathBuf, Listing>) {
    for session in sessions.iter_mut().filter(|session| !session.archived()) {
        let Some((dir, name)) =
            session.path.as_deref().and_then(|path| Some((path.parent()?, path.file_name()?)))
        else {
            continue;
        };
        let name = name.to_string_lossy().into_owned();
        let listing = listings.entry(dir.to_path_buf()).or_insert_with(|| Listing::read(dir));
        if listing.locked.contains(&name) {
            session.flag(Flag::Locked);
        }
    }
}

#[cfg(test)]
#[path = "survey_tests.rs"]
mod tests;
