//! How long a string of a JSON text is, counted without reading it character by character.

use super::block::{BLOCK, Block};
use super::stringify::units_of;

/// A string of a JSON text, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Length {
    /// Byte after its closing quote.
    pub(super) end: usize,
    /// UTF-16 units of what it says.
    pub(super) units: usize,
    /// UTF-16 units of its JSON text as JavaScript writes it, quotes included.
    pub(super) json: usize,
    /// It has escapes.
    pub(super) escaped: bool,
}

/// Counts the string whose first character, behind its opening quote, is at `from`. `None` where it is no string: it does
/// not end, or holds something that it must not; [`Scanner::string`](super::scan::Scanner::string) tells what.
pub(super) fn length(text: &str, from: usize) -> Option<Length> {
    let text = text.as_bytes();
    let mut count = Count::default();
    let mut carried = 0;
    let mut at = from;
    while at < text.len() {
        let block = Block::at(text, at);
        let escaped = block.escaped(&mut carried);
        let ends = block.quotes & !escaped;
        // Everything before the first quote that ends it; the whole block where there is none.
        let inside = (ends & ends.wrapping_neg()).wrapping_sub(1);
        if block.has_controls && block.controls() & inside != 0 {
            return None;
        }
        if block.has_high {
            count.characters(block, inside);
        }
        if escaped & inside != 0 {
            count.escapes(text, at, block, escaped & inside)?;
        }
        if ends != 0 {
            let end = at + ends.trailing_zeros() as usize;
            return Some(count.length(from, end));
        }
        at += BLOCK;
    }
    None
}

/// What the bytes of a string are more or less than its units.
#[derive(Debug, Default)]
struct Count {
    /// Bytes that go on a character, less the characters that are two units.
    fewer: isize,
    /// Backslashes that escape.
    escapes: usize,
    /// Bytes of `\u` escapes beyond a backslash and a unit.
    hex: usize,
    /// Units that the JSON text has more than what stands there.
    json: isize,
    /// Where an escaped high surrogate ends, which an escaped low one right behind completes.
    high_end: usize,
}

impl Count {
    fn characters(&mut self, block: Block, inside: u64) {
        let (continued, wide) = block.continued_and_wide();
        self.fewer += (continued & inside).count_ones() as isize - (wide & inside).count_ones() as isize;
    }

    /// Counts the escapes of a block that begins at `at`. Nearly all are quotes, backslashes and line feeds, and are
    /// written again as they are.
    fn escapes(&mut self, text: &[u8], at: usize, block: Block, escaped: u64) -> Option<()> {
        self.escapes += escaped.count_ones() as usize;
        let mut others = escaped & !(block.quotes | block.backslashes);
        if others != 0 {
            others &= !block.places(b'n');
        }
        while others != 0 {
            let place = at + others.trailing_zeros() as usize;
            others &= others - 1;
            match text.get(place)? {
                b't' | b'r' | b'b' | b'f' => {}
                b'/' => self.json -= 1,
                b'u' => self.unit(hex(text.get(place + 1..place + 5)?)?, place),
                _ => return None,
            }
        }
        Some(())
    }

    /// An escape of six bytes, its `u` at `place`.
    fn unit(&mut self, unit: u16, place: usize) {
        self.hex += 4;
        self.json += match unit {
            0xDC00..=0xDFFF if self.high_end + 1 == place => -10,
            0xD800..=0xDBFF => {
                self.high_end = place + 5;
                return;
            }
            0xDC00..=0xDFFF => 0,
            _ => units_of(unit) as isize - 6,
        };
        self.high_end = 0;
    }

    fn length(self, from: usize, quote: usize) -> Length {
        let units = ((quote - from) as isize - self.fewer) as usize;
        Length {
            end: quote + 1,
            units: units - self.escapes - self.hex,
            json: (units as isize + self.json) as usize + 2,
            escaped: self.escapes > 0,
        }
    }
}

/// Four hexadecimal digits.
fn hex(digits: &[u8]) -> Option<u16> {
    digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)? as u16))
}
