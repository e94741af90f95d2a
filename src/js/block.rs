//! Sixty-four bytes of JSON text looked at at once: where its quotes and backslashes are, whether it holds anything that is
//! rarer. A text with a quote or a line feed in every line of code it holds has an escape every few words.

use wide::u8x16;

/// Bytes of a block.
pub(super) const BLOCK: usize = 64;

/// A block; in its masks bit 0 stands for its first byte.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    lanes: [u8x16; 4],
    /// Where it has quotes.
    pub(super) quotes: u64,
    /// Where it has backslashes.
    pub(super) backslashes: u64,
    /// It holds a control character somewhere.
    pub(super) has_controls: bool,
    /// It holds a byte beyond ASCII somewhere.
    pub(super) has_high: bool,
}

impl Block {
    /// The block that begins at a byte of a text; behind the text's end it holds spaces.
    #[inline]
    pub(super) fn at(text: &[u8], at: usize) -> Self {
        let rest = &text[at.min(text.len())..];
        if let Some(bytes) = rest.first_chunk::<BLOCK>() {
            return Self::of(bytes);
        }
        let mut bytes = [b' '; BLOCK];
        bytes[..rest.len()].copy_from_slice(rest);
        Self::of(&bytes)
    }

    #[inline]
    fn of(bytes: &[u8; BLOCK]) -> Self {
        let (chunks, _) = bytes.as_chunks::<16>();
        // One by one: `map` of an array is not always inlined, and costs ten times what it does.
        let lanes =
            [u8x16::new(chunks[0]), u8x16::new(chunks[1]), u8x16::new(chunks[2]), u8x16::new(chunks[3])];
        let all = lanes[0] | lanes[1] | lanes[2] | lanes[3];
        let least = lanes[0].min(lanes[1]).min(lanes[2].min(lanes[3]));
        Self {
            lanes,
            quotes: mask(lanes, |lane| lane.simd_eq(u8x16::splat(b'"'))),
            backslashes: mask(lanes, |lane| lane.simd_eq(u8x16::splat(b'\\'))),
            has_controls: is_control(least).any(),
            has_high: all.to_bitmask() != 0,
        }
    }

    /// Where it has a byte.
    #[inline]
    pub(super) fn places(self, byte: u8) -> u64 {
        mask(self.lanes, |lane| lane.simd_eq(u8x16::splat(byte)))
    }

    /// Where it has control characters, which no string may hold as they are.
    #[inline]
    pub(super) fn controls(self) -> u64 {
        mask(self.lanes, is_control)
    }

    /// Where characters go on, and where those of four bytes begin: in UTF-16 the former count nothing, the latter two.
    #[inline]
    pub(super) fn continued_and_wide(self) -> (u64, u64) {
        let top = u8x16::splat(0xC0);
        let continued = mask(self.lanes, |lane| (lane & top).simd_eq(u8x16::splat(0x80)));
        (continued, mask(self.lanes, |lane| lane.simd_ge(u8x16::splat(0xF0))))
    }

    /// The bytes that a backslash before them escapes. `carried` is 1 where the first byte is one of them, and afterwards
    /// where the first byte of the next block is.
    ///
    /// Backslashes in a row escape each other by pairs, so it is the ones at even places of a row that escape. Adding the
    /// odd-numbered starts of rows to the rows lets each carry flip the places behind.
    #[inline]
    pub(super) fn escaped(self, carried: &mut u64) -> u64 {
        const EVEN: u64 = 0x5555_5555_5555_5555;
        if self.backslashes == 0 {
            return std::mem::take(carried);
        }
        let backslashes = self.backslashes & !*carried;
        let followers = backslashes << 1 | *carried;
        let odd_starts = backslashes & !EVEN & !followers;
        let (rows, beyond) = odd_starts.overflowing_add(backslashes);
        *carried = u64::from(beyond);
        (EVEN ^ (rows << 1)) & followers
    }
}

#[inline]
fn is_control(lane: u8x16) -> u8x16 {
    lane.min(u8x16::splat(0x1F)).simd_eq(lane)
}

#[inline]
fn mask(lanes: [u8x16; 4], test: impl Fn(u8x16) -> u8x16) -> u64 {
    let bits = |lane: u8x16| u64::from(test(lane).to_bitmask());
    bits(lanes[0]) | bits(lanes[1]) << 16 | bits(lanes[2]) << 32 | bits(lanes[3]) << 48
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn places(text: &[u8], is: impl Fn(u8) -> bool) -> u64 {
        text.iter().take(BLOCK).enumerate().filter(|(_, byte)| is(**byte)).map(|(at, _)| 1 << at).sum()
    }

    proptest! {
        #[test]
        fn a_block_knows_where_its_bytes_are(
            text in proptest::collection::vec(prop_oneof![Just(b'"'), Just(b'\\'), any::<u8>()], 0..80),
        ) {
            let block = Block::at(&text, 0);
            prop_assert_eq!(block.quotes, places(&text, |byte| byte == b'"'));
            prop_assert_eq!(block.backslashes, places(&text, |byte| byte == b'\\'));
            prop_assert_eq!(block.controls(), places(&text, |byte| byte < 0x20));
            prop_assert_eq!(block.has_controls, block.controls() != 0);
            prop_assert_eq!(block.has_high, places(&text, |byte| byte >= 0x80) != 0);
            let (continued, wide) = block.continued_and_wide();
            prop_assert_eq!(continued, places(&text, |byte| byte & 0xC0 == 0x80));
            prop_assert_eq!(wide, places(&text, |byte| byte >= 0xF0));
        }

        #[test]
        fn every_second_backslash_of_a_row_escapes_across_blocks(
            text in proptest::collection::vec(prop_oneof![4 => Just(b'\\'), 1 => Just(b'x')], 0..400),
        ) {
            let mut expected = vec![false; text.len() + 1];
            for at in 0..text.len() {
                expected[at + 1] = text[at] == b'\\' && !expected[at];
            }
            let mut carried = 0;
            for begin in (0..text.len()).step_by(BLOCK) {
                let escaped = Block::at(&text, begin).escaped(&mut carried);
                for (bit, expected) in expected[begin..text.len()].iter().take(BLOCK).enumerate() {
                    prop_assert_eq!(escaped >> bit & 1 == 1, *expected, "byte {}", begin + bit);
                }
            }
        }
    }
}
