//! The terminal of a screen that is viewed on another machine: it collects the changed cells of a frame.

use std::collections::HashMap;
use std::convert::Infallible;

use ratatui::backend::{Backend, ClearType, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use unicode_width::UnicodeWidthStr as _;

use super::message::{FrameMessage, Run, RunStyle};

#[derive(Debug, Default)]
pub(in crate::runtime) struct RemoteBackend {
    frame: FrameMessage,
    styles: HashMap<RunStyle, usize>,
    cursor: Position,
    shows_cursor: bool,
    /// The cursor of the last frame.
    sent_cursor: Option<(u16, u16)>,
}

impl RemoteBackend {
    /// Returns the changes since the last frame; `None` without any.
    pub(in crate::runtime) fn take_frame(&mut self) -> Option<FrameMessage> {
        self.styles.clear();
        let cursor = self.shows_cursor.then_some((self.cursor.x, self.cursor.y));
        let mut frame = std::mem::take(&mut self.frame);
        let is_same = !frame.clear && frame.runs.is_empty() && cursor == self.sent_cursor;
        self.sent_cursor = cursor;
        frame.cursor = cursor;
        (!is_same).then_some(frame)
    }

    fn push(&mut self, column: u16, row: u16, cell: &Cell) {
        let colour = |colour: ratatui::style::Color| colour.to_string();
        let (fg, bg, line) = (colour(cell.fg), colour(cell.bg), colour(cell.underline_color));
        let style = RunStyle(fg, bg, line, cell.modifier.bits());
        let next = self.frame.styles.len();
        let style = *self.styles.entry(style).or_insert_with_key(|style| {
            self.frame.styles.push(style.clone());
            next
        });
        if let Some(Run(start, own, same, text)) = self.frame.runs.last_mut()
            && (*own, *same) == (row, style)
            && usize::from(*start) + text.width() == usize::from(column)
        {
            text.push_str(cell.symbol());
        } else {
            self.frame.runs.push(Run(column, row, style, cell.symbol().to_owned()));
        }
    }
}

impl Backend for RemoteBackend {
    type Error = Infallible;

    fn draw<'a, I>(&mut self, content: I) -> Result<(), Infallible>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        content.for_each(|(column, row, cell)| self.push(column, row, cell));
        Ok(())
    }

    fn hide_cursor(&mut self) -> Result<(), Infallible> {
        self.shows_cursor = false;
        Ok(())
    }

    fn show_cursor(&mut self) -> Result<(), Infallible> {
        self.shows_cursor = true;
        Ok(())
    }

    fn get_cursor_position(&mut self) -> Result<Position, Infallible> {
        Ok(self.cursor)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> Result<(), Infallible> {
        self.cursor = position.into();
        Ok(())
    }

    fn clear(&mut self) -> Result<(), Infallible> {
        self.styles.clear();
        self.frame = FrameMessage { clear: true, ..FrameMessage::default() };
        Ok(())
    }

    fn clear_region(&mut self, _: ClearType) -> Result<(), Infallible> {
        // The area is the whole screen, and every frame after a clear is drawn in full.
        self.clear()
    }

    fn size(&self) -> Result<Size, Infallible> {
        Ok(Size::ZERO)
    }

    fn window_size(&mut self) -> Result<WindowSize, Infallible> {
        Ok(WindowSize { columns_rows: Size::ZERO, pixels: Size::ZERO })
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;
    use ratatui::style::{Color, Style};
    use ratatui::text::{Line, Span};
    use ratatui::{Frame, Terminal, TerminalOptions, Viewport};

    use super::*;

    fn drawn(
        terminal: &mut Terminal<RemoteBackend>,
        draw: impl FnOnce(&mut Frame<'_>),
    ) -> Option<FrameMessage> {
        terminal.draw(draw).unwrap();
        terminal.backend_mut().take_frame()
    }

    #[test]
    fn cells_of_one_style_are_one_run_and_an_equal_frame_sends_nothing() {
        let viewport = Viewport::Fixed(Rect::new(0, 0, 10, 2));
        let mut terminal =
            Terminal::with_options(RemoteBackend::default(), TerminalOptions { viewport }).unwrap();
        let line =
            Line::from(vec![Span::raw("ab树c"), Span::styled("x", Style::new().fg(Color::Rgb(1, 2, 3)))]);
        let frame = drawn(&mut terminal, |frame| frame.render_widget(&line, frame.area())).unwrap();
        let runs: Vec<_> = frame.runs.iter().map(|run| (run.0, run.1, run.3.as_str())).collect();
        assert_eq!(runs, [(0, 0, "ab树c"), (5, 0, "x")]);
        assert_eq!(frame.styles[frame.runs[1].2].0, "#010203");
        assert_eq!(drawn(&mut terminal, |frame| frame.render_widget(&line, frame.area())), None);
        let frame = drawn(&mut terminal, |frame| {
            frame.render_widget(&line, frame.area());
            frame.set_cursor_position((3, 1));
        });
        assert_eq!(frame.unwrap().cursor, Some((3, 1)));
    }
}
