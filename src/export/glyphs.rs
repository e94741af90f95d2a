//! Draws characters as shapes instead of letters: blocks, shades, lines, braille, diagonals, arcs.
//!
//! They must meet at the edges of their cells, which no font achieves at every size.

use super::lines;
use super::shapes::{CELL_HEIGHT, CELL_WIDTH, Origin, PixelRect, Rgb, Shapes, mix};

/// Pixels of the braille dots, chosen so that rows are evenly spaced from cell to cell and dots are crisp.
const DOT_COLUMNS: [i32; 2] = [2, 7];
const DOT_ROWS: [i32; 4] = [2, 7, 13, 18];
/// Column and row of each braille bit, lowest first; Unicode added the last two below the first six.
const DOTS: [(usize, usize); 8] = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)];

/// Quarters filled by U+2596 to U+259F: bits for upper left, upper right, lower left, lower right.
const QUADRANTS: [u8; 10] = [4, 8, 1, 13, 9, 7, 11, 2, 6, 14];

/// Draws `c` if it is made of shapes; returns false to leave it to a font.
pub(super) fn draw(c: char, at: Origin, ink: Rgb, paper: Rgb, shapes: &mut Shapes) -> bool {
    match c {
        '▀'..='▟' => block_element(c, at, ink, paper, shapes),
        '\u{2800}'..='\u{28ff}' => braille(c, at, ink, shapes),
        '╭'..='╳' => stroke(c, at, ink, shapes),
        _ => return lines::draw(c, at, ink, shapes),
    }
    true
}

fn block_element(c: char, at: Origin, ink: Rgb, paper: Rgb, shapes: &mut Shapes) {
    let number = c as i32;
    match c {
        '▀' => eighths(at, ink, [0, 0, 8, 4], shapes),
        '▁'..='█' => eighths(at, ink, [0, 8 - (number - 0x2580), 8, 8], shapes),
        '▉'..='▏' => eighths(at, ink, [0, 0, 0x2590 - number, 8], shapes),
        '▐' => eighths(at, ink, [4, 0, 8, 8], shapes),
        '░' => eighths(at, mix(ink, paper, 25), [0, 0, 8, 8], shapes),
        '▒' => eighths(at, mix(ink, paper, 50), [0, 0, 8, 8], shapes),
        '▓' => eighths(at, mix(ink, paper, 75), [0, 0, 8, 8], shapes),
        '▔' => eighths(at, ink, [0, 0, 8, 1], shapes),
        '▕' => eighths(at, ink, [7, 0, 8, 8], shapes),
        _ => quadrants(QUADRANTS[(number - 0x2596) as usize % QUADRANTS.len()], at, ink, shapes),
    }
}

/// Fills a rectangle with edges (left, top, right, bottom) in eighths of the cell, rounded to whole pixels.
fn eighths(at: Origin, ink: Rgb, edges: [i32; 4], shapes: &mut Shapes) {
    let across = |eighth: i32| (eighth * CELL_WIDTH + 4) / 8;
    let down = |eighth: i32| (eighth * CELL_HEIGHT + 4) / 8;
    let [left, top, right, bottom] = edges;
    let (x, y) = (across(left), down(top));
    let block = PixelRect { x: at.x + x, y: at.y + y, width: across(right) - x, height: down(bottom) - y };
    shapes.block(ink, block);
}

fn quadrants(bits: u8, at: Origin, ink: Rgb, shapes: &mut Shapes) {
    for (bit, edges) in [[0, 0, 4, 4], [4, 0, 8, 4], [0, 4, 4, 8], [4, 4, 8, 8]].into_iter().enumerate() {
        if bits >> bit & 1 == 1 {
            eighths(at, ink, edges, shapes);
        }
    }
}

fn braille(c: char, at: Origin, ink: Rgb, shapes: &mut Shapes) {
    let bits = c as u32 - 0x2800;
    for (bit, (column, row)) in DOTS.into_iter().enumerate() {
        if bits >> bit & 1 == 1 {
            shapes.dot(ink, at.x + DOT_COLUMNS[column], at.y + DOT_ROWS[row]);
        }
    }
}

/// Draws arcs and diagonals. Arcs start and end in the middle of the pixels of straight lines.
fn stroke(c: char, Origin { x, y }: Origin, ink: Rgb, shapes: &mut Shapes) {
    let (right, bottom) = (x + CELL_WIDTH, y + CELL_HEIGHT);
    let rising = format!("M{right} {y}L{x} {bottom}");
    let falling = format!("M{x} {y}L{right} {bottom}");
    let (cx, cy) = (x + 5, y + 10);
    let path = match c {
        '╭' => format!("M{cx}.5 {bottom}V{}a4.5 4.5 0 0 1 4.5 -4.5", cy + 5),
        '╮' => format!("M{x} {cy}.5h1a4.5 4.5 0 0 1 4.5 4.5V{bottom}"),
        '╯' => format!("M{x} {cy}.5h1a4.5 4.5 0 0 0 4.5 -4.5V{y}"),
        '╰' => format!("M{cx}.5 {y}V{}a4.5 4.5 0 0 0 4.5 4.5", cy - 4),
        '╱' => rising,
        '╲' => falling,
        _ => rising + &falling,
    };
    shapes.stroke(ink, &path);
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Origin = Origin { x: 0, y: 0 };

    fn pixels(c: char) -> Vec<String> {
        let mut shapes = Shapes::default();
        assert!(draw(c, AT, (0, 0, 0), (255, 255, 255), &mut shapes));
        shapes.raster(CELL_WIDTH, CELL_HEIGHT)
    }

    fn text(c: char) -> String {
        let (mut shapes, mut out) = (Shapes::default(), String::new());
        assert!(draw(c, AT, (0, 0, 0), (255, 255, 255), &mut shapes));
        shapes.write(&mut out);
        out
    }

    #[test]
    fn eighths_grow_by_whole_pixels_up_to_a_full_cell() {
        let heights: Vec<usize> =
            ('▁'..='█').map(|c| pixels(c).iter().filter(|row| row.contains('#')).count()).collect();
        assert_eq!(heights, [3, 5, 8, 10, 13, 16, 18, 21]);
        let widths: Vec<usize> = ('▉'..='▏').map(|c| pixels(c)[0].matches('#').count()).collect();
        assert_eq!(widths, [9, 8, 6, 5, 4, 3, 1]);
    }

    #[test]
    fn a_half_and_the_other_half_are_a_whole() {
        for (one, other) in [('▀', '▄'), ('▌', '▐'), ('▚', '▞'), ('▙', '▝'), ('▟', '▘'), ('▜', '▖')]
        {
            for (a, b) in pixels(one).iter().zip(pixels(other)) {
                assert!(a.bytes().zip(b.bytes()).all(|(a, b)| a != b), "{one} {other}");
            }
        }
    }

    #[test]
    fn a_shade_is_one_flat_colour_between_ink_and_paper() {
        assert!(text('▒').contains("fill=\"#808080\" d=\"M0 0h10v21h-10z\""));
        assert!(text('░').contains("#bfbfbf"));
    }

    #[test]
    fn braille_bits_land_on_their_dots() {
        assert!(text('⠁').contains("d=\"M2.5 2.5h.01\""));
        assert!(text('⢀').contains("d=\"M7.5 18.5h.01\""));
        assert_eq!(text('⣿').matches("h.01").count(), 8);
        assert_eq!(text('\u{2800}'), "");
    }

    #[test]
    fn arcs_end_where_straight_lines_start() {
        assert!(text('╭').contains("M5.5 21V15a4.5 4.5 0 0 1 4.5 -4.5"));
        assert!(text('╯').contains("M0 10.5h1a4.5 4.5 0 0 0 4.5 -4.5V0"));
    }

    #[test]
    fn letters_are_left_to_fonts() {
        assert!(!draw('●', AT, (0, 0, 0), (9, 9, 9), &mut Shapes::default()));
    }
}
