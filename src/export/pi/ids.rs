//! Ids for the entries that an export adds. They are hashes of the export's input, so that the same export has the same
//! ids.

use std::collections::HashSet;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::export::document::ExportRequest;
use crate::store::index::Index;

/// New ids that the transcript does not have.
pub(super) struct ExportIds<'a> {
    index: &'a Index,
    seed: String,
    used: HashSet<String>,
    turn: u64,
}

impl<'a> ExportIds<'a> {
    pub(super) fn new(wanted: &ExportRequest<'a>) -> Self {
        let index = &*wanted.session.index;
        let leaf = wanted.session.context.leaf.map(|leaf| index.display_id(leaf));
        let seed =
            format!("{} {leaf:?} {} {}", index.path.display(), wanted.now_ms.whole(), wanted.plan.is_some());
        Self { index, seed, used: HashSet::new(), turn: 0 }
    }

    fn hex(&mut self) -> String {
        self.turn += 1;
        let hash = Sha256::digest(format!("{} {}", self.seed, self.turn));
        hash.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }

    /// Returns the id of the session, in the form of a random UUID.
    pub(super) fn session(&mut self) -> String {
        let hex = self.hex();
        format!("{}-{}-4{}-a{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32])
    }

    /// Returns the id of an entry: eight hex digits (store M2).
    pub(super) fn entry(&mut self) -> String {
        loop {
            let id = self.hex()[..8].to_owned();
            if self.index.ids.find(&id).is_none() && self.used.insert(id.clone()) {
                return id;
            }
        }
    }
}
