//! Lists a transcript's branches as a gateway does: the end of each, its message count and its last words (sqlite F9,
//! J4).

use schemars::JsonSchema;
use serde::Serialize;

use crate::ids::EntryIx;
use crate::redact::SecretDisplay;
use crate::session::LoadedSession;
use crate::session::message::excerpt::read_excerpt;
use crate::store::entry::EntryKind;
use crate::transcript::Leaf;

/// A branch, as the gateway's branch list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BranchTip {
    /// The last entry of the branch.
    pub leaf: String,
    /// Whether this is the session's active branch.
    pub active: bool,
    /// Number of `message` entries from the root to the leaf.
    pub messages: u64,
    /// The last words of the branch.
    pub headline: String,
}

impl LoadedSession {
    /// Returns every branch: the active one first, then newest first.
    pub fn branch_tips(&self, secrets: SecretDisplay) -> Vec<BranchTip> {
        let own = self.tree.leaf(&self.index, &Leaf::Own);
        let tip = |leaf: EntryIx| {
            let path = self.tree.path_to(&self.index, leaf);
            let is_message = |ix: &&EntryIx| self.index.entry(**ix).kind == EntryKind::Message;
            let last = path.iter().rev().find(is_message);
            let words = last.and_then(|ix| read_excerpt(&self.source, &self.index, *ix).ok());
            BranchTip {
                leaf: self.index.display_id(leaf),
                active: own == Some(leaf),
                messages: path.iter().filter(is_message).count() as u64,
                headline: words
                    .map(|words| words.with_secrets(secrets).text_with_envelope())
                    .unwrap_or_default(),
            }
        };
        self.tree.tips(&self.index).into_iter().map(tip).collect()
    }
}
