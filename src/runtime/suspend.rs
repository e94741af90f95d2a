//! Lends the terminal to another program: the shell after ctrl-z, the person's pager, or a command of the person.

use anyhow::Context;

use crate::app::event::Event;
use crate::runtime::event_loop::EventLoop;
use crate::runtime::input::{Input, interrupt_key};
use crate::runtime::signals::{SignalAction, stop};
use crate::runtime::terminal::{TerminalLoan, restore};
use crate::runtime::{custom_command, paged_output, terminal_watch};

/// Set where another clawscope started this one through ssh or a container: no shell there could continue a stopped program.
pub const REMOTE_VARIABLE: &str = "CLAWSCOPE_REMOTE";

impl EventLoop {
    pub(super) async fn handle_signal(
        &mut self,
        caught: SignalAction,
        input: Input,
    ) -> anyhow::Result<Input> {
        match caught {
            SignalAction::Quit => self.should_quit = true,
            SignalAction::Interrupt => self.dispatch(interrupt_key()),
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
        if self.env.get(REMOTE_VARIABLE).is_some() {
            let words = "ctrl-z does nothing here: no shell on this machine could continue clawscope. Press q to quit.";
            self.dispatch(Event::Notice(words.to_owned()));
            return Ok(input);
        }
        input.stop().await;
        restore();
        terminal_watch::end();
        stop().context("cannot suspend the program")?;
        terminal_watch::start();
        self.resume_terminal()
    }

    /// Gives the terminal to a program and waits until it ends.
    pub(super) async fn lend_terminal(&mut self, loan: TerminalLoan, input: Input) -> anyhow::Result<Input> {
        input.stop().await;
        restore();
        let failure = match loan {
            TerminalLoan::Page(text) => paged_output::show(&text, &self.env).err().map(|error| {
                let pager = self.env.get("PAGER").unwrap_or("less");
                Event::Failure(format!(
                    "Cannot run the pager {pager}: {error}. Set PAGER to another program."
                ))
            }),
            TerminalLoan::Program(run) => {
                let outcome = custom_command::run_in_terminal(&run, &self.env.cwd);
                let is_silent = outcome.as_ref().is_ok_and(|outcome| outcome.status.success());
                (!is_silent).then(|| custom_command::outcome_event(&run.name, outcome))
            }
        };
        let input = self.resume_terminal()?;
        if let Some(failure) = failure {
            self.dispatch(failure);
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
        Input::start(false).context("cannot read the terminal")
    }
}
