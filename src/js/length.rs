//! Counts the length of a string in JSON text without decoding its characters.

use fearless_simd::{Level, Simd, dispatch};

use super::block::{BLOCK, Block};
use super::stringify::units_of;

/// The measured string; the text is shorter than 4 GiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Length {
    /// The byte after its closing quote.
    pub(super) end: u32,
    /// UTF-16 units of the decoded string.
    pub(super) units: u32,
    /// UTF-16 units of its JSON text as JavaScript writes it, quotes included.
    pub(super) json: u32,
    pub(super) escapes: u32,
}

impl Length {
    /// Packs the length into two numbers; the first is 0 for `None`. They travel in registers: strings are many and
    /// short, and writing a struct in small parts and reading it in large ones costs more than counting one.
    fn pack(length: Option<Self>) -> (u64, u64) {
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        length.map_or((0, 0), |length| (pair(length.end, length.units), pair(length.json, length.escapes)))
    }

    fn unpack((first, second): (u64, u64)) -> Option<Self> {
        let [end, units, json, escapes] = [first >> 32, first, second >> 32, second].map(|part| part as u32);
        (end > 0).then_some(Self { end, units, json, escapes })
    }
}

/// Measures the string whose first character, after the opening quote, is at `from`. Returns `None` for an invalid
/// string; [`Scanner::string`](super::scan::Scanner::string) finds the reason.
pub(super) fn length(text: &str, from: usize) -> Option<Length> {
    if let Some(short) = short_length(text.as_bytes(), from) {
        return Some(short);
    }
    let packed = dispatch!(Level::new(), simd => Length::pack(length_by(simd, text.as_bytes(), from)));
    Length::unpack(packed)
}

/// Bytes of a short string, which is counted faster one by one: nearly all keys and many values.
const SHORT: usize = 24;

/// Measures a short string of ASCII without escapes.
fn short_length(text: &[u8], from: usize) -> Option<Length> {
    let rest = text.get(from..)?;
    let is_plain = |byte: &u8| matches!(byte, 0x20..=0x21 | 0x23..=0x5B | 0x5D..=0x7F);
    let units = rest.iter().take(SHORT).position(|byte| !is_plain(byte))?;
    let count = units as u32;
    (rest[units] == b'"').then_some(Length {
        end: (from + units) as u32 + 1,
        units: count,
        json: count + 2,
        escapes: 0,
    })
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
        // Everything before the closing quote; the whole block if it has none.
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

/// The difference between the bytes of a string and its units.
#[derive(Debug, Default)]
struct LengthCounter {
    /// Continuation bytes, minus the characters with two units.
    fewer: isize,
    /// Backslashes that escape.
    escapes: usize,
    /// Bytes of `\u` escapes beyond a backslash and a unit.
    hex: usize,
    /// Units of the JSON text beyond those of the source.
    json: isize,
    /// The end of an escaped high surrogate, which an escaped low one directly after it completes.
    high_end: Option<usize>,
}

#[expect(clippy::inline_always, reason = "only what is inlined is made of the instructions that were chosen")]
impl LengthCounter {
    #[inline(always)]
    fn characters<S: Simd>(&mut self, block: Block<S>, inside: u64) {
        let (continued, wide) = block.continuation_and_wide();
        self.fewer += (continued & inside).count_ones() as isize - (wide & inside).count_ones() as isize;
    }

    /// Counts the escapes of the block at `at`. Nearly all are quotes, backslashes and line feeds, whose JSON text is
    /// the same.
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

    /// Counts a six-byte escape with its `u` at `place`.
    fn unit(&mut self, unit: u16, place: usize) {
        self.hex += 4;
        self.json += match unit {
            0xDC00..=0xDFFF if self.high_end.is_some_and(|end| end + 1 == place) => -10,
            0xD800..=0xDBFF => {
                self.high_end = Some(place + 5);
                return;
            }
            0xDC00..=0xDFFF => 0,
            _ => units_of(unit) as isize - 6,
        };
        self.high_end = None;
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

    #[test]
    fn a_low_surrogate_at_the_very_start_completes_none() {
        let text = r#"\udca00""#;
        assert_eq!(length(text, 0), length_of(text));
    }

    /// Measures with the scanner, character by character.
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
