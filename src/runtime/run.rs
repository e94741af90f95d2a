//! Starts the program: takes the terminal, runs the event loop and restores the terminal.

use std::fmt;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::runtime::{Builder, Runtime};

use crate::app::App;
use crate::app::event::Event;
use crate::runtime::event_loop::EventLoop;
use crate::runtime::input::Input;
use crate::runtime::run_options::RunOptions;
use crate::runtime::store_loader::StoreLoader;
use crate::runtime::terminal::{TerminalScreen, restore_on_panic};
use crate::runtime::terminal_watch;
use crate::runtime::themes::Themes;
use crate::session::store_location::StoreRequest;

/// Threads for background work. Each kind of work has at most one running job.
const JOB_THREADS: usize = 16;
/// The wait for cancelled reading jobs at the end; a write is always awaited.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(500);

/// Starts the threads of a screen.
fn start_threads() -> anyhow::Result<Runtime> {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().max_blocking_threads(JOB_THREADS).build().context("cannot start threads")
}

/// Runs the screen until the person quits or a signal ends it. Restores the terminal on every way out, even a panic.
pub fn run(place: StoreRequest, options: RunOptions) -> anyhow::Result<()> {
    let mut library = StoreLoader::from_options(place, &options);
    if !std::io::stdout().is_terminal() {
        // A wrong path is the nearer mistake.
        library.list_job(false)().1?;
        bail!("standard output is not a terminal. Use `clawscope sessions` or another command to print.");
    }
    let mut themes = Themes::new(&options)?;
    let size = crossterm::terminal::size().context("cannot read the terminal's size")?;
    let runtime = start_threads()?;
    restore_on_panic();
    terminal_watch::start();
    library.prefetch();
    let screen = TerminalScreen::open(options.app.mouse, size).context("cannot set up the terminal")?;
    let unanswered = themes.detect_initial(&options);
    let result = runtime.block_on(async {
        let input = Input::start(unanswered).context("cannot read the terminal")?;
        let shell = EventLoop::new(library, options, themes, screen, size);
        Box::pin(shell.run(input)).await
    });
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    result
}

// The program without a terminal: the same loop, jobs and watch, but no drawing. For tests, and to measure the cost
// of following a store.

/// The interval at which a condition is checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// A running program without a terminal.
pub struct Headless(EventLoop);

impl fmt::Debug for Headless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Headless").finish_non_exhaustive()
    }
}

impl Headless {
    /// Starts the program on a store. Needs a tokio runtime.
    pub fn start(place: StoreRequest, options: RunOptions, size: (u16, u16)) -> anyhow::Result<Self> {
        let themes = Themes::new(&options)?;
        let library = StoreLoader::from_options(place, &options);
        let mut shell = EventLoop::new(library, options, themes, TerminalScreen::headless(), size);
        shell.start();
        Ok(Self(shell))
    }

    pub fn app(&self) -> &App {
        &self.0.app
    }

    /// Passes a key or another event to the program.
    pub fn dispatch(&mut self, event: Event) {
        self.0.dispatch(event);
    }

    /// Runs until `is` holds; returns `false` after `at_most`.
    pub async fn run_until(
        &mut self,
        at_most: Duration,
        mut is: impl FnMut(&App) -> bool,
    ) -> anyhow::Result<bool> {
        let deadline = Instant::now() + at_most;
        while !is(&self.0.app) {
            if Instant::now() >= deadline {
                return Ok(false);
            }
            self.0.step(CHECK_INTERVAL).await?;
        }
        Ok(true)
    }
}
