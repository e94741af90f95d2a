//! Returns the recorded tokens of a context before its compaction: from the entry, or else from the provider's last
//! count.

use serde::Serialize;

use crate::context::tokens::chars4::estimate_or_zero;
use crate::ids::EntryIx;
use crate::store::entry::{EntryKind, Usage};
use crate::store::index::Index;
use crate::units::{Rounded, Tokens};

/// Share of the last count that a recorded number of tokens can exceed.
const MAX_RECORDED_RATIO: f64 = 3.0;

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(transparent)]
pub struct TokensBefore {
    #[serde(with = "Rounded")]
    pub tokens: Tokens,
    /// A rule estimated the tokens, because neither the file nor the provider recorded them.
    #[serde(skip)]
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
    let same_context =
        |ix: &&EntryIx| !matches!(index.entry(**ix).kind, EntryKind::Compaction | EntryKind::Reset);
    let mut since = 0;
    let usage = path[..place].iter().rev().take_while(same_context).find_map(|ix| {
        let size = index.entry(*ix).message?;
        since += estimate_or_zero(&size);
        size.usage.filter(Usage::has_prompt_tokens)
    });
    let recorded = Some(entry.payload_number).filter(|tokens| tokens.is_finite() && *tokens > 0.0);
    let counted = usage.map(|usage| usage.prompt_tokens().get());
    // A number far above the last count and all messages since is a sum of calls.
    let largest = counted.map_or(f64::INFINITY, |counted| (counted + since as f64) * MAX_RECORDED_RATIO);
    known(recorded.filter(|tokens| *tokens <= largest).or(counted)?)
}
