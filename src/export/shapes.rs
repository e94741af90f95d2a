//! The parts of a picture other than letters: rectangles, dots and thin strokes, grouped by colour.
//!
//! Fonts leave gaps at the edges of a cell; whole-pixel rectangles do not. One path per colour keeps the file small,
//! and adjacent rectangles of one colour are merged.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ratatui::style::Color;

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
