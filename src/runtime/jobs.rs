//! Background work: at most one running job per kind, and three ways to queue the next.
//!
//! * Lookups ([`Jobs::start`]): the newest request wins. The reports of an older job are dropped here, in one place.
//! * Work that follows the disk ([`Jobs::start_after_current`]): the running job finishes first, so that steady
//!   changes never starve it of an answer.
//! * Writes ([`Jobs::enqueue`]): each one runs, in order.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedSender;

use crate::app::event::Event;
use crate::session::invalidation::Invalidation;
use crate::session::list::SessionListing;
use crate::session::store_location::StoreLocation;
use crate::store::discovery::Store;
use crate::units::Moment;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum JobKind {
    /// Lists a store.
    List,
    /// Finds the sessions that changed files belong to.
    Invalidate,
    /// Counts the sessions of the list.
    Count,
    /// Counts sessions again that are being written to.
    Recount,
    /// Opens a session.
    Open,
    /// Reads the entries added to the open session.
    Refresh,
    /// Loads the open session as of a call.
    OpenAtCall,
    /// Reads excerpts for rows.
    Excerpts,
    /// Reads the message under the cursor.
    Message,
    /// Reads body-derived data for policies that sizes cannot decide.
    Details,
    /// Predicts the calls of a summary.
    SummaryCalls,
    /// Reads the heaviest blocks of a window.
    Blocks,
    /// Reads the recorded recovery from an overflow.
    Recovery,
    /// Reads the commits of a session.
    Commits,
    /// Reads the store's record of a session.
    Record,
    /// Compares two branches of a session.
    Branches,
    /// Explains an overflow.
    Explain,
    /// Reads a session for replays.
    Recording,
    Replay,
    /// Finds lost messages that were needed again.
    Regret,
    /// Replays a session over a grid of settings.
    Sweep,
    /// Searches the transcript.
    Search,
    /// Searches every session of the store.
    SearchStore,
    /// Reads every transcript for its problems.
    Problems,
    Estimates,
    Summary,
    /// Checks a write without writing.
    PrepareWrite,
    /// Writes; never dropped.
    Write,
    /// Passes text to other programs and files.
    External,
}

/// A message of a job, with the generation it belongs to.
#[derive(Debug)]
pub(super) struct JobReport {
    kind: JobKind,
    generation: u64,
    message: JobMessage,
}

/// A message of a job to the loop.
#[derive(Debug)]
pub(super) enum JobMessage {
    /// An event for the state machine.
    Event(Box<Event>),
    /// A listed store, and when listing started.
    Listed(Box<SessionListing>, Arc<StoreLocation>, Moment),
    /// The effect of changed files on the store that was listed then, and those files.
    Invalidated(Box<Invalidation>, Arc<Store>, BTreeSet<PathBuf>),
    /// The job ended.
    Done {
        /// It panicked, which is a bug in clawscope.
        panicked: bool,
    },
}

/// A running job's link to the loop.
#[derive(Debug, Clone)]
pub(super) struct JobHandle {
    kind: JobKind,
    generation: u64,
    current_generation: Arc<AtomicU64>,
    reports: UnboundedSender<JobReport>,
}

impl JobHandle {
    /// Whether the answer is still wanted; long work checks this regularly.
    pub(super) fn is_current(&self) -> bool {
        self.current_generation.load(Ordering::Acquire) == self.generation
    }

    pub(super) fn send_event(&self, event: Event) {
        self.send_message(JobMessage::Event(Box::new(event)));
    }

    pub(super) fn send_message(&self, said: JobMessage) {
        // The receiver is dropped only while the program is ending.
        drop(self.reports.send(JobReport { kind: self.kind, generation: self.generation, message: said }));
    }
}

type Work = Box<dyn FnOnce(&JobHandle) + Send>;

/// The running job of a kind, and its queue.
#[derive(Default)]
struct JobSlot {
    current_generation: Arc<AtomicU64>,
    is_running: bool,
    queued: VecDeque<Work>,
}

pub(super) struct Jobs {
    slots: HashMap<JobKind, JobSlot>,
    reports: UnboundedSender<JobReport>,
}

impl Jobs {
    pub(super) fn new(reports: UnboundedSender<JobReport>) -> Self {
        Self { slots: HashMap::new(), reports }
    }

    /// Runs the newest request only: cancels the running job and clears the queue.
    pub(super) fn start(&mut self, kind: JobKind, work: impl FnOnce(&JobHandle) + Send + 'static) {
        self.cancel(kind);
        self.enqueue(kind, work);
    }

    /// Lets the running job finish, then runs the newest request; clears the queue.
    pub(super) fn start_after_current(
        &mut self,
        kind: JobKind,
        work: impl FnOnce(&JobHandle) + Send + 'static,
    ) {
        self.slots.entry(kind).or_default().queued.clear();
        self.enqueue(kind, work);
    }

    /// Queues work; every job runs, in order.
    pub(super) fn enqueue(&mut self, kind: JobKind, work: impl FnOnce(&JobHandle) + Send + 'static) {
        self.slots.entry(kind).or_default().queued.push_back(Box::new(work));
        self.run_next(kind);
    }

    /// Cancels the running job and clears the queue.
    pub(super) fn cancel(&mut self, kind: JobKind) {
        let slot = self.slots.entry(kind).or_default();
        slot.current_generation.fetch_add(1, Ordering::AcqRel);
        slot.queued.clear();
    }

    pub(super) fn is_running(&self, kind: JobKind) -> bool {
        self.slots.get(&kind).is_some_and(|slot| slot.is_running)
    }

    /// Returns the message of a report, unless its job was cancelled meanwhile. Always returns [`JobMessage::Done`] and
    /// starts the next queued job.
    pub(super) fn accept(&mut self, report: JobReport) -> Option<JobMessage> {
        if matches!(report.message, JobMessage::Done { .. }) {
            self.slots.entry(report.kind).or_default().is_running = false;
            self.run_next(report.kind);
            return Some(report.message);
        }
        let wanted = self.slots.get(&report.kind)?.current_generation.load(Ordering::Acquire);
        (wanted == report.generation).then_some(report.message)
    }

    fn run_next(&mut self, kind: JobKind) {
        let slot = self.slots.entry(kind).or_default();
        if slot.is_running {
            return;
        }
        let Some(work) = slot.queued.pop_front() else { return };
        slot.is_running = true;
        let ticket = JobHandle {
            kind,
            generation: slot.current_generation.load(Ordering::Acquire),
            current_generation: Arc::clone(&slot.current_generation),
            reports: self.reports.clone(),
        };
        let own = ticket.clone();
        let job = tokio::task::spawn_blocking(move || work(&own));
        tokio::spawn(async move {
            let panicked = job.await.is_err_and(|error| error.is_panic());
            ticket.send_message(JobMessage::Done { panicked });
        });
    }
}

/// Limits how often something happens.
#[derive(Debug)]
pub(super) struct Throttle {
    interval: Duration,
    last: Option<Instant>,
}

impl Throttle {
    /// Allows one pass per `interval`.
    pub(super) fn new(interval: Duration) -> Self {
        Self { interval, last: None }
    }

    /// Whether it may pass now; a pass restarts the interval.
    pub(super) fn try_pass(&mut self) -> bool {
        let passes = self.last.is_none_or(|last| last.elapsed() >= self.interval);
        if passes {
            self.last = Some(Instant::now());
        }
        passes
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    use super::*;

    const DEADLINE: Duration = Duration::from_secs(10);

    fn said(text: &str) -> Event {
        Event::Notice(text.to_owned())
    }

    /// Accepts reports until every job ended; returns their events.
    async fn until_quiet(jobs: &mut Jobs, reports: &mut UnboundedReceiver<JobReport>) -> Vec<String> {
        let mut heard = Vec::new();
        while jobs.slots.values().any(|slot| slot.is_running) {
            let report = tokio::time::timeout(DEADLINE, reports.recv()).await.unwrap().unwrap();
            match jobs.accept(report) {
                Some(JobMessage::Event(event)) => heard.push(format!("{event:?}")),
                Some(JobMessage::Done { panicked: true }) => heard.push("panicked".into()),
                _ => {}
            }
        }
        heard
    }

    #[tokio::test]
    async fn the_newest_request_wins_and_those_between_never_run() {
        let (sender, mut reports) = unbounded_channel();
        let mut jobs = Jobs::new(sender);
        let (begun, has_begun) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        jobs.start(JobKind::Open, move |ticket| {
            begun.send(()).unwrap();
            ticket.send_event(said("before"));
            released.recv_timeout(DEADLINE).unwrap();
            assert!(!ticket.is_current());
            ticket.send_event(said("late"));
        });
        has_begun.recv_timeout(DEADLINE).unwrap();
        jobs.start(JobKind::Open, |ticket| ticket.send_event(said("between")));
        jobs.start(JobKind::Open, |ticket| ticket.send_event(said("newest")));
        release.send(()).unwrap();
        assert_eq!(until_quiet(&mut jobs, &mut reports).await, [r#"Notice("newest")"#]);
    }

    #[tokio::test]
    async fn a_queued_refresh_finishes_the_running_one_and_skips_to_the_newest() {
        let (sender, mut reports) = unbounded_channel();
        let mut jobs = Jobs::new(sender);
        let (release, released) = mpsc::channel::<()>();
        jobs.start_after_current(JobKind::List, move |ticket| {
            released.recv_timeout(DEADLINE).unwrap();
            ticket.send_event(said("begun"));
        });
        jobs.start_after_current(JobKind::List, |ticket| ticket.send_event(said("between")));
        jobs.start_after_current(JobKind::List, |ticket| ticket.send_event(said("newest")));
        release.send(()).unwrap();
        assert_eq!(until_quiet(&mut jobs, &mut reports).await, [r#"Notice("begun")"#, r#"Notice("newest")"#]);
    }

    #[tokio::test]
    async fn writing_jobs_are_never_dropped() {
        let (sender, mut reports) = unbounded_channel();
        let mut jobs = Jobs::new(sender);
        for at in 0..4 {
            jobs.enqueue(JobKind::External, move |ticket| ticket.send_event(said(&at.to_string())));
        }
        let heard = until_quiet(&mut jobs, &mut reports).await;
        assert_eq!(heard, [0, 1, 2, 3].map(|at| format!(r#"Notice("{at}")"#)));
    }

    #[tokio::test]
    async fn jobs_of_different_kinds_are_independent_and_cancelled_ones_send_nothing() {
        let (sender, mut reports) = unbounded_channel();
        let mut jobs = Jobs::new(sender);
        jobs.start(JobKind::Search, |ticket| ticket.send_event(said("search")));
        jobs.start(JobKind::Message, |ticket| ticket.send_event(said("message")));
        jobs.cancel(JobKind::Search);
        assert_eq!(until_quiet(&mut jobs, &mut reports).await, [r#"Notice("message")"#]);
    }

    #[tokio::test]
    async fn a_panic_in_a_job_is_reported_and_the_next_one_runs() {
        let (sender, mut reports) = unbounded_channel();
        let mut jobs = Jobs::new(sender);
        jobs.start(JobKind::List, |_| panic!("on purpose"));
        assert_eq!(until_quiet(&mut jobs, &mut reports).await, ["panicked"]);
        jobs.start(JobKind::List, |ticket| ticket.send_event(said("again")));
        assert_eq!(until_quiet(&mut jobs, &mut reports).await, [r#"Notice("again")"#]);
    }

    #[test]
    fn a_throttle_passes_the_first_event_and_delays_the_next() {
        let mut throttle = Throttle::new(Duration::from_hours(1));
        assert!(throttle.try_pass());
        assert!(!throttle.try_pass());
        assert!(Throttle { last: Some(Instant::now()), interval: Duration::ZERO }.try_pass());
    }
}
