//! The size of one part of a window: how many pieces, with how many chars and tokens.

use schemars::JsonSchema;
use serde::Serialize;

use crate::units::{Chars, serialize_whole};

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Tally {
    /// Messages, calls or blocks.
    pub count: u64,
    /// Chars as pi counts them.
    #[serde(serialize_with = "serialize_whole")]
    #[schemars(with = "u64")]
    pub chars: Chars,
    pub tokens: u64,
}

impl Tally {
    pub(super) fn add(&mut self, chars: Chars, tokens: u64) {
        self.count += 1;
        self.chars += chars;
        self.tokens += tokens;
    }
}
