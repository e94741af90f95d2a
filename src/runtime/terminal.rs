//! The terminal: taken when the program starts, and given back on every way out: the end, an error, a
//! signal, a panic, a pager, a stop.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::clipboard::CopyToClipboard;
use crossterm::cursor::{Hide, Show};
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::style::{Print, ResetColor};
use crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use crossterm::{execute, queue};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};

/// Whether the terminal is ours. The panic hook has nothing but this to know it by.
static IS_ACTIVE: AtomicBool = AtomicBool::new(false);

/// Movements without a button: many wake-ups and nothing to do for them.
const DISABLE_MOUSE_MOTION: &str = "\x1b[?1003l";

/// The terminal while it is ours. Dropping it gives it back.
#[derive(Debug)]
pub(super) struct TerminalScreen {
    /// None: nothing is drawn.
    terminal: Option<Terminal<CrosstermBackend<BufWriter<File>>>>,
    captures_mouse: bool,
    area: Rect,
}

impl TerminalScreen {
    /// Takes the terminal.
    pub(super) fn open(mouse: bool, size: (u16, u16)) -> io::Result<Self> {
        let backend = CrosstermBackend::new(BufWriter::with_capacity(1 << 16, tty()?));
        // A fixed area: a frame has the size that the state knows, also while the terminal is resized.
        let area = Rect::new(0, 0, size.0, size.1);
        let terminal = Terminal::with_options(backend, TerminalOptions { viewport: Viewport::Fixed(area) })?;
        let mut screen = Self { terminal: Some(terminal), captures_mouse: mouse, area };
        screen.enter()?;
        Ok(screen)
    }

    /// None at all.
    pub(super) fn headless() -> Self {
        Self { terminal: None, captures_mouse: false, area: Rect::default() }
    }

    /// Takes the terminal again after [`restore`]; the next frame is drawn whole.
    pub(super) fn enter(&mut self) -> io::Result<()> {
        let Some(terminal) = &mut self.terminal else { return Ok(()) };
        IS_ACTIVE.store(true, Ordering::SeqCst);
        enable_raw_mode()?;
        execute!(terminal.backend_mut(), EnterAlternateScreen, EnableBracketedPaste, Hide)?;
        self.set_mouse(self.captures_mouse)?;
        self.invalidate()
    }

    /// Takes the mouse, or leaves it to the terminal.
    pub(super) fn set_mouse(&mut self, on: bool) -> io::Result<()> {
        self.captures_mouse = on;
        let Some(terminal) = &mut self.terminal else { return Ok(()) };
        let backend = terminal.backend_mut();
        if on {
            execute!(backend, EnableMouseCapture, Print(DISABLE_MOUSE_MOTION))
        } else {
            execute!(backend, DisableMouseCapture)
        }
    }

    /// Sets the size frames have from now on.
    pub(super) fn resize(&mut self, width: u16, height: u16) -> io::Result<()> {
        self.area = Rect::new(0, 0, width, height);
        self.invalidate()
    }

    /// Everything is drawn anew next time: something else wrote to the terminal. (Clearing would first ask
    /// the terminal where its cursor is, and wait for the answer.)
    pub(super) fn invalidate(&mut self) -> io::Result<()> {
        self.terminal.as_mut().map_or(Ok(()), |terminal| terminal.resize(self.area))
    }

    /// Draws a frame, shown by the terminal all at once. After a panic elsewhere gave the terminal back,
    /// nothing is drawn any more.
    pub(super) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        let Some(terminal) = self.terminal.as_mut().filter(|_| IS_ACTIVE.load(Ordering::SeqCst)) else {
            return Ok(());
        };
        queue!(terminal.backend_mut(), BeginSynchronizedUpdate)?;
        terminal.draw(draw)?;
        execute!(terminal.backend_mut(), EndSynchronizedUpdate)
    }

    /// Asks the terminal to put a text on the clipboard (OSC 52).
    pub(super) fn copy_to_clipboard(&mut self, text: &str) -> io::Result<()> {
        let Some(terminal) = &mut self.terminal else { return Ok(()) };
        execute!(terminal.backend_mut(), CopyToClipboard::to_clipboard_from(text))
    }
}

impl Drop for TerminalScreen {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back, if it is ours: as it was, with the cursor, on the screen it was on. Writes
/// past every buffer and lock, so that a panic in the middle of a frame is no obstacle.
pub(super) fn restore() {
    if !IS_ACTIVE.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut bytes = Vec::new();
    let queued = queue!(
        bytes,
        EndSynchronizedUpdate,
        ResetColor,
        DisableMouseCapture,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        Show
    );
    // Nobody is left to tell when the terminal itself is gone.
    if queued.is_ok()
        && let Ok(mut tty) = tty()
    {
        drop(tty.write_all(&bytes));
    }
    drop(disable_raw_mode());
}

/// Makes a panic anywhere give the terminal back before its message is printed.
pub(super) fn restore_on_panic() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        restore();
        report(panic);
    }));
}

/// Standard output as a file of its own, without the lock and buffer of the standard library.
#[cfg(unix)]
pub(super) fn tty() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// Standard output as a file of its own, without the lock and buffer of the standard library.
#[cfg(windows)]
pub(super) fn tty() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdout().as_handle().try_clone_to_owned()?))
}
