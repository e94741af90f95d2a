//! Texts that are known to tell no secret, by digests that nobody can aim at: their keys are drawn anew for each document.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};

/// Digests of 128 bits: two texts of one document never share one by chance.
#[derive(Debug, Default)]
pub(super) struct Plain {
    keys: (RandomState, RandomState),
    known: HashSet<(u64, u64)>,
}

impl Plain {
    fn digest(&self, text: &str) -> (u64, u64) {
        (self.keys.0.hash_one(text), self.keys.1.hash_one(text))
    }

    pub(super) fn add(&mut self, text: &str) {
        let digest = self.digest(text);
        self.known.insert(digest);
    }

    pub(super) fn has(&self, text: &str) -> bool {
        !self.known.is_empty() && self.known.contains(&self.digest(text))
    }
}
