//! The texts of a column. Most columns repeat a few of them for all rows of a session, so these are stored once.

use std::collections::HashSet;
use std::sync::Arc;

/// Different texts of a column that are stored once. A column of ids has no two rows alike, and no more are looked for.
const MAX_SHARED: usize = 256;

#[derive(Debug, Clone, Default)]
pub struct Texts {
    values: Vec<Arc<str>>,
    shared: HashSet<Arc<str>>,
}

impl Texts {
    pub fn push(&mut self, text: &str) {
        let is_last = |last: &&Arc<str>| ***last == *text;
        let known = self.values.last().filter(is_last).or_else(|| self.shared.get(text)).cloned();
        let value = known.unwrap_or_else(|| {
            let value: Arc<str> = text.into();
            if self.shared.len() < MAX_SHARED {
                self.shared.insert(Arc::clone(&value));
            }
            value
        });
        self.values.push(value);
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<str>> {
        self.values.iter()
    }

    pub fn append(&mut self, mut other: Self) {
        self.values.append(&mut other.values);
    }

    /// Keeps the texts for which `keep` returns true; it is called once for each, in order.
    pub fn retain(&mut self, mut keep: impl FnMut() -> bool) {
        self.values.retain(|_| keep());
    }
}

/// Texts are equal by content, not by storage.
impl PartialEq for Texts {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

impl<'a> FromIterator<&'a str> for Texts {
    fn from_iter<T: IntoIterator<Item = &'a str>>(texts: T) -> Self {
        let mut all = Self::default();
        texts.into_iter().for_each(|text| all.push(text));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_text_is_stored_once_and_keeps_its_positions() {
        let mut texts: Texts = ["a", "b", "a", "a"].into_iter().collect();
        assert!(Arc::ptr_eq(&texts.values[0], &texts.values[2]));
        texts.append(["a", "c"].into_iter().collect());
        let mut at = 0;
        texts.retain(|| {
            at += 1;
            at != 1
        });
        assert_eq!(texts, ["b", "a", "a", "a", "c"].into_iter().collect());
        assert_ne!(texts, ["b"].into_iter().collect());
    }
}
