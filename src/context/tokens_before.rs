//! The tokens of a context before it was compacted: by the file, else by the provider's last count.

use crate::ids::EntryIx;
use crate::store::entry::{EntryKind, Usage};
use crate::store::index::Index;

/// Tokens before a compaction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokensBefore {
    /// The tokens.
    pub tokens: f64,
    /// A rule estimated them: neither the file nor the provider says how many there were.
    pub is_estimate: bool,
}

impl TokensBefore {
    /// Tokens that a rule estimated.
    pub fn estimate(tokens: f64) -> Self {
        Self { tokens, is_estimate: true }
    }
}

/// The tokens before the compaction that stands at `place` of a path: `tokensBefore` of its entry, else the last prompt
/// that the provider counted since the compaction or reset before it. None where neither is known.
pub fn recorded_tokens_before(index: &Index, path: &[EntryIx], place: usize) -> Option<TokensBefore> {
    let entry = index.entry(*path.get(place)?);
    let known = |tokens: f64| Some(TokensBefore { tokens, is_estimate: false });
    if entry.payload_number.is_finite() && entry.payload_number > 0.0 {
        return known(entry.payload_number);
    }
    let same_context =
        |ix: &&EntryIx| !matches!(index.entry(**ix).kind, EntryKind::Compaction | EntryKind::Reset);
    let mut earlier = path[..place].iter().rev().take_while(same_context);
    let usage = earlier.find_map(|ix| index.entry(*ix).message?.usage.filter(Usage::has_prompt_tokens))?;
    known(usage.prompt_tokens())
}
