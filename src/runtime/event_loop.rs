//! The event loop: waits for one event, takes all others that are ready, then draws once. Without events it sleeps.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::app::App;
use crate::app::effect::Effect;
use crate::app::event::Event;
use crate::config::{AlertsConfig, SummarizerConfig};
use crate::gateway::env::Environment;
use crate::runtime::RunOptions;
use crate::runtime::clipboard::CopyFolder;
use crate::runtime::excerpt_queue::ExcerptQueue;
use crate::runtime::input::{Input, is_suspend_key};
use crate::runtime::jobs::{JobKind, JobMessage, JobReport, Jobs};
use crate::runtime::read_only::refused_write;
use crate::runtime::relist_queue::RelistQueue;
use crate::runtime::session_counts::{Clock, SessionCounts};
use crate::runtime::signals::{SignalAction, Signals};
use crate::runtime::store_loader::{StoreLoader, to_listing};
use crate::runtime::terminal::{TerminalLoan, TerminalScreen, panicked};
use crate::runtime::themes::Themes;
use crate::runtime::watch::{Watch, WatchEvent, WatchMode, describe_polled, store_databases, store_folders};
use crate::session::list::SessionListing;
use crate::session::store_location::StoreLocation;
use crate::summarize::CancelToken;
use crate::ui;
use crate::units::Moment;

/// Minimum time between two frames.
const FRAME_INTERVAL: Duration = Duration::from_millis(8);
/// Time after which the ages on the screen are drawn again.
const AGE_INTERVAL_MS: i64 = 60_000;
/// Events handled before a frame is drawn anyway.
const MAX_EVENTS_PER_FRAME: usize = 1000;

/// The state with everything that feeds it and performs its effects.
pub(super) struct EventLoop {
    pub(super) app: App,
    pub(super) themes: Themes,
    pub(super) screen: TerminalScreen,
    pub(super) env: Environment,
    pub(super) store_loader: StoreLoader,
    pub(super) jobs: Jobs,
    pub(super) excerpt_queue: ExcerptQueue,
    pub(super) session_counts: SessionCounts,
    pub(super) relist_queue: RelistQueue,
    /// The settings of alerts.
    pub(super) alerts: AlertsConfig,
    /// The program or model that writes summaries.
    pub(super) summarizer: SummarizerConfig,
    /// Stops the running summary.
    pub(super) summary_cancel: CancelToken,
    /// The reason that the screen only reads.
    read_only: Option<String>,
    pub(super) clock: Clock,
    /// The times at which the state wants a timer event, in whole ms since 1970, which have an order.
    pub(super) timers: BTreeSet<i64>,
    /// Copied texts that are too long for a clipboard.
    pub(super) copy_folder: CopyFolder,
    /// The program that gets the terminal next.
    pub(super) loan: Option<TerminalLoan>,
    pub(super) should_quit: bool,
    /// Whether ctrl-z was pressed.
    should_suspend: bool,
    /// The store whose clock is in use.
    active_place: Option<Arc<StoreLocation>>,
    reports: UnboundedReceiver<JobReport>,
    watch_events: UnboundedReceiver<WatchEvent>,
    watch: Watch,
    pub(super) needs_redraw: bool,
    last_frame: Option<Instant>,
}

#[derive(Debug)]
enum WakeReason {
    Signal(SignalAction),
    /// `None` when the terminal is closed.
    Input(Option<Event>),
    Report(JobReport),
    Watch(WatchEvent),
    /// A timer or a frame is due.
    Timer,
    /// A thread panicked.
    Panic,
}

impl EventLoop {
    pub(super) fn new(
        store_loader: StoreLoader,
        options: RunOptions,
        themes: Themes,
        screen: TerminalScreen,
        size: (u16, u16),
    ) -> Self {
        let (reporter, reports) = unbounded_channel();
        let (changed, watch_events) = unbounded_channel();
        let ways = WatchMode::from_env(&options.environment);
        let mut app = App::new(options.app, size);
        app.options.theme = themes.initial;
        Self {
            app,
            themes,
            screen,
            store_loader,
            env: options.environment,
            jobs: Jobs::new(reporter),
            excerpt_queue: ExcerptQueue::default(),
            session_counts: SessionCounts::default(),
            relist_queue: RelistQueue::default(),
            alerts: options.alerts,
            summarizer: options.summarizer,
            summary_cancel: CancelToken::new(),
            read_only: options.read_only,
            clock: Clock::default(),
            timers: BTreeSet::new(),
            copy_folder: CopyFolder::default(),
            loan: None,
            should_quit: false,
            should_suspend: false,
            active_place: None,
            reports,
            watch_events,
            watch: Watch::start(ways, move |reported| changed.send(reported).is_ok()),
            needs_redraw: true,
            last_frame: None,
        }
    }

    /// Runs until the person quits.
    pub(super) async fn run(mut self, mut input: Input) -> anyhow::Result<()> {
        let mut signals = Signals::new().context("cannot receive signals")?;
        self.start();
        while !self.should_quit {
            self.draw_if_due()?;
            let woken = self.wait(&mut signals, &mut input).await;
            match woken {
                WakeReason::Signal(caught) => input = self.handle_signal(caught, input).await?,
                other => self.handle_wake(other)?,
            }
            if self.drain_events(&mut input)? {
                input = self.suspend(input).await?;
            }
            if let Some(loan) = self.loan.take() {
                input = self.lend_terminal(loan, input).await?;
                // A ctrl-c meant for the program was delivered to clawscope too; new receivers drop it.
                signals = Signals::new().context("cannot receive signals")?;
            }
        }
        self.finish_writes().await
    }

    /// Performs the first effects.
    pub(super) fn start(&mut self) {
        self.app.now_ms = self.clock.now_ms();
        for effect in self.app.start(false) {
            self.perform(effect);
        }
    }

    async fn wait(&mut self, signals: &mut Signals, input: &mut Input) -> WakeReason {
        let due = self.next_deadline();
        tokio::select! {
            biased;
            () = panicked() => WakeReason::Panic,
            caught = signals.next() => WakeReason::Signal(caught),
            event = input.next() => WakeReason::Input(event),
            Some(report) = self.reports.recv() => WakeReason::Report(report),
            Some(reported) = self.watch_events.recv() => WakeReason::Watch(reported),
            () = tokio::time::sleep(due.unwrap_or_default()), if due.is_some() => WakeReason::Timer,
        }
    }

    /// Waits up to `at_most` for an event other than input, and handles it: one step of a headless program.
    pub(super) async fn step(&mut self, at_most: Duration) -> anyhow::Result<()> {
        self.needs_redraw = false;
        let wait = self.next_deadline().map_or(at_most, |due| due.min(at_most));
        let woken = tokio::select! {
            Some(report) = self.reports.recv() => WakeReason::Report(report),
            Some(reported) = self.watch_events.recv() => WakeReason::Watch(reported),
            () = tokio::time::sleep(wait) => WakeReason::Timer,
        };
        self.handle_wake(woken)
    }

    /// Returns the time until the next timer, frame or queued work; `None` without any.
    fn next_deadline(&self) -> Option<Duration> {
        let now_ms = self.clock.now_ms().whole();
        let timer = self
            .timers
            .first()
            .map(|at| Duration::from_millis(at.saturating_sub(now_ms).max(0).unsigned_abs()));
        let frame = self
            .last_frame
            .filter(|_| self.needs_redraw)
            .map(|last| FRAME_INTERVAL.saturating_sub(last.elapsed()));
        [timer, frame, self.relist_queue.next_delay()].into_iter().flatten().min()
    }

    fn handle_wake(&mut self, woken: WakeReason) -> anyhow::Result<()> {
        match woken {
            WakeReason::Input(Some(event)) => self.dispatch(event),
            WakeReason::Input(None) => self.should_quit = true,
            WakeReason::Report(report) => self.handle_report(report)?,
            WakeReason::Watch(WatchEvent::Changed(paths)) => self.dispatch(Event::FilesChanged(paths)),
            WakeReason::Watch(WatchEvent::Polled(polled)) => {
                self.dispatch(Event::PollingChanged(describe_polled(&polled)));
            }
            WakeReason::Panic => bail!("clawscope crashed; see the message above"),
            WakeReason::Timer | WakeReason::Signal(_) => {}
        }
        let now_ms = self.clock.now_ms().whole();
        if self.timers.first().is_some_and(|at| *at <= now_ms) {
            self.timers = self.timers.split_off(&(now_ms + 1));
            self.dispatch(Event::Timer);
        }
        self.start_due_work();
        Ok(())
    }

    /// Handles all events that are ready. Returns whether ctrl-z was among them.
    fn drain_events(&mut self, input: &mut Input) -> anyhow::Result<bool> {
        for _ in 0..MAX_EVENTS_PER_FRAME {
            if self.should_quit || self.loan.is_some() || self.should_suspend {
                break;
            }
            if let Some(event) = input.try_next() {
                self.handle_wake(WakeReason::Input(Some(event)))?;
            } else if let Ok(report) = self.reports.try_recv() {
                self.handle_wake(WakeReason::Report(report))?;
            } else if let Ok(reported) = self.watch_events.try_recv() {
                self.handle_wake(WakeReason::Watch(reported))?;
            } else {
                break;
            }
        }
        Ok(std::mem::take(&mut self.should_suspend))
    }

    /// Passes an event to the state and performs its effects.
    pub(super) fn dispatch(&mut self, event: Event) {
        if matches!(event, Event::Failure(_) | Event::OpenFailed { .. } | Event::RefreshFailed(_)) {
            // Without its sentence, which may quote a transcript.
            tracing::warn!(kind = event_name(&event), "effect failed");
        }
        if is_suspend_key(&event) {
            self.should_suspend = true;
            return;
        }
        if let Event::Resize { width, height } = event {
            // If the terminal is closed, the next frame reports it.
            drop(self.screen.resize(width.max(1), height.max(1)));
        }
        self.needs_redraw = true;
        for effect in self.app.update(event, self.clock.now_ms()) {
            self.perform_allowed(effect);
        }
    }

    /// Performs an effect, unless the screen only reads and the effect writes.
    fn perform_allowed(&mut self, effect: Effect) {
        let refusal = self.read_only.as_deref().and_then(|reason| refused_write(&effect, reason));
        match refusal {
            Some(event) => self.dispatch(event),
            None => self.perform(effect),
        }
    }

    fn handle_report(&mut self, report: JobReport) -> anyhow::Result<()> {
        match self.jobs.accept(report) {
            Some(JobMessage::Event(event)) => self.dispatch(*event),
            Some(JobMessage::Listed(listed, place, began_ms)) => self.apply_listing(*listed, place, began_ms),
            Some(JobMessage::Invalidated(touched, store, paths)) => {
                self.apply_invalidation(*touched, &store, paths);
            }
            Some(JobMessage::Done { panicked: true }) => bail!("clawscope crashed; see the message above"),
            Some(JobMessage::Done { panicked: false }) => self.excerpt_queue.start_reader(&mut self.jobs),
            None => {}
        }
        Ok(())
    }

    /// Adopts a new list: its store is watched, counted and used to open sessions.
    fn apply_listing(&mut self, mut listed: SessionListing, place: Arc<StoreLocation>, began_ms: Moment) {
        if !self.active_place.as_ref().is_some_and(|known| Arc::ptr_eq(known, &place)) {
            self.clock = Clock::starting_at(place.demo_now_ms());
            // The demo store looks the same in every time zone.
            self.show_times(place.is_demo() || self.app.options.utc);
            // Times of the other clock mean nothing now.
            self.app.forget_notices();
            self.timers.clear();
            self.jobs.cancel(JobKind::Count);
            self.active_place = Some(place);
        }
        let (sessions, databases) = (listed.items.len(), listed.store.databases.len());
        tracing::info!(sessions, databases, "store opened");
        let unknown = self.session_counts.apply_known(&listed.store, &mut listed.items);
        self.watch.set_folders(store_folders(&listed.store), began_ms);
        self.watch.set_databases(store_databases(&listed.store));
        self.store_loader.store = Some(Arc::clone(&listed.store));
        self.relist_queue.apply_listing(&listed.store);
        let mut shown = to_listing(&mut listed);
        if let Some(copied) = &self.app.options.copied_store {
            shown.store_label = copied.label();
        }
        self.dispatch(Event::Listed(Box::new(shown)));
        if !unknown.is_empty() {
            let (counts, store) = (self.session_counts.clone(), listed.store);
            self.jobs.start_after_current(JobKind::Count, move |ticket| {
                counts.count_sessions(&store, &unknown, ticket);
            });
        }
    }

    fn draw_if_due(&mut self) -> anyhow::Result<()> {
        let due = self.last_frame.is_none_or(|last| last.elapsed() >= FRAME_INTERVAL);
        if !self.needs_redraw || !due {
            return Ok(());
        }
        let theme = self.themes.current(&self.app.options);
        let app = &self.app;
        self.screen.draw(|frame| ui::draw(app, theme, frame)).context("the terminal is closed")?;
        self.needs_redraw = false;
        self.last_frame = Some(Instant::now());
        // Ages on the screen move on although nothing happens.
        let minute = self.clock.now_ms().whole().div_euclid(AGE_INTERVAL_MS) + 1;
        self.timers.insert(minute * AGE_INTERVAL_MS);
        #[cfg(debug_assertions)]
        crash_for_test(&self.app);
        Ok(())
    }

    /// Waits for a running write, so that quitting does not lose its outcome; cancels reading jobs.
    async fn finish_writes(&mut self) -> anyhow::Result<()> {
        self.stop_summary();
        while self.jobs.is_running(JobKind::Write) {
            let Some(report) = self.reports.recv().await else { break };
            if let Some(JobMessage::Done { panicked: true }) = self.jobs.accept(report) {
                bail!("clawscope crashed; see the message above");
            }
        }
        for kind in [JobKind::Open, JobKind::Refresh, JobKind::Count, JobKind::Recount, JobKind::Search] {
            self.jobs.cancel(kind);
        }
        Ok(())
    }
}

fn event_name(event: &Event) -> &'static str {
    match event {
        Event::OpenFailed { .. } => "open",
        Event::RefreshFailed(_) => "refresh",
        _ => "other",
    }
}

/// Crashes if a test requests it, to check that the terminal is restored.
#[cfg(debug_assertions)]
#[expect(clippy::panic, reason = "this is the panic that the test asks for")]
fn crash_for_test(app: &App) {
    let Some(crash) = std::env::var_os("CLAWSCOPE_TEST_PANIC").filter(|_| app.store.listing.is_some()) else {
        return;
    };
    match crash.to_str() {
        Some("1") => panic!("a test requested this panic"),
        Some("thread") => drop(std::thread::spawn(|| panic!("a test requested this panic"))),
        // What follows when the allocator returns nothing.
        Some("allocation") => std::alloc::handle_alloc_error(std::alloc::Layout::new::<u64>()),
        _ => {}
    }
}

impl EventLoop {
    /// Cancels the running summary.
    pub(super) fn stop_summary(&mut self) {
        std::mem::take(&mut self.summary_cancel).cancel();
        self.jobs.cancel(JobKind::Summary);
    }
}
