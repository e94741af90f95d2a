//! Text heuristics: lines, sentences, names.

use unicode_segmentation::UnicodeSegmentation as _;

use crate::units::Chars;

/// Phrases of a user that sets a rule.
const RULES: [&str; 20] = [
    "always",
    "never",
    "must",
    "mustn't",
    "don't",
    "do not",
    "only use",
    "prefer",
    "avoid",
    "make sure",
    "no more than",
    "at least",
    "at most",
    "instead of",
    "without changing",
    "不要",
    "必须",
    "务必",
    "只能",
    "请勿",
];

/// Phrases of an assistant that states a decision or a cause.
const DECISIONS: [&str; 17] = [
    "decided",
    "decision",
    "i'll use",
    "i will use",
    "we'll use",
    "we will use",
    "chose",
    "going with",
    "instead of",
    "root cause",
    "the cause",
    "turned out",
    "turns out",
    "the problem was",
    "the reason",
    "决定",
    "改用",
];

/// Phrases of an assistant that names next steps.
const NEXT: [&str; 14] = [
    "next",
    "todo",
    "to do:",
    "remaining",
    "still need",
    "still to",
    "left to",
    "i'll now",
    "i will now",
    "follow up",
    "- [ ]",
    "下一步",
    "接下来",
    "待办",
];

/// Joins a text into one line with single spaces.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Cuts a text to `most` chars (UTF-16 units) between grapheme clusters.
pub(super) fn shortened(text: &str, most: Chars) -> String {
    if units(text) <= most {
        return text.to_owned();
    }
    let mut short = String::new();
    let mut left = most - Chars(1.0);
    for piece in text.graphemes(true) {
        let units = units(piece);
        if units > left {
            break;
        }
        left -= units;
        short.push_str(piece);
    }
    format!("{}…", short.trim_end())
}

/// Counts chars as the gateway does (UTF-16 units).
pub(super) fn units(text: &str) -> Chars {
    Chars::from_len(text.encode_utf16().count())
}

/// Returns the sentences of a text outside code fences, each on one line.
pub(super) fn sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose_lines(text) {
        let mut start = 0;
        for (at, char) in line.char_indices() {
            let end = at + char.len_utf8();
            let stops = matches!(char, '。' | '！' | '？')
                || matches!(char, '.' | '!' | '?')
                    && line[end..].chars().next().is_none_or(char::is_whitespace);
            if stops {
                found.push(line[start..end].to_owned());
                start = end;
            }
        }
        found.push(line[start..].to_owned());
    }
    found.iter().map(|sentence| one_line(sentence)).filter(|sentence| !sentence.is_empty()).collect()
}

/// Returns the lines outside code fences.
pub(super) fn prose_lines(text: &str) -> Vec<&str> {
    let mut in_code = false;
    let outside = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        !fence && !in_code
    });
    outside.collect()
}

/// Whether a user's sentence sets a rule.
pub(super) fn is_rule(sentence: &str) -> bool {
    contains_phrase(sentence, &RULES)
}

/// Whether an assistant's sentence states a decision or a cause.
pub(super) fn is_decision(sentence: &str) -> bool {
    contains_phrase(sentence, &DECISIONS)
}

/// Whether an assistant's line names a next step.
pub(super) fn is_next(line: &str) -> bool {
    contains_phrase(line, &NEXT)
}

/// Whether the text holds one of the phrases, in ASCII as whole words, in other scripts anywhere.
fn contains_phrase(text: &str, phrases: &[&str]) -> bool {
    let text = text.to_lowercase().replace('\u{2019}', "'");
    let part = |char: Option<char>| char.is_some_and(|char| char.is_ascii_alphanumeric());
    phrases.iter().any(|phrase| {
        text.match_indices(phrase).any(|(at, _)| {
            !phrase.is_ascii()
                || !part(text[..at].chars().next_back()) && !part(text[at + phrase.len()..].chars().next())
        })
    })
}

/// Whether a word is a name that a model cannot reconstruct: a path, a URL, an id, a hash.
pub(super) fn is_name(word: &str) -> bool {
    let path = ["/", "~/", "./", "../"].iter().any(|start| word.starts_with(start)) && word.len() > 3;
    let address = word.starts_with("http://") || word.starts_with("https://");
    word.len() <= 160 && (path || address || is_id(word))
}

/// Whether a word is at least 7 hex digits, with or without dashes, with digits and letters: a commit, a UUID.
fn is_id(word: &str) -> bool {
    let hex = word.len() >= 7 && word.chars().all(|char| char.is_ascii_hexdigit() || char == '-');
    let has = |test: fn(&char) -> bool| word.chars().any(|char| test(&char));
    hex && !word.starts_with('-') && has(char::is_ascii_digit) && has(char::is_ascii_alphabetic)
}

/// Returns the names in a text, in order.
pub(super) fn names(text: &str) -> impl Iterator<Item = &str> {
    let invocation = |char: char| "()[]{}<>\"'`,;:.!?*|，。；：、）（".contains(char);
    text.split_whitespace().map(move |word| word.trim_matches(invocation)).filter(|word| is_name(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(shortened("abc", Chars(3.0)), "abc");
        assert_eq!(shortened("abcd", Chars(3.0)), "ab…");
        assert_eq!(shortened("👩‍👩‍👧x", Chars(4.0)), "…");
        assert_eq!(one_line(" a\n\n b\t"), "a b");
    }

    #[test]
    fn sentences_end_at_punctuation_and_lines_and_exclude_code() {
        let text = "One. Two v1.2 is here! 三。四\n```\nlet x = 1.\n```\nfive";
        assert_eq!(sentences(text), ["One.", "Two v1.2 is here!", "三。", "四", "five"]);
    }

    #[test]
    fn phrases_are_whole_words() {
        assert!(is_rule("You must not push.") && is_rule("Don\u{2019}t push") && is_rule("请不要提交"));
        assert!(!is_rule("The mustard is nevertheless good"));
        assert!(is_decision("I'll use a B-tree.") && !is_decision("We use it."));
        assert!(is_next("Next: tests") && is_next("- [ ] tests") && !is_next("the nextcloud server"));
    }

    #[test]
    fn names_are_paths_addresses_and_ids() {
        let text = "See `/etc/hosts`, (https://x.org/a?b=1), commit 3fa9c1d, 1234567, deadbeef and 2f6c1b23-0b1e-4f0a-8a55-6d2f4f6c1b23. ok";
        let found: Vec<&str> = names(text).collect();
        assert_eq!(
            found,
            ["/etc/hosts", "https://x.org/a?b=1", "3fa9c1d", "2f6c1b23-0b1e-4f0a-8a55-6d2f4f6c1b23"]
        );
    }
}
