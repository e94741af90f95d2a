//! Finds secrets that are already known without help from the text around them: whole, line by line, or as the piece
//! that a cut left.

use std::collections::HashMap;

use aho_corasick::{AhoCorasick, Input, MatchKind};

use super::proof::{is_random, is_random_token};

/// Minimum bytes of a secret that is searched for: a shorter word occurs in many texts.
const MIN_SECRET_CHARS: usize = 8;
/// Bytes of a secret's head and tail that identify a piece of it.
const PIECE_CHARS: usize = 16;
/// Minimum bytes of a secret whose pieces are searched for.
const LONG_SECRET_CHARS: usize = 24;
/// Bytes from which a secret of random letters is searched for within words too.
const RANDOM_SECRET_CHARS: usize = 12;
/// Bytes of a piece from the middle of a long secret, and their distance.
const MIDDLE_CHARS: usize = 12;
const MIDDLE_STEP: usize = 8;
/// Needles of one search.
const MAX_NEEDLES: usize = 20_000;

/// A range in a text: first byte, end byte, kind and number of the secret.
pub(super) type SecretSpan = (usize, usize, &'static str, usize);

#[derive(Debug)]
pub(super) struct KnownSecrets {
    /// Searches that together match every needle.
    searches: Vec<AhoCorasick>,
    secrets_by_needle: HashMap<String, Vec<Needle>>,
}

#[derive(Debug, Clone)]
struct Needle {
    secret: String,
    kind: &'static str,
    number: usize,
    /// The byte offset of the needle in the secret.
    offset: usize,
}

impl KnownSecrets {
    pub(super) fn new<'a>(secrets: impl Iterator<Item = (&'a str, (&'static str, usize))>) -> Self {
        let mut secrets_by_needle: HashMap<String, Vec<Needle>> = HashMap::new();
        for (secret, (kind, number)) in secrets {
            for part in parts(secret) {
                for (at, piece) in pieces(part) {
                    let needle = Needle { secret: part.to_owned(), kind, number, offset: at };
                    secrets_by_needle.entry(piece.to_owned()).or_default().push(needle);
                }
            }
        }
        let mut texts: Vec<&String> = secrets_by_needle.keys().collect();
        texts.sort_unstable_by_key(|text| (std::cmp::Reverse(text.len()), *text));
        let searches = texts.chunks(MAX_NEEDLES).flat_map(searches).collect();
        Self { searches, secrets_by_needle }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.searches.is_empty()
    }

    /// Finds every occurrence in order, each extended while the text matches the secret.
    pub(super) fn find(&self, text: &str) -> Vec<SecretSpan> {
        let mut found: Vec<SecretSpan> = Vec::new();
        for search in &self.searches {
            for span in self.find_needles(search, text) {
                if self.searches.len() == 1
                    || found.iter().all(|other| span.1 <= other.0 || other.1 <= span.0)
                {
                    found.push(span);
                }
            }
        }
        found.sort_unstable_by_key(|span| span.0);
        found
    }

    fn find_needles(&self, search: &AhoCorasick, text: &str) -> Vec<SecretSpan> {
        let mut found = Vec::new();
        let mut from = 0;
        while let Some(hit) = search.find(Input::new(text).range(from..)) {
            let meant = self.secrets_by_needle.get(&text[hit.range()]).map(Vec::as_slice).unwrap_or_default();
            let widest = meant
                .iter()
                .map(|needle| (needle.widen(text, hit.start(), hit.end()), needle))
                .max_by_key(|((start, end), _)| end - start);
            from = hit.end();
            if let Some(((start, end), needle)) = widest
                && is_whole_word(text, start, end, &needle.secret)
            {
                found.push((start, end, needle.kind, needle.number));
                from = end.max(hit.end());
            }
        }
        found
    }
}

/// Builds one search, or two of half as many needles while that is too large; none is ever left out but a single needle
/// that no search can hold.
fn searches(needles: &[&String]) -> Vec<AhoCorasick> {
    let built = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(needles);
    match built {
        Ok(search) => vec![search],
        Err(_) if needles.len() > 1 => {
            let (one, other) = needles.split_at(needles.len() / 2);
            [searches(one), searches(other)].concat()
        }
        Err(_) => Vec::new(),
    }
}

impl Needle {
    /// Extends the range of the needle while text and secret agree.
    fn widen(&self, text: &str, start: usize, end: usize) -> (usize, usize) {
        let length = end - start;
        let agree = |one: &[u8], other: &[u8]| one.iter().zip(other).take_while(|(a, b)| a == b).count();
        let after = agree(&text.as_bytes()[end..], &self.secret.as_bytes()[self.offset + length..]);
        let back = |text: &str| text.bytes().rev().collect::<Vec<u8>>();
        let reach = start.saturating_sub(self.offset);
        let head = (reach..=start).find(|at| text.is_char_boundary(*at)).unwrap_or(start);
        let before = agree(&back(&text[head..start]), &back(&self.secret[..self.offset]));
        let from = (start - before..=start).find(|at| text.is_char_boundary(*at)).unwrap_or(start);
        let to = (end..=end + after).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(end);
        (from, to)
    }
}

/// A short secret must be a whole word, unless no word has such letters.
fn is_whole_word(text: &str, start: usize, end: usize, secret: &str) -> bool {
    let letter = |char: Option<char>| char.is_some_and(char::is_alphanumeric);
    secret.len() >= PIECE_CHARS
        || secret.len() >= RANDOM_SECRET_CHARS && is_random_token(secret)
        || !letter(text[..start].chars().next_back()) && !letter(text[end..].chars().next())
}

/// Each line identifies a secret of several lines, for any way to join the lines.
fn parts(secret: &str) -> Vec<&str> {
    let lines = secret.split(['\n', '\r']).flat_map(|line| line.split("\\n"));
    let lines: Vec<&str> =
        lines.map(|line| line.trim_matches(|char: char| " \t>|\"',+\\".contains(char))).collect();
    if lines.len() < 2 {
        return if is_distinctive(secret) { vec![secret] } else { Vec::new() };
    }
    // A prefix such as a line number belongs to the place, not to the key.
    let body = |line: &str| {
        line.len()
            - line
                .bytes()
                .rev()
                .take_while(|byte| byte.is_ascii_alphanumeric() || b"+/=_-".contains(byte))
                .count()
    };
    let lines = lines.into_iter().map(|line| line.get(body(line)..).unwrap_or(line));
    lines.filter(|line| line.len() >= LONG_SECRET_CHARS && !line.starts_with("-----")).collect()
}

/// Whether a secret differs from an ordinary word.
fn is_distinctive(secret: &str) -> bool {
    let is_word = secret.chars().all(char::is_alphabetic)
        && !(secret.len() >= RANDOM_SECRET_CHARS && is_random_token(secret));
    secret.len() >= MIN_SECRET_CHARS && (!is_word || secret.len() >= LONG_SECRET_CHARS)
}

/// The needles of a secret: the whole, or the head, the tail and random pieces from the middle of a long one.
fn pieces(secret: &str) -> Vec<(usize, &str)> {
    let (head, tail) = (PIECE_CHARS, secret.len().saturating_sub(PIECE_CHARS));
    if secret.len() < LONG_SECRET_CHARS || !secret.is_char_boundary(head) || !secret.is_char_boundary(tail) {
        return vec![(0, secret)];
    }
    let middle = (MIDDLE_STEP..tail)
        .step_by(MIDDLE_STEP)
        .filter_map(|at| Some((at, secret.get(at..at + MIDDLE_CHARS)?)));
    let middle = middle.filter(|(_, piece)| {
        is_random(piece) && piece.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/_-".contains(&byte))
    });
    [(0, &secret[..head]), (tail, &secret[tail..])].into_iter().chain(middle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "0123456789abcdefghijklmnopqrstuvwxyz";

    fn found(secret: &str, text: &str) -> Vec<String> {
        let known = KnownSecrets::new([(secret, ("value", 1))].into_iter());
        known.find(text).into_iter().map(|(from, to, ..)| text[from..to].to_owned()).collect()
    }

    #[test]
    fn a_secret_is_found_whole_and_as_a_cut_part() {
        assert_eq!(found(KEY, &format!("a{KEY}b {KEY}")), [KEY, KEY]);
        assert_eq!(found(KEY, &format!("head {}\n...\n", &KEY[..20])), [&KEY[..20]]);
        assert_eq!(found(KEY, &format!("\n...\n{} tail", &KEY[16..])), [&KEY[16..]]);
        assert_eq!(found(KEY, &KEY[..12]), [""; 0]);
    }

    #[test]
    fn a_short_secret_matches_only_whole_words_and_is_not_a_plain_word() {
        assert_eq!(found("hunter2!", "(hunter2!) xhunter2!"), ["hunter2!"]);
        assert_eq!(found("gOnJihEz3CMPB0", "xgOnJihEz3CMPB0U"), ["gOnJihEz3CMPB0"]);
        assert_eq!(found("EtaNMbCfngNeSEIQbs", "9EtaNMbCfngNeSEIQbsVVw"), ["EtaNMbCfngNeSEIQbs"]);
        assert_eq!(found("sunshine", "sunshine"), [""; 0]);
        assert_eq!(found("getUserNameFromToken", "getUserNameFromToken"), [""; 0]);
        assert_eq!(found("abc1", "abc1"), [""; 0]);
    }

    #[test]
    fn each_line_of_a_key_is_recognised() {
        let secret = format!("-----BEGIN X PRIVATE KEY-----\n{KEY}\n-----END X PRIVATE KEY-----");
        assert_eq!(found(&secret, &format!("  1  {KEY}")), [KEY]);
    }
}
