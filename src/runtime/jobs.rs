//! Work beside the screen: one job of a kind at a time. Of what someone looks for, the newest request wins
//! and what an older one still says is dropped here, in one place. What follows the disk may finish first,
//! so that steady changes never keep it from an answer. What writes is never dropped.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedSender;

use crate::app::event::Event;
use crate::inspect::invalidation::Invalidation;
use crate::inspect::session_list::SessionListing;
use crate::inspect::store_location::StoreLocation;
use crate::store::discovery::Store;

/// What a job is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum JobKind {
    /// Listing a store.
    List,
    /// Looking at what changed on disk.
    Invalidate,
    /// Reading what the list says of its sessions.
    Count,
    /// Reading that again of sessions that are written to.
    Recount,
    /// Opening a session.
    Open,
    /// Reading what was added to it.
    Refresh,
    /// Looking at it as it was when a call was made.
    OpenAtCall,
    /// Texts of rows.
    Excerpts,
    /// The message under the cursor.
    Message,
    /// What steps ask for that look at more than sizes.
    Details,
    /// The calls of a summary.
    SummaryCalls,
    /// The heaviest blocks of a window.
    Blocks,
    /// What is recorded of an overflow.
    Recovery,
    /// What was committed to a session, or two of its branches.
    Branches,
    /// Why a session overflowed.
    Explain,
    /// Reading a session for replays.
    Recording,
    /// A session again.
    Replay,
    /// The same over a grid of settings.
    Sweep,
    /// Looking for words.
    Search,
    /// Making estimates.
    Estimates,
    /// Making a summary.
    Summary,
    /// Checking what a write would do.
    PrepareWrite,
    /// Writing; never taken back.
    Write,
    /// Handing text to other programs and files.
    External,
}

/// What comes back from a job.
#[derive(Debug)]
pub(super) struct JobReport {
    kind: JobKind,
    generation: u64,
    message: JobMessage,
}

/// What a job says.
#[derive(Debug)]
pub(super) enum JobMessage {
    /// Something for the state machine.
    Event(Box<Event>),
    /// A place was listed, beginning at this moment (ms since 1970).
    Listed(Box<SessionListing>, Arc<StoreLocation>, i64),
    /// What changed files come to, by the store that was listed then; these were the files.
    Invalidated(Box<Invalidation>, Arc<Store>, BTreeSet<PathBuf>),
    /// The job is over.
    Done {
        /// It ended in a panic: a fault of this program.
        panicked: bool,
    },
}

/// A job's view of itself.
#[derive(Debug, Clone)]
pub(super) struct JobHandle {
    kind: JobKind,
    generation: u64,
    current_generation: Arc<AtomicU64>,
    reports: UnboundedSender<JobReport>,
}

impl JobHandle {
    /// Whether its answer is still wanted; long work asks now and then.
    pub(super) fn is_current(&self) -> bool {
        self.current_generation.load(Ordering::Acquire) == self.generation
    }

    /// Tells the state machine something.
    pub(super) fn send_event(&self, event: Event) {
        self.send_message(JobMessage::Event(Box::new(event)));
    }

    /// Says something to the loop.
    pub(super) fn send_message(&self, said: JobMessage) {
        // Nobody listens only when the program is ending.
        drop(self.reports.send(JobReport { kind: self.kind, generation: self.generation, message: said }));
    }
}

type Work = Box<dyn FnOnce(&JobHandle) + Send>;

/// One kind's running job and what waits.
#[derive(Default)]
struct JobSlot {
    current_generation: Arc<AtomicU64>,
    is_running: bool,
    queued: VecDeque<Work>,
}

/// All jobs.
pub(super) struct Jobs {
    slots: HashMap<JobKind, JobSlot>,
    reports: UnboundedSender<JobReport>,
}

impl Jobs {
    /// Jobs that report to `reports`.
    pub(super) fn new(reports: UnboundedSender<JobReport>) -> Self {
        Self { slots: HashMap::new(), reports }
    }

    /// The newest request wins: the running job is told to stop, and what waited is forgotten.
    pub(super) fn start(&mut self, kind: JobKind, work: impl FnOnce(&JobHandle) + Send + 'static) {
        self.cancel(kind);
        self.enqueue(kind, work);
    }

    /// The running job may finish, and then the newest request is next; what waited is forgotten.
    pub(super) fn start_after_current(
        &mut self,
        kind: JobKind,
        work: impl FnOnce(&JobHandle) + Send + 'static,
    ) {
        self.slots.entry(kind).or_default().queued.clear();
        self.enqueue(kind, work);
    }

    /// One after the other, and none is forgotten.
    pub(super) fn enqueue(&mut self, kind: JobKind, work: impl FnOnce(&JobHandle) + Send + 'static) {
        self.slots.entry(kind).or_default().queued.push_back(Box::new(work));
        self.run_next(kind);
    }

    /// Drops what was asked of a kind.
    pub(super) fn cancel(&mut self, kind: JobKind) {
        let slot = self.slots.entry(kind).or_default();
        slot.current_generation.fetch_add(1, Ordering::AcqRel);
        slot.queued.clear();
    }

    /// Whether a job of this kind runs.
    pub(super) fn is_running(&self, kind: JobKind) -> bool {
        self.slots.get(&kind).is_some_and(|slot| slot.is_running)
    }

    /// Takes a report: what it says, unless nobody wants it any more.
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

/// Lets something through at most so often.
#[derive(Debug)]
pub(super) struct Throttle {
    interval: Duration,
    last: Option<Instant>,
}

impl Throttle {
    /// At most once in this time.
    pub(super) fn new(interval: Duration) -> Self {
        Self { interval, last: None }
    }

    /// Whether it may pass now.
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

    /// Takes reports until every job is over; what was said meanwhile.
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
    async fn following_the_disk_finishes_what_it_began_and_skips_to_the_newest() {
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
    async fn what_writes_is_never_forgotten() {
        let (sender, mut reports) = unbounded_channel();
        let mut jobs = Jobs::new(sender);
        for at in 0..4 {
            jobs.enqueue(JobKind::External, move |ticket| ticket.send_event(said(&at.to_string())));
        }
        let heard = until_quiet(&mut jobs, &mut reports).await;
        assert_eq!(heard, [0, 1, 2, 3].map(|at| format!(r#"Notice("{at}")"#)));
    }

    #[tokio::test]
    async fn kinds_do_not_disturb_each_other_and_a_cancelled_one_is_silent() {
        let (sender, mut reports) = unbounded_channel();
        let mut jobs = Jobs::new(sender);
        jobs.start(JobKind::Search, |ticket| ticket.send_event(said("search")));
        jobs.start(JobKind::Message, |ticket| ticket.send_event(said("message")));
        jobs.cancel(JobKind::Search);
        assert_eq!(until_quiet(&mut jobs, &mut reports).await, [r#"Notice("message")"#]);
    }

    #[tokio::test]
    async fn a_panic_in_a_job_is_told_and_the_next_one_runs() {
        let (sender, mut reports) = unbounded_channel();
        let mut jobs = Jobs::new(sender);
        jobs.start(JobKind::List, |_| panic!("on purpose"));
        assert_eq!(until_quiet(&mut jobs, &mut reports).await, ["panicked"]);
        jobs.start(JobKind::List, |ticket| ticket.send_event(said("again")));
        assert_eq!(until_quiet(&mut jobs, &mut reports).await, [r#"Notice("again")"#]);
    }

    #[test]
    fn a_throttle_lets_the_first_through_and_holds_the_next() {
        let mut throttle = Throttle::new(Duration::from_hours(1));
        assert!(throttle.try_pass());
        assert!(!throttle.try_pass());
        assert!(Throttle { last: Some(Instant::now()), interval: Duration::ZERO }.try_pass());
    }
}
