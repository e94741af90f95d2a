//! Returns the recorded tokens of a context before its compaction: from the entry, or else from the provider's last
//! count.

use crate::ids::EntryIx;
use crate::store::entry::{EntryKind, Usage};
use crate::store::index::Index;
use crate::units::Tokens;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokensBefore {
    pub tokens: Tokens,
    /// A rule estimated the tokens, because neither the file nor the provider recorded them.
    pub is_estimate: bool,
}

impl TokensBefore {
    pub fn estimate(tokens: Tokens) -> Self {
        Self { tokens, is_estimate: true }
    }
}

/// Returns the tokens before the compaction at `place` of a path: `tokensBefore` of its entry, or else the last prompt
/// that the provider counted since the previous compaction or reset. `None` if neither is known.
pub fn recorded_tokens_before(index: &Index, path: &[EntryIx], place: usize) -> Option<TokensBefore> {
    let entry = index.entry(*path.get(place)?);
    let known = |tokens: f64| Some(TokensBefore { tokens: Tokens(tokens), is_estimate: false });
    if entry.payload_number.is_finite() && entry.payload_number > 0.0 {
        return known(entry.payload_number);
    }
    let same_context =
        |ix: &&EntryIx| !matches!(index.entry(**ix).kind, EntryKind::Compaction | EntryKind::Reset);
    let mut earlier = path[..place].iter().rev().take_while(same_context);
    let usage = earlier.find_map(|ix| index.entry(*ix).message?.usage.filter(Usage::has_prompt_tokens))?;
    known(usage.prompt_tokens().get())
}
