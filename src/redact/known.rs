//! Finds secrets that are already known without help from the text around them: whole, line by line, or as the piece
//! that a cut left.

use std::collections::HashMap;

use regex::Regex;

/// Minimum bytes of a secret that is searched for: a shorter word occurs in many texts.
const MIN_SECRET_CHARS: usize = 8;
/// Bytes of a secret's head and tail that identify a piece of it.
const PIECE_CHARS: usize = 16;
/// Minimum bytes of a secret whose pieces are searched for.
const LONG_SECRET_CHARS: usize = 24;

/// A range in a text: first byte, end byte, kind and number of the secret.
pub(super) type SecretSpan = (usize, usize, &'static str, usize);

#[derive(Debug)]
pub(super) struct KnownSecrets {
    /// Matches any needle; `None` if there are none.
    needles: Option<Regex>,
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
        let pattern = texts.iter().map(|text| regex::escape(text)).collect::<Vec<_>>().join("|");
        let built = regex::RegexBuilder::new(&pattern).size_limit(1 << 28).build();
        let needles = if pattern.is_empty() { None } else { built.ok() };
        Self { needles, secrets_by_needle }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.needles.is_none()
    }

    /// Finds every occurrence in order, each extended while the text matches the secret.
    pub(super) fn find(&self, text: &str) -> Vec<SecretSpan> {
        let Some(needles) = &self.needles else { return Vec::new() };
        let mut found = Vec::new();
        let mut from = 0;
        while let Some(hit) = needles.find_at(text, from) {
            let meant = self.secrets_by_needle.get(hit.as_str()).map(Vec::as_slice).unwrap_or_default();
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

/// A short secret must be a whole word.
fn is_whole_word(text: &str, start: usize, end: usize, secret: &str) -> bool {
    let letter = |char: Option<char>| char.is_some_and(char::is_alphanumeric);
    secret.len() >= PIECE_CHARS
        || !letter(text[..start].chars().next_back()) && !letter(text[end..].chars().next())
}

/// Each line identifies a secret of several lines, however the lines are joined.
fn parts(secret: &str) -> Vec<&str> {
    let lines = secret.split(['\n', '\r']).flat_map(|line| line.split("\\n"));
    let lines: Vec<&str> =
        lines.map(|line| line.trim_matches(|char: char| " \t>|\"',+\\".contains(char))).collect();
    if lines.len() < 2 {
        return if is_distinctive(secret) { vec![secret] } else { Vec::new() };
    }
    lines.into_iter().filter(|line| line.len() >= LONG_SECRET_CHARS && !line.starts_with("-----")).collect()
}

/// Whether a secret differs from an ordinary word.
fn is_distinctive(secret: &str) -> bool {
    let plain = secret.chars().all(char::is_alphabetic);
    secret.len() >= MIN_SECRET_CHARS && (!plain || secret.len() >= LONG_SECRET_CHARS)
}

/// The needles of a secret: the whole, or the head and the tail of a long one.
fn pieces(secret: &str) -> Vec<(usize, &str)> {
    let (head, tail) = (PIECE_CHARS, secret.len().saturating_sub(PIECE_CHARS));
    if secret.len() < LONG_SECRET_CHARS || !secret.is_char_boundary(head) || !secret.is_char_boundary(tail) {
        return vec![(0, secret)];
    }
    vec![(0, &secret[..head]), (tail, &secret[tail..])]
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
    fn a_secret_is_found_whole_and_as_what_a_cut_left_of_it() {
        assert_eq!(found(KEY, &format!("a{KEY}b {KEY}")), [KEY, KEY]);
        assert_eq!(found(KEY, &format!("head {}\n...\n", &KEY[..20])), [&KEY[..20]]);
        assert_eq!(found(KEY, &format!("\n...\n{} tail", &KEY[16..])), [&KEY[16..]]);
        assert_eq!(found(KEY, &KEY[..12]), [""; 0]);
    }

    #[test]
    fn a_short_secret_is_a_word_of_its_own_and_a_plain_word_is_none() {
        assert_eq!(found("hunter2!", "(hunter2!) xhunter2!"), ["hunter2!"]);
        assert_eq!(found("sunshine", "sunshine"), [""; 0]);
        assert_eq!(found("abc1", "abc1"), [""; 0]);
    }

    #[test]
    fn lines_of_a_key_are_known_one_by_one() {
        let secret = format!("-----BEGIN X PRIVATE KEY-----\n{KEY}\n-----END X PRIVATE KEY-----");
        assert_eq!(found(&secret, &format!("  1  {KEY}")), [KEY]);
    }
}
