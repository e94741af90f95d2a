//! Remembers what was detected in each text by the text's digest, so that the second pass need not search it again. The
//! keys of the digests are random for each document: no one can craft a text with the digest of a clean one.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use rayon::prelude::*;

use super::detection::DetectedSecret;

/// Digests have 128 bits, so two texts of one document do not collide by chance.
#[derive(Debug, Default)]
pub(super) struct SeenTexts {
    keys: (RandomState, RandomState),
    detected: HashMap<(u64, u64), Arc<[DetectedSecret]>>,
}

impl SeenTexts {
    /// Remembers what a function detects in each of these texts, which it reads side by side.
    pub(super) fn detect_all(
        &mut self,
        texts: &[String],
        detect: impl Fn(&str) -> Vec<DetectedSecret> + Sync,
    ) {
        let detected: Vec<_> =
            texts.par_iter().map(|text| (self.digest(text), detect(text).into())).collect();
        self.detected.extend(detected);
    }

    fn digest(&self, text: &str) -> (u64, u64) {
        (self.keys.0.hash_one(text), self.keys.1.hash_one(text))
    }

    /// The secrets of a text: those of the last time, else what a function detects.
    pub(super) fn detected(
        &mut self,
        text: &str,
        detect: impl FnOnce() -> Vec<DetectedSecret>,
    ) -> Arc<[DetectedSecret]> {
        let digest = self.digest(text);
        Arc::clone(self.detected.entry(digest).or_insert_with(|| detect().into()))
    }
}
