//! Starts the program: takes the terminal, runs the event loop and restores the terminal.

use std::io::IsTerminal;
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::runtime::{Builder, Runtime};

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
