//! Sentences and lines that are facts, and how much of one another text repeats.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::cues::{CONSTRAINTS, DECISIONS, has_cue, reports_error};
use super::fact::{Fact, FactKind, MAX_FACT_BYTES};
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

/// Splits at line ends and behind full stops; a point inside a name or a number ends nothing.
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
pub struct SentenceWords(BTreeSet<String>);

/// Returns the words of a text.
pub fn sentence_words(text: &str) -> SentenceWords {
    let lower = text.to_lowercase();
    let mut words = BTreeSet::new();
    for run in lower.split(|char: char| !char.is_alphanumeric()) {
        let (unspaced, spaced): (Vec<char>, Vec<char>) = run.chars().partition(|char| is_unspaced(*char));
        words.extend(unspaced.windows(2).map(|pair| pair.iter().collect::<String>()));
        let has_digit = spaced.iter().any(char::is_ascii_digit);
        if spaced.len() >= MIN_WORD_CHARS || has_digit {
            words.insert(spaced.into_iter().collect());
        }
    }
    SentenceWords(words)
}

impl SentenceWords {
    /// Whether another text repeats enough of this sentence.
    pub fn are_kept_in(&self, other: &Self) -> bool {
        self.0.iter().filter(|word| other.0.contains(*word)).count() >= self.kept_words()
    }

    /// The fewest words that a text must repeat to keep the sentence.
    pub(super) fn kept_words(&self) -> usize {
        ((self.0.len() as f64 * KEPT_SHARE).ceil() as usize).max(1)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}
