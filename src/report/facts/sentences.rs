//! Sentences and lines that are facts, and how much of one another text repeats.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::cues::{constraints, decisions, has_cue, reports_error};
use super::words::is_unspaced;

/// The shortest sentence, in columns: shorter ones say nothing on their own.
const MIN_COLUMNS: usize = 10;
/// The shortest line of an error.
const MIN_ERROR_COLUMNS: usize = 14;
/// Letters of a word that carries meaning.
const MIN_WORD_CHARS: usize = 4;
/// Share of the words of a sentence that a text must repeat to keep it.
const KEPT_SHARE: f64 = 0.6;

/// Returns the sentences with a cue of this kind.
pub(super) fn with_cues(text: &str, kind: FactKind) -> Vec<Fact<'_>> {
    let cues = if kind == FactKind::Decision { decisions() } else { constraints() };
    let fits = |sentence: &&str| is_sized(sentence, MIN_COLUMNS) && has_cue(&sentence.to_lowercase(), cues);
    sentences(text).filter(fits).map(|sentence| fact(kind, sentence)).collect()
}

/// Returns the lines that report an error.
pub(super) fn errors(text: &str) -> impl Iterator<Item = Fact<'_>> {
    // Measuring a line takes longer than looking for words in it.
    let lines =
        text.lines().map(str::trim).filter(|line| line.len() <= MAX_FACT_BYTES && reports_error(line));
    lines.filter(|line| is_sized(line, MIN_ERROR_COLUMNS)).map(|line| fact(FactKind::Error, line))
}

fn fact(kind: FactKind, text: &str) -> Fact<'_> {
    Fact { kind, text, key: Cow::Borrowed(text), name: None }
}

fn is_sized(text: &str, min_columns: usize) -> bool {
    text.len() <= MAX_FACT_BYTES && crate::text::width(text) >= min_columns
}

/// Splits at line ends and after full stops; a point inside a name or a number ends nothing.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| {
        let mut rest = line;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let (sentence, after) = rest.split_at(sentence_end(rest));
            rest = after;
            Some(sentence.trim_matches(|char: char| char.is_whitespace() || "-*•#>|".contains(char)))
        })
    })
}

fn sentence_end(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        let ends = match char {
            '。' | '！' | '？' | '；' => true,
            '.' | '!' | '?' | ';' => chars.peek().is_none_or(|(_, next)| next.is_whitespace()),
            _ => false,
        };
        if ends {
            return at + char.len_utf8();
        }
    }
    text.len()
}

/// The words of a sentence that carry its meaning. In languages without blanks these are pairs of characters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SentenceWords {
    /// Sorted, each once.
    words: Box<[TextHash]>,
}

/// Returns the words of a text.
pub fn sentence_words(text: &str) -> SentenceWords {
    let lower = text.to_lowercase();
    let mut words: Vec<TextHash> = Vec::new();
    for run in lower.split(|char: char| !char.is_alphanumeric()).filter(|run| !run.is_empty()) {
        if !run.is_ascii() && run.contains(is_unspaced) {
            let (unspaced, spaced): (Vec<char>, Vec<char>) = run.chars().partition(|char| is_unspaced(*char));
            words.extend(unspaced.windows(2).map(|pair| text_hash(&String::from_iter(pair))));
            words.extend(meaningful(&String::from_iter(spaced)));
        } else {
            words.extend(meaningful(run));
        }
    }
    words.sort_unstable();
    words.dedup();
    SentenceWords { words: words.into() }
}

/// Returns a word if it is long enough to carry meaning or has a digit.
fn meaningful(word: &str) -> Option<TextHash> {
    let is_long = word.chars().nth(MIN_WORD_CHARS - 1).is_some();
    (is_long || word.contains(|char: char| char.is_ascii_digit())).then(|| text_hash(word))
}

impl SentenceWords {
    /// Whether another text repeats enough of this sentence.
    pub fn are_kept_in(&self, other: &Self) -> bool {
        self.iter().filter(|word| other.words.binary_search(word).is_ok()).count() >= self.kept_words()
    }

    /// The fewest words that a text must repeat to keep the sentence.
    pub(super) fn kept_words(&self) -> usize {
        ((self.words.len() as f64 * KEPT_SHARE).ceil() as usize).max(1)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = TextHash> {
        self.words.iter().copied()
    }
}

/// The digest of a text.
pub type TextHash = u64;

pub fn text_hash(text: &str) -> TextHash {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// A fact longer than this is data, not a name or a sentence.
pub const MAX_FACT_BYTES: usize = 300;

/// The form of a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FactKind {
    /// A rule that a user set.
    Constraint,
    /// A choice that was made.
    Decision,
    /// A line that reports an error.
    Error,
    /// A file, a folder or an address.
    Path,
    /// A digest, a ticket, a version, an address of a machine.
    Id,
    /// A number, an amount of money, a share.
    Number,
    Date,
}

impl FactKind {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Constraint => "constraint",
            Self::Decision => "decision",
            Self::Error => "error",
            Self::Path => "path",
            Self::Id => "id",
            Self::Number => "number",
            Self::Date => "date",
        }
    }

    /// Whether the fact is a sentence, which a summary may keep in other words.
    pub fn is_sentence(self) -> bool {
        matches!(self, Self::Constraint | Self::Decision | Self::Error)
    }
}

/// A fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact<'a> {
    pub kind: FactKind,
    /// Its text in the source.
    pub text: &'a str,
    /// The same for every way to write it: `48,213` and `48213`, `.\src\a.rs` and `src/a.rs`.
    pub key: Cow<'a, str>,
    /// The name before it, as in `port: 8080`.
    pub name: Option<&'a str>,
}

// Finds sentences that repeat enough words of another one, among many.
//
// A sentence that must share `k` of `n` words with another shares at least one of any `n - k + 1` of them. So only those
// that have one of its rarest words are compared in full: `error` and `file` occur in thousands of lines, a name in few.

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
