//! The part of the failing call that made it too large, with its entries as evidence.

use crate::ids::EntryIx;
use crate::report::explain::finding::FindingClass;
use crate::units::Tokens;

/// The reason why the call was too large.
#[derive(Debug, Clone, PartialEq)]
pub struct Mechanism {
    pub class: FindingClass,
    /// Tokens of the part in the provider's count.
    pub tokens: Tokens,
    /// Number of messages, results, images or runs in the part.
    pub count: usize,
    /// The entries that show it; a screen jumps to the first.
    pub entries: Vec<EntryIx>,
}
