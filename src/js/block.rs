//! Sixty-four bytes of JSON text looked at at once: where its quotes and backslashes are, whether it holds anything that is
//! rarer. A text with a quote or a line feed in every line of code it holds has an escape every few words.

#[cfg(test)]
use fearless_simd::Level;
use fearless_simd::prelude::*;
use fearless_simd::u8x64;

/// Bytes of a block.
pub(super) const BLOCK: usize = 64;

/// A block; in its masks bit 0 stands for its first byte.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block<S: Simd> {
    bytes: u8x64<S>,
    /// Where it has quotes.
    pub(super) quotes: u64,
    /// Where it has backslashes.
    pub(super) backslashes: u64,
    /// Where it has control characters, which no string may hold as they are.
    pub(super) controls: u64,
    /// It holds a byte beyond ASCII somewhere.
    pub(super) has_non_ascii: bool,
}

#[expect(clippy::inline_always, reason = "only what is inlined is made of the instructions that were chosen")]
impl<S: Simd> Block<S> {
    /// The block that begins at a byte of a text; behind the text's end it holds spaces.
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

    /// Where it has a byte.
    #[inline(always)]
    pub(super) fn byte_mask(self, byte: u8) -> u64 {
        self.bytes.simd_eq(byte).to_bitmask()
    }

    /// Where characters go on, and where those of four bytes begin: in UTF-16 the former count nothing, the latter two.
    #[inline(always)]
    pub(super) fn continuation_and_wide(self) -> (u64, u64) {
        let continued = (self.bytes & 0xC0).simd_eq(0x80).to_bitmask();
        (continued, self.bytes.simd_ge(0xF0).to_bitmask())
    }

    /// The bytes that a backslash before them escapes. `carried` is 1 where the first byte is one of them, and afterwards
    /// where the first byte of the next block is.
    ///
    /// Backslashes in a row escape each other by pairs, so it is the ones at even places of a row that escape. Adding the
    /// odd-numbered starts of rows to the rows lets each carry flip the places behind. Nothing is asked first: whether a block
    /// has backslashes at all nobody can foretell.
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

/// Every set of instructions that this machine has.
#[cfg(test)]
pub(super) fn simd_levels() -> Vec<Level> {
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
