//! Box drawing (U+2500 to U+257F): arms from the edges of a cell to its centre.
//!
//! A line character has up to four arms, each with a weight. Arms overlap by half a stroke where they meet, so that
//! corners close and lines join from cell to cell.

use super::shapes::{CELL_HEIGHT, CELL_WIDTH, Origin, PixelRect, Rgb, Shapes};

/// Pixel column and row of light lines.
const CENTRE: (i32, i32) = (5, 10);
/// Distance of a double line's strokes from the centre.
const DOUBLE_OFFSET: i32 = 2;

const LIGHT: u16 = 1;
const HEAVY: u16 = 2;
const DOUBLE: u16 = 3;

/// The arms of each character from U+2500 on: one hex digit each for up, right, down, left, as a weight (0 none, 1
/// light, 2 heavy, 3 double). All zero: dashes, arcs and diagonals, which are drawn otherwise.
#[rustfmt::skip]
const ARMS: [u16; 128] = [
    0x0101, 0x0202, 0x1010, 0x2020, 0x0000, 0x0000, 0x0000, 0x0000,
    0x0000, 0x0000, 0x0000, 0x0000, 0x0110, 0x0210, 0x0120, 0x0220,
    0x0011, 0x0012, 0x0021, 0x0022, 0x1100, 0x1200, 0x2100, 0x2200,
    0x1001, 0x1002, 0x2001, 0x2002, 0x1110, 0x1210, 0x2110, 0x1120,
    0x2120, 0x2210, 0x1220, 0x2220, 0x1011, 0x1012, 0x2011, 0x1021,
    0x2021, 0x2012, 0x1022, 0x2022, 0x0111, 0x0112, 0x0211, 0x0212,
    0x0121, 0x0122, 0x0221, 0x0222, 0x1101, 0x1102, 0x1201, 0x1202,
    0x2101, 0x2102, 0x2201, 0x2202, 0x1111, 0x1112, 0x1211, 0x1212,
    0x2111, 0x1121, 0x2121, 0x2112, 0x2211, 0x1122, 0x1221, 0x2212,
    0x1222, 0x2122, 0x2221, 0x2222, 0x0000, 0x0000, 0x0000, 0x0000,
    0x0303, 0x3030, 0x0310, 0x0130, 0x0330, 0x0013, 0x0031, 0x0033,
    0x1300, 0x3100, 0x3300, 0x1003, 0x3001, 0x3003, 0x1310, 0x3130,
    0x3330, 0x1013, 0x3031, 0x3033, 0x0313, 0x0131, 0x0333, 0x1303,
    0x3101, 0x3303, 0x1313, 0x3131, 0x3333, 0x0000, 0x0000, 0x0000,
    0x0000, 0x0000, 0x0000, 0x0000, 0x0001, 0x1000, 0x0100, 0x0010,
    0x0002, 0x2000, 0x0200, 0x0020, 0x0201, 0x1020, 0x0102, 0x2010,
];

/// Start and length of the dashes across a cell. Whole pixels, and an even rhythm over cells: ten pixels cannot hold
/// three equal dashes, so the triple dash has two.
type Dashes = &'static [(i32, i32)];
const HORIZONTAL_DASHES: [Dashes; 3] =
    [&[(0, 4), (5, 4)], &[(1, 3), (6, 3)], &[(0, 1), (2, 1), (4, 1), (6, 1), (8, 1)]];
/// The same down a cell.
const VERTICAL_DASHES: [Dashes; 3] = [
    &[(2, 7), (12, 7)],
    &[(1, 4), (8, 4), (15, 4)],
    &[(0, 2), (3, 2), (6, 2), (9, 2), (12, 2), (15, 2), (18, 2)],
];

/// Draws a line character; returns false for a character that is not made of rectangles.
pub(super) fn draw(c: char, at: Origin, ink: Rgb, shapes: &mut Shapes) -> bool {
    let Some(index) = (c as usize).checked_sub(0x2500).filter(|index| *index < ARMS.len()) else {
        return false;
    };
    if let Some((dashes, vertical, weight)) = dashes(c) {
        for &(start, length) in dashes {
            shapes.block(ink, stroke(at, vertical, start, start + length, 0, half_width(weight)));
        }
        return true;
    }
    let arms = ARMS[index];
    for direction in Direction::ALL {
        arm(arms, direction, at, ink, shapes);
    }
    arms != 0
}

/// Returns the dashes of a dashed line, whether it is vertical, and its weight.
fn dashes(c: char) -> Option<(Dashes, bool, u16)> {
    let (count, first) = match c {
        '╌'..='╏' => (0, '╌'),
        '┄'..='┇' => (1, '┄'),
        '┈'..='┋' => (2, '┈'),
        _ => return None,
    };
    // In each group of four: light across, heavy across, light down, heavy down.
    let place = c as u32 - first as u32;
    let vertical = place >= 2;
    let weight = if place % 2 == 1 { HEAVY } else { LIGHT };
    Some((if vertical { VERTICAL_DASHES[count] } else { HORIZONTAL_DASHES[count] }, vertical, weight))
}

#[derive(Debug, Clone, Copy)]
enum Direction {
    Up,
    Right,
    Down,
    Left,
}

impl Direction {
    const ALL: [Self; 4] = [Self::Up, Self::Right, Self::Down, Self::Left];

    /// Returns the arms that meet this one: across it towards the origin, across it away from it, straight on.
    fn other_directions(self) -> [Self; 3] {
        match self {
            Self::Up => [Self::Left, Self::Right, Self::Down],
            Self::Right => [Self::Up, Self::Down, Self::Left],
            Self::Down => [Self::Left, Self::Right, Self::Up],
            Self::Left => [Self::Up, Self::Down, Self::Right],
        }
    }

    fn is_vertical(self) -> bool {
        matches!(self, Self::Up | Self::Down)
    }

    fn weight(self, arms: u16) -> u16 {
        let shift = match self {
            Self::Up => 12,
            Self::Right => 8,
            Self::Down => 4,
            Self::Left => 0,
        };
        arms >> shift & 0xf
    }
}

fn arm(arms: u16, direction: Direction, at: Origin, ink: Rgb, shapes: &mut Shapes) {
    let weight = direction.weight(arms);
    let [near, far, opposite] = direction.other_directions().map(|other| other.weight(arms));
    let offsets: &[i32] = match weight {
        0 => &[],
        DOUBLE => &[-DOUBLE_OFFSET, DOUBLE_OFFSET],
        _ => &[0],
    };
    for &offset in offsets {
        let reach = match offset {
            0 => single_reach(near, far, opposite),
            ..0 => double_reach(near, far, opposite),
            _ => double_reach(far, near, opposite),
        };
        let (start, end) = span(direction, reach);
        shapes.block(ink, stroke(at, direction.is_vertical(), start, end, offset, half_width(weight)));
    }
}

/// Returns the pixels by which a stroke passes the centre; `None` if nothing crosses it and it ends at the middle of
/// the cell.
fn single_reach(near: u16, far: u16, opposite: u16) -> Option<i32> {
    match (near, far) {
        (0, 0) => None,
        (DOUBLE, DOUBLE) if opposite == 0 => Some(-DOUBLE_OFFSET),
        (DOUBLE, 0) | (0, DOUBLE) if opposite == 0 => Some(DOUBLE_OFFSET),
        _ => Some(half_width(near.max(far))),
    }
}

/// The same for one stroke of a double line; `beside` is the arm on its own side, `across` the other one.
fn double_reach(beside: u16, across: u16, opposite: u16) -> Option<i32> {
    match (beside, across) {
        (0, 0) => None,
        (DOUBLE, _) => Some(-DOUBLE_OFFSET),
        (0, DOUBLE) if opposite == 0 => Some(DOUBLE_OFFSET),
        _ => Some(0),
    }
}

/// Returns start and end of an arm along its own axis.
fn span(direction: Direction, reach: Option<i32>) -> (i32, i32) {
    let (centre, size) =
        if direction.is_vertical() { (CENTRE.1, CELL_HEIGHT) } else { (CENTRE.0, CELL_WIDTH) };
    match direction {
        Direction::Up | Direction::Left => (0, reach.map_or(centre, |reach| centre + reach + 1)),
        Direction::Down | Direction::Right => (centre - reach.unwrap_or(0), size),
    }
}

/// Returns the pixels on each side of the central one.
fn half_width(weight: u16) -> i32 {
    i32::from(weight == HEAVY)
}

fn stroke(at: Origin, vertical: bool, start: i32, end: i32, offset: i32, half: i32) -> PixelRect {
    let (length, thickness) = (end - start, 2 * half + 1);
    if vertical {
        PixelRect { x: at.x + CENTRE.0 + offset - half, y: at.y + start, width: thickness, height: length }
    } else {
        PixelRect { x: at.x + start, y: at.y + CENTRE.1 + offset - half, width: length, height: thickness }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pixels that a character sets, `#` and `.`, by rows.
    fn pixels(c: char) -> Vec<String> {
        let mut shapes = Shapes::default();
        assert!(draw(c, Origin { x: 0, y: 0 }, (0, 0, 0), &mut shapes), "{c} is not drawn");
        shapes.raster(CELL_WIDTH, CELL_HEIGHT)
    }

    /// The weight of the arm that the picture shows at the middle of an edge.
    fn shown(rows: &[String], direction: Direction) -> u16 {
        let edge: String = match direction {
            Direction::Up => rows[0].clone(),
            Direction::Down => rows[20].clone(),
            Direction::Left => rows.iter().map(|row| &row[..1]).collect(),
            Direction::Right => rows.iter().map(|row| &row[9..]).collect(),
        };
        match edge.trim_matches('.') {
            "" => 0,
            "#" => LIGHT,
            "###" => HEAVY,
            "#...#" => DOUBLE,
            other => panic!("{other:?} at an edge"),
        }
    }

    /// Whether the set pixels are connected, not counting corners.
    fn connected(rows: &[String]) -> bool {
        let set = |x: i32, y: i32| {
            usize::try_from(y).ok().and_then(|y| rows.get(y)).and_then(|row| row.as_bytes().get(x as usize))
                == Some(&b'#')
        };
        let all: Vec<(i32, i32)> = (0..21).flat_map(|y| (0..10).map(move |x| (x, y))).collect();
        let all: Vec<_> = all.into_iter().filter(|&(x, y)| set(x, y)).collect();
        let mut seen = vec![all[0]];
        let mut next = 0;
        while let Some(&(x, y)) = seen.get(next) {
            next += 1;
            for at in [(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)] {
                if set(at.0, at.1) && !seen.contains(&at) {
                    seen.push(at);
                }
            }
        }
        seen.len() == all.len()
    }

    #[test]
    fn every_arm_reaches_its_edge_in_its_weight() {
        for (index, arms) in ARMS.iter().enumerate().filter(|(_, arms)| **arms != 0) {
            let c = char::from_u32(0x2500 + index as u32).unwrap();
            let rows = pixels(c);
            for direction in Direction::ALL {
                assert_eq!(shown(&rows, direction), direction.weight(*arms), "{c} {direction:?}");
            }
        }
    }

    #[test]
    fn arms_without_a_double_line_are_connected() {
        for (index, _) in ARMS.iter().enumerate().filter(|(i, arms)| **arms != 0 && !(0x50..0x6d).contains(i))
        {
            let c = char::from_u32(0x2500 + index as u32).unwrap();
            assert!(connected(&pixels(c)), "{c} falls apart:\n{}", pixels(c).join("\n"));
        }
    }

    #[test]
    fn a_double_corner_closes_outside_and_inside() {
        let rows = pixels('╔');
        assert_eq!(rows[7], "..........");
        assert_eq!(rows[8], "...#######");
        assert_eq!(rows[9], "...#......");
        assert_eq!(rows[12], "...#...###");
        assert_eq!(rows[13], "...#...#..");
        assert!(connected(&pixels('╒')) && connected(&pixels('╓')) && connected(&pixels('╪')));
    }

    #[test]
    fn half_lines_fill_exactly_half_a_cell() {
        assert_eq!(pixels('╸')[10], "#####.....");
        assert_eq!(pixels('╺')[10], ".....#####");
        assert_eq!(pixels('╾')[9], "#####.....");
        assert_eq!(pixels('╾')[10], "##########");
    }

    #[test]
    fn dashes_keep_their_rhythm_from_cell_to_cell() {
        assert_eq!(pixels('┄')[10], ".###..###.");
        assert_eq!(pixels('┅').iter().filter(|row| row.contains('#')).count(), 3);
        let down: String = pixels('┊').iter().map(|row| &row[5..6]).collect();
        assert_eq!(down, "##.".repeat(7));
    }

    #[test]
    fn other_characters_are_not_drawn_as_lines() {
        for c in ['a', '╭', '╱', '█', '\u{10ffff}'] {
            assert!(!draw(c, Origin { x: 0, y: 0 }, (0, 0, 0), &mut Shapes::default()), "{c}");
        }
    }
}
