//! Lends the terminal to another program: the shell after ctrl-z, or the person's pager.

use anyhow::Context;

use crate::app::event::Event;
use crate::runtime::event_loop::EventLoop;
use crate::runtime::input::Input;
use crate::runtime::pager;
use crate::runtime::signals::{SignalAction, stop};
use crate::runtime::terminal::restore;

impl EventLoop {
    pub(super) async fn handle_signal(
        &mut self,
        caught: SignalAction,
        input: Input,
    ) -> anyhow::Result<Input> {
        match caught {
            SignalAction::Quit => self.should_quit = true,
            SignalAction::Suspend => return self.suspend(input).await,
            SignalAction::Resume => {
                self.screen.invalidate().context("the terminal is closed")?;
                self.needs_redraw = true;
            }
        }
        Ok(input)
    }

    /// Restores the terminal and stops; takes it again when the shell continues the program.
    pub(super) async fn suspend(&mut self, input: Input) -> anyhow::Result<Input> {
        input.stop().await;
        restore();
        stop().context("cannot suspend the program")?;
        self.resume_terminal()
    }

    /// Shows a text in the pager and waits until it ends.
    pub(super) async fn show_in_pager(&mut self, text: &str, input: Input) -> anyhow::Result<Input> {
        input.stop().await;
        restore();
        let shown = pager::show(text, &self.env);
        let input = self.resume_terminal()?;
        if let Err(error) = shown {
            let pager = self.env.get("PAGER").unwrap_or("less").to_owned();
            self.dispatch(Event::Failure(format!(
                "Cannot run the pager {pager}: {error}. Set PAGER to another program."
            )));
        }
        Ok(input)
    }

    fn resume_terminal(&mut self) -> anyhow::Result<Input> {
        self.screen.enter().context("cannot restore the terminal")?;
        if let Ok((width, height)) = crossterm::terminal::size()
            && (width, height) != self.app.size
        {
            self.dispatch(Event::Resize { width, height });
        }
        self.needs_redraw = true;
        Ok(Input::start(false))
    }
}
