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
use crate::inspect::list::Listed;
use crate::inspect::place::OpenPlace;
use crate::inspect::touched::Touched;
use crate::store::survey::Store;

/// What a job is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// Listing a store.
    List,
    /// Looking at what changed on disk.
    Touch,
    /// Reading what the list says of its sessions.
    Count,
    /// Reading that again of sessions that are written to.
    Recount,
    /// Opening a session.
    Open,
    /// Reading what was added to it.
    Refresh,
    /// Looking at it as it was when a call was made.
    Look,
    /// Texts of rows.
    Excerpts,
    /// The message under the cursor.
    Message,
    /// What steps ask for that look at more than sizes.
    Texts,
    /// The calls of a summary.
    Calls,
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
    Prepare,
    /// Writing; never taken back.
    Write,
    /// Handing text to other programs and files.
    Outside,
}

/// What comes back from a job.
#[derive(Debug)]
pub(super) struct Report {
    kind: Kind,
    generation: u64,
    said: Said,
}

/// What a job says.
#[derive(Debug)]
pub(super) enum Said {
    /// Something for the state machine.
    Event(Box<Event>),
    /// A place was listed, beginning at this moment (ms since 1970).
    Listed(Box<Listed>, Arc<OpenPlace>, i64),
    /// What changed files come to, by the store that was listed then; these were the files.
    Touched(Box<Touched>, Arc<Store>, BTreeSet<PathBuf>),
    /// The job is over.
    Done {
        /// It ended in a panic: a fault of this program.
        panicked: bool,
    },
}

/// A job's view of itself.
#[derive(Debug, Clone)]
pub(super) struct Ticket {
    kind: Kind,
    generation: u64,
    wanted: Arc<AtomicU64>,
    reports: UnboundedSender<Report>,
}

impl Ticket {
    /// Whether its answer is still wanted; long work asks now and then.
    pub(super) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Acquire) == self.generation
    }

    /// Tells the state machine something.
    pub(super) fn send(&self, event: Event) {
        self.say(Said::Event(Box::new(event)));
    }

    /// Says something to the loop.
    pub(super) fn say(&self, said: Said) {
        // Nobody listens only when the program is ending.
        drop(self.reports.send(Report { kind: self.kind, generation: self.generation, said }));
    }
}

type Work = Box<dyn FnOnce(&Ticket) + Send>;

/// One kind's running job and what waits.
#[derive(Default)]
struct Slot {
    wanted: Arc<AtomicU64>,
    running: bool,
    waiting: VecDeque<Work>,
}

/// All jobs.
pub(super) struct Jobs {
    slots: HashMap<Kind, Slot>,
    reports: UnboundedSender<Report>,
}

impl Jobs {
    /// Jobs that report to `reports`.
    pub(super) fn new(reports: UnboundedSender<Report>) -> Self {
        Self { slots: HashMap::new(), reports }
    }

    /// The newest request wins: the running job is told to stop, and what waited is forgotten.
    pub(super) fn start(&mut self, kind: Kind, work: impl FnOnce(&Ticket) + Send + 'static) {
        self.cancel(kind);
        self.add(kind, work);
    }

    /// The running job may finish, and then the newest request is next; what waited is forgotten.
    pub(super) fn follow(&mut self, kind: Kind, work: impl FnOnce(&Ticket) + Send + 'static) {
        self.slots.entry(kind).or_default().waiting.clear();
        self.add(kind, work);
    }

    /// One after the other, and none is forgotten.
    pub(super) fn add(&mut self, kind: Kind, work: impl FnOnce(&Ticket) + Send + 'static) {
        self.slots.entry(kind).or_default().waiting.push_back(Box::new(work));
        self.run_next(kind);
    }

    /// Drops what was asked of a kind.
    pub(super) fn cancel(&mut self, kind: Kind) {
        let slot = self.slots.entry(kind).or_default();
        slot.wanted.fetch_add(1, Ordering::AcqRel);
        slot.waiting.clear();
    }

    /// Whether a job of this kind runs.
    pub(super) fn is_running(&self, kind: Kind) -> bool {
        self.slots.get(&kind).is_some_and(|slot| slot.running)
    }

    /// Takes a report: what it says, unless nobody wants it any more.
    pub(super) fn take(&mut self, report: Report) -> Option<Said> {
        if matches!(report.said, Said::Done { .. }) {
            self.slots.entry(report.kind).or_default().running = false;
            self.run_next(report.kind);
            return Some(report.said);
        }
        let wanted = self.slots.get(&report.kind)?.wanted.load(Ordering::Acquire);
        (wanted == report.generation).then_some(report.said)
    }

    fn run_next(&mut self, kind: Kind) {
        let slot = self.slots.entry(kind).or_default();
        if slot.running {
            return;
        }
        let Some(work) = slot.waiting.pop_front() else { return };
        slot.running = true;
        let ticket = Ticket {
            kind,
            generation: slot.wanted.load(Ordering::Acquire),
            wanted: Arc::clone(&slot.wanted),
            reports: self.reports.clone(),
        };
        let own = ticket.clone();
        let job = tokio::task::spawn_blocking(move || work(&own));
        tokio::spawn(async move {
            let panicked = job.await.is_err_and(|error| error.is_panic());
            ticket.say(Said::Done { panicked });
        });
    }
}

/// Lets something through at most so often.
#[derive(Debug)]
pub(super) struct Throttle {
    every: Duration,
    last: Option<Instant>,
}

impl Throttle {
    /// At most once in this time.
    pub(super) fn new(every: Duration) -> Self {
        Self { every, last: None }
    }

    /// Whether it may pass now.
    pub(super) fn passes(&mut self) -> bool {
        let passes = self.last.is_none_or(|last| last.elapsed() >= self.every);
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
        Event::Said(text.to_owned())
    }

    /// Takes reports until every job is over; what was said meanwhile.
    async fn until_quiet(jobs: &mut Jobs, reports: &mut UnboundedReceiver<Report>) -> Vec<String> {
        let mut heard = Vec::new();
        while jobs.slots.values().any(|slot| slot.running) {
            let report = tokio::time::timeout(DEADLINE, reports.recv()).await.unwrap().unwrap();
            match jobs.take(report) {
                Some(Said::Event(event)) => heard.push(format!("{event:?}")),
                Some(Said::Done { panicked: true }) => heard.push("panicked".into()),
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
        jobs.start(Kind::Open, move |ticket| {
            begun.send(()).unwrap();
            ticket.send(said("before"));
            released.recv_timeout(DEADLINE).unwrap();
            assert!(!ticket.is_wanted());
            ticket.send(said("late"));
        });
        has_begun.recv_timeout(DEADLINE).unwrap();
        jobs.start(Kind::Open, |ticket| ticket.send(said("between")));
        jobs.start(Kind::Open, |ticket| ticket.send(said("newest")));
        release.send(()).unwrap();
        assert_eq!(until_quiet(&mut jobs, &mut reports).await, [r#"Said("newest")"#]);
    }

    #[tokio::test]
    async fn following_the_disk_finishes_what_it_began_and_skips_to_the_newest() {
        let (sender, mut reports) = unbounded_channel();
        let mut jobs = Jobs::new(sender);
        let (release, released) = mpsc::channel::<()>();
        jobs.follow(Kind::List, move |ticket| {
            released.recv_timeout(DEADLINE).unwrap();
            ticket.send(said("begun"));
        });
        jobs.follow(Kind::List, |ticket| ticket.send(said("between")));
        jobs.follow(Kind::List, |ticket| ticket.send(said("newest")));
        release.send(()).unwrap();
        assert_eq!(until_quiet(&mut jobs, &mut reports).await, [r#"Said("begun")"#, r#"Said("newest")"#]);
    }

    #[tokio::test]
    async fn what_writes_is_never_forgotten() {
        let (sender, mut reports) = unbounded_channel();
        let mut jobs = Jobs::new(sender);
        for at in 0..4 {
            jobs.add(Kind::Outside, move |ticket| ticket.send(said(&at.to_string())));
        }
        let heard = until_quiet(&mut jobs, &mut reports).await;
        assert_eq!(heard, [0, 1, 2, 3].map(|at| format!(r#"Said("{at}")"#)));
    }

    #[tokio::test]
    async fn kinds_do_not_disturb_each_other_and_a_cancelled_one_is_silent() {
        let (sender, mut reports) = unbounded_channel();
        let mut jobs = Jobs::new(sender);
        jobs.start(Kind::Search, |ticket| ticket.send(said("search")));
        jobs.start(Kind::Message, |ticket| ticket.send(said("message")));
        jobs.cancel(Kind::Search);
        assert_eq!(until_quiet(&mut jobs, &mut reports).await, [r#"Said("message")"#]);
    }

    #[tokio::test]
    async fn a_panic_in_a_job_is_told_and_the_next_one_runs() {
        let (sender, mut reports) = unbounded_channel();
        let mut jobs = Jobs::new(sender);
        jobs.start(Kind::List, |_| panic!("on purpose"));
        assert_eq!(until_quiet(&mut jobs, &mut reports).await, ["panicked"]);
        jobs.start(Kind::List, |ticket| ticket.send(said("again")));
        assert_eq!(until_quiet(&mut jobs, &mut reports).await, [r#"Said("again")"#]);
    }

    #[test]
    fn a_throttle_lets_the_first_through_and_holds_the_next() {
        let mut throttle = Throttle::new(Duration::from_hours(1));
        assert!(throttle.passes());
        assert!(!throttle.passes());
        assert!(Throttle { last: Some(Instant::now()), every: Duration::ZERO }.passes());
    }
}
