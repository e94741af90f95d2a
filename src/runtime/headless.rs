//! The program without a terminal: the same loop, jobs and watch, but no drawing. For tests, and to measure the cost
//! of following a store.

use std::fmt;
use std::time::{Duration, Instant};

use crate::app::App;
use crate::app::event::Event;
use crate::runtime::RunOptions;
use crate::runtime::event_loop::EventLoop;
use crate::runtime::store_loader::StoreLoader;
use crate::runtime::terminal::TerminalScreen;
use crate::runtime::themes::Themes;
use crate::session::store_location::StoreRequest;

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
