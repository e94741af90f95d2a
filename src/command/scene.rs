//! What a command works on: the store that the options name, and a session in it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::failure::Failure;
use super::ruleset::asked;
use crate::cli::PlaceArgs;
use crate::error::Finding;
use crate::gateway::config::GatewayConfig;
use crate::gateway::env::{Environment, absolute};
use crate::gateway::ruleset::Chosen;
use crate::gateway::state_dir::with_profile;
use crate::ids::{EntryIx, SessionKey};
use crate::inspect::list::{Listed, list_under, listed_item, survey_under};
use crate::inspect::open::{OpenError, open};
use crate::inspect::place::{OpenPlace, Place};
use crate::inspect::upkeep::Upkeep;
use crate::inspect::{Inspection, Mark, SessionItem, count};
use crate::store::find::find_session;
use crate::store::index::Standing;
use crate::store::session::Session;
use crate::store::survey::Store;
use crate::transcript::Leaf;

/// The process around a command: its environment, and its clock (ms since 1970).
#[derive(Debug, Clone)]
pub struct Around {
    /// Variables, home and working directory.
    pub env: Environment,
    /// Now.
    pub now_ms: i64,
}

/// Sessions of a store by their keys.
pub(super) type ByKey<'a> = HashMap<&'a SessionKey, &'a Session>;

/// A store, listed.
#[derive(Debug)]
pub struct Scene {
    /// What was found.
    pub listed: Listed,
    /// Now, ms since 1970; the demo store has a clock of its own.
    pub now_ms: f64,
    /// The environment under `--profile`.
    pub env: Environment,
    /// The store was named, not looked for.
    pub named: bool,
    /// The rules someone asked for.
    asked: Option<Chosen>,
    /// Holds the demo store's folder.
    place: OpenPlace,
}

impl Scene {
    /// The store that the options name, with `path` before `--store`.
    pub fn list(path: Option<&Path>, args: &PlaceArgs, around: &Around) -> Result<Self, Failure> {
        let place = place_of(path, args)?;
        Self::at(&place, args, around)
    }

    /// The store for a command that takes a SESSION: a path to a transcript is a store of its own.
    pub fn for_session(text: &str, args: &PlaceArgs, around: &Around) -> Result<Self, Failure> {
        let file = absolute(&around.env.cwd, Path::new(text));
        if args.store.is_none() && !args.demo && file.is_file() {
            return Self::at(&Place::Path(file), args, around);
        }
        Self::list(None, args, around)
    }

    fn at(place: &Place, args: &PlaceArgs, around: &Around) -> Result<Self, Failure> {
        let env = environment(args, around)?;
        let named = *place != Place::Default;
        let place = OpenPlace::new(place, env.clone())
            .map_err(|error| Failure::unreadable(format!("the demo store cannot be written: {error}")))?;
        let now_ms = place.own_now_ms().unwrap_or(around.now_ms);
        let asked = asked(args, &around.env)?;
        let mut listed = list_under(&place, asked.as_ref(), now_ms);
        if let Some(refusal) = listed.refusal() {
            return Err(Failure::unreadable(refusal));
        }
        if let Some(file) = &args.config {
            let file = env.resolve(&file.to_string_lossy());
            reconfigure(&mut listed, &file, asked.as_ref(), &env, now_ms)?;
        }
        if let Some(agent) = &args.agent {
            keep_agent(&mut listed, agent)?;
        }
        Ok(Self { listed, now_ms: now_ms as f64, env, named, asked, place })
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.listed.store
    }

    /// The store as it is now, without what options changed about it.
    pub fn resurveyed(&self) -> Store {
        survey_under(&self.place, self.asked.as_ref())
    }

    /// What the demo stands in for, where no one asked for it.
    pub fn missing(&self) -> Option<PathBuf> {
        self.place.missing()
    }

    /// Opens the session that a text means.
    pub fn open(&self, text: &str) -> Result<Inspection, Failure> {
        let session = match find_session(self.store(), text, &self.env.cwd) {
            Ok(session) => session,
            Err(_) if self.is_single(text) => &self.store().sessions[0],
            Err(error) => return Err(error.into()),
        };
        self.open_key(&session.key)
    }

    /// Reads a session of the list for what its line tells, and for nothing else.
    pub(super) fn count(&self, item: &SessionItem, sessions: &ByKey<'_>) -> Result<SessionItem, Failure> {
        let Some(session) = sessions.get(&item.key) else {
            return Err(told(&OpenError::Unknown { key: item.key.clone() }));
        };
        let counted = count(self.store(), session, self.now_ms as i64, &mut |_, _| true);
        let mut counted = counted.map_err(|error| told(&error))?;
        counted.set_mark(Mark::Unfinished, item.has(Mark::Unfinished));
        Ok(counted)
    }

    /// Opens a session of the list.
    pub fn open_item(&self, item: &SessionItem) -> Result<Inspection, Failure> {
        self.open_key(&item.key)
    }

    fn open_key(&self, key: &SessionKey) -> Result<Inspection, Failure> {
        open(self.store(), key, None, self.now_ms as i64, &mut |_, _| true).map_err(|error| told(&error))
    }

    /// A store of one transcript, named by its path.
    fn is_single(&self, text: &str) -> bool {
        self.store().sessions.len() == 1 && absolute(&self.env.cwd, Path::new(text)).is_file()
    }
}

fn told(error: &OpenError) -> Failure {
    Failure::unreadable(error.to_string())
}

/// The place that the options name, with `path` before `--store`.
pub(super) fn place_of(path: Option<&Path>, args: &PlaceArgs) -> Result<Place, Failure> {
    match path.or(args.store.as_deref()) {
        Some(_) if args.demo => {
            Err(Failure::usage("--demo and a path: expected one of them. Leave one out."))
        }
        _ if args.demo => Ok(Place::Demo),
        Some(path) => Ok(Place::Path(path.to_path_buf())),
        None => Ok(Place::Default),
    }
}

/// The environment under `--profile`.
pub(super) fn environment(args: &PlaceArgs, around: &Around) -> Result<Environment, Failure> {
    match &args.profile {
        None => Ok(around.env.clone()),
        Some(name) => with_profile(&around.env, name).map_err(|error| Failure::usage(format!("--{error}"))),
    }
}

/// Another configuration than the store's own, with all that follows from it.
fn reconfigure(
    listed: &mut Listed,
    file: &Path,
    asked: Option<&Chosen>,
    env: &Environment,
    now_ms: i64,
) -> Result<(), Failure> {
    if !file.is_file() {
        return Err(Failure::usage(format!("--config {}: is no file. Check the path.", file.display())));
    }
    let mut store = Store::clone(&listed.store);
    store.config = Arc::new(GatewayConfig::load(Some(file), env, &store.state_dir));
    if let Some(error) = &store.config.error {
        return Err(Failure::unreadable(format!("--config {error}")));
    }
    if asked.is_none() {
        store.ruleset = store.own_ruleset();
    }
    listed.findings.extend(store.config.findings.iter().cloned());
    store.read_registries(env);
    for item in &mut listed.items {
        let own = |session: &&Session| session.key == item.key && session.path == item.path;
        if let Some(session) = store.sessions.iter().find(own) {
            let unfinished = item.has(Mark::Unfinished);
            *item = listed_item(&store, session, now_ms);
            item.set_mark(Mark::Unfinished, unfinished);
        }
    }
    listed.store = Arc::new(store);
    Ok(())
}

fn keep_agent(listed: &mut Listed, agent: &str) -> Result<(), Failure> {
    let wanted = crate::gateway::config::normalise_agent_id(agent);
    let mut known: Vec<&str> = listed.store.agents.iter().map(|agent| agent.id.as_str()).collect();
    known.extend(listed.items.iter().map(|item| item.agent.as_str()));
    if !known.contains(&wanted.as_str()) {
        known.sort_unstable();
        known.dedup();
        let known = known.join(", ");
        return Err(Failure::usage(format!(
            "--agent {agent}: there is no such agent; expected one of {known}"
        )));
    }
    let mut store = Store::clone(&listed.store);
    store.agents.retain(|own| own.id == wanted);
    store.sessions.retain(|session| session.agent == wanted);
    listed.items.retain(|item: &SessionItem| item.agent == wanted);
    listed.store = Arc::new(store);
    Ok(())
}

/// The same session, looked at from another entry: `leaf` is its id or the unique start of one.
pub fn at_leaf(scene: &Scene, inspection: Inspection, leaf: Option<&str>) -> Result<Inspection, Failure> {
    let Some(text) = leaf else { return Ok(inspection) };
    let entry = find_entry(&inspection, "--leaf", text)?;
    Ok(at(scene, &inspection, entry))
}

/// The same after an entry, with the model that is in force there.
fn at(scene: &Scene, inspection: &Inspection, entry: EntryIx) -> Inspection {
    let leaf = Leaf::Id(inspection.index.name(entry));
    let Some(mut moved) = inspection.at(leaf.clone()) else { return inspection.without_context(leaf) };
    let word = |word| moved.index.words.text(word);
    let model = moved.context.model.and_then(|(provider, model)| Some((word(provider)?, word(model)?)));
    if let Some((provider, model)) = model {
        let own = |session: &&Session| session.key == moved.session.key;
        if let Some(session) = scene.store().sessions.iter().find(own) {
            let ruleset = moved.ruleset.ruleset;
            moved.upkeep = Upkeep::of(scene.store(), ruleset, session, (&provider, &model));
        }
        moved = moved.called(provider, model);
    }
    moved
}

/// The entry that a text means: its id or the unique start of one. `what` is the argument, for the refusal.
pub fn find_entry(inspection: &Inspection, what: &str, text: &str) -> Result<EntryIx, Failure> {
    let index = &inspection.index;
    if let Some(exact) = inspection.tree.find_text(index, text) {
        return Ok(exact);
    }
    let mut names: Vec<(EntryIx, String)> = index.iter().map(|(ix, _)| (ix, index.name(ix))).collect();
    names.retain(|(_, name)| !text.is_empty() && name.starts_with(text));
    match names.as_slice() {
        [(one, _)] => Ok(*one),
        [] => Err(Failure::usage(format!(
            "{what} {text:?}: the transcript has no such entry. `clawscope tree` shows the ids."
        ))),
        several => {
            let shown: Vec<&str> = several.iter().take(5).map(|(_, name)| name.as_str()).collect();
            Err(Failure::usage(format!(
                "{what} {text:?}: means {} entries: {}",
                several.len(),
                shown.join(", ")
            )))
        }
    }
}

/// A session whose context the runtime can build, or what keeps it from that.
pub fn with_context(inspection: Inspection) -> Result<Inspection, Failure> {
    if !inspection.context_throws {
        return Ok(inspection);
    }
    let path = inspection.source.path().display();
    let place = match inspection.index.standing {
        Standing::Throws { line } => format!(" line {line}"),
        _ => String::new(),
    };
    Err(Failure::unreadable(format!(
        "{path}{place}: the runtime cannot build a context from this transcript. `clawscope doctor` tells which lines are \
         odd; `clawscope tree` still shows it."
    )))
}

/// A finding as JSON.
pub fn finding_value(finding: &Finding) -> crate::js::Value {
    use crate::js::{Object, Value};
    Value::from(Object::from([
        ("severity", Value::from(finding.severity.name())),
        ("path", Value::from(finding.path.to_string_lossy().as_ref())),
        ("line", Value::from(finding.line)),
        ("entry", Value::from(finding.entry.clone())),
        ("what", Value::from(finding.what.as_str())),
        ("next", Value::from(finding.next.as_str())),
    ]))
}
