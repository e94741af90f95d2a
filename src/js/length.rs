//! Counts the length of a string in JSON text without decoding its characters.

use fearless_simd::prelude::*;
use fearless_simd::{Level, Simd, dispatch, u8x64};

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

// Examines 64 bytes of JSON text at once: the positions of its quotes and backslashes, and whether it contains
// anything rarer. Text with a quote or a line feed in every line, such as code, has an escape every few words, so a
// search for the next escape would stop too often.

pub(super) const BLOCK: usize = 64;

/// A block of bytes; in its masks bit 0 is the first byte.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block<S: Simd> {
    bytes: u8x64<S>,
    pub(super) quotes: u64,
    pub(super) backslashes: u64,
    /// Control characters, which a string must not contain unescaped.
    pub(super) controls: u64,
    pub(super) has_non_ascii: bool,
}

#[expect(clippy::inline_always, reason = "only what is inlined is made of the instructions that were chosen")]
impl<S: Simd> Block<S> {
    /// Loads the block at a byte of a text; spaces fill it after the end of the text.
    #[inline(always)]
    pub(super) fn at(simd: S, text: &[u8], at: usize) -> Self {
        let rest = &text[at.min(text.len())..];
        if let Some(bytes) = rest.first_chunk::<BLOCK>() {
            return Self::of(simd, bytes);
        }
        let mut bytes = [b' '; BLOCK];
        bytes[..rest.len()].copy_from_slice(rest);
        Self::of(simd, &bytes)
    }

    #[inline(always)]
    fn of(simd: S, bytes: &[u8; BLOCK]) -> Self {
        let bytes = u8x64::from_slice(simd, bytes);
        Self {
            bytes,
            quotes: bytes.simd_eq(b'"').to_bitmask(),
            backslashes: bytes.simd_eq(b'\\').to_bitmask(),
            controls: bytes.simd_lt(b' ').to_bitmask(),
            has_non_ascii: bytes.simd_ge(0x80).any_true(),
        }
    }

    #[inline(always)]
    pub(super) fn byte_mask(self, byte: u8) -> u64 {
        self.bytes.simd_eq(byte).to_bitmask()
    }

    /// Masks of continuation bytes and of the first bytes of four-byte characters: in UTF-16 the former count 0, the
    /// latter 2.
    #[inline(always)]
    pub(super) fn continuation_and_wide(self) -> (u64, u64) {
        let continued = (self.bytes & 0xC0).simd_eq(0x80).to_bitmask();
        (continued, self.bytes.simd_ge(0xF0).to_bitmask())
    }

    /// Masks the bytes that a backslash escapes. `carried` is 1 if the first byte is one of them, and is set to 1 if
    /// the first byte of the next block is.
    ///
    /// Backslashes in a row escape each other in pairs, so those at even positions of a row escape. Adding the odd
    /// starts of rows to the rows lets each carry flip the positions after it. There is no test for blocks without
    /// backslashes, because the branch would be unpredictable.
    #[inline(always)]
    pub(super) fn escaped(self, carried: &mut u64) -> u64 {
        const EVEN: u64 = 0x5555_5555_5555_5555;
        let backslashes = self.backslashes & !*carried;
        let followers = backslashes << 1 | *carried;
        let odd_starts = backslashes & !EVEN & !followers;
        let (rows, beyond) = odd_starts.overflowing_add(backslashes);
        *carried = u64::from(beyond);
        (EVEN ^ (rows << 1)) & followers
    }
}

/// Lists every SIMD level of this machine.
#[cfg(test)]
fn simd_levels() -> Vec<Level> {
    let level = Level::new();
    #[cfg(target_arch = "x86_64")]
    let lower = [
        level.as_sse2().map(Simd::level),
        level.as_sse4_2().map(Simd::level),
        level.as_avx2().map(Simd::level),
    ];
    #[cfg(not(target_arch = "x86_64"))]
    let lower = [Some(Level::baseline())];
    lower.into_iter().flatten().chain([level]).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::js::length::simd_levels;
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

#[cfg(test)]
mod block_tests {
    use fearless_simd::dispatch;
    use proptest::prelude::*;

    use super::*;

    fn places(text: &[u8], is: impl Fn(u8) -> bool) -> u64 {
        text.iter().take(BLOCK).enumerate().filter(|(_, byte)| is(**byte)).map(|(at, _)| 1 << at).sum()
    }

    fn check_places<S: Simd>(simd: S, text: &[u8]) -> Result<(), TestCaseError> {
        let block = Block::at(simd, text, 0);
        prop_assert_eq!(block.quotes, places(text, |byte| byte == b'"'));
        prop_assert_eq!(block.backslashes, places(text, |byte| byte == b'\\'));
        prop_assert_eq!(block.controls, places(text, |byte| byte < 0x20));
        prop_assert_eq!(block.has_non_ascii, places(text, |byte| byte >= 0x80) != 0);
        prop_assert_eq!(block.byte_mask(b'n'), places(text, |byte| byte == b'n'));
        let (continued, wide) = block.continuation_and_wide();
        prop_assert_eq!(continued, places(text, |byte| byte & 0xC0 == 0x80));
        prop_assert_eq!(wide, places(text, |byte| byte >= 0xF0));
        Ok(())
    }

    fn check_escaped<S: Simd>(simd: S, text: &[u8]) -> Result<(), TestCaseError> {
        let mut expected = vec![false; text.len() + 1];
        for at in 0..text.len() {
            expected[at + 1] = text[at] == b'\\' && !expected[at];
        }
        let mut carried = 0;
        for begin in (0..text.len()).step_by(BLOCK) {
            let escaped = Block::at(simd, text, begin).escaped(&mut carried);
            for (bit, expected) in expected[begin..text.len()].iter().take(BLOCK).enumerate() {
                prop_assert_eq!(escaped >> bit & 1 == 1, *expected, "byte {}", begin + bit);
            }
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn a_block_knows_where_its_bytes_are(
            text in proptest::collection::vec(prop_oneof![Just(b'"'), Just(b'\\'), any::<u8>()], 0..80),
        ) {
            for level in simd_levels() {
                dispatch!(level, simd => check_places(simd, &text))?;
            }
        }

        #[test]
        fn every_second_backslash_of_a_row_escapes_across_blocks(
            text in proptest::collection::vec(prop_oneof![4 => Just(b'\\'), 1 => Just(b'x')], 0..400),
        ) {
            for level in simd_levels() {
                dispatch!(level, simd => check_escaped(simd, &text))?;
            }
        }
    }
}
