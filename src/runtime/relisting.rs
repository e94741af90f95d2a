//! Changes on disk → the list. What a change touches is read at once; the whole store only when sessions may have come or
//! gone, at a pace that leaves the machine to others; and what is written to all the time is counted once a second.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::app::event::Event;
use crate::ids::SessionKey;
use crate::inspect::touched::{Places, Touched};
use crate::runtime::clock::system_ms;
use crate::runtime::jobs::{Kind, Said};
use crate::runtime::r#loop::Shell;
use crate::runtime::rounds::Round;
use crate::store::session::Session;
use crate::store::survey::Store;

/// A session that is written to is counted at most so often.
const COUNT_EVERY: Duration = Duration::from_secs(1);

/// What waits to be looked at.
#[derive(Debug)]
pub(super) struct Relisting {
    /// Where the sessions of the store that was listed last lie.
    places: Arc<Places>,
    touches: Round<PathBuf>,
    /// Because of these paths the whole store is to be looked at.
    surveys: Round<PathBuf>,
    /// The paths that the look which runs, or the last one, was because of.
    because: BTreeSet<PathBuf>,
    recounts: Round<SessionKey>,
    /// What was touched while the whole store was looked at: that look may be older.
    meanwhile: BTreeSet<PathBuf>,
}

impl Default for Relisting {
    fn default() -> Self {
        Self {
            places: Arc::default(),
            touches: Round::every(Duration::ZERO),
            surveys: Round::every(Duration::ZERO),
            because: BTreeSet::new(),
            recounts: Round::every(COUNT_EVERY),
            meanwhile: BTreeSet::new(),
        }
    }
}

impl Relisting {
    /// Changes to look at.
    pub(super) fn ask(&mut self, paths: Vec<PathBuf>) {
        self.touches.ask(paths);
    }

    /// A list of the whole store came.
    pub(super) fn listed(&mut self, store: &Store) {
        self.places = Arc::new(Places::of(store, std::mem::take(&mut self.because)));
        self.touches.ask(std::mem::take(&mut self.meanwhile));
    }

    /// How long until something may begin; none while nothing waits for its time.
    pub(super) fn wait(&self) -> Option<Duration> {
        [self.touches.wait(), self.surveys.wait(), self.recounts.wait()].into_iter().flatten().min()
    }
}

impl Shell {
    /// Begins what waits and may begin.
    pub(super) fn relist(&mut self) {
        let running = [Kind::Touch, Kind::List, Kind::Recount].map(|kind| self.jobs.is_running(kind));
        let relisting = &mut self.relisting;
        if !running[0] {
            relisting.touches.end();
        }
        if !running[1] {
            relisting.surveys.end();
        }
        if !running[2] {
            relisting.recounts.end();
        }
        let Some(store) = self.library.store.clone() else { return };
        if let Some(paths) = self.relisting.touches.begin() {
            self.touch(Arc::clone(&store), paths);
        }
        if let Some(keys) = self.relisting.recounts.begin() {
            let counts = self.counts.clone();
            self.jobs.follow(Kind::Recount, move |ticket| counts.recount(&store, &keys, ticket));
        }
        if !running[1]
            && let Some(because) = self.relisting.surveys.begin()
        {
            self.relisting.because.extend(because);
            let demo = self.app.listing.as_ref().is_some_and(|listing| listing.demo);
            self.list(demo);
        }
    }

    fn touch(&mut self, store: Arc<Store>, paths: BTreeSet<PathBuf>) {
        let places = Arc::clone(&self.relisting.places);
        self.jobs.follow(Kind::Touch, move |ticket| {
            let touched = places.touched(&store, &paths, system_ms());
            ticket.say(Said::Touched(Box::new(touched), store, paths));
        });
    }

    /// What changed files come to is known.
    pub(super) fn touched(&mut self, touched: Touched, store: &Arc<Store>, paths: BTreeSet<PathBuf>) {
        if !self.library.store.as_ref().is_some_and(|now| Arc::ptr_eq(now, store)) {
            // Another list came meanwhile, and its rows are newer.
            self.relisting.touches.ask(paths);
            return;
        }
        if touched.whole {
            self.relisting.surveys.ask(paths.iter().cloned());
        }
        if self.jobs.is_running(Kind::List) {
            self.relisting.meanwhile.extend(paths);
        }
        let (sessions, mut items): (Vec<Session>, Vec<_>) =
            touched.sessions.into_iter().filter(|(session, _)| self.library.lists(session)).unzip();
        if items.is_empty() {
            return;
        }
        let unknown = self.counts.take_over(store, &sessions, &mut items);
        self.relisting.recounts.ask(unknown);
        self.tell(Event::Relisted(items));
    }
}
