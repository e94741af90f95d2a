//! The identifiers of a text: paths, ids, long numbers and error lines. They are rare enough that a later use of one points
//! back to its source.

use std::collections::BTreeSet;

/// The shortest path and the shortest id, in bytes.
const MIN_NAME_BYTES: usize = 7;
/// The shortest number, in digits: shorter ones occur by chance.
const MIN_DIGITS: usize = 5;
/// The longest identifier; longer runs are data, not names.
const MAX_NAME_BYTES: usize = 200;
/// An error line is at least this long.
const MIN_ERROR_BYTES: usize = 20;
/// The words of an error line.
const ERROR_WORDS: [&str; 5] = ["error", "exception", "failed", "panicked", "cannot"];

/// Collects the identifiers of a text.
pub(super) fn identifiers(text: &str) -> BTreeSet<String> {
    let is_part = |char: char| char.is_ascii_alphanumeric() || "_./:@#-".contains(char);
    let words =
        text.split(|char| !is_part(char)).map(|word| word.trim_matches(['.', ':', ',', '-', '/', '#']));
    let mut found: BTreeSet<String> = words.filter(|word| is_identifier(word)).map(str::to_owned).collect();
    found.extend(text.lines().map(str::trim).filter(|line| is_error_line(line)).map(str::to_owned));
    found
}

fn is_identifier(word: &str) -> bool {
    if word.len() > MAX_NAME_BYTES || word.len() < MIN_DIGITS {
        return false;
    }
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
    if letters == 0 {
        // A date or a time has separators; a number has none.
        return digits == word.len() && digits >= MIN_DIGITS;
    }
    let is_path = word.split('/').filter(|part| !part.is_empty()).count() >= 2;
    let is_id = digits >= 2 && letters >= 1;
    word.len() >= MIN_NAME_BYTES && (is_path || is_id)
}

fn is_error_line(line: &str) -> bool {
    if !(MIN_ERROR_BYTES..=MAX_NAME_BYTES).contains(&line.len()) {
        return false;
    }
    let lower = line.to_ascii_lowercase();
    ERROR_WORDS.iter().any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_ids_numbers_and_error_lines_are_identifiers_and_words_are_not() {
        let text = "see src/main.rs, commit 4fa91c2d and 48213 rows.\nerror[E0308]: mismatched types here\nplain words only, 2026-11-19 12";
        let found: Vec<String> = identifiers(text).into_iter().collect();
        assert_eq!(found, ["48213", "4fa91c2d", "error[E0308]: mismatched types here", "src/main.rs"]);
        assert!(identifiers("and/or a1 1234 either").is_empty());
    }
}
