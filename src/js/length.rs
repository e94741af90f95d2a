//! How long a string of a JSON text is, counted without reading it character by character.

use fearless_simd::{Level, Simd, dispatch};

use super::block::{BLOCK, Block};
use super::stringify::units_of;

/// A string of a JSON text, counted; the text is shorter than 4 GiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Length {
    /// Byte after its closing quote.
    pub(super) end: u32,
    /// UTF-16 units of what it says.
    pub(super) units: u32,
    /// UTF-16 units of its JSON text as JavaScript writes it, quotes included.
    pub(super) json: u32,
    /// How many escapes it has.
    pub(super) escapes: u32,
}

impl Length {
    /// Two numbers for it, 0 first where there is none. They are handed on in registers: strings are many and short, and what
    /// is written in small parts and read in large ones costs more than counting one.
    fn pack(length: Option<Self>) -> (u64, u64) {
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        length.map_or((0, 0), |length| (pair(length.end, length.units), pair(length.json, length.escapes)))
    }

    fn unpack((first, second): (u64, u64)) -> Option<Self> {
        let [end, units, json, escapes] = [first >> 32, first, second >> 32, second].map(|part| part as u32);
        (end > 0).then_some(Self { end, units, json, escapes })
    }
}

/// Counts the string whose first character, behind its opening quote, is at `from`. `None` where it is no string: it does
/// not end, or holds something that it must not; [`Scanner::string`](super::scan::Scanner::string) tells what.
pub(super) fn length(text: &str, from: usize) -> Option<Length> {
    let packed = dispatch!(Level::new(), simd => Length::pack(length_by(simd, text.as_bytes(), from)));
    Length::unpack(packed)
}

#[expect(clippy::inline_always, reason = "only what is inlined is made of the instructions that were chosen")]
#[inline(always)]
fn length_by<S: Simd>(simd: S, text: &[u8], from: usize) -> Option<Length> {
    let mut count = LengthCounter::default();
    let mut carried = 0;
    let mut at = from;
    while at < text.len() {
        let block = Block::at(simd, text, at);
        let escaped = block.escaped(&mut carried);
        let ends = block.quotes & !escaped;
        // Everything before the first quote that ends it; the whole block where there is none.
        let inside = (ends & ends.wrapping_neg()).wrapping_sub(1);
        if block.controls & inside != 0 {
            return None;
        }
        if block.has_non_ascii {
            count.characters(block, inside);
        }
        count.escapes(text, at, block, escaped & inside)?;
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
struct LengthCounter {
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

#[expect(clippy::inline_always, reason = "only what is inlined is made of the instructions that were chosen")]
impl LengthCounter {
    #[inline(always)]
    fn characters<S: Simd>(&mut self, block: Block<S>, inside: u64) {
        let (continued, wide) = block.continuation_and_wide();
        self.fewer += (continued & inside).count_ones() as isize - (wide & inside).count_ones() as isize;
    }

    /// Counts the escapes of a block that begins at `at`. Nearly all are quotes, backslashes and line feeds, and are
    /// written again as they are.
    #[inline(always)]
    fn escapes<S: Simd>(&mut self, text: &[u8], at: usize, block: Block<S>, escaped: u64) -> Option<()> {
        self.escapes += escaped.count_ones() as usize;
        let mut others = escaped & !(block.quotes | block.backslashes | block.byte_mask(b'n'));
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
            end: quote as u32 + 1,
            units: (units - self.escapes - self.hex) as u32,
            json: (units as isize + self.json) as u32 + 2,
            escapes: self.escapes as u32,
        }
    }
}

/// Four hexadecimal digits.
fn hex(digits: &[u8]) -> Option<u16> {
    digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)? as u16))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::js::block::simd_levels;
    use crate::js::scan::{CharacterSink, Scanner};
    use crate::js::{JsString, stringify_str};

    proptest! {
        #[test]
        fn every_set_of_instructions_counts_alike(text in r#"([ -~]|\\[nt"\\/u]|[0-9a-f]{4}|[é字😀\x01]){0,90}""#) {
            let counted = simd_levels().into_iter().map(|level| {
                dispatch!(level, simd => Length::pack(length_by(simd, text.as_bytes(), 0)))
            });
            let counted: Vec<_> = counted.map(Length::unpack).collect();
            prop_assert!(counted.iter().all(|length| *length == length_of(&text)), "{:?}", counted);
        }
    }

    /// The same as the scanner reads it, character by character.
    fn length_of(text: &str) -> Option<Length> {
        struct Counted {
            units: Vec<u16>,
            escapes: u32,
        }
        impl CharacterSink for Counted {
            fn run(&mut self, run: &str) {
                self.units.extend(run.encode_utf16());
            }

            fn unit(&mut self, unit: u16) {
                self.units.push(unit);
                self.escapes += 1;
            }
        }
        let quoted = format!("\"{text}");
        let mut scanner = Scanner::new(&quoted);
        let mut counted = Counted { units: Vec::new(), escapes: 0 };
        scanner.string(&mut counted).ok()?;
        let units = counted.units.len() as u32;
        let json = stringify_str(&JsString::from(counted.units));
        Some(Length {
            end: scanner.at() as u32 - 1,
            units,
            json: json.encode_utf16().count() as u32,
            escapes: counted.escapes,
        })
    }
}
