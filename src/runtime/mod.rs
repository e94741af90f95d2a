//! The shell around the state machine: the only terminal and the only tokio. Keys, signals, job reports and file
//! changes go in as events; effects come out and are performed here.

mod background;
pub mod backoff;
mod change_probes;
mod clipboard;
mod clock;
mod effects;
mod event_loop;
mod excerpt_queue;
mod exporting;
pub mod headless;
mod input;
mod interrupt;
mod jobs;
mod pager;
mod picture;
mod relist_queue;
mod save;
mod session_counts;
mod signals;
mod store_loader;
mod summary;
mod suspend;
mod terminal;
mod themes;
pub mod watch;
mod work_queue;

pub use interrupt::interruptible;
pub use picture::{PictureError, session_picture};
pub use save::{SaveError, save_as};

use std::io::IsTerminal;
use std::time::Duration;

use anyhow::{Context, bail};

use crate::app::state::Options;
use crate::config::SummarizerConfig;
use crate::gateway::env::Environment;
use crate::gateway::ruleset::RulesetChoice;
use crate::runtime::event_loop::EventLoop;
use crate::runtime::store_loader::StoreLoader;
use crate::runtime::terminal::{TerminalScreen, restore_on_panic};
use crate::runtime::themes::Themes;
use crate::session::store_location::StoreRequest;

/// Threads for background work. Each kind of work has at most one running job.
const JOB_THREADS: usize = 16;
/// The wait for cancelled reading jobs at the end; a write is always awaited.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(500);

/// The options of the program.
#[derive(Debug, Clone)]
pub struct RunOptions {
    pub app: Options,
    /// Whether to choose `dark`, `light` or `mono` by the terminal and the environment.
    pub auto_theme: bool,
    /// Whether signs are ASCII only.
    pub ascii: bool,
    /// Restricts the list to this agent.
    pub agent: Option<String>,
    /// The ruleset from the flags; `None` uses the store's own.
    pub ruleset: Option<RulesetChoice>,
    /// The program or model that writes summaries.
    pub summarizer: SummarizerConfig,
    pub environment: Environment,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            app: Options::default(),
            auto_theme: true,
            ascii: false,
            agent: None,
            ruleset: None,
            summarizer: SummarizerConfig::default(),
            environment: Environment::from_process(),
        }
    }
}

/// Runs the screen until the person quits or a signal ends it. Restores the terminal on every way out, even a panic.
pub fn run(place: StoreRequest, options: RunOptions) -> anyhow::Result<()> {
    if !std::io::stdout().is_terminal() {
        bail!("standard output is no terminal. `clawscope sessions` and the other commands print instead.");
    }
    let mut themes = Themes::new(&options)?;
    let size = crossterm::terminal::size().context("the terminal does not say how large it is")?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(JOB_THREADS)
        .build()
        .context("no threads could be started")?;
    restore_on_panic();
    let mut library = StoreLoader::from_options(place, &options);
    library.prefetch();
    let screen = TerminalScreen::open(options.app.mouse, size).context("the terminal cannot be taken")?;
    let unanswered = themes.detect_initial(&options);
    let result = runtime
        .block_on(async { EventLoop::new(library, options, themes, screen, size).run(unanswered).await });
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    result
}
