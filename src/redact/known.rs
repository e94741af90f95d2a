//! Finds secrets that are already known without help from the text around them: whole, line by line, or as the piece
//! that a cut left.
//!
//! A document may hold megabytes of secrets, such as the signatures of all its thinking. Each piece of a secret takes a few
//! bytes here, and a text is read once, however many there are.

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
/// Bits of the filter for each start: most positions of a text end there.
const FILTER_BITS: usize = 16;

/// A range in a text: first byte, end byte, kind and number of the secret.
pub(super) type SecretSpan = (usize, usize, &'static str, usize);

/// The first bytes of a needle, which every needle has.
type Start = [u8; MIN_SECRET_CHARS];

#[derive(Debug)]
pub(super) struct KnownSecrets {
    parts: Vec<Part>,
    /// In the order of their starts.
    needles: Vec<Needle>,
    filter: Filter,
}

/// A bit for the hash of each start.
#[derive(Debug)]
struct Filter {
    words: Vec<u64>,
}

/// A secret, or a line of one.
#[derive(Debug)]
struct Part {
    text: String,
    kind: &'static str,
    number: usize,
}

/// A range of a part that identifies it.
#[derive(Debug, Clone, Copy)]
struct Needle {
    start: Start,
    part: u32,
    from: u32,
    len: u32,
}

impl KnownSecrets {
    pub(super) fn new<'a>(secrets: impl Iterator<Item = (&'a str, (&'static str, usize))>) -> Self {
        let mut made = Self { parts: Vec::new(), needles: Vec::new(), filter: Filter { words: Vec::new() } };
        for (secret, (kind, number)) in secrets {
            for part in parts(secret) {
                for (from, piece) in pieces(part) {
                    made.add(part.as_bytes(), from, piece.len());
                }
                made.parts.push(Part { text: part.to_owned(), kind, number });
            }
        }
        // Stable, so that of needles with one start those of the first secrets stay first.
        made.needles.sort_by_key(|needle| needle.start);
        made.filter = Filter::new(&made.needles);
        made
    }

    /// Adds a needle of the part that is pushed next.
    fn add(&mut self, part: &[u8], from: usize, len: usize) {
        let (Some(start), Ok(at)) = (start_at(part, from), u32::try_from(self.parts.len())) else { return };
        let (Ok(from), Ok(len)) = (u32::try_from(from), u32::try_from(len)) else { return };
        self.needles.push(Needle { start, part: at, from, len });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.needles.is_empty()
    }

    /// Finds every occurrence in order, each extended while the text matches the secret.
    pub(super) fn find(&self, text: &str) -> Vec<SecretSpan> {
        let mut found: Vec<SecretSpan> = Vec::new();
        let mut at = 0;
        while let Some(start) = start_at(text.as_bytes(), at) {
            let widest = if self.filter.may_have(start) { self.widest(text, at, start) } else { None };
            at += 1;
            if let Some((from, to, part)) = widest
                && is_whole_word(text, from, to, &part.text)
            {
                found.push((from.max(found.last().map_or(0, |last| last.1)), to, part.kind, part.number));
                at = to;
            }
        }
        found
    }

    /// The widest range around a position at which a needle begins, and its part.
    fn widest(&self, text: &str, at: usize, start: Start) -> Option<(usize, usize, &Part)> {
        let first = self.needles.partition_point(|needle| needle.start < start);
        let meant =
            self.needles[first..].iter().take_while(|needle| needle.start == start).filter_map(|needle| {
                let part = self.parts.get(needle.part as usize)?;
                let (from, to) = widened(text, at, &part.text, *needle)?;
                Some((from, to, part))
            });
        meant.max_by_key(|(from, to, _)| to - from)
    }
}

fn start_at(text: &[u8], at: usize) -> Option<Start> {
    text.get(at..at + MIN_SECRET_CHARS)?.try_into().ok()
}

impl Filter {
    fn new(needles: &[Needle]) -> Self {
        let words = (needles.len() * FILTER_BITS / 64).next_power_of_two();
        let mut made = Self { words: vec![0; words] };
        for needle in needles {
            let (word, bit) = made.place(needle.start);
            made.words[word] |= bit;
        }
        made
    }

    fn may_have(&self, start: Start) -> bool {
        let (word, bit) = self.place(start);
        self.words[word] & bit != 0
    }

    /// The word and the bit of a start.
    fn place(&self, start: Start) -> (usize, u64) {
        let hash = u64::from_le_bytes(start).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        ((hash >> 6) as usize & (self.words.len() - 1), 1 << (hash & 63))
    }
}

/// Extends a needle that begins at a position while text and secret agree; `None` if it is not there.
fn widened(text: &str, at: usize, secret: &str, needle: Needle) -> Option<(usize, usize)> {
    let (from, len) = (needle.from as usize, needle.len as usize);
    let (bytes, secret) = (text.as_bytes(), secret.as_bytes());
    if bytes.get(at..at + len)? != &secret[from..from + len] {
        return None;
    }
    let agree = |pair: &(&u8, &u8)| pair.0 == pair.1;
    let after = bytes[at + len..].iter().zip(&secret[from + len..]).take_while(agree).count();
    let before = bytes[..at].iter().rev().zip(secret[..from].iter().rev()).take_while(agree).count();
    Some((text.ceil_char_boundary(at - before), text.floor_char_boundary(at + len + after)))
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
