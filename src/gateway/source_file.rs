//! A configuration file as read, and the positions of its keys.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::lines::{TextPosition, key_position};

/// A file that contributes to the configuration.
#[derive(Debug, Clone)]
pub(super) struct SourceFile {
    pub(super) path: PathBuf,
    text: String,
    /// The keys that lead to the place of inclusion.
    pub(super) mount: Vec<String>,
    /// Positions that were looked up. A search over many settings looks up the same few keys thousands of times, and each
    /// lookup scans the whole text.
    found: Arc<Mutex<HashMap<Vec<String>, Option<TextPosition>>>>,
}

impl SourceFile {
    pub(super) fn new(path: PathBuf, text: String, mount: Vec<String>) -> Self {
        Self { path, text, mount, found: Arc::default() }
    }

    /// Returns the position of a key in this file; `None` if it has no such key.
    pub(super) fn position(&self, key: &[&str]) -> Option<TextPosition> {
        let words: Vec<String> = key.iter().map(|&word| word.to_owned()).collect();
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        *found.entry(words).or_insert_with(|| key_position(&self.text, key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_up_a_position_again_gives_the_same_one() {
        let text = "{\n a: { b: [1,\n 2] },\n a: 3 }".to_owned();
        let file = SourceFile::new("openclaw.json".into(), text.clone(), Vec::new());
        for key in [&["a"][..], &["a", "b", "1"], &["a", "c"], &[], &["a"], &["a", "c"]] {
            assert_eq!(file.position(key), key_position(&text, key), "{key:?}");
        }
        assert_eq!(file.clone().position(&["a"]).map(|spot| spot.line), Some(4));
    }
}
