//! Runs the screen for a viewer on another machine.

use tokio::sync::mpsc::UnboundedReceiver;

use super::port::RemotePort;
use crate::app::event::Event;
use crate::runtime::event_loop::EventLoop;
use crate::runtime::input::Input;
use crate::runtime::run::{SHUTDOWN_TIMEOUT, start_threads};
use crate::runtime::run_options::RunOptions;
use crate::runtime::store_loader::StoreLoader;
use crate::runtime::terminal::TerminalScreen;
use crate::runtime::themes::Themes;
use crate::session::store_location::StoreRequest;

/// A screen for a viewer.
#[derive(Debug)]
pub struct ServedScreen {
    pub place: StoreRequest,
    pub options: RunOptions,
    /// Columns and rows of the viewer's terminal.
    pub size: (u16, u16),
    /// The built-in theme that fits the viewer's terminal.
    pub theme: String,
    pub port: RemotePort,
    /// The person's input, until the link ends.
    pub input: UnboundedReceiver<Event>,
}

/// Runs the screen until the person quits or the link ends.
///
/// # Errors
/// The screen cannot start, or the link ended.
pub fn serve_screen(screen: ServedScreen) -> anyhow::Result<()> {
    let ServedScreen { place, options, size, theme, port, input } = screen;
    let mut themes = Themes::new(&options)?;
    if options.auto_theme {
        themes.prefer(&options, &theme);
    }
    let size = (size.0.max(1), size.1.max(1));
    let runtime = start_threads()?;
    let mut library = StoreLoader::from_options(place, &options);
    library.prefetch();
    let terminal = TerminalScreen::remote(port, size);
    let result = runtime.block_on(async {
        let shell = EventLoop::new(library, options, themes, terminal, size);
        Box::pin(shell.run(Input::from_channel(input))).await
    });
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    result
}
