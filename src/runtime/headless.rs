//! The program without a terminal: the same loop, jobs and watch, and nothing drawn. For tests, and to measure what
//! following a store takes.

use std::fmt;
use std::time::{Duration, Instant};

use crate::app::App;
use crate::app::event::Event;
use crate::inspect::place::Place;
use crate::runtime::RunOptions;
use crate::runtime::library::Library;
use crate::runtime::r#loop::Shell;
use crate::runtime::terminal::Screen;
use crate::runtime::themes::Themes;

/// How often a condition is looked at that nothing announces.
const TICK: Duration = Duration::from_millis(50);

/// A running program that nobody sees.
pub struct Headless(Shell);

impl fmt::Debug for Headless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Headless").finish_non_exhaustive()
    }
}

impl Headless {
    /// Starts it on a place, inside a tokio runtime.
    pub fn start(place: Place, options: RunOptions, size: (u16, u16)) -> anyhow::Result<Self> {
        let themes = Themes::new(&options)?;
        let library = Library::of(place, &options);
        let mut shell = Shell::new(library, options, themes, Screen::none(), size);
        shell.begin();
        Ok(Self(shell))
    }

    /// Its state.
    pub fn app(&self) -> &App {
        &self.0.app
    }

    /// Gives it a key, or anything else that happens.
    pub fn tell(&mut self, event: Event) {
        self.0.tell(event);
    }

    /// Lets it run until something is so; false when it is not so in this time.
    pub async fn until(
        &mut self,
        at_most: Duration,
        mut is: impl FnMut(&App) -> bool,
    ) -> anyhow::Result<bool> {
        let deadline = Instant::now() + at_most;
        while !is(&self.0.app) {
            if Instant::now() >= deadline {
                return Ok(false);
            }
            self.0.step(TICK).await?;
        }
        Ok(true)
    }
}
