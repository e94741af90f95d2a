//! Terminal colours as RGB, because a picture has no terminal palette.

use ratatui::style::Color;

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
