//! Words that mark a limit, a decision or an error. The lists are data, as they grow by languages.

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use serde::Deserialize;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cues {
    /// Parts of words that report an error.
    errors: Vec<String>,
    constraints: Vec<CueGroup>,
    decisions: Vec<CueGroup>,
}

/// The cues of one language.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct CueGroup {
    /// Whole words or phrases.
    words: Vec<String>,
    /// Found anywhere: the language writes no blanks, or adds endings.
    parts: Vec<String>,
}

/// Empty only if the file were broken, which a test excludes.
static CUES: LazyLock<Cues> =
    LazyLock::new(|| toml::from_str(include_str!("../../../assets/cues.toml")).unwrap_or_default());

/// Returns the cues of a rule that a person set.
pub(super) fn constraints() -> &'static [CueGroup] {
    &CUES.constraints
}

/// Returns the cues of a choice that was made.
pub(super) fn decisions() -> &'static [CueGroup] {
    &CUES.decisions
}

/// Finds all of them in one pass; none is meant as a whole word.
static ERROR_SEARCH: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasick::builder().ascii_case_insensitive(true).build(&CUES.errors).ok());

/// Whether a text reports an error.
pub(super) fn reports_error(text: &str) -> bool {
    let lower = if text.is_ascii() { Cow::Borrowed(text) } else { Cow::Owned(text.to_lowercase()) };
    ERROR_SEARCH.as_ref().is_some_and(|search| search.is_match(&*lower))
}

/// Whether a text in lower case has one of these cues.
pub(super) fn has_cue(lower: &str, cues: &[CueGroup]) -> bool {
    cues.iter().any(|group| {
        group.words.iter().any(|word| has_word(lower, word))
            || group.parts.iter().any(|part| has_part(lower, part))
    })
}

fn has_word(lower: &str, word: &str) -> bool {
    let is_letter = |char: Option<char>| char.is_some_and(|char| char.is_alphanumeric() || char == '_');
    lower.match_indices(word).any(|(at, found)| {
        !is_letter(lower[..at].chars().next_back()) && !is_letter(lower[at + found.len()..].chars().next())
    })
}

fn has_part(lower: &str, part: &str) -> bool {
    lower.match_indices(part).any(|(at, found)| !is_choice(&lower[..at], found))
}

/// Whether a Chinese cue is part of a question such as `能不能` or `要不要`, which forbids nothing.
fn is_choice(before: &str, cue: &str) -> bool {
    let mut signs = cue.chars();
    signs.next() == Some('不') && before.chars().next_back().is_some_and(|verb| signs.next() == Some(verb))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_an_error_is_found_however_it_is_written() {
        assert!(CUES.errors.len() > 30 && CUES.constraints.len() >= 6 && CUES.decisions.len() >= 4);
        for cue in &CUES.errors {
            for text in [cue.clone(), cue.to_uppercase(), format!("a line: {cue}s")] {
                assert!(reports_error(&text), "{text}");
            }
        }
        assert!(!reports_error("all 12 tests passed") && !reports_error("すべて成功しました"));
    }
}
