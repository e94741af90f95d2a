//! The parts of a picture other than letters: rectangles, dots and thin strokes, grouped by colour.
//!
//! Fonts leave gaps at the edges of a cell; whole-pixel rectangles do not. One path per colour keeps the file small,
//! and adjacent rectangles of one colour are merged.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::colour::{Rgb, hex};

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
