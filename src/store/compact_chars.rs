//! A count of chars in 4 bytes, for records of which an index holds millions.

use std::fmt;
use std::iter::Sum;

use derive_more::{Add, AddAssign, SubAssign};

use crate::units::Chars;

/// Whole chars in a record of the index; rules read them with [`CompactChars::get`].
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Add, AddAssign, SubAssign)]
pub struct CompactChars(u32);

impl CompactChars {
    pub const ZERO: Self = Self(0);

    /// Returns the length of a text; one beyond 4 billion is longer than any line that is read.
    pub const fn from_len(units: usize) -> Self {
        Self(units as u32)
    }

    /// Returns the chars as the rules count them.
    pub fn get(self) -> Chars {
        Chars::from(self.0)
    }
}

/// Drops a fraction; negative chars are 0.
impl From<Chars> for CompactChars {
    fn from(chars: Chars) -> Self {
        Self(chars.get() as u32)
    }
}

impl fmt::Debug for CompactChars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Sum for CompactChars {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::ZERO, |sum, part| sum + part)
    }
}
