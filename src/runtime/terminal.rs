//! The terminal: taken at the start, and restored on every way out: the end, an error, a signal, a panic, a pager,
//! ctrl-z. Where this process dies at once, another one restores it ([`super::terminal_watch`]).

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
use tokio::sync::Notify;

use crate::app::effect::ProgramRun;
#[cfg(unix)]
use crate::runtime::terminal_modes;
use crate::runtime::watcher_pipe::{note_held, note_released};

/// Whether clawscope holds the terminal. A static, because the panic hook has no other access to it.
static IS_ACTIVE: AtomicBool = AtomicBool::new(false);

/// Wakes the event loop after a panic.
static PANIC: Notify = Notify::const_new();

/// Turns off reports of mouse movements without a button: they wake the loop often and change nothing.
const DISABLE_MOUSE_MOTION: &str = "\x1b[?1003l";

/// The user of a lent terminal.
#[derive(Debug)]
pub(super) enum TerminalLoan {
    /// A text in the person's pager.
    Page(String),
    /// A command of the person.
    Program(ProgramRun),
}

/// The terminal in raw mode. Dropping it restores the terminal.
#[derive(Debug)]
pub(super) struct TerminalScreen {
    /// `None` draws nothing.
    terminal: Option<Terminal<CrosstermBackend<BufWriter<File>>>>,
    captures_mouse: bool,
    area: Rect,
}

impl TerminalScreen {
    pub(super) fn open(mouse: bool, size: (u16, u16)) -> io::Result<Self> {
        let backend = CrosstermBackend::new(BufWriter::with_capacity(1 << 16, tty()?));
        // The area is fixed: a frame always has the size in the state, even while the terminal is being resized.
        let area = Rect::new(0, 0, size.0, size.1);
        let terminal = Terminal::with_options(backend, TerminalOptions { viewport: Viewport::Fixed(area) })?;
        let mut screen = Self { terminal: Some(terminal), captures_mouse: mouse, area };
        screen.enter()?;
        Ok(screen)
    }

    /// Returns a screen that draws nothing.
    pub(super) fn headless() -> Self {
        Self { terminal: None, captures_mouse: false, area: Rect::default() }
    }

    /// Takes the terminal again after [`restore`]; the next frame is drawn in full.
    pub(super) fn enter(&mut self) -> io::Result<()> {
        let Some(terminal) = &mut self.terminal else { return Ok(()) };
        note_held();
        IS_ACTIVE.store(true, Ordering::SeqCst);
        enable_raw_mode()?;
        #[cfg(unix)]
        terminal_modes::deliver_ctrl_c_as_signal()?;
        execute!(terminal.backend_mut(), EnterAlternateScreen, EnableBracketedPaste, Hide)?;
        self.set_mouse(self.captures_mouse)?;
        self.invalidate()
    }

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

    /// Sets the size of the following frames.
    pub(super) fn resize(&mut self, width: u16, height: u16) -> io::Result<()> {
        self.area = Rect::new(0, 0, width, height);
        self.invalidate()
    }

    /// Draws the next frame in full, after something else wrote to the terminal. `Terminal::clear` is not used, as it
    /// queries the terminal's cursor and waits for the answer.
    pub(super) fn invalidate(&mut self) -> io::Result<()> {
        self.terminal.as_mut().map_or(Ok(()), |terminal| terminal.resize(self.area))
    }

    /// Draws a frame as one synchronised update. Draws nothing after a panic elsewhere restored the terminal.
    pub(super) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        let Some(terminal) = self.terminal.as_mut().filter(|_| IS_ACTIVE.load(Ordering::SeqCst)) else {
            return Ok(());
        };
        queue!(terminal.backend_mut(), BeginSynchronizedUpdate)?;
        terminal.draw(draw)?;
        execute!(terminal.backend_mut(), EndSynchronizedUpdate)
    }

    /// Sends control codes that draw nothing.
    pub(super) fn print_codes(&mut self, codes: &str) -> io::Result<()> {
        let Some(terminal) = &mut self.terminal else { return Ok(()) };
        execute!(terminal.backend_mut(), Print(codes))
    }

    /// Copies a text to the clipboard through the terminal (OSC 52).
    pub(super) fn copy_to_clipboard(&mut self, text: &str) -> io::Result<()> {
        let Some(terminal) = &mut self.terminal else { return Ok(()) };
        execute!(terminal.backend_mut(), CopyToClipboard::to_clipboard_from(text))
    }
}

impl Drop for TerminalScreen {
    fn drop(&mut self) {
        restore();
        // When it cannot show the cursor, its own drop says so on the error stream, which panics where the terminal has
        // hung up.
        if let Some(mut terminal) = self.terminal.take()
            && terminal.show_cursor().is_err()
        {
            std::mem::forget(terminal);
        }
    }
}

/// Restores the terminal if clawscope holds it: modes, cursor and screen. Bypasses every buffer and lock, so that it
/// also works after a panic in the middle of a frame.
pub(super) fn restore() {
    if !IS_ACTIVE.swap(false, Ordering::SeqCst) {
        return;
    }
    // If the terminal is closed, an error cannot be shown.
    if let Ok(mut tty) = tty() {
        drop(tty.write_all(&restore_codes()));
    }
    drop(disable_raw_mode());
    note_released();
}

/// Returns the codes that restore everything but the modes of the line.
pub(super) fn restore_codes() -> Vec<u8> {
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
    // Nothing is written before the queue is flushed, and a vector takes everything.
    drop(queued);
    bytes
}

/// Makes a panic in any thread restore the terminal before the message is printed, and end the program: without the
/// terminal it would continue as an invisible process.
pub(super) fn restore_on_panic() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        restore();
        report(panic);
        PANIC.notify_one();
    }));
}

/// Waits for a panic in any thread.
pub(super) async fn panicked() {
    PANIC.notified().await;
}

/// Opens standard output as a separate file, without the lock and the buffer of the standard library.
#[cfg(unix)]
pub(super) fn tty() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// Opens standard output as a separate file, without the lock and the buffer of the standard library.
#[cfg(windows)]
pub(super) fn tty() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdout().as_handle().try_clone_to_owned()?))
}
