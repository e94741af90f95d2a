//! The branches of a transcript as a gateway lists them: where each ends, how much was said on it, and the last words
//! (sqlite F9, J4).

use crate::ids::EntryIx;
use crate::redact::SecretDisplay;
use crate::session::LoadedSession;
use crate::session::message::excerpt::read_excerpt;
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
    pub last_words: String,
}

impl LoadedSession {
    /// Every branch, the active one first, then the newest.
    pub fn branch_tips(&self, secrets: SecretDisplay) -> Vec<BranchTip> {
        let own = self.tree.leaf(&self.index, &Leaf::Own);
        let tip = |leaf: EntryIx| {
            let path = self.tree.path_to(&self.index, leaf);
            let is_message = |ix: &&EntryIx| self.index.entry(**ix).kind == EntryKind::Message;
            let last = path.iter().rev().find(is_message);
            let words = last.and_then(|ix| read_excerpt(&self.source, &self.index, *ix).ok());
            BranchTip {
                leaf,
                active: own == Some(leaf),
                messages: path.iter().filter(is_message).count() as u64,
                last_words: words
                    .map(|words| words.with_secrets(secrets).text_with_envelope())
                    .unwrap_or_default(),
            }
        };
        self.tree.tips(&self.index).into_iter().map(tip).collect()
    }
}
