//! Sentences and lines that are facts, and how much of one another text repeats.

use std::borrow::Cow;

use super::cues::{CONSTRAINTS, DECISIONS, has_cue, reports_error};
use super::fact::{Fact, FactKind, MAX_FACT_BYTES};
use super::text_hash::{TextHash, text_hash};
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
    let cues = if kind == FactKind::Decision { DECISIONS } else { CONSTRAINTS };
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
