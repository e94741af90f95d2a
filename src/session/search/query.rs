//! The words of a search, compiled once: they match the text of a message, and find the raw lines that may hold it.
//!
//! A raw line holds text in JSON, where a quote is `\"` and any char may be `\u00e9`. Its patterns therefore accept more
//! than the words; the text decides.

use std::fmt::Write as _;
use std::ops::Range;

use regex::{Regex, RegexBuilder, bytes};

/// A printable ASCII char as an escape. Writers of JSON leave such chars plain, so the text of these few lines decides.
const ESCAPED_ASCII: &str = r"\\u00[2-7]";

/// Words that must all be in a text, in any order. Case counts only for words with a capital.
#[derive(Debug, Clone)]
pub struct SearchQuery {
    text: String,
    words: Vec<SearchWord>,
    /// Finds the lines that may hold the longest word.
    lead: Option<bytes::Regex>,
}

#[derive(Debug, Clone)]
struct SearchWord {
    in_text: Regex,
    in_line: bytes::Regex,
}

impl SearchQuery {
    pub fn new(text: &str) -> Self {
        let words = text.split_whitespace();
        let longest = words.clone().max_by_key(|word| word.len());
        let lead = longest.and_then(|word| {
            let pattern = format!("{}|{ESCAPED_ASCII}", line_pattern(word));
            bytes_regex(word, &pattern)
        });
        Self { text: text.to_owned(), words: words.filter_map(SearchWord::new).collect(), lead }
    }

    /// Returns the query as typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns the offset of the next place in raw lines that may be in a line with all words.
    pub(super) fn find_candidate(&self, lines: &[u8], from: usize) -> Option<usize> {
        self.lead.as_ref()?.find_at(lines, from).map(|found| found.start())
    }

    /// Whether a raw line may hold all words.
    pub(super) fn may_match_line(&self, line: &[u8]) -> bool {
        self.words.iter().all(|word| word.in_line.is_match(line))
    }

    /// Whether a text holds all words.
    pub fn matches(&self, text: &str) -> bool {
        !self.is_empty() && self.words.iter().all(|word| word.in_text.is_match(text))
    }

    /// Returns where the words are in a text: sorted, without overlaps.
    pub fn ranges(&self, text: &str) -> Vec<Range<usize>> {
        let found = self.words.iter().flat_map(|word| word.in_text.find_iter(text));
        let mut found: Vec<Range<usize>> = found.map(|found| found.range()).collect();
        found.sort_by_key(|range| (range.start, range.end));
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for range in found {
            match ranges.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => ranges.push(range),
            }
        }
        ranges
    }

    /// Returns the first place of a word in a text.
    pub fn first_range(&self, text: &str) -> Option<Range<usize>> {
        self.words
            .iter()
            .filter_map(|word| word.in_text.find(text))
            .map(|found| found.range())
            .min_by_key(|at| at.start)
    }
}

impl SearchWord {
    fn new(word: &str) -> Option<Self> {
        let in_text = RegexBuilder::new(&folded(word, &regex::escape(word)))
            .case_insensitive(ignores_case(word))
            .build()
            .ok()?;
        let in_line = bytes_regex(word, &format!("{}|{ESCAPED_ASCII}", line_pattern(word)))?;
        Some(Self { in_text, in_line })
    }
}

fn ignores_case(word: &str) -> bool {
    !word.chars().any(char::is_uppercase)
}

/// Folds the case of ASCII words without Unicode's rules, under which `k` is also the Kelvin sign: that is several times
/// faster.
fn folded(word: &str, pattern: &str) -> String {
    if word.is_ascii() { format!("(?-u:{pattern})") } else { pattern.to_owned() }
}

fn bytes_regex(word: &str, pattern: &str) -> Option<bytes::Regex> {
    let builder =
        bytes::RegexBuilder::new(&folded(word, pattern)).case_insensitive(ignores_case(word)).build();
    builder.ok()
}

/// Returns a pattern that finds a word in JSON: escaped or plain, also inside JSON that a text quotes.
fn line_pattern(word: &str) -> String {
    let mut pattern = String::new();
    for char in word.chars() {
        match char {
            '"' => pattern.push_str(r#"\\*""#),
            '\\' => pattern.push_str(r"\\+"),
            '/' => pattern.push_str(r"\\?/"),
            // The message pane shows an argument as `key: value`.
            ':' => pattern.push_str(r#""?:"#),
            char if char.is_ascii() => pattern.push_str(&regex::escape(char.encode_utf8(&mut [0; 4]))),
            char => push_escapable(char, &mut pattern),
        }
    }
    pattern
}

/// Pushes a char as itself and as an escape, in both cases.
fn push_escapable(char: char, pattern: &mut String) {
    let _ = write!(pattern, "(?:{char}");
    let mut cases = vec![char.to_string(), char.to_lowercase().to_string(), char.to_uppercase().to_string()];
    cases.dedup();
    for case in cases {
        pattern.push('|');
        for unit in case.encode_utf16() {
            let _ = write!(pattern, r"(?i:\\u{unit:04x})");
        }
    }
    pattern.push(')');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn matches(query: &str, text: &str, expected: bool) {
        assert_eq!(SearchQuery::new(query).matches(text), expected, "{query} in {text}");
    }

    #[test]
    fn every_word_must_match_and_case_counts_for_words_with_a_capital() {
        matches("build fix", "Fix the BUILD", true);
        matches("build nothing", "Fix the BUILD", false);
        matches("Build", "Fix the build", false);
        matches("Build fix", "FIX the Build", true);
        matches("straße", "Die STRAßE", true);
        matches("éclair", "ÉCLAIR", true);
        matches("  ", "anything", false);
        matches("a.c", "abc", false);
    }

    #[test]
    fn ranges_are_in_order_and_do_not_overlap() {
        let query = SearchQuery::new("atomic libatomic 链接");
        assert_eq!(query.ranges("链接 libatomic, atomic"), [0..6, 7..16, 18..24]);
        assert_eq!(query.first_range("链接 libatomic"), Some(0..6));
        assert!(query.ranges("nothing").is_empty());
    }

    #[test]
    fn a_raw_line_holds_the_word_in_any_form_that_json_has() {
        for (query, line) in [
            ("café", r#""caf\u00e9""#),
            ("café", r#""CAF\u00C9""#),
            ("café", "\"Café\""),
            (r#"say"hi""#, r#""say\"hi\"""#),
            (r"c:\temp", r#""c:\\temp""#),
            ("a/b", r#""a\/b""#),
            ("build", r#""b\u0075ild""#),
            ("🚀", r#""\ud83d\uDE80""#),
            ("command:", r#""command":"ls""#),
        ] {
            let query = SearchQuery::new(query);
            assert!(query.may_match_line(line.as_bytes()), "{} in {line}", query.text());
            assert!(query.find_candidate(line.as_bytes(), 0).is_some(), "{} in {line}", query.text());
        }
        assert!(!SearchQuery::new("café").may_match_line(br#""caf\u001b""#));
    }
}
