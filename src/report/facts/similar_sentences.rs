//! Finds sentences that repeat enough words of another one, among many.
//!
//! A sentence that must share `k` of `n` words with another shares at least one of any `n - k + 1` of them. So only those
//! that have one of its rarest words are compared in full: `error` and `file` occur in thousands of lines, a name in few.

use std::collections::HashMap;

use super::sentences::SentenceWords;
use super::text_hash::TextHash;

/// Sentences to look in.
#[derive(Debug, Default)]
pub struct SentenceIndex {
    sentences: Vec<SentenceWords>,
    /// The positions of the sentences that have a word.
    by_word: HashMap<TextHash, Vec<u32>>,
}

impl SentenceIndex {
    pub fn push(&mut self, sentence: SentenceWords) {
        let at = self.sentences.len() as u32;
        for word in sentence.iter() {
            self.by_word.entry(word).or_default().push(at);
        }
        self.sentences.push(sentence);
    }

    /// Whether one of the sentences repeats enough of this one.
    pub fn has_like(&self, sentence: &SentenceWords) -> bool {
        let positions = |word: TextHash| self.by_word.get(&word).map_or(&[][..], Vec::as_slice);
        let rarest = rarest_words(sentence, |word| positions(word).len());
        let mut candidates: Vec<u32> = rarest.into_iter().flat_map(positions).copied().collect();
        candidates.sort_unstable();
        candidates.dedup();
        candidates.into_iter().any(|at| sentence.are_kept_in(&self.sentences[at as usize]))
    }
}

/// Sentences that wait for another text to repeat them.
#[derive(Debug, Default)]
pub struct AwaitedSentences<'a> {
    /// By the number that the caller gave them.
    sentences: HashMap<usize, &'a SentenceWords>,
    /// The sentences among whose rarest words one is.
    by_word: HashMap<TextHash, Vec<usize>>,
}

impl<'a> AwaitedSentences<'a> {
    pub fn new(sentences: impl IntoIterator<Item = (usize, &'a SentenceWords)>) -> Self {
        let sentences: HashMap<usize, &SentenceWords> = sentences.into_iter().collect();
        let mut counts: HashMap<TextHash, usize> = HashMap::new();
        for word in sentences.values().flat_map(|sentence| sentence.iter()) {
            *counts.entry(word).or_default() += 1;
        }
        let mut by_word: HashMap<TextHash, Vec<usize>> = HashMap::new();
        for (number, sentence) in &sentences {
            for word in rarest_words(sentence, |word| counts.get(&word).copied().unwrap_or(0)) {
                by_word.entry(word).or_default().push(*number);
            }
        }
        Self { sentences, by_word }
    }

    pub fn is_empty(&self) -> bool {
        self.sentences.is_empty()
    }

    /// Removes the sentences that this one repeats, and returns their numbers.
    pub fn take_repeated(&mut self, by: &SentenceWords) -> Vec<usize> {
        let Self { sentences, by_word } = self;
        let mut taken = Vec::new();
        for word in by.iter() {
            let Some(waiting) = by_word.get_mut(&word) else { continue };
            waiting.retain(|number| {
                let Some(sentence) = sentences.get(number) else { return false };
                if sentence.are_kept_in(by) {
                    sentences.remove(number);
                    taken.push(*number);
                    return false;
                }
                true
            });
        }
        taken
    }
}

/// Returns as many of the rarest words as a sentence can lack, and one more.
fn rarest_words(sentence: &SentenceWords, count: impl Fn(TextHash) -> usize) -> Vec<TextHash> {
    let mut words: Vec<TextHash> = sentence.iter().collect();
    words.sort_by_cached_key(|word| count(*word));
    words.truncate((words.len() + 1).saturating_sub(sentence.kept_words()));
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::report::facts::sentence_words;

    fn sentence() -> impl Strategy<Value = SentenceWords> {
        proptest::collection::vec(0..14_u32, 0..9).prop_map(|numbers| {
            let words: Vec<String> = numbers.iter().map(|number| format!("word{number}")).collect();
            sentence_words(&words.join(" "))
        })
    }

    proptest! {
        #[test]
        fn the_index_finds_the_same_as_comparing_every_sentence(
            stored in proptest::collection::vec(sentence(), 0..12),
            asked in proptest::collection::vec(sentence(), 1..12),
        ) {
            let mut index = SentenceIndex::default();
            stored.iter().cloned().for_each(|sentence| index.push(sentence));
            for one in &asked {
                let expected = stored.iter().any(|other| one.are_kept_in(other));
                prop_assert_eq!(index.has_like(one), expected);
            }
        }

        #[test]
        fn a_sentence_is_taken_by_the_first_that_repeats_it(
            awaited in proptest::collection::vec(sentence(), 0..12),
            spoken in proptest::collection::vec(sentence(), 1..12),
        ) {
            let mut waiting = AwaitedSentences::new(awaited.iter().enumerate());
            let mut open: Vec<usize> = (0..awaited.len()).collect();
            for one in &spoken {
                let (expected, left) = open.into_iter().partition(|at| awaited[*at].are_kept_in(one));
                open = left;
                let mut taken = waiting.take_repeated(one);
                taken.sort_unstable();
                prop_assert_eq!(taken, expected);
            }
            prop_assert_eq!(waiting.is_empty(), open.is_empty());
        }
    }
}
