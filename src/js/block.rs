//! Examines 64 bytes of JSON text at once: the positions of its quotes and backslashes, and whether it contains
//! anything rarer. Text with a quote or a line feed in every line, such as code, has an escape every few words, so a
//! search for the next escape would stop too often.

#[cfg(test)]
use fearless_simd::Level;
use fearless_simd::prelude::*;
use fearless_simd::u8x64;

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
