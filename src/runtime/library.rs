//! The store that is shown: the person's own place, or the demo, opened when it is first listed.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::app::event::Listing;
use crate::gateway::env::Environment;
use crate::gateway::ruleset::Chosen;
use crate::ids::Epoch;
use crate::inspect::list::{Listed, list_under};
use crate::inspect::place::{OpenPlace, Place};
use crate::redact;
use crate::runtime::RunOptions;
use crate::runtime::clock::system_ms;
use crate::store::session::Session;
use crate::store::survey::Store;

/// When the listing of a place began (ms since the epoch), and the list with its place, or why there is none.
pub(super) type Told = (i64, Result<(Listed, Arc<OpenPlace>), String>);
/// A place that is opened once.
type Opened = Arc<Mutex<Option<Arc<OpenPlace>>>>;

/// Places and the store that was listed last.
#[derive(Debug)]
pub(super) struct Library {
    home: Place,
    env: Environment,
    /// Only this agent's sessions.
    agent: Option<String>,
    /// The rules someone asked for.
    asked: Option<Chosen>,
    opened_home: Opened,
    opened_demo: Opened,
    /// The first list of the own place, while it is made.
    begun: Option<JoinHandle<Told>>,
    /// The store as listed last.
    pub(super) store: Option<Arc<Store>>,
    epoch: Epoch,
}

impl Library {
    /// Of the person's own place, under what was asked for.
    pub(super) fn of(home: Place, options: &RunOptions) -> Self {
        Self::new(home, options.agent.clone(), options.ruleset.clone(), options.environment.clone())
    }

    pub(super) fn new(home: Place, agent: Option<String>, asked: Option<Chosen>, env: Environment) -> Self {
        Self {
            home,
            env,
            agent,
            asked,
            opened_home: Opened::default(),
            opened_demo: Opened::default(),
            begun: None,
            store: None,
            epoch: Epoch::default(),
        }
    }

    /// Reads everything by these rules from now on, the listed store included.
    pub(super) fn follow(&mut self, ruleset: Chosen) {
        if let Some(store) = &mut self.store {
            Arc::make_mut(store).ruleset = ruleset.clone();
        }
        self.asked = Some(ruleset);
    }

    /// Whether a session stands in the list.
    pub(super) fn lists(&self, session: &Session) -> bool {
        self.agent.as_ref().is_none_or(|agent| *agent == session.agent)
    }

    /// A number for the next reading; no two readings have the same.
    pub(super) fn next_epoch(&mut self) -> Epoch {
        self.epoch = self.epoch.next();
        self.epoch
    }

    /// Begins with the first list before anyone asks for it: taking the terminal takes about as long.
    pub(super) fn begin(&mut self) {
        // Titles are masked when they are drawn.
        std::thread::spawn(redact::load);
        self.begun = Some(std::thread::spawn(self.lister(false)));
    }

    /// Work that lists the demo or the person's own place; what was begun is waited for.
    pub(super) fn lister(&mut self, demo: bool) -> impl FnOnce() -> Told + Send + 'static {
        let begun = self.begun.take_if(|_| !demo);
        let list = self.list(demo);
        move || match begun.map(JoinHandle::join) {
            Some(told) => told.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => (system_ms(), list()),
        }
    }

    fn list(&self, demo: bool) -> impl FnOnce() -> Result<(Listed, Arc<OpenPlace>), String> + Send + 'static {
        let place = if demo { Place::Demo } else { self.home.clone() };
        // The demo that stands in for a missing store is the same demo: what was tried there stays.
        let opened = [Arc::clone(&self.opened_home), Arc::clone(&self.opened_demo)];
        let (env, agent, asked) = (self.env.clone(), self.agent.clone(), self.asked.clone());
        move || {
            let place = find_or_open(&opened, &place, &env)?;
            let mut listed = list_under(&place, asked.as_ref(), system_ms());
            if let Some(agent) = agent {
                listed.items.retain(|item| item.agent == agent);
            }
            match listed.refusal() {
                Some(refusal) => Err(refusal),
                None => Ok((listed, place)),
            }
        }
    }
}

fn find_or_open(opened: &[Opened; 2], place: &Place, env: &Environment) -> Result<Arc<OpenPlace>, String> {
    let mut home = opened[0].lock().unwrap_or_else(PoisonError::into_inner);
    let mut demo = opened[1].lock().unwrap_or_else(PoisonError::into_inner);
    let wants_demo = *place == Place::Demo;
    if wants_demo && let Some(stand_in) = home.as_ref().filter(|home| home.is_demo()) {
        return Ok(Arc::clone(stand_in));
    }
    let slot = if wants_demo { &mut *demo } else { &mut *home };
    if let Some(known) = slot {
        return Ok(Arc::clone(known));
    }
    let new = OpenPlace::new(place, env.clone());
    let new = Arc::new(new.map_err(|error| {
        format!("The demo store cannot be written: {error}. Check that the folder for temporary files is writable.")
    })?);
    Ok(Arc::clone(slot.insert(new)))
}

/// What the state machine is told of a list.
pub(super) fn listing(listed: &Listed) -> Listing {
    Listing {
        place: listed.name.clone(),
        ruleset: listed.store.ruleset.clone(),
        agents: listed.store.agents.len(),
        items: listed.items.clone(),
        findings: listed.findings.clone(),
        config_error: listed.store.config.error.as_ref().map(ToString::to_string),
        demo: listed.demo,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(home: Place) -> Library {
        Library::new(home, None, None, Environment::new([("HOME", "/nonexistent")], None, "/".into()))
    }

    #[test]
    fn the_demo_that_stands_in_is_the_demo() {
        let library = library(Place::Default);
        let (listed, place) = library.list(false)().unwrap();
        let (again, same) = library.list(true)().unwrap();
        assert!(Arc::ptr_eq(&place, &same));
        assert_eq!(listed.store.state_dir, again.store.state_dir);
        assert!(listed.findings.iter().any(|finding| finding.what == "there is no gateway store"));
        let told = listing(&listed);
        assert_eq!((told.place.as_str(), told.demo, told.agents), ("demo store", true, 2));
    }

    #[test]
    fn a_list_that_was_begun_is_waited_for_once_and_only_by_who_asks_for_the_own_place() {
        let mut library = library(Place::Demo);
        library.begin();
        let (_, other) = library.lister(true)();
        let began = system_ms();
        let ((first_ms, first), (next_ms, next)) = (library.lister(false)(), library.lister(false)());
        assert!(first_ms <= began && next_ms >= began);
        let places = [other, first, next].map(|told| told.unwrap().1);
        assert!(places.iter().all(|place| Arc::ptr_eq(place, &places[0])));
    }

    #[test]
    fn the_own_place_and_the_demo_are_kept_apart() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("agents/main/sessions")).unwrap();
        let library = library(Place::Path(dir.path().into()));
        assert!(!library.list(false)().unwrap().0.demo);
        assert!(library.list(true)().unwrap().0.demo);
        assert!(library.list(false)().unwrap().0.items.is_empty());
    }

    #[test]
    fn one_agent_alone_and_a_place_that_is_none() {
        let mut library = library(Place::Demo);
        library.agent = Some("research".into());
        let (listed, _) = library.list(false)().unwrap();
        assert!(!listed.items.is_empty() && listed.items.iter().all(|item| item.agent == "research"));
        library.home = Place::Path("/nonexistent/store".into());
        library.opened_home = Opened::default();
        assert!(library.list(false)().unwrap_err().contains("does not exist"));
    }
}
