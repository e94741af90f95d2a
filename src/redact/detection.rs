//! Finds secrets in a text and in its other readings, and maps them to the text.

use super::compiled::{COMPILED, Hit};
use super::encoded::encoded_texts;
use super::keys::find_keys;
use super::known::{KnownSecrets, SecretSpan};
use super::proof::is_random;
use super::views::{View, original_ranges, views};

/// Levels of base64 in base64.
const MAX_ENCODINGS: usize = 3;
/// Bytes of neighbouring texts that are read as one even where none ends within a word.
const MAX_BLOCKS: usize = 64 << 10;

/// A detected secret: its bytes in the text, its kind, and its text without escapes.
#[derive(Debug)]
pub(super) struct DetectedSecret {
    pub from: usize,
    pub to: usize,
    pub kind: &'static str,
    pub secret: String,
}

/// Detects every secret in a text, also behind escapes, over broken lines and encoded; the results do not overlap.
pub(super) fn detect(text: &str, views: &[View]) -> Vec<DetectedSecret> {
    detect_at(text, views, 0)
}

fn detect_at(text: &str, views: &[View], level: usize) -> Vec<DetectedSecret> {
    let mut reported: Vec<DetectedSecret> = Vec::new();
    for hit in find_keys(text).into_iter().chain(COMPILED.find_hits(text, false)) {
        add_merged(&mut reported, found(&hit, text, (hit.from, hit.to)));
    }
    for (at, view) in views.iter().enumerate() {
        let keys = if view.is_joined { Vec::new() } else { find_keys(&view.text) };
        for hit in keys.into_iter().chain(COMPILED.find_hits(&view.text, view.is_joined)) {
            if view.is_joined {
                for range in joined_ranges(views, at, &hit) {
                    add_uncovered(&mut reported, &found(&hit, &view.text, range));
                }
            } else {
                for range in original_ranges(views, at, hit.from, hit.to) {
                    add_merged(&mut reported, found(&hit, &view.text, range));
                }
            }
        }
    }
    if level < MAX_ENCODINGS {
        for_encoded(text, views, |inner, ranges| {
            if let Some(hit) = detect_at(inner, &super::views::views(inner), level + 1).into_iter().next() {
                for (from, to) in ranges {
                    let secret = DetectedSecret { from, to, kind: hit.kind, secret: hit.secret.clone() };
                    add_merged(&mut reported, secret);
                }
            }
        });
    }
    reported.sort_unstable_by_key(|detected| detected.from);
    reported
}

/// Detects secrets in neighbouring texts of which one continues in the next. Returns for each text the ranges of its
/// pieces with the kind and the whole secret.
pub(super) fn detect_across(texts: &[String]) -> Vec<Vec<(usize, usize, &'static str, String)>> {
    let mut pieces = vec![Vec::new(); texts.len()];
    let all = texts.concat();
    let is_torn = |pair: &[String]| {
        let solid = |char: Option<char>| char.is_some_and(|char| !char.is_whitespace());
        solid(pair[0].chars().next_back()) && solid(pair[1].chars().next())
    };
    if all.len() > MAX_BLOCKS && !texts.windows(2).any(is_torn) {
        return pieces;
    }
    for detected in detect(&all, &views(&all)) {
        let mut start = 0;
        for (at, text) in texts.iter().enumerate() {
            let (own, end) = (start, start + text.len());
            start = end;
            let (from, to) = (detected.from.max(own), detected.to.min(end));
            if from < to {
                pieces[at].push((from - own, to - own, detected.kind, detected.secret.clone()));
            }
        }
    }
    pieces
}

fn found(hit: &Hit, text: &str, (from, to): (usize, usize)) -> DetectedSecret {
    DetectedSecret { from, to, kind: hit.kind, secret: text[hit.from..hit.to].to_owned() }
}

/// Calls a function with every text that is encoded in a text or in a reading of it, and its ranges in the text.
fn for_encoded(text: &str, views: &[View], mut visit: impl FnMut(&str, Vec<(usize, usize)>)) {
    for (from, to, inner) in encoded_texts(text) {
        visit(&inner, vec![(from, to)]);
    }
    for (at, view) in views.iter().enumerate() {
        for (from, to, inner) in encoded_texts(&view.text) {
            let spans_seam = !view.is_joined || view.seams().any(|seam| from < seam && seam < to);
            if spans_seam {
                // A word before or after the lines belongs to them.
                let ranges = original_ranges(views, at, from, to);
                let is_part = |range: &(usize, usize)| !view.is_joined || is_random(&text[range.0..range.1]);
                visit(&inner, ranges.into_iter().filter(is_part).collect());
            }
        }
    }
}

/// The ranges of a token that was joined; a word that only happens to begin the next line is not part of it.
fn joined_ranges(views: &[View], at: usize, hit: &Hit) -> Vec<(usize, usize)> {
    let view = &views[at];
    let seams: Vec<usize> = view.seams().filter(|seam| hit.from < *seam && *seam < hit.to).collect();
    let Some(last) = seams.last() else { return Vec::new() };
    let piece = &view.text[*last..hit.to];
    let next = view.text[hit.to..].chars().next();
    let is_alone = next.is_none_or(|next| "\n\r\"'`,;|<)".contains(next));
    let is_word = piece.chars().all(|char| char.is_ascii_lowercase());
    let belongs = is_alone && !is_word || is_random(piece) && piece.len() >= 4;
    let end = if belongs { hit.to } else { *last };
    original_ranges(views, at, hit.from, end)
}

/// Adds a secret: drops it if another covers it, merges it with those that it overlaps.
fn add_merged(reported: &mut Vec<DetectedSecret>, mut new: DetectedSecret) {
    if reported.iter().any(|other| other.from <= new.from && new.to <= other.to) {
        return;
    }
    reported.retain(|other| {
        let apart = other.to <= new.from || new.to <= other.from;
        if !apart {
            (new.from, new.to) = (new.from.min(other.from), new.to.max(other.to));
        }
        apart
    });
    reported.push(new);
}

/// Adds ranges that no other secret covers.
fn add_uncovered(reported: &mut Vec<DetectedSecret>, new: &DetectedSecret) {
    let mut covered: Vec<(usize, usize)> = reported
        .iter()
        .filter(|other| new.from < other.to && other.from < new.to)
        .map(|other| (other.from, other.to))
        .collect();
    covered.push((new.to, new.to));
    covered.sort_unstable();
    let mut from = new.from;
    for (start, end) in covered {
        if from < start {
            reported.push(DetectedSecret { from, to: start, kind: new.kind, secret: new.secret.clone() });
        }
        from = from.max(end);
    }
}

/// Finds the known secrets in a text, also behind escapes, over broken lines and encoded.
pub(super) fn find_known(known: &KnownSecrets, text: &str, views: &[View]) -> Vec<SecretSpan> {
    if known.is_empty() {
        return Vec::new();
    }
    let mut all = known.find(text);
    let mut add = |new: SecretSpan| {
        if all.iter().all(|other| new.1 <= other.0 || other.1 <= new.0) {
            all.push(new);
        }
    };
    for (at, view) in views.iter().enumerate() {
        for (from, to, kind, number) in known.find(&view.text) {
            for (from, to) in original_ranges(views, at, from, to) {
                add((from, to, kind, number));
            }
        }
    }
    find_known_encoded(known, text, views, 0, &mut |ranges, kind, number| {
        for (from, to) in ranges {
            add((from, to, kind, number));
        }
    });
    all
}

fn find_known_encoded(
    known: &KnownSecrets,
    text: &str,
    with: &[View],
    level: usize,
    add: &mut dyn FnMut(Vec<(usize, usize)>, &'static str, usize),
) {
    for_encoded(text, with, |inner, ranges| {
        let mut first = known.find(inner).first().map(|(.., kind, number)| (*kind, *number));
        if first.is_none() && level < MAX_ENCODINGS {
            find_known_encoded(known, inner, &views(inner), level + 1, &mut |_, kind, number| {
                first = Some((kind, number));
            });
        }
        if let Some((kind, number)) = first {
            add(ranges, kind, number);
        }
    });
}
