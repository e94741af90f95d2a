//! The loop: wait for one thing, take everything else that waits, then draw once. Nothing wakes it while
//! nothing happens.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::app::App;
use crate::app::event::Event;
use crate::config::SummarizerConfig;
use crate::gateway::env::Environment;
use crate::inspect::list::Listed;
use crate::inspect::place::OpenPlace;
use crate::runtime::RunOptions;
use crate::runtime::away::is_suspend_key;
use crate::runtime::clock::Clock;
use crate::runtime::counting::Counts;
use crate::runtime::excerpts::Excerpts;
use crate::runtime::input::Input;
use crate::runtime::jobs::{Jobs, Kind, Report, Said};
use crate::runtime::library::{Library, listing};
use crate::runtime::relisting::Relisting;
use crate::runtime::signals::{Caught, Signals};
use crate::runtime::terminal::Screen;
use crate::runtime::themes::Themes;
use crate::runtime::watch::{Told, Watch, Ways, databases_of, folders_of, in_words};
use crate::summarize::Cancel;
use crate::ui;

/// Frames follow each other at most so fast.
const FRAME: Duration = Duration::from_millis(8);
/// Events taken before a frame is due all the same.
const DRAIN: usize = 1000;

/// Everything around the state.
pub(super) struct Shell {
    pub(super) app: App,
    pub(super) themes: Themes,
    pub(super) screen: Screen,
    pub(super) env: Environment,
    pub(super) library: Library,
    pub(super) jobs: Jobs,
    pub(super) excerpts: Excerpts,
    pub(super) counts: Counts,
    pub(super) relisting: Relisting,
    /// Who writes summaries.
    pub(super) summarizer: SummarizerConfig,
    /// Ends the summary that is being made.
    pub(super) summary: Cancel,
    pub(super) clock: Clock,
    /// Moments at which the state wants to be told, ms.
    pub(super) timers: BTreeSet<i64>,
    /// A text that waits for the pager.
    pub(super) page: Option<String>,
    /// The person leaves.
    pub(super) quit: bool,
    /// The person pressed ctrl-z.
    suspend: bool,
    /// The place whose clock is in force.
    place: Option<Arc<OpenPlace>>,
    reports: UnboundedReceiver<Report>,
    changes: UnboundedReceiver<Told>,
    watch: Watch,
    /// Something changed since the last frame.
    pub(super) dirty: bool,
    last_frame: Option<Instant>,
}

/// What the loop woke up for.
#[derive(Debug)]
enum Woken {
    Signal(Caught),
    /// None when the terminal is gone.
    Input(Option<Event>),
    Report(Report),
    Told(Told),
    /// A timer, or the next frame, is due.
    Time,
}

impl Shell {
    pub(super) fn new(
        library: Library,
        options: RunOptions,
        themes: Themes,
        screen: Screen,
        size: (u16, u16),
    ) -> Self {
        let (reporter, reports) = unbounded_channel();
        let (changed, changes) = unbounded_channel();
        let ways = Ways::of(&options.environment);
        let mut app = App::new(options.app, size);
        app.options.theme = themes.first;
        Self {
            app,
            themes,
            screen,
            library,
            env: options.environment,
            jobs: Jobs::new(reporter),
            excerpts: Excerpts::default(),
            counts: Counts::default(),
            relisting: Relisting::default(),
            summarizer: options.summarizer,
            summary: Cancel::new(),
            clock: Clock::default(),
            timers: BTreeSet::new(),
            page: None,
            quit: false,
            suspend: false,
            place: None,
            reports,
            changes,
            watch: Watch::start(ways, move |told| changed.send(told).is_ok()),
            dirty: true,
            last_frame: None,
        }
    }

    /// Runs until the person leaves. `unanswered`: the terminal still owes an answer.
    pub(super) async fn run(mut self, unanswered: bool) -> anyhow::Result<()> {
        let mut signals = Signals::new().context("signals cannot be received")?;
        let mut input = Input::start(unanswered);
        self.begin();
        while !self.quit {
            self.draw_if_due()?;
            let woken = self.wait(&mut signals, &mut input).await;
            match woken {
                Woken::Signal(caught) => input = self.obey(caught, input).await?,
                other => self.take(other)?,
            }
            if self.drain(&mut input)? {
                input = self.suspend(input).await?;
            }
            if let Some(text) = self.page.take() {
                input = self.show_in_pager(&text, input).await?;
                // A ctrl-c meant for the pager reached us too.
                signals = Signals::new().context("signals cannot be received")?;
            }
        }
        self.finish_writes().await
    }

    /// Does what is done before anything happened.
    pub(super) fn begin(&mut self) {
        self.app.now_ms = self.clock.now_ms();
        for effect in self.app.start(false) {
            self.perform(effect);
        }
    }

    async fn wait(&mut self, signals: &mut Signals, input: &mut Input) -> Woken {
        let due = self.next_moment();
        tokio::select! {
            biased;
            caught = signals.next() => Woken::Signal(caught),
            event = input.next() => Woken::Input(event),
            Some(report) = self.reports.recv() => Woken::Report(report),
            Some(told) = self.changes.recv() => Woken::Told(told),
            () = tokio::time::sleep(due.unwrap_or_default()), if due.is_some() => Woken::Time,
        }
    }

    /// Waits at most so long for something that is no key, and takes it: the program without a terminal.
    pub(super) async fn step(&mut self, at_most: Duration) -> anyhow::Result<()> {
        self.dirty = false;
        let wait = self.next_moment().map_or(at_most, |due| due.min(at_most));
        let woken = tokio::select! {
            Some(report) = self.reports.recv() => Woken::Report(report),
            Some(told) = self.changes.recv() => Woken::Told(told),
            () = tokio::time::sleep(wait) => Woken::Time,
        };
        self.take(woken)
    }

    /// How long until the next timer or frame; none when there is nothing to wake up for.
    fn next_moment(&self) -> Option<Duration> {
        let now_ms = self.clock.now_ms();
        let timer =
            self.timers.first().map(|at| Duration::from_millis(at.saturating_sub(now_ms).max(0) as u64));
        let frame = self.last_frame.filter(|_| self.dirty).map(|last| FRAME.saturating_sub(last.elapsed()));
        [timer, frame, self.relisting.wait()].into_iter().flatten().min()
    }

    fn take(&mut self, woken: Woken) -> anyhow::Result<()> {
        match woken {
            Woken::Input(Some(event)) => self.tell(event),
            Woken::Input(None) => self.quit = true,
            Woken::Report(report) => self.heed(report)?,
            Woken::Told(Told::Changed(paths)) => self.tell(Event::Changed(paths)),
            Woken::Told(Told::Polled(polled)) => self.tell(Event::Polled(in_words(&polled))),
            Woken::Time | Woken::Signal(_) => {}
        }
        let now_ms = self.clock.now_ms();
        if self.timers.first().is_some_and(|at| *at <= now_ms) {
            self.timers = self.timers.split_off(&(now_ms + 1));
            self.tell(Event::Timer);
        }
        self.relist();
        Ok(())
    }

    /// Takes everything that waits. Answers whether ctrl-z was among it.
    fn drain(&mut self, input: &mut Input) -> anyhow::Result<bool> {
        for _ in 0..DRAIN {
            if self.quit || self.page.is_some() || self.suspend {
                break;
            }
            if let Some(event) = input.waiting() {
                self.take(Woken::Input(Some(event)))?;
            } else if let Ok(report) = self.reports.try_recv() {
                self.take(Woken::Report(report))?;
            } else if let Ok(told) = self.changes.try_recv() {
                self.take(Woken::Told(told))?;
            } else {
                break;
            }
        }
        Ok(std::mem::take(&mut self.suspend))
    }

    /// Gives the state an event and performs what it asks for.
    pub(super) fn tell(&mut self, event: Event) {
        if is_suspend_key(&event) {
            self.suspend = true;
            return;
        }
        if let Event::Resize { width, height } = event {
            // A terminal that is gone shows in the next frame.
            drop(self.screen.resize(width.max(1), height.max(1)));
        }
        self.dirty = true;
        for effect in self.app.update(event, self.clock.now_ms()) {
            self.perform(effect);
        }
    }

    fn heed(&mut self, report: Report) -> anyhow::Result<()> {
        match self.jobs.take(report) {
            Some(Said::Event(event)) => self.tell(*event),
            Some(Said::Listed(listed, place, began_ms)) => self.listed(*listed, place, began_ms),
            Some(Said::Touched(touched, store, paths)) => self.touched(*touched, &store, paths),
            Some(Said::Done { panicked: true }) => bail!("a fault of this program ended it; see above"),
            Some(Said::Done { panicked: false }) => self.excerpts.run(&mut self.jobs),
            None => {}
        }
        Ok(())
    }

    /// A list came: its store is the one to open sessions of, to follow, and to count.
    fn listed(&mut self, mut listed: Listed, place: Arc<OpenPlace>, began_ms: i64) {
        if !self.place.as_ref().is_some_and(|known| Arc::ptr_eq(known, &place)) {
            self.clock = Clock::starting_at(place.own_now_ms());
            // What was to go at a moment of the other clock goes now.
            self.app.toast = None;
            self.timers.clear();
            self.jobs.cancel(Kind::Count);
            self.place = Some(place);
        }
        let unknown = self.counts.fill(&listed.store, &mut listed.items);
        self.watch.set(folders_of(&listed.store), began_ms);
        self.watch.follow(databases_of(&listed.store));
        self.library.store = Some(Arc::clone(&listed.store));
        self.relisting.listed(&listed.store);
        self.tell(Event::Listed(Box::new(listing(&listed))));
        if !unknown.is_empty() {
            let (counts, store) = (self.counts.clone(), listed.store);
            self.jobs.follow(Kind::Count, move |ticket| counts.read(&store, &unknown, ticket));
        }
    }

    fn draw_if_due(&mut self) -> anyhow::Result<()> {
        let due = self.last_frame.is_none_or(|last| last.elapsed() >= FRAME);
        if !self.dirty || !due {
            return Ok(());
        }
        let theme = self.themes.get(&self.app.options);
        let app = &self.app;
        self.screen.draw(|frame| ui::draw(app, theme, frame)).context("the terminal is gone")?;
        self.dirty = false;
        self.last_frame = Some(Instant::now());
        #[cfg(debug_assertions)]
        panic_where_a_test_asks(&self.app);
        Ok(())
    }

    /// A write that has begun is brought to its end: leaving is no reason to lose its answer.
    async fn finish_writes(&mut self) -> anyhow::Result<()> {
        self.stop_summary();
        while self.jobs.is_running(Kind::Write) {
            let Some(report) = self.reports.recv().await else { break };
            if let Some(Said::Done { panicked: true }) = self.jobs.take(report) {
                bail!("a fault of this program ended it; see above");
            }
        }
        for kind in [Kind::Open, Kind::Refresh, Kind::Count, Kind::Recount, Kind::Search] {
            self.jobs.cancel(kind);
        }
        Ok(())
    }
}

/// Lets a test see what a panic in the middle of the work leaves behind.
#[cfg(debug_assertions)]
#[expect(clippy::manual_assert, clippy::panic, reason = "this is the panic that the test asks for")]
fn panic_where_a_test_asks(app: &App) {
    if app.listing.is_some() && std::env::var_os("CLAWSCOPE_TEST_PANIC").is_some_and(|value| value == "1") {
        panic!("a test asked for this panic");
    }
}
