//! The screen that an SVG picture shows.

use ratatui::buffer::Buffer;

use super::colour::Rgb;

/// A screen and the colours of its terminal.
#[derive(Debug, Clone, Copy)]
pub struct ScreenImage<'a> {
    /// The cells to draw, all of them.
    pub buffer: &'a Buffer,
    /// Background for `Color::Reset`; also the colour of the margin.
    pub background: Rgb,
    /// Text colour for `Color::Reset`.
    pub foreground: Rgb,
}
