//! The workspace of a command: the store that the options select, and the session in it. Commands open sessions only
//! through [`Workspace`], so that `--store`, `--profile`, `--config` and `--ruleset` work the same in all of them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::failure::{Exit, Failure};
use super::output::Output;
use super::ruleset::requested_ruleset;
use super::suggest::{alternatives, did_you_mean, nearest};
use crate::cli::{ReadPlace, StoreArgs, names_store};
use crate::diagnostic::Diagnostic;
use crate::format::set_display_zone;
use crate::gateway::config::GatewayConfig;
use crate::gateway::env::{Environment, absolute, effective_home};
use crate::gateway::ruleset::RulesetChoice;
use crate::gateway::state_dir::{profiles, state_dir, with_profile};
use crate::ids::{EntryIx, SessionKey};
use crate::session::context_limits::ContextLimits;
use crate::session::list::{SessionListing, list_item, list_sessions_with, survey_with};
use crate::session::loading::{OpenError, open_session};
use crate::session::overflow::ModelWindow;
use crate::session::store_location::{StoreLocation, StoreRequest, abbreviate_home, missing_store};
use crate::session::{LoadedSession, Mark, SessionItem, load_listed_item};
use crate::store::discovery::Store;
use crate::store::index::OpenStatus;
use crate::store::session::Session;
use crate::transcript::Leaf;
use crate::units::Moment;

/// The process around a command. Tests replace it, so that no command reads the real clock or environment.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// Variables, home and working directory.
    pub env: Environment,
    pub now_ms: Moment,
}

pub(super) type SessionsByKey<'a> = HashMap<&'a SessionKey, &'a Session>;

/// A listed store and the options it was listed with.
#[derive(Debug)]
pub struct Workspace {
    pub listed: SessionListing,
    /// The time; the demo store has its own clock.
    pub now_ms: Moment,
    /// The environment under `--profile`.
    pub env: Environment,
    /// Whether the user named the store.
    pub is_explicit: bool,
    /// The ruleset from `--ruleset` or the configuration, if any.
    requested_ruleset: Option<RulesetChoice>,
    /// Keeps the demo store's temporary folder alive.
    place: StoreLocation,
    /// Positions of the sessions by key: a search for each of many would cost the square of their number.
    positions: OnceLock<HashMap<SessionKey, usize>>,
}

impl Workspace {
    /// Lists what a release that the person names would refuse of the configuration; the built-in store's is not theirs.
    pub(super) fn refused_by_requested_release(&self) -> Vec<Diagnostic> {
        let release = self.requested_ruleset.as_ref().and_then(|ruleset| ruleset.release.as_deref());
        let store = &self.listed.store;
        release
            .filter(|_| !self.place.is_demo())
            .map(|release| store.config.refused_by(release, &self.env, &store.state_dir))
            .unwrap_or_default()
    }

    /// Opens the store that the options select; `path` takes precedence over `--store`.
    pub fn from_path(
        path: Option<&Path>,
        args: &StoreArgs,
        invocation: &Invocation,
    ) -> Result<Self, Failure> {
        let place = resolve_place(path, args)?;
        Self::from_place(&place, args, invocation)
    }

    /// Opens the store for a command that takes a SESSION: a path to a transcript is a store by itself.
    pub fn for_session(text: &str, args: &StoreArgs, invocation: &Invocation) -> Result<Self, Failure> {
        Self::from_place(&session_place(text, args, invocation)?, args, invocation)
    }

    fn from_place(place: &StoreRequest, args: &StoreArgs, invocation: &Invocation) -> Result<Self, Failure> {
        let env = profile_environment(args, invocation)?;
        let named = *place != StoreRequest::Default;
        let place = StoreLocation::new(place, env.clone())
            .map_err(|error| Failure::unreadable(format!("cannot write the demo store: {error}")))?;
        let now_ms = place.demo_now_ms().unwrap_or(invocation.now_ms);
        if place.is_demo() {
            // The demo store looks the same in every time zone.
            set_display_zone(None);
        }
        let requested = requested_ruleset(args, &invocation.env)?;
        let mut listed = list_sessions_with(&place, requested.as_ref(), now_ms);
        if let Some(refusal) = listed.place_error() {
            return Err(Failure::unreadable(refusal));
        }
        if let Some(file) = &args.config {
            let file = env.resolve(&file.to_string_lossy());
            apply_config(&mut listed, &file, requested.as_ref(), &env, now_ms)?;
        }
        if let Some(agent) = &args.agent {
            retain_agent(&mut listed, agent)?;
        }
        Ok(Self {
            listed,
            now_ms,
            env,
            is_explicit: named,
            requested_ruleset: requested,
            place,
            positions: OnceLock::new(),
        })
    }

    pub fn store(&self) -> &Store {
        &self.listed.store
    }

    /// Fails if a database of the store was not read: an answer about every session lacks its sessions.
    pub(super) fn require_databases(&self) -> Result<(), Failure> {
        self.listed.unread_database().map_or(Ok(()), |why| Err(Failure::unreadable(why)))
    }

    /// Reads the store again, without `--config` and `--agent`.
    pub fn resurvey(&self) -> Store {
        survey_with(&self.place, self.requested_ruleset.as_ref())
    }

    /// Returns the missing default store that the demo store replaces.
    pub fn missing_path(&self) -> Option<PathBuf> {
        self.place.missing_store()
    }

    /// Reads only the parts of a session that its line in the list needs.
    pub(super) fn count_item(
        &self,
        item: &SessionItem,
        sessions: &SessionsByKey<'_>,
    ) -> Result<SessionItem, Failure> {
        let Some(session) = sessions.get(&item.key) else {
            return Err(open_failure(&OpenError::Unknown { key: item.key.clone() }));
        };
        let counted = load_listed_item(self.store(), session, item.clone(), self.now_ms, &mut |_, _| true);
        let mut counted = counted.map_err(|error| open_failure(&error))?;
        counted.set_mark(Mark::Unfinished, item.has(Mark::Unfinished));
        Ok(counted)
    }

    pub fn open_item(&self, item: &SessionItem) -> Result<LoadedSession, Failure> {
        self.open_key(&item.key)
    }

    pub(super) fn open_key(&self, key: &SessionKey) -> Result<LoadedSession, Failure> {
        let sessions = &self.store().sessions;
        let positions = self.positions.get_or_init(|| {
            sessions.iter().enumerate().map(|(at, session)| (session.key.clone(), at)).collect()
        });
        let session =
            positions.get(key).and_then(|at| sessions.get(*at)).filter(|session| session.key == *key);
        let unknown = || open_failure(&OpenError::Unknown { key: key.clone() });
        open_session(self.store(), session.ok_or_else(unknown)?, None, self.now_ms, &mut |_, _| true)
            .map_err(|error| open_failure(&error))
    }

    /// Whether the store is one transcript, selected by its path.
    pub(super) fn is_single_transcript(&self, text: &str) -> bool {
        self.store().sessions.len() == 1 && absolute(&self.env.cwd, Path::new(text)).is_file()
    }
}

fn open_failure(error: &OpenError) -> Failure {
    Failure::unreadable(error.to_string())
}

impl StoreArgs {
    /// Returns the options with the store that the arguments of a command name.
    pub(super) fn with_path(&self, path: Option<&Path>) -> Result<Self, Failure> {
        match (path, &self.store) {
            (Some(path), Some(store)) => Err(Failure::usage(format!(
                "{} and --store {}: name the store once.",
                path.display(),
                store.display()
            ))),
            (Some(path), None) => Ok(Self { store: Some(path.to_path_buf()), ..self.clone() }),
            (None, _) => Ok(self.clone()),
        }
    }
}

/// Resolves the store options; `path` takes precedence over `--store`.
pub(super) fn resolve_place(path: Option<&Path>, args: &StoreArgs) -> Result<StoreRequest, Failure> {
    match path.or(args.store.as_deref()) {
        Some(_) if args.demo => {
            Err(Failure::usage("--demo and a path cannot be combined. Remove one of them."))
        }
        _ if args.demo => Ok(StoreRequest::Demo),
        Some(path) => Ok(StoreRequest::Path(path.to_path_buf())),
        None => Ok(StoreRequest::Default),
    }
}

/// Resolves the store options for a command that takes a SESSION.
fn session_place(text: &str, args: &StoreArgs, invocation: &Invocation) -> Result<StoreRequest, Failure> {
    let file = absolute(&invocation.env.cwd, Path::new(text));
    if args.store.is_none() && !args.demo && (file.is_file() || is_store_folder(text, args, invocation)) {
        return Ok(StoreRequest::Path(file));
    }
    resolve_place(None, args)
}

/// Whether a SESSION argument names a folder, which is a store and no session.
pub(super) fn is_store_folder(text: &str, args: &StoreArgs, invocation: &Invocation) -> bool {
    let cwd = &invocation.env.cwd;
    args.store.is_none() && !args.demo && names_store(text, cwd) && absolute(cwd, Path::new(text)).is_dir()
}

/// Says on the error stream that a command reads the demo store because there is no other, so that nobody takes its
/// sessions for their own.
pub(super) fn note_demo_store(
    place: ReadPlace<'_>,
    args: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let request = match place {
        ReadPlace::NoStore => return Ok(()),
        ReadPlace::Store(path) => resolve_place(path, args)?,
        ReadPlace::Session(text) => session_place(text, args, invocation)?,
    };
    if request != StoreRequest::Default {
        return Ok(());
    }
    let env = profile_environment(args, invocation)?;
    let Some(path) = missing_store(&env) else { return Ok(()) };
    let path = abbreviate_home(&path, &effective_home(&env));
    Ok(output.note(&format!(
        "note: no gateway store at {path}; this is the built-in demo store. Pass a PATH or set OPENCLAW_STATE_DIR."
    ))?)
}

pub(super) fn profile_environment(args: &StoreArgs, invocation: &Invocation) -> Result<Environment, Failure> {
    match &args.profile {
        None => Ok(invocation.env.clone()),
        Some(name) => {
            let env =
                with_profile(&invocation.env, name).map_err(|error| Failure::usage(format!("--{error}")))?;
            refuse_unknown_profile(name, args, &env)?;
            Ok(env)
        }
    }
}

/// Refuses a profile without a state dir, which would show the demo store in its place.
fn refuse_unknown_profile(name: &str, args: &StoreArgs, env: &Environment) -> Result<(), Failure> {
    let dir = state_dir(env);
    if args.demo || args.store.is_some() || dir.exists {
        return Ok(());
    }
    let known = profiles(env);
    let near = did_you_mean(name, known.iter().map(String::as_str));
    let known = if known.is_empty() { "no profile".to_owned() } else { known.join(", ") };
    let path = dir.path.display();
    Err(Failure::unreadable(format!("--profile {name}: {path} does not exist. Found {known}.{near}")))
}

/// Replaces the store's configuration, and everything derived from it.
fn apply_config(
    listed: &mut SessionListing,
    file: &Path,
    requested: Option<&RulesetChoice>,
    env: &Environment,
    now_ms: Moment,
) -> Result<(), Failure> {
    if !file.is_file() {
        return Err(Failure::usage(format!("--config {}: not a file. Check the path.", file.display())));
    }
    let mut store = Store::clone(&listed.store);
    let recorded_windows = store.config.recorded_windows.clone();
    let mut config = GatewayConfig::load(Some(file), env, &store.state_dir);
    config.recorded_windows = recorded_windows;
    store.config = Arc::new(config);
    if let Some(error) = &store.config.error {
        return Err(Failure::unreadable(format!("--config {error}")));
    }
    let ruleset = if requested.is_none() { store.detect_ruleset() } else { store.ruleset.clone() };
    store.use_ruleset(ruleset);
    listed.diagnostics.extend(store.config.diagnostics.iter().cloned());
    store.read_registries(env);
    for item in &mut listed.items {
        let own = |session: &&Session| session.key == item.key && session.path == item.path;
        if let Some(session) = store.sessions.iter().find(own) {
            let unfinished = item.has(Mark::Unfinished);
            *item = list_item(&store, session, now_ms);
            item.set_mark(Mark::Unfinished, unfinished);
        }
    }
    listed.store = Arc::new(store);
    Ok(())
}

fn retain_agent(listed: &mut SessionListing, agent: &str) -> Result<(), Failure> {
    let wanted = crate::gateway::config::normalise_agent_id(agent);
    let mut known: Vec<&str> = listed.store.agents.iter().map(|agent| agent.id.as_str()).collect();
    known.extend(listed.items.iter().map(|item| item.agent.as_str()));
    if !known.contains(&wanted.as_str()) {
        known.sort_unstable();
        known.dedup();
        let near = did_you_mean(&wanted, known.iter().copied());
        return Err(Failure::Reported {
            exit: Exit::Usage,
            message: format!("--agent {agent:?}: expected {}.{near}", alternatives(&known)),
            candidates: nearest(&wanted, known.iter().copied()).map(str::to_owned).into_iter().collect(),
            typed: Some(agent.to_owned()),
        });
    }
    let mut store = Store::clone(&listed.store);
    store.agents.retain(|own| own.id == wanted);
    store.sessions.retain(|session| session.agent == wanted);
    listed.items.retain(|item: &SessionItem| item.agent == wanted);
    listed.store = Arc::new(store);
    Ok(())
}

/// Moves the session to another leaf: an entry id or a unique prefix of one.
pub fn at_leaf(
    workspace: &Workspace,
    session: LoadedSession,
    leaf: Option<&str>,
) -> Result<LoadedSession, Failure> {
    let Some(text) = leaf else { return Ok(session) };
    let entry = find_entry(&session, "--leaf", text)?;
    Ok(at_entry(workspace, &session, entry))
}

/// Moves the session to an entry, with the model that is active there.
fn at_entry(workspace: &Workspace, loaded: &LoadedSession, entry: EntryIx) -> LoadedSession {
    let leaf = Leaf::Id(loaded.index.display_id(entry));
    let Some(mut moved) = loaded.at_leaf(leaf.clone()) else { return loaded.without_context(leaf) };
    let word = |word| moved.index.values.text(word);
    let model = moved.context.model.and_then(|(provider, model)| Some((word(provider)?, word(model)?)));
    if let Some((provider, model)) = model {
        let own = |session: &&Session| session.key == moved.item.key;
        if let Some(session) = workspace.store().sessions.iter().find(own) {
            let ruleset = moved.ruleset.id;
            let runtime_window = ModelWindow::for_model(&moved.overflow_scope(), &provider, &model).runtime;
            let limits = ContextLimits::for_session(workspace.store(), ruleset, session, (&provider, &model));
            moved.limits = ContextLimits { runtime_window, ..limits };
        }
        moved = moved.with_model(provider, model);
    }
    moved
}

/// Finds an entry by its id or a unique prefix. `what` names the argument in the error.
pub fn find_entry(session: &LoadedSession, what: &str, text: &str) -> Result<EntryIx, Failure> {
    let index = &session.index;
    if let Some(exact) = session.tree.find_by_text(index, text) {
        return Ok(exact);
    }
    let mut names: Vec<(EntryIx, String)> = index.iter().map(|(ix, _)| (ix, index.display_id(ix))).collect();
    names.retain(|(_, name)| !text.is_empty() && name.starts_with(text));
    match names.as_slice() {
        [(one, _)] => Ok(*one),
        [] => Err(Failure::usage(format!(
            "{what} {text:?}: no entry has this id. `clawscope tree` shows the ids."
        ))),
        several => {
            let shown: Vec<&str> = several.iter().take(5).map(|(_, name)| name.as_str()).collect();
            Err(Failure::usage(format!(
                "{what} {text:?}: matches {} entries: {}",
                several.len(),
                shown.join(", ")
            )))
        }
    }
}

/// Returns the session, or the runtime's exception as a failure if its context cannot be built.
pub fn require_context(session: LoadedSession) -> Result<LoadedSession, Failure> {
    if !session.context_throws {
        return Ok(session);
    }
    let path = session.source.path().display();
    let place = match session.index.open_status {
        OpenStatus::Throws { line } => format!(" line {line}"),
        _ => String::new(),
    };
    Err(Failure::unreadable(format!(
        "{path}{place}: the runtime cannot build a context from this transcript. `clawscope doctor` lists the \
         faulty lines; `clawscope tree` still shows it."
    )))
}
