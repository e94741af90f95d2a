//! The size of one part of a window: how many pieces, with how many chars and tokens.

use schemars::JsonSchema;
use serde::Serialize;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Tally {
    /// Messages, calls or blocks.
    pub count: u64,
    /// Chars as pi counts them.
    pub chars: u64,
    pub tokens: u64,
}

impl Tally {
    pub(super) fn add(&mut self, chars: u64, tokens: u64) {
        self.count += 1;
        self.chars += chars;
        self.tokens += tokens;
    }
}
