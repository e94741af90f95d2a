//! The branches of a transcript as a gateway lists them: where each ends, how much was said on it, and the last words
//! (sqlite F9, J4).

use crate::ids::EntryIx;
use crate::inspect::Inspection;
use crate::inspect::excerpt::excerpt;
use crate::redact::Secrets;
use crate::store::entry::EntryKind;
use crate::transcript::Leaf;

/// One branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchTip {
    /// The entry it ends at.
    pub leaf: EntryIx,
    /// The session stands there.
    pub active: bool,
    /// `message` entries from the root to there.
    pub messages: u64,
    /// What was said last.
    pub headline: String,
}

impl Inspection {
    /// Every branch, the active one first, then the newest.
    pub fn branch_tips(&self, secrets: Secrets) -> Vec<BranchTip> {
        let own = self.tree.leaf(&self.index, &Leaf::Own);
        let tip = |leaf: EntryIx| {
            let path = self.tree.walk(&self.index, leaf);
            let is_message = |ix: &&EntryIx| self.index.entry(**ix).kind == EntryKind::Message;
            let last = path.iter().rev().find(is_message);
            let words = last.and_then(|ix| excerpt(&self.source, &self.index, *ix).ok());
            BranchTip {
                leaf,
                active: own == Some(leaf),
                messages: path.iter().filter(is_message).count() as u64,
                headline: words.map(|words| words.shown(secrets).words()).unwrap_or_default(),
            }
        };
        self.tree.tips(&self.index).into_iter().map(tip).collect()
    }
}
