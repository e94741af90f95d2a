//! Shows a screen whose program runs on another machine. That machine is not trusted: text reaches the terminal only
//! through [`crate::text`], and it may use the clipboard, the pager and the working directory once for each key.

use std::io;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use tokio::sync::mpsc::Receiver;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use super::message::{FrameMessage, InvalidMessage, PersonMessage, Run, RunStyle, ScreenMessage};
use super::pieces::{Pieces, split};
use crate::app::event::Event;
use crate::config::AlertsConfig;
use crate::gateway::env::Environment;
use crate::runtime::alert::{start_program, terminal_codes};
use crate::runtime::clipboard::{self, CopyFolder, MAX_TERMINAL_BYTES};
use crate::runtime::input::{Input, is_suspend_key};
use crate::runtime::pager;
use crate::runtime::run::{SHUTDOWN_TIMEOUT, start_threads};
use crate::runtime::save::save_unique;
use crate::runtime::signals::{SignalAction, Signals, stop};
use crate::runtime::terminal::{TerminalScreen, restore, restore_on_panic};
use crate::runtime::themes::fitting_theme;
use crate::text::{shell, visible};

/// Time between two alerts that the other machine may raise.
const ALERT_INTERVAL: Duration = Duration::from_secs(1);

/// The person's choices for the terminal.
#[derive(Debug, Clone)]
pub struct ViewOptions {
    /// Whether the screen captures the mouse.
    pub mouse: bool,
    pub alerts: AlertsConfig,
    pub env: Environment,
}

/// The link to the program.
#[expect(missing_debug_implementations, reason = "a function has no state to show")]
pub struct ScreenLink {
    pub send: Box<dyn FnMut(PersonMessage) -> io::Result<()>>,
    /// Messages of the program; closed when the link ends.
    pub messages: Receiver<ScreenMessage>,
}

/// The side that ended a screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewEnd {
    /// The other side, when the person quit, or the link.
    OtherSide,
    /// A signal, or the end of the terminal.
    ThisSide,
}

/// A terminal that is taken for a screen. Dropping it restores the terminal.
#[derive(Debug)]
pub struct PreparedView {
    screen: TerminalScreen,
    size: (u16, u16),
    theme: &'static str,
    awaits_response: bool,
}

/// Takes the terminal.
///
/// # Errors
/// There is no terminal.
pub fn prepare_view(options: &ViewOptions) -> anyhow::Result<PreparedView> {
    let size = crossterm::terminal::size().context("cannot read the terminal's size")?;
    restore_on_panic();
    let screen = TerminalScreen::open(options.mouse, size).context("cannot set up the terminal")?;
    let (theme, awaits_response) = fitting_theme(&options.env);
    Ok(PreparedView { screen, size, theme, awaits_response })
}

impl PreparedView {
    pub fn size(&self) -> (u16, u16) {
        self.size
    }

    /// The built-in theme that fits the terminal.
    pub fn theme(&self) -> &'static str {
        self.theme
    }

    /// Shows the screen until its program or the link ends.
    ///
    /// # Errors
    /// The terminal is closed, or the other machine breaks the protocol.
    pub fn show(self, options: ViewOptions, link: ScreenLink) -> anyhow::Result<ViewEnd> {
        let runtime = start_threads()?;
        let result = runtime.block_on(async {
            let input = Input::start(self.awaits_response);
            let mut viewer = Viewer::new(self.screen, self.size, options, link);
            let result = viewer.run(input).await;
            restore();
            result
        });
        runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
        result
    }
}

struct Viewer {
    screen: TerminalScreen,
    cells: Buffer,
    cursor: Option<(u16, u16)>,
    options: ViewOptions,
    link: ScreenLink,
    pieces: Pieces,
    copy_folder: CopyFolder,
    /// Whether a key was pressed since the other machine last used the clipboard, the pager or the folder.
    may_act: bool,
    last_alert: Option<Instant>,
}

impl Viewer {
    fn new(screen: TerminalScreen, size: (u16, u16), options: ViewOptions, link: ScreenLink) -> Self {
        Self {
            screen,
            cells: Buffer::empty(Rect::new(0, 0, size.0, size.1)),
            cursor: None,
            options,
            link,
            pieces: Pieces::default(),
            copy_folder: CopyFolder::default(),
            may_act: false,
            last_alert: None,
        }
    }

    async fn run(&mut self, mut input: Input) -> anyhow::Result<ViewEnd> {
        let mut signals = Signals::new().context("cannot receive signals")?;
        loop {
            tokio::select! {
                biased;
                caught = signals.next() => match caught {
                    SignalAction::Quit => return Ok(ViewEnd::ThisSide),
                    SignalAction::Suspend => input = self.suspend(input).await?,
                    SignalAction::Resume => self.redraw()?,
                },
                event = input.next() => match event {
                    None => return Ok(ViewEnd::ThisSide),
                    Some(event) if is_suspend_key(&event) => input = self.suspend(input).await?,
                    // The reader of the link reports its end.
                    Some(event) => drop(self.send_event(event)),
                },
                message = self.link.messages.recv() => match message {
                    None => return Ok(ViewEnd::OtherSide),
                    Some(message) => if let Some(text) = self.accept(message)? {
                        input = self.page(&text, input).await?;
                    },
                },
            }
        }
    }

    fn send_event(&mut self, event: Event) -> io::Result<()> {
        match event {
            Event::Key(key) => {
                self.may_act = true;
                (self.link.send)(PersonMessage::Key(key))
            }
            Event::Mouse(mouse) => {
                self.may_act = true;
                (self.link.send)(PersonMessage::Mouse(mouse))
            }
            Event::Paste(text) => split(&text)
                .into_iter()
                .try_for_each(|text| (self.link.send)(PersonMessage::Paste(text.into()))),
            Event::Resize { width, height } => {
                let area = Rect::new(0, 0, width.max(1), height.max(1));
                self.screen.resize(area.width, area.height)?;
                self.cells.resize(area);
                self.cells.reset();
                (self.link.send)(PersonMessage::Resize { width, height })
            }
            _ => Ok(()),
        }
    }

    /// Acts on a message; returns a text for the pager.
    fn accept(&mut self, message: ScreenMessage) -> anyhow::Result<Option<String>> {
        let complete = self.pieces.accept(message)?;
        match complete {
            Some(ScreenMessage::Frame(frame)) => {
                apply_frame(&mut self.cells, &frame)?;
                self.cursor = frame.cursor;
                self.redraw()?;
                drop((self.link.send)(PersonMessage::Drawn));
            }
            Some(ScreenMessage::CaptureMouse(on)) => {
                self.screen.set_mouse(on).context("the terminal refused mouse capture")?;
            }
            Some(ScreenMessage::Alert(alert)) => {
                if self.last_alert.is_none_or(|last| last.elapsed() >= ALERT_INTERVAL) {
                    self.last_alert = Some(Instant::now());
                    let alert = alert.into();
                    // If the terminal is closed, the next frame reports it.
                    drop(self.screen.print_codes(&terminal_codes(&self.options.alerts, &alert)));
                    drop(start_program(&self.options.alerts, &alert));
                }
            }
            Some(_) if !std::mem::take(&mut self.may_act) => {}
            Some(ScreenMessage::Copy { text, label }) => self.copy(&text, &label),
            Some(ScreenMessage::Save { name, text }) => self.save(&name, &text),
            Some(ScreenMessage::Page { text }) => return Ok(Some(text)),
            Some(ScreenMessage::Piece(_)) | None => {}
        }
        Ok(None)
    }

    fn copy(&mut self, text: &str, label: &str) {
        let text = shell::pasteable(text);
        if text.len() <= MAX_TERMINAL_BYTES {
            // If the terminal is closed, the next frame reports it.
            drop(self.screen.copy_to_clipboard(&text));
        }
        let copied = clipboard::copy(&text, &visible(label), &self.options.env, &self.copy_folder);
        self.report(
            copied.map_or_else(|error| PersonMessage::Failure(error.to_string()), PersonMessage::Notice),
        );
    }

    fn save(&mut self, name: &str, text: &str) {
        self.report(if is_plain_file_name(name) {
            match save_unique(&self.options.env.cwd, name, text) {
                Ok(path) => PersonMessage::Notice(format!("Saved on this machine as {}.", path.display())),
                Err(error) => PersonMessage::Failure(error.to_string()),
            }
        } else {
            PersonMessage::Failure(format!("Not saved: {} is not a plain file name.", visible(name)))
        });
    }

    fn report(&mut self, message: PersonMessage) {
        // The reader of the link reports its end.
        drop((self.link.send)(message));
    }

    fn redraw(&mut self) -> anyhow::Result<()> {
        let (cells, cursor) = (&self.cells, self.cursor);
        let draw = |frame: &mut ratatui::Frame<'_>| {
            if frame.buffer_mut().area == cells.area {
                frame.buffer_mut().content.clone_from(&cells.content);
            }
            if let Some(cursor) = cursor.filter(|cursor| cells.area.contains((*cursor).into())) {
                frame.set_cursor_position(cursor);
            }
        };
        self.screen.draw(draw).context("the terminal is closed")
    }

    async fn page(&mut self, text: &str, input: Input) -> anyhow::Result<Input> {
        input.stop().await;
        restore();
        let failed = pager::show(text, &self.options.env).err();
        if let Some(error) = failed {
            let words = format!("Cannot run the pager: {error}. Set PAGER to another program.");
            self.report(PersonMessage::Failure(words));
        }
        self.resume()
    }

    async fn suspend(&mut self, input: Input) -> anyhow::Result<Input> {
        input.stop().await;
        restore();
        stop().context("cannot suspend the program")?;
        self.resume()
    }

    fn resume(&mut self) -> anyhow::Result<Input> {
        self.screen.enter().context("cannot restore the terminal")?;
        if let Ok((width, height)) = crossterm::terminal::size()
            && (width, height) != (self.cells.area.width, self.cells.area.height)
        {
            drop(self.send_event(Event::Resize { width, height }));
        }
        self.redraw()?;
        Ok(Input::start(false))
    }
}

/// Whether a name is one file in the working directory, on every system.
fn is_plain_file_name(name: &str) -> bool {
    let is_plain = |char: char| !char.is_control() && !"/\\:".contains(char);
    !name.is_empty() && name.len() <= 255 && !name.starts_with(['.', '-']) && name.chars().all(is_plain)
}

/// Writes changed cells into the buffer. Cells outside it are those of a size that is no longer in use.
fn apply_frame(cells: &mut Buffer, frame: &FrameMessage) -> Result<(), InvalidMessage> {
    if frame.clear {
        cells.reset();
    }
    let styles: Vec<Style> = frame.styles.iter().map(style).collect::<Result<_, _>>()?;
    for Run(column, row, style, text) in &frame.runs {
        let style = *styles.get(*style).ok_or(InvalidMessage::NoStyle)?;
        write_run(cells, (*column, *row), style, text);
    }
    Ok(())
}

fn style(RunStyle(fg, bg, line, modifier): &RunStyle) -> Result<Style, InvalidMessage> {
    let colour = |name: &str| name.parse::<Color>().map_err(|_| InvalidMessage::Colour);
    let modifier = Modifier::from_bits(*modifier).ok_or(InvalidMessage::Modifier)?;
    let style = Style::reset().fg(colour(fg)?).bg(colour(bg)?).underline_color(colour(line)?);
    Ok(style.add_modifier(modifier))
}

fn write_run(cells: &mut Buffer, (mut column, row): (u16, u16), style: Style, text: &str) {
    for cluster in text.graphemes(true) {
        let shown = visible(cluster);
        for symbol in shown.graphemes(true) {
            let width = symbol.width() as u16;
            let Some(cell) = cells.cell_mut((column, row)).filter(|_| width > 0) else { return };
            cell.reset();
            cell.set_symbol(symbol).set_style(style);
            for covered in 1..width {
                let Some(cell) = cells.cell_mut((column.saturating_add(covered), row)) else { return };
                cell.reset();
                cell.set_style(style);
            }
            column = column.saturating_add(width);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plain(text: &str, at: (u16, u16)) -> FrameMessage {
        let styles = vec![RunStyle("Reset".into(), "#102030".into(), "Reset".into(), 1)];
        FrameMessage { styles, runs: vec![Run(at.0, at.1, 0, text.into())], ..FrameMessage::default() }
    }

    fn line(cells: &Buffer) -> String {
        cells.content.iter().map(ratatui::buffer::Cell::symbol).collect()
    }

    #[test]
    fn escape_sequences_of_the_other_machine_become_signs() {
        let mut cells = Buffer::empty(Rect::new(0, 0, 12, 1));
        apply_frame(&mut cells, &plain("a\u{1b}]52;c\u{7}树", (0, 0))).unwrap();
        assert_eq!(line(&cells), "a␛]52;c␇树   ");
        assert_eq!(cells[(0, 0)].bg, Color::Rgb(0x10, 0x20, 0x30));
    }

    #[test]
    fn cells_outside_the_screen_and_styles_that_are_missing_do_no_harm() {
        let mut cells = Buffer::empty(Rect::new(0, 0, 4, 1));
        apply_frame(&mut cells, &plain("abcdefgh", (2, 0))).unwrap();
        apply_frame(&mut cells, &plain("x", (u16::MAX, u16::MAX))).unwrap();
        assert_eq!(line(&cells), "  ab");
        let without = FrameMessage { styles: Vec::new(), ..plain("x", (0, 0)) };
        assert!(apply_frame(&mut cells, &without).is_err());
        let mut unknown = plain("x", (0, 0));
        unknown.styles[0].0 = "\u{1b}[31m".into();
        assert!(apply_frame(&mut cells, &unknown).is_err());
    }

    #[test]
    fn only_a_plain_name_is_saved() {
        for name in ["../x", "/etc/x", ".bashrc", "a\\b", "c:x", "-rf", "", "a\n", "a/b"] {
            assert!(!is_plain_file_name(name), "{name:?}");
        }
        assert!(is_plain_file_name("agent-main-2026-03-05.html"));
    }

    proptest! {
        #[test]
        fn any_text_at_any_place_leaves_safe_cells(text in ".*|[\\x00-\\x9f]{0,20}", x in 0_u16..40, y in 0_u16..4) {
            let mut cells = Buffer::empty(Rect::new(0, 0, 30, 2));
            apply_frame(&mut cells, &plain(&text, (x, y))).unwrap();
            prop_assert!(!line(&cells).contains(char::is_control));
        }
    }
}
