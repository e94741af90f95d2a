//! The cells of a buffer in their painted form: colours resolved, modifiers applied, wide characters spanning their
//! cells, and no symbol that a document must not contain.

use std::borrow::Cow;

use ratatui::buffer::{Buffer, Cell, CellDiffOption, CellWidth};
use ratatui::style::{Color, Modifier};

use super::shapes::{Rgb, mix, resolve};

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

/// Share of its colour that dimmed text keeps, in percent.
const DIM_PERCENT: u16 = 60;
/// Replaces a forbidden symbol.
const REPLACEMENT: &str = "\u{fffd}";

/// One character with the cells it covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tile<'a> {
    /// The first column, from the left edge of the buffer.
    pub(super) column: i32,
    /// Number of columns, 1 or more.
    pub(super) width: i32,
    pub(super) symbol: Cow<'a, str>,
    pub(super) foreground: Rgb,
    pub(super) background: Rgb,
    pub(super) font: FontStyle,
    /// Colour of the underline.
    pub(super) underline: Option<Rgb>,
    pub(super) crossed_out: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct FontStyle {
    pub(super) bold: bool,
    pub(super) italic: bool,
}

impl Tile<'_> {
    /// Whether no letter shows.
    pub(super) fn is_blank(&self) -> bool {
        self.symbol.chars().all(char::is_whitespace)
    }

    /// Returns the symbol if it is one character.
    pub(super) fn character(&self) -> Option<char> {
        let mut chars = self.symbol.chars();
        chars.next().filter(|_| chars.next().is_none())
    }
}

/// Returns the tiles of one row; `y` is in buffer coordinates. Together they cover each column once.
pub(super) fn row_tiles<'a>(picture: &ScreenImage<'a>, y: u16) -> Vec<Tile<'a>> {
    let buffer: &'a Buffer = picture.buffer;
    let area = buffer.area;
    let mut tiles = Vec::with_capacity(usize::from(area.width));
    let mut column = 0;
    while column < area.width {
        let Some(cell) = buffer.cell((area.x + column, y)) else { break };
        let tile = tile(picture, cell, column, area.width - column);
        column += tile.width as u16;
        tiles.push(tile);
    }
    tiles
}

fn tile<'a>(picture: &ScreenImage<'_>, cell: &'a Cell, column: u16, room: u16) -> Tile<'a> {
    let symbol = drawable_symbol(cell.symbol());
    let width = match cell.diff_option {
        CellDiffOption::ForcedWidth(width) => width.get(),
        _ => symbol.cell_width(),
    };
    let has = |modifier| cell.modifier.contains(modifier);
    let (ink, paper) = colours(picture, cell);
    Tile {
        column: i32::from(column),
        // A wide character is cut at the edge; one without width still covers its cell.
        width: i32::from(width.clamp(1, room)),
        symbol: if width == 0 || has(Modifier::HIDDEN) { Cow::Borrowed(" ") } else { symbol },
        foreground: ink,
        background: paper,
        font: FontStyle { bold: has(Modifier::BOLD), italic: has(Modifier::ITALIC) },
        underline: has(Modifier::UNDERLINED).then(|| match cell.underline_color {
            Color::Reset => ink,
            color => resolve(color, ink),
        }),
        crossed_out: has(Modifier::CROSSED_OUT),
    }
}

/// Returns foreground and background of a cell: reversed first, then dimmed towards the resulting background.
fn colours(picture: &ScreenImage<'_>, cell: &Cell) -> (Rgb, Rgb) {
    let fg = resolve(cell.fg, picture.foreground);
    let bg = resolve(cell.bg, picture.background);
    let (ink, paper) = if cell.modifier.contains(Modifier::REVERSED) { (bg, fg) } else { (fg, bg) };
    let ink = if cell.modifier.contains(Modifier::DIM) { mix(ink, paper, DIM_PERCENT) } else { ink };
    (ink, paper)
}

/// Returns the symbol, or the replacement for one that would break the document or reorder its text.
fn drawable_symbol(symbol: &str) -> Cow<'_, str> {
    if symbol.chars().any(is_forbidden) { Cow::Borrowed(REPLACEMENT) } else { Cow::Borrowed(symbol) }
}

/// Whether a character is a control, one of the two code points that XML forbids, or a mark that changes text
/// direction.
fn is_forbidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{fffe}' | '\u{ffff}')
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::*;

    const DARK: Rgb = (10, 10, 10);
    const PALE: Rgb = (200, 200, 200);

    fn tiles(width: u16, fill: impl Fn(&mut Buffer)) -> Vec<(i32, i32, String, Rgb, Rgb)> {
        let mut buffer = Buffer::empty(Rect::new(3, 2, width, 1));
        fill(&mut buffer);
        let picture = ScreenImage { buffer: &buffer, background: DARK, foreground: PALE };
        row_tiles(&picture, 2)
            .into_iter()
            .map(|t| (t.column, t.width, t.symbol.into_owned(), t.foreground, t.background))
            .collect()
    }

    #[test]
    fn a_wide_character_owns_both_cells() {
        let tiles = tiles(4, |b| b.set_string(3, 2, "a书b", Style::new()));
        let shape: Vec<_> = tiles.iter().map(|t| (t.0, t.1, t.2.as_str())).collect();
        assert_eq!(shape, [(0, 1, "a"), (1, 2, "书"), (3, 1, "b")]);
    }

    #[test]
    fn a_wide_character_is_cut_at_the_edge() {
        let tiles = tiles(1, |b| {
            b[(3, 2)].set_symbol("书");
        });
        assert_eq!((tiles.len(), tiles[0].1), (1, 1));
    }

    #[test]
    fn reversed_swaps_even_the_default_colours() {
        let tiles = tiles(1, |b| b.set_string(3, 2, "x", Style::new().reversed()));
        assert_eq!((tiles[0].3, tiles[0].4), (DARK, PALE));
    }

    #[test]
    fn dim_moves_the_ink_towards_the_paper() {
        let tiles = tiles(1, |b| b.set_string(3, 2, "x", Style::new().dim()));
        assert_eq!((tiles[0].3, tiles[0].4), ((124, 124, 124), DARK));
    }

    #[test]
    fn controls_and_direction_marks_become_the_replacement_sign() {
        for bad in ["\u{1b}[31m", "\u{7}", "\r\n", "\u{9b}", "\u{7f}", "a\u{202e}", "\u{2067}", "\u{ffff}"] {
            let tiles = tiles(2, |b| {
                b[(3, 2)].set_symbol(bad);
            });
            assert_eq!((tiles.len(), tiles[0].2.as_str()), (2, REPLACEMENT), "{bad:?}");
        }
    }

    #[test]
    fn a_symbol_without_width_is_a_blank() {
        let tiles = tiles(2, |b| {
            b[(3, 2)].set_symbol("\u{301}");
        });
        assert_eq!((tiles.len(), tiles[0].2.as_str()), (2, " "));
    }
}
