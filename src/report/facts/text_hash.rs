//! Digests of words and names. A long transcript has millions of them, so they are compared by digest.

use std::hash::{DefaultHasher, Hash, Hasher};

/// The digest of a text.
pub type TextHash = u64;

pub fn text_hash(text: &str) -> TextHash {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
