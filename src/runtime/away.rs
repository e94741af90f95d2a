//! While someone else has the terminal: the shell after ctrl-z, or the person's pager.

use anyhow::Context;
use crossterm::event::{KeyCode, KeyModifiers};

use crate::app::event::Event;
use crate::runtime::input::Input;
use crate::runtime::r#loop::Shell;
use crate::runtime::pager;
use crate::runtime::signals::{Caught, stop};
use crate::runtime::terminal::restore;

impl Shell {
    /// Does what a signal says.
    pub(super) async fn obey(&mut self, caught: Caught, input: Input) -> anyhow::Result<Input> {
        match caught {
            Caught::Quit => self.quit = true,
            Caught::Suspend => return self.suspend(input).await,
            Caught::Resumed => {
                self.screen.forget().context("the terminal is gone")?;
                self.dirty = true;
            }
        }
        Ok(input)
    }

    /// Gives the terminal back and stops; goes on when the shell says so.
    pub(super) async fn suspend(&mut self, input: Input) -> anyhow::Result<Input> {
        input.stop().await;
        restore();
        stop().context("the program cannot be stopped")?;
        self.take_terminal_again()
    }

    /// Shows a text in the pager and waits for its end.
    pub(super) async fn show_in_pager(&mut self, text: &str, input: Input) -> anyhow::Result<Input> {
        input.stop().await;
        restore();
        let shown = pager::show(text, &self.env);
        let input = self.take_terminal_again()?;
        if let Err(error) = shown {
            let pager = self.env.get("PAGER").unwrap_or("less").to_owned();
            self.tell(Event::Failed(format!(
                "The pager {pager} cannot be run: {error}. Set PAGER to another."
            )));
        }
        Ok(input)
    }

    fn take_terminal_again(&mut self) -> anyhow::Result<Input> {
        self.screen.enter().context("the terminal cannot be taken again")?;
        if let Ok((width, height)) = crossterm::terminal::size()
            && (width, height) != self.app.size
        {
            self.tell(Event::Resize { width, height });
        }
        self.dirty = true;
        Ok(Input::start(false))
    }
}

/// Whether the person wants the shell back for a while: in raw mode ctrl-z is a key like others.
pub(super) fn is_suspend_key(event: &Event) -> bool {
    let Event::Key(key) = event else { return false };
    cfg!(unix) && key.code == KeyCode::Char('z') && key.modifiers == KeyModifiers::CONTROL
}
