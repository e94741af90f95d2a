//! Matches an answer against the known overflow texts and reads the numbers in the match (overflow-texts 3).

use std::sync::LazyLock;

use regex::{Captures, Match, Regex, RegexSet, RegexSetBuilder};

use crate::policy::overflow::RefusalNumbers;
use crate::policy::overflow::normalized::normalize;
use crate::policy::overflow::texts::{ERROR_NUMBERS, EXCESS, NUMBERS, OverflowText, TEXTS};

/// A whole number, with commas or underscores between groups of three digits.
const NUMBER: &str = "[0-9]{1,3}(?:[,_][0-9]{3})+|[0-9]+";
/// Smaller loose numbers are a status, a code or a count of messages.
const MIN_TOKENS: u64 = 256;
/// Rules whose numbers are often away from the matched words: in the body, or in the sentence before.
const DISTANT_NUMBER_RULES: [&str; 3] = ["T07", "T09", "T15"];
/// Words that mark the reply's part of a request.
const REPLY_WORDS: [&str; 6] = ["completion", "output", "response", "reply", "generat", "max_"];
/// Joints between the sentences of an error, and between errors that a router or a gateway joined.
const SENTENCE_ENDS: [&str; 5] = [". ", " error: ", " | ", "exception: ", "; "];
/// Bytes after the request's size that are searched for its parts.
const PARTS_REACH_BYTES: usize = 300;

struct CompiledPatterns {
    set: RegexSet,
    regexes: Vec<Option<Regex>>,
}

static TEXT_PATTERNS: LazyLock<CompiledPatterns> =
    LazyLock::new(|| CompiledPatterns::new(TEXTS.iter().map(|text| text.pattern)));
static NUMBER_PATTERNS: LazyLock<CompiledPatterns> =
    LazyLock::new(|| CompiledPatterns::new(NUMBERS.iter().copied()));
static ERROR_NUMBER_PATTERNS: LazyLock<CompiledPatterns> =
    LazyLock::new(|| CompiledPatterns::new(ERROR_NUMBERS.iter().copied()));
/// Matches `exceeded the context length by 2113 tokens`.
static EXCESS_PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&expand_pattern(EXCESS)).ok());
/// Matches `5221 in the messages` and `8192 tokens for the completion`.
static PART_PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(&expand_pattern(r"({n}) (?:tokens )?(?:in|of|for|from) (?:the |your )?([a-z_]+(?: [a-z_]+)?)"))
        .ok()
});

impl CompiledPatterns {
    fn new(patterns: impl Iterator<Item = &'static str>) -> Self {
        let patterns: Vec<String> = patterns.map(expand_pattern).collect();
        let set = RegexSetBuilder::new(&patterns).size_limit(1 << 27).build();
        Self {
            set: set.unwrap_or_else(|_| RegexSet::empty()),
            regexes: patterns.iter().map(|pattern| Regex::new(pattern).ok()).collect(),
        }
    }

    /// Returns the captures of every matching pattern, in table order.
    fn captures<'t>(&self, text: &'t str) -> impl Iterator<Item = (usize, Captures<'t>)> {
        let matched: Vec<usize> = self.set.matches(text).iter().collect();
        matched.into_iter().filter_map(move |at| Some((at, self.regexes.get(at)?.as_ref()?.captures(text)?)))
    }
}

/// Expands a pattern's short forms; word boundaries are ASCII.
fn expand_pattern(pattern: &str) -> String {
    let mut pattern = pattern.replace(r"\b", r"(?-u:\b)").replace(r"\w", "[a-z0-9_-]").replace("{n}", NUMBER);
    for name in ["r", "l", "a", "b"] {
        pattern = pattern.replace(&format!("{{{name}}}"), &format!("(?P<{name}>{NUMBER})"));
    }
    pattern
}

pub(super) struct TextMatch {
    pub(super) text: &'static OverflowText,
    pub(super) numbers: RefusalNumbers,
    /// Start and end of the matched words.
    span: (usize, usize),
}

impl TextMatch {
    /// Returns the sentence of the matched words: texts that join several errors say other things elsewhere.
    pub(super) fn sentence<'t>(&self, plain: &'t str) -> &'t str {
        let (start, end) = self.span;
        let cut = |joint: &&str| plain[..start].rfind(*joint).map(|at| at + joint.len());
        let from = SENTENCE_ENDS.iter().filter_map(cut).max().unwrap_or(0);
        let ends = SENTENCE_ENDS.iter().filter_map(|joint| plain[end..].find(joint));
        &plain[from..ends.min().map_or(plain.len(), |at| end + at)]
    }

    /// Whether the text alone proves that a request was larger than the context.
    pub(super) fn is_proof(&self) -> bool {
        let RefusalNumbers { requested, limit, .. } = self.numbers;
        !self.text.is_weak && requested.zip(limit).is_some_and(|(requested, limit)| requested > limit)
    }

    /// Whether the reply takes the whole limit, so that no shorter prompt would pass (overflow-texts 3.5).
    pub(super) fn is_output_alone_too_large(&self) -> bool {
        matches!((self.numbers.output, self.numbers.limit), (Some(output), Some(limit)) if output >= limit)
    }
}

/// Returns the first known overflow text in a normalized text.
pub(super) fn find_text(plain: &str) -> Option<TextMatch> {
    let (at, captures) = TEXT_PATTERNS.captures(plain).next()?;
    let text = TEXTS.get(at)?;
    let mut numbers = captured_numbers(plain, &captures);
    let excess = find_excess(plain);
    if text.is_weak || excess.is_some() || DISTANT_NUMBER_RULES.contains(&text.rule) {
        numbers = fill_with_loose_numbers(numbers, plain);
    }
    let span = captures.get(0).map_or((0, 0), |all| (all.start(), all.end()));
    Some(TextMatch { text, numbers: complete_with_excess(numbers, excess), span })
}

/// Reads the numbers of an overflow that a code decided, without a matching text.
pub(super) fn find_loose_numbers(plain: &str) -> RefusalNumbers {
    fill_with_loose_numbers(RefusalNumbers::default(), plain)
}

/// Returns the tokens by which a prompt exceeded the limit, if the text states them (overflow-texts T21).
pub fn stated_excess(text: &str) -> Option<u64> {
    find_excess(&normalize(text))
}

fn find_excess(plain: &str) -> Option<u64> {
    let captures = EXCESS_PATTERN.as_ref()?.captures(plain)?;
    parse_number(plain, captures.name("r")?)
}

/// Adds the request or the limit, where the text states the other one and the excess.
fn complete_with_excess(mut numbers: RefusalNumbers, excess: Option<u64>) -> RefusalNumbers {
    let Some(excess) = excess else { return numbers };
    match (numbers.requested, numbers.limit) {
        (None, Some(limit)) => numbers.requested = limit.checked_add(excess),
        (Some(requested), None) => numbers.limit = requested.checked_sub(excess),
        _ => {}
    }
    numbers
}

/// Reads the numbers of an error that is no overflow; those of a reply that is larger than the window come with its
/// text.
pub(super) fn find_error_numbers(plain: &str) -> RefusalNumbers {
    if let Some(found) = find_text(plain).filter(TextMatch::is_output_alone_too_large) {
        return found.numbers;
    }
    let first = ERROR_NUMBER_PATTERNS.captures(plain).next();
    first.map_or_else(RefusalNumbers::default, |(_, captures)| captured_numbers(plain, &captures))
}

fn fill_with_loose_numbers(mut numbers: RefusalNumbers, plain: &str) -> RefusalNumbers {
    for (_, captures) in NUMBER_PATTERNS.captures(plain) {
        let number = |name| parse_number(plain, captures.name(name)?).filter(|number| *number >= MIN_TOKENS);
        numbers.requested = numbers.requested.or_else(|| number("r"));
        numbers.limit = numbers.limit.or_else(|| number("l"));
    }
    numbers
}

fn captured_numbers(plain: &str, captures: &Captures<'_>) -> RefusalNumbers {
    let get = |name| parse_number(plain, captures.name(name)?);
    let (input, output) = (get("a"), get("b"));
    let sum = || input?.checked_add(output?);
    let numbers = RefusalNumbers { requested: get("r").or_else(sum), limit: get("l"), input, output };
    match captures.name("r") {
        Some(requested) if input.is_none() => with_parts(numbers, &plain[requested.end()..]),
        _ => numbers,
    }
}

/// Parses the number, unless it is part of a fraction or a word.
fn parse_number(plain: &str, found: Match<'_>) -> Option<u64> {
    let mut behind = plain[found.end()..].chars();
    let goes_on = match behind.next() {
        Some('.') => behind.next().is_some_and(|char| char.is_ascii_digit()),
        Some(char) => char.is_ascii_alphanumeric() || matches!(char, '_' | '%'),
        None => false,
    };
    let of_fraction = plain[..found.start()].ends_with('.');
    (!goes_on && !of_fraction).then(|| found.as_str().replace([',', '_'], "").parse().ok()).flatten()
}

/// Adds the parts that follow a sum: `(5221 in the messages, 4000 in the completion)`.
fn with_parts(numbers: RefusalNumbers, behind: &str) -> RefusalNumbers {
    let behind = behind.trim_start().trim_start_matches("tokens").trim_start();
    let end = match behind.chars().next() {
        Some('(') => behind.find(')'),
        Some(':') => behind.find(". "),
        _ => return numbers,
    };
    let end = behind.floor_char_boundary(end.unwrap_or(behind.len()).min(PARTS_REACH_BYTES));
    let (mut input, mut output) = (None, None);
    for captures in PART_PATTERN.iter().flat_map(|part| part.captures_iter(&behind[..end])) {
        let Some(size) = captures.get(1).and_then(|found| parse_number(behind, found)) else { continue };
        let words = captures.get(2).map_or("", |words| words.as_str());
        let side = if REPLY_WORDS.iter().any(|word| words.contains(word)) { &mut output } else { &mut input };
        *side = side.unwrap_or(0_u64).checked_add(size);
    }
    RefusalNumbers { input, output, ..numbers }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for compiled in [&*TEXT_PATTERNS, &*NUMBER_PATTERNS, &*ERROR_NUMBER_PATTERNS] {
            assert!(
                compiled.regexes.iter().all(Option::is_some) && compiled.set.len() == compiled.regexes.len()
            );
        }
        assert!(PART_PATTERN.is_some());
    }

    #[test]
    fn an_excess_is_a_number_of_tokens_after_words_of_excess() {
        let refusal =
            r#"400 {"error":"prompt too long; exceeded max context length by 7701 tokens (ref: 03e0)"}"#;
        assert_eq!(stated_excess(refusal), Some(7_701));
        assert_eq!(stated_excess("input exceeds the context window by 12,345 tokens"), Some(12_345));
        assert_eq!(stated_excess("Prompt is over the limit by ~900 tokens"), Some(900));
    }

    #[test]
    fn other_numbers_are_no_excess() {
        for text in [
            "prompt is too long: 205000 tokens > 200000 maximum",
            "the request was rejected by 3 tokens of the filter",
            "exceeds the size limit by 12 MB",
            "rate limit exceeded. Retry by 12 tokens",
            "exceeded by many tokens",
        ] {
            assert_eq!(stated_excess(text), None, "{text}");
        }
    }

    #[test]
    fn weak_texts_are_matched_last() {
        assert!(TEXTS.is_sorted_by_key(|text| text.is_weak));
    }
}
