//! The program without a terminal: the same loop, jobs and watch, and nothing drawn. For tests, and to measure what
//! following a store takes.

use std::fmt;
use std::time::{Duration, Instant};

use crate::app::App;
use crate::app::event::Event;
use crate::inspect::store_location::StoreRequest;
use crate::runtime::RunOptions;
use crate::runtime::event_loop::EventLoop;
use crate::runtime::store_loader::StoreLoader;
use crate::runtime::terminal::TerminalScreen;
use crate::runtime::themes::Themes;

/// How often a condition is looked at that nothing announces.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// A running program that nobody sees.
pub struct Headless(EventLoop);

impl fmt::Debug for Headless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Headless").finish_non_exhaustive()
    }
}

impl Headless {
    /// Starts it on a place, inside a tokio runtime.
    pub fn start(place: StoreRequest, options: RunOptions, size: (u16, u16)) -> anyhow::Result<Self> {
        let themes = Themes::new(&options)?;
        let library = StoreLoader::from_options(place, &options);
        let mut shell = EventLoop::new(library, options, themes, TerminalScreen::headless(), size);
        shell.start();
        Ok(Self(shell))
    }

    /// Its state.
    pub fn app(&self) -> &App {
        &self.0.app
    }

    /// Gives it a key, or anything else that happens.
    pub fn dispatch(&mut self, event: Event) {
        self.0.dispatch(event);
    }

    /// Lets it run until something is so; false when it is not so in this time.
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
