//! Remembers texts without secrets by their digests. The keys of the digests are random for each document, so that
//! no one can craft a text with the digest of a clean one.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};

/// Digests have 128 bits, so two texts of one document do not collide by chance.
#[derive(Debug, Default)]
pub(super) struct CleanTexts {
    keys: (RandomState, RandomState),
    digests: HashSet<(u64, u64)>,
}

impl CleanTexts {
    fn digest(&self, text: &str) -> (u64, u64) {
        (self.keys.0.hash_one(text), self.keys.1.hash_one(text))
    }

    pub(super) fn add(&mut self, text: &str) {
        let digest = self.digest(text);
        self.digests.insert(digest);
    }

    pub(super) fn contains(&self, text: &str) -> bool {
        !self.digests.is_empty() && self.digests.contains(&self.digest(text))
    }
}
