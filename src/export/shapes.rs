//! The parts of a picture other than letters: rectangles, dots and thin strokes, grouped by colour.
//!
//! Fonts leave gaps at the edges of a cell; whole-pixel rectangles do not. One path per colour keeps the file small,
//! and adjacent rectangles of one colour are merged.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use ratatui::buffer::{Buffer, Cell, CellDiffOption, CellWidth};
use ratatui::style::{Color, Modifier};

/// Width of a terminal cell in pixels.
pub(super) const CELL_WIDTH: i32 = 10;
/// Height of a terminal cell in pixels.
pub(super) const CELL_HEIGHT: i32 = 21;

/// The top left pixel of a cell.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin {
    pub(super) x: i32,
    pub(super) y: i32,
}

/// A rectangle on whole pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PixelRect {
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) width: i32,
    pub(super) height: i32,
}

/// Shapes by colour. The maps are sorted, so that the same screen gives the same text.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    blocks: BTreeMap<Rgb, Vec<PixelRect>>,
    dots: BTreeMap<Rgb, String>,
    strokes: BTreeMap<Rgb, String>,
}

impl Shapes {
    /// Adds a rectangle, or extends the last one of its colour if that is adjacent.
    pub(super) fn block(&mut self, ink: Rgb, block: PixelRect) {
        if block.width <= 0 || block.height <= 0 {
            return;
        }
        let blocks = self.blocks.entry(ink).or_default();
        match blocks.last_mut() {
            Some(last) if joins(*last, block) => last.width += block.width,
            _ => blocks.push(block),
        }
    }

    /// Adds a round dot with its centre in the middle of the pixel at `x`, `y`.
    pub(super) fn dot(&mut self, ink: Rgb, x: i32, y: i32) {
        // A stroke without length draws nothing in some programs; a hundredth of a pixel is invisible.
        let _ = write!(self.dots.entry(ink).or_default(), "M{x}.5 {y}.5h.01");
    }

    /// Adds a thin line; `path` is SVG path data in the picture's pixels.
    pub(super) fn stroke(&mut self, ink: Rgb, path: &str) {
        self.strokes.entry(ink).or_default().push_str(path);
    }

    /// Returns the rectangles as rows of `#` and `.`, for tests.
    #[cfg(test)]
    pub(super) fn raster(&self, width: i32, height: i32) -> Vec<String> {
        let covers = |block: &PixelRect, x: i32, y: i32| {
            (block.x..block.x + block.width).contains(&x) && (block.y..block.y + block.height).contains(&y)
        };
        let set = |x: i32, y: i32| self.blocks.values().flatten().any(|block| covers(block, x, y));
        (0..height).map(|y| (0..width).map(|x| if set(x, y) { '#' } else { '.' }).collect()).collect()
    }

    /// Writes the shapes as SVG elements, one path per kind and colour.
    pub(super) fn write(&self, out: &mut String) {
        group(out, "shape-rendering=\"crispEdges\"", &self.blocks, |out, ink, blocks| {
            let _ = writeln!(out, "<path fill=\"{}\" d=\"{}\"/>", hex(ink), outline(blocks));
        });
        let round = "fill=\"none\" stroke-width=\"2.6\" stroke-linecap=\"round\"";
        group(out, round, &self.dots, |out, ink, path| {
            stroked(out, ink, path);
        });
        group(out, "fill=\"none\" stroke-width=\"1\"", &self.strokes, |out, ink, path| {
            stroked(out, ink, path);
        });
    }
}

fn group<T>(
    out: &mut String,
    attributes: &str,
    shapes: &BTreeMap<Rgb, T>,
    each: impl Fn(&mut String, Rgb, &T),
) {
    if shapes.is_empty() {
        return;
    }
    let _ = writeln!(out, "<g {attributes}>");
    for (ink, shape) in shapes {
        each(out, *ink, shape);
    }
    out.push_str("</g>\n");
}

fn stroked(out: &mut String, ink: Rgb, path: &str) {
    let _ = writeln!(out, "<path stroke=\"{}\" d=\"{path}\"/>", hex(ink));
}

fn joins(last: PixelRect, next: PixelRect) -> bool {
    last.y == next.y && last.height == next.height && last.x + last.width == next.x
}

fn outline(blocks: &[PixelRect]) -> String {
    let mut path = String::new();
    for PixelRect { x, y, width, height } in blocks {
        let _ = write!(path, "M{x} {y}h{width}v{height}h-{width}z");
    }
    path
}

/// Red, green and blue, 0 to 255 each.
pub type Rgb = (u8, u8, u8);

/// The sixteen named colours as in xterm, in the order of their numbers.
const NAMED: [Rgb; 16] = [
    (0, 0, 0),
    (205, 0, 0),
    (0, 205, 0),
    (205, 205, 0),
    (0, 0, 238),
    (205, 0, 205),
    (0, 205, 205),
    (229, 229, 229),
    (127, 127, 127),
    (255, 0, 0),
    (0, 255, 0),
    (255, 255, 0),
    (92, 92, 255),
    (255, 0, 255),
    (0, 255, 255),
    (255, 255, 255),
];

/// The six levels of the colour cube, numbers 16 to 231.
const CUBE: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// Returns the colour to paint; `reset` is the terminal's own colour.
pub(super) fn resolve(color: Color, reset: Rgb) -> Rgb {
    match color {
        Color::Reset => reset,
        Color::Rgb(r, g, b) => (r, g, b),
        Color::Indexed(number) => indexed(number),
        Color::Black => NAMED[0],
        Color::Red => NAMED[1],
        Color::Green => NAMED[2],
        Color::Yellow => NAMED[3],
        Color::Blue => NAMED[4],
        Color::Magenta => NAMED[5],
        Color::Cyan => NAMED[6],
        Color::Gray => NAMED[7],
        Color::DarkGray => NAMED[8],
        Color::LightRed => NAMED[9],
        Color::LightGreen => NAMED[10],
        Color::LightYellow => NAMED[11],
        Color::LightBlue => NAMED[12],
        Color::LightMagenta => NAMED[13],
        Color::LightCyan => NAMED[14],
        Color::White => NAMED[15],
    }
}

/// Returns one of the 256 colours: sixteen names, a cube of six levels, 24 greys.
fn indexed(number: u8) -> Rgb {
    match number {
        0..=15 => NAMED[usize::from(number)],
        16..=231 => {
            let cube = usize::from(number - 16);
            (CUBE[cube / 36], CUBE[cube / 6 % 6], CUBE[cube % 6])
        }
        232..=255 => {
            let grey = 8 + 10 * (number - 232);
            (grey, grey, grey)
        }
    }
}

/// Mixes `percent` (0 to 100) of `ink` with the rest of `paper`.
pub(super) fn mix(ink: Rgb, paper: Rgb, percent: u16) -> Rgb {
    let channel = |a: u8, b: u8| ((u16::from(a) * percent + u16::from(b) * (100 - percent) + 50) / 100) as u8;
    (channel(ink.0, paper.0), channel(ink.1, paper.1), channel(ink.2, paper.2))
}

/// Formats a colour for SVG: `#rrggbb`.
pub(super) fn hex((r, g, b): Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

// The cells of a buffer in their painted form: colours resolved, modifiers applied, wide characters spanning their
// cells, and no symbol that a document must not contain.

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
    use super::*;

    const RED: Rgb = (255, 0, 0);

    fn block(x: i32, y: i32) -> PixelRect {
        PixelRect { x, y, width: 10, height: 1 }
    }

    #[test]
    fn neighbours_of_one_colour_become_one_rectangle() {
        let mut shapes = Shapes::default();
        for at in [block(0, 5), block(10, 5), block(20, 6)] {
            shapes.block(RED, at);
        }
        let mut out = String::new();
        shapes.write(&mut out);
        assert!(out.contains("d=\"M0 5h20v1h-20zM20 6h10v1h-10z\""), "{out}");
    }

    #[test]
    fn an_empty_shape_writes_nothing() {
        let mut out = String::new();
        let mut shapes = Shapes::default();
        shapes.block(RED, PixelRect { x: 0, y: 0, width: 0, height: 9 });
        shapes.write(&mut out);
        assert_eq!(out, "");
    }
}

#[cfg(test)]
mod colour_tests {
    use super::*;

    #[test]
    fn reset_is_the_default_it_is_given() {
        assert_eq!(resolve(Color::Reset, (1, 2, 3)), (1, 2, 3));
    }

    #[test]
    fn a_name_and_its_number_are_one_colour() {
        for (number, name) in [
            (1, Color::Red),
            (7, Color::Gray),
            (8, Color::DarkGray),
            (12, Color::LightBlue),
            (15, Color::White),
        ] {
            assert_eq!(resolve(Color::Indexed(number), (9, 9, 9)), resolve(name, (9, 9, 9)));
        }
    }

    #[test]
    fn the_cube_and_the_greys_start_and_end_where_terminals_have_them() {
        let at = |number| resolve(Color::Indexed(number), (9, 9, 9));
        assert_eq!(at(16), (0, 0, 0));
        assert_eq!(at(67), (95, 135, 175));
        assert_eq!(at(231), (255, 255, 255));
        assert_eq!(at(232), (8, 8, 8));
        assert_eq!(at(255), (238, 238, 238));
    }

    #[test]
    fn mixing_keeps_both_ends() {
        assert_eq!(mix((200, 0, 7), (10, 20, 30), 100), (200, 0, 7));
        assert_eq!(mix((200, 0, 7), (10, 20, 30), 0), (10, 20, 30));
        assert_eq!(mix((255, 255, 255), (0, 0, 0), 50), (128, 128, 128));
    }
}

#[cfg(test)]
mod tiles_tests {
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
