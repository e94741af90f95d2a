//! A small seeded generator (`SplitMix64`), so that the demo store has the same bytes on every run and platform.

/// Random numbers that depend only on the seed text.
#[derive(Debug, Clone)]
pub(super) struct Rng(u64);

impl Rng {
    /// Seeds with the FNV-1a hash of the text.
    pub(super) fn new(seed: &str) -> Self {
        let hash = seed.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Self(hash)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number in `low..=high`.
    pub(super) fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    /// Returns true once in `n` calls on average.
    pub(super) fn one_in(&mut self, n: u64) -> bool {
        self.next().is_multiple_of(n)
    }

    /// Returns one of `items`, which must not be empty.
    pub(super) fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[(self.next() % items.len() as u64) as usize]
    }

    /// Returns `len` characters of `alphabet`.
    pub(super) fn text(&mut self, alphabet: &[u8], len: usize) -> String {
        (0..len).map(|_| char::from(alphabet[(self.next() % alphabet.len() as u64) as usize])).collect()
    }

    /// Returns `len` lower-case hex digits.
    pub(super) fn hex(&mut self, len: usize) -> String {
        self.text(b"0123456789abcdef", len)
    }

    /// Returns `len` letters and digits, as in provider ids.
    pub(super) fn base62(&mut self, len: usize) -> String {
        self.text(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", len)
    }

    /// Returns `len` characters of the base64 alphabet.
    pub(super) fn base64(&mut self, len: usize) -> String {
        self.text(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", len)
    }

    /// Returns a random (version 4) UUID.
    pub(super) fn uuid(&mut self) -> String {
        let digits = self.hex(30);
        let variant = self.text(b"89ab", 1);
        format!(
            "{}-{}-4{}-{variant}{}-{}",
            &digits[..8],
            &digits[8..12],
            &digits[12..15],
            &digits[15..18],
            &digits[18..]
        )
    }
}
