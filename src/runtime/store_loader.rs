//! The store on display: the person's own, or the demo. Each is opened once, when it is first listed.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::app::event::StoreListing;
use crate::gateway::env::Environment;
use crate::gateway::ruleset::RulesetChoice;
use crate::ids::Epoch;
use crate::redact;
use crate::runtime::RunOptions;
use crate::runtime::session_counts::system_now_ms;
use crate::session::list::{SessionListing, list_sessions_with};
use crate::session::store_location::{StoreLocation, StoreRequest};
use crate::store::discovery::Store;
use crate::store::session::Session;
use crate::units::Moment;

/// The start of listing, and the list with its location, or the error.
pub(super) type ListResult = (Moment, Result<(SessionListing, Arc<StoreLocation>), ListError>);

/// The reason why there is no list of sessions.
#[derive(Debug, thiserror::Error)]
pub(super) enum ListError {
    /// Nothing at the requested place is a store; the finding in words.
    #[error("{0}")]
    NoStore(String),
    #[error("Cannot write the demo store: {0}. Check that the folder for temporary files is writable.")]
    Demo(#[from] io::Error),
}
/// A location, opened at most once.
type PlaceSlot = Arc<Mutex<Option<Arc<StoreLocation>>>>;

#[derive(Debug)]
pub(super) struct StoreLoader {
    home: StoreRequest,
    env: Environment,
    /// Restricts the list to this agent.
    agent: Option<String>,
    /// The ruleset from the flags; `None` uses the store's own.
    requested_ruleset: Option<RulesetChoice>,
    opened_home: PlaceSlot,
    opened_demo: PlaceSlot,
    /// The prefetched first list of the person's store.
    first_list: Option<JoinHandle<ListResult>>,
    /// The store of the last list.
    pub(super) store: Option<Arc<Store>>,
    epoch: Epoch,
}

impl StoreLoader {
    pub(super) fn from_options(home: StoreRequest, options: &RunOptions) -> Self {
        Self::new(home, options.agent.clone(), options.ruleset.clone(), options.environment.clone())
    }

    pub(super) fn new(
        home: StoreRequest,
        agent: Option<String>,
        requested_ruleset: Option<RulesetChoice>,
        env: Environment,
    ) -> Self {
        Self {
            home,
            env,
            agent,
            requested_ruleset,
            opened_home: PlaceSlot::default(),
            opened_demo: PlaceSlot::default(),
            first_list: None,
            store: None,
            epoch: Epoch::default(),
        }
    }

    /// Reads every store under this ruleset from now on, including the listed one.
    pub(super) fn set_ruleset(&mut self, ruleset: RulesetChoice) {
        if let Some(store) = &mut self.store {
            Arc::make_mut(store).use_ruleset(ruleset.clone());
        }
        self.requested_ruleset = Some(ruleset);
    }

    /// Whether the agent filter lets a session into the list.
    pub(super) fn includes(&self, session: &Session) -> bool {
        self.agent.as_ref().is_none_or(|agent| *agent == session.agent)
    }

    /// Returns a new epoch, unique among all readings.
    pub(super) fn next_epoch(&mut self) -> Epoch {
        self.epoch = self.epoch.next();
        self.epoch
    }

    /// Starts the first list before it is requested, as taking the terminal takes about as long.
    pub(super) fn prefetch(&mut self) {
        // Drawing masks titles, so the rules are compiled meanwhile.
        std::thread::spawn(redact::compile_rules);
        self.first_list = Some(std::thread::spawn(self.list_job(false)));
    }

    /// Returns work that lists the demo or the person's store; a prefetched list is awaited instead of started again.
    pub(super) fn list_job(&mut self, demo: bool) -> impl FnOnce() -> ListResult + Send + 'static {
        let begun = self.first_list.take_if(|_| !demo);
        let list = self.list_place(demo);
        move || match begun.map(JoinHandle::join) {
            Some(reported) => reported.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => (system_now_ms(), list()),
        }
    }

    fn list_place(
        &self,
        demo: bool,
    ) -> impl FnOnce() -> Result<(SessionListing, Arc<StoreLocation>), ListError> + Send + 'static {
        let place = if demo { StoreRequest::Demo } else { self.home.clone() };
        // When the store is missing, the demo replaces it. Both are the same demo, so that changes to it stay.
        let opened = [Arc::clone(&self.opened_home), Arc::clone(&self.opened_demo)];
        let (env, agent, requested) = (self.env.clone(), self.agent.clone(), self.requested_ruleset.clone());
        move || {
            let place = find_or_open(&opened, &place, &env)?;
            let mut listed = list_sessions_with(&place, requested.as_ref(), system_now_ms());
            if let Some(agent) = agent {
                listed.items.retain(|item| item.agent == agent);
            }
            match listed.place_error() {
                Some(refusal) => Err(ListError::NoStore(refusal)),
                None => Ok((listed, place)),
            }
        }
    }
}

fn find_or_open(
    opened: &[PlaceSlot; 2],
    place: &StoreRequest,
    env: &Environment,
) -> Result<Arc<StoreLocation>, ListError> {
    let mut home = opened[0].lock().unwrap_or_else(PoisonError::into_inner);
    let mut demo = opened[1].lock().unwrap_or_else(PoisonError::into_inner);
    let wants_demo = *place == StoreRequest::Demo;
    if wants_demo && let Some(stand_in) = home.as_ref().filter(|home| home.is_demo()) {
        return Ok(Arc::clone(stand_in));
    }
    let slot = if wants_demo { &mut *demo } else { &mut *home };
    if let Some(known) = slot {
        return Ok(Arc::clone(known));
    }
    let new = Arc::new(StoreLocation::new(place, env.clone())?);
    Ok(Arc::clone(slot.insert(new)))
}

/// Converts a list for the state machine, which takes its items.
pub(super) fn to_listing(listed: &mut SessionListing) -> StoreListing {
    StoreListing {
        store_label: listed.name.clone(),
        store_path: Some(listed.store.state_dir.clone()),
        ruleset: listed.store.ruleset.clone(),
        agent_count: listed.store.agents.len(),
        items: std::mem::take(&mut listed.items),
        diagnostics: listed.diagnostics.clone(),
        config_error: listed.store.config.error.as_ref().map(ToString::to_string),
        demo: listed.is_demo,
        missing_store: listed.missing_store.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(home: StoreRequest) -> StoreLoader {
        StoreLoader::new(home, None, None, Environment::new([("HOME", "/nonexistent")], None, "/".into()))
    }

    #[test]
    fn the_demo_that_is_in_is_the_demo() {
        let library = library(StoreRequest::Default);
        let (mut listed, place) = library.list_place(false)().unwrap();
        let (again, same) = library.list_place(true)().unwrap();
        assert!(Arc::ptr_eq(&place, &same));
        assert_eq!(listed.store.state_dir, again.store.state_dir);
        assert!(listed.diagnostics.iter().any(|finding| finding.message == "found no gateway store"));
        let reported = to_listing(&mut listed);
        assert_eq!(
            (reported.store_label.as_str(), reported.demo, reported.agent_count),
            ("demo store", true, 2)
        );
    }

    #[test]
    fn a_prefetched_list_is_used_once_for_the_persons_store() {
        let mut library = library(StoreRequest::Demo);
        library.prefetch();
        let (_, other) = library.list_job(true)();
        let began = system_now_ms();
        let ((first_ms, first), (next_ms, next)) = (library.list_job(false)(), library.list_job(false)());
        assert!(first_ms <= began && next_ms >= began);
        let places = [other, first, next].map(|reported| reported.unwrap().1);
        assert!(places.iter().all(|place| Arc::ptr_eq(place, &places[0])));
    }

    #[test]
    fn the_persons_store_and_the_demo_are_separate() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("agents/main/sessions")).unwrap();
        let library = library(StoreRequest::Path(dir.path().into()));
        assert!(!library.list_place(false)().unwrap().0.is_demo);
        assert!(library.list_place(true)().unwrap().0.is_demo);
        assert!(library.list_place(false)().unwrap().0.items.is_empty());
    }

    #[test]
    fn a_list_can_be_limited_to_one_agent_and_a_missing_store_is_an_error() {
        let mut library = library(StoreRequest::Demo);
        library.agent = Some("research".into());
        let (listed, _) = library.list_place(false)().unwrap();
        assert!(!listed.items.is_empty() && listed.items.iter().all(|item| item.agent == "research"));
        library.home = StoreRequest::Path("/nonexistent/store".into());
        library.opened_home = PlaceSlot::default();
        assert!(library.list_place(false)().unwrap_err().to_string().contains("does not exist"));
    }
}
