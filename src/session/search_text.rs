//! The texts of a session that a filter word is compared with: the visible name, the key and the ids.
//!
//! Random ids hold nearly every short word somewhere. So a word matches an id, also one inside a key, only from its
//! start.

use std::ops::Range;

use nucleo_matcher::pattern::{Atom, AtomKind, CaseMatching, Normalization};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use crate::session::SessionItem;

/// Chars of a word that can be the start of an id.
const MIN_ID_CHARS: usize = 3;
/// Chars of an id's start that hardly mean anything else.
const SURE_ID_CHARS: usize = 4;
/// A word with fewer chars is never compared fuzzily.
const MIN_FUZZY_CHARS: usize = 3;
/// A fuzzy match may be this many times as long as its word.
const FUZZY_SPREAD: u32 = 3;

/// The quality of a match, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchRank {
    /// The whole name or key, or the start of an id.
    Exact,
    /// The start of the name.
    Start,
    /// The start of a word in name or key.
    WordStart,
    Inside,
    /// The letters in this order, close together.
    Fuzzy,
}

/// The texts of one session in lower case, computed once per list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchText {
    name: String,
    full_key: String,
    /// The key without agent and without the ids in it.
    key: String,
    ids: Vec<String>,
}

impl SearchText {
    pub fn new(item: &SessionItem) -> Self {
        let short = item.short_key().to_lowercase();
        let (ids, words): (Vec<&str>, Vec<&str>) = short.split(':').partition(|part| is_id(part));
        let mut ids: Vec<String> = ids.into_iter().map(str::to_owned).collect();
        ids.push(item.id.to_lowercase());
        Self {
            name: item.display_name().to_lowercase(),
            full_key: item.key.0.to_lowercase(),
            key: words.join(":"),
            ids,
        }
    }

    /// Returns the rank of a word in lower case, by its letters as they are.
    pub fn rank(&self, word: &str) -> Option<MatchRank> {
        let is_key_end = |rest: &str| rest.is_empty() || rest.ends_with(':');
        if self.name == word || self.full_key.strip_suffix(word).is_some_and(is_key_end) {
            return Some(MatchRank::Exact);
        }
        let in_key = if word.contains(':') { &self.full_key } else { &self.key };
        let in_key = rank_in(in_key, word).map(|rank| rank.max(MatchRank::WordStart));
        [self.id_rank(word), rank_in(&self.name, word), in_key].into_iter().flatten().min()
    }

    fn id_rank(&self, word: &str) -> Option<MatchRank> {
        let chars = word.chars().count();
        let is_start = chars >= MIN_ID_CHARS && self.ids.iter().any(|id| id.starts_with(word));
        is_start.then_some(if chars >= SURE_ID_CHARS { MatchRank::Exact } else { MatchRank::WordStart })
    }

    /// Whether the name or the key without ids holds the letters in this order, close together.
    pub fn matches_fuzzily(&self, word: &FuzzyWord, matcher: &mut FuzzyMatcher) -> bool {
        matcher.find(&self.name, word).is_some() || matcher.find(&self.key, word).is_some()
    }
}

/// Whether a part of a key is a UUID, perhaps followed by the name of an archive.
fn is_id(part: &str) -> bool {
    let bytes = part.as_bytes();
    bytes.len() >= 36
        && bytes[..36].iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn rank_in(text: &str, word: &str) -> Option<MatchRank> {
    let mut best = None;
    for (at, _) in text.match_indices(word) {
        let before = text[..at].chars().next_back();
        match before {
            None => return Some(MatchRank::Start),
            Some(before) if !before.is_alphanumeric() => best = Some(MatchRank::WordStart),
            Some(_) => best = best.or(Some(MatchRank::Inside)),
        }
    }
    best
}

/// A word prepared for fuzzy matching.
#[derive(Debug, Clone, PartialEq)]
pub struct FuzzyWord {
    atom: Atom,
    chars: u32,
}

impl FuzzyWord {
    /// Returns `None` for a word that is too short to mean anything.
    pub fn new(word: &str) -> Option<Self> {
        let chars = word.chars().count();
        let atom = Atom::new(word, CaseMatching::Ignore, Normalization::Smart, AtomKind::Fuzzy, false);
        (chars >= MIN_FUZZY_CHARS).then_some(Self { atom, chars: chars as u32 })
    }
}

/// Buffers of the fuzzy matcher.
pub struct FuzzyMatcher {
    matcher: Matcher,
    chars: Vec<char>,
    indices: Vec<u32>,
}

impl Default for FuzzyMatcher {
    fn default() -> Self {
        Self { matcher: Matcher::new(Config::DEFAULT), chars: Vec::new(), indices: Vec::new() }
    }
}

impl std::fmt::Debug for FuzzyMatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FuzzyMatcher").finish_non_exhaustive()
    }
}

impl FuzzyMatcher {
    /// Returns the matching chars, unless they are scattered over the text.
    fn find(&mut self, text: &str, word: &FuzzyWord) -> Option<&[u32]> {
        self.indices.clear();
        word.atom.indices(Utf32Str::new(text, &mut self.chars), &mut self.matcher, &mut self.indices)?;
        let spread = self.indices.iter().max()? + 1 - self.indices.iter().min()?;
        (spread <= word.chars * FUZZY_SPREAD).then_some(&self.indices)
    }
}

/// Returns the byte ranges of `text` that hold `word`, which is in lower case.
pub fn literal_ranges(text: &str, word: &str) -> Vec<Range<usize>> {
    // Lower case may take more chars than the text, so each remembers where it came from.
    let folded: Vec<(usize, char)> =
        text.char_indices().flat_map(|(at, char)| char.to_lowercase().map(move |low| (at, low))).collect();
    let word: Vec<char> = word.chars().collect();
    let mut ranges = Vec::new();
    let mut from = 0;
    while !word.is_empty() && from + word.len() <= folded.len() {
        if folded[from..from + word.len()].iter().map(|(_, char)| char).eq(&word) {
            let end = folded.get(from + word.len()).map_or(text.len(), |(at, _)| *at);
            ranges.push(folded[from].0..end);
            from += word.len();
        } else {
            from += 1;
        }
    }
    ranges
}

/// Returns the byte ranges of the chars of `text` that match `word` fuzzily.
pub fn fuzzy_ranges(text: &str, word: &str) -> Vec<Range<usize>> {
    let Some(word) = FuzzyWord::new(word) else { return Vec::new() };
    let mut matcher = FuzzyMatcher::default();
    let Some(indices) = matcher.find(text, &word) else { return Vec::new() };
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    let range = |at: &u32| chars.get(*at as usize).map(|(from, char)| *from..from + char.len_utf8());
    indices.iter().filter_map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::SessionKey;
    use crate::session::testing;

    fn text(title: &str, key: &str, id: &str) -> SearchText {
        let key = SessionKey(key.into());
        SearchText::new(&SessionItem { title: title.into(), key, id: id.into(), ..testing::item() })
    }

    #[test]
    fn a_word_ranks_by_its_place() {
        let text = text("web crawl of Docs", "agent:main:telegram:group:-100", "s1");
        for (word, rank) in [
            ("web crawl of docs", Some(MatchRank::Exact)),
            ("agent:main:telegram:group:-100", Some(MatchRank::Exact)),
            ("web", Some(MatchRank::Start)),
            ("crawl", Some(MatchRank::WordStart)),
            ("telegram", Some(MatchRank::WordStart)),
            ("telegram:gr", Some(MatchRank::WordStart)),
            ("rawl", Some(MatchRank::Inside)),
            ("wbcrl", None),
        ] {
            assert_eq!(text.rank(word), rank, "{word}");
        }
    }

    #[test]
    fn an_id_matches_only_from_its_start_even_inside_a_key() {
        let uuid = "0d6f4b52-8a1c-4c55-9e0b-2b7f0f3ad914";
        let text =
            text("web", &format!("agent:main:subagent:{uuid}"), "8f1b77aa-0000-4000-8000-00000000beef");
        assert_eq!(text.rank("8f1b"), Some(MatchRank::Exact));
        assert_eq!(text.rank("0d6"), Some(MatchRank::WordStart));
        assert_eq!(text.rank("0D6F".to_lowercase().as_str()), Some(MatchRank::Exact));
        assert_eq!((text.rank("beef"), text.rank("8a1c"), text.rank("8f")), (None, None, None));
        assert_eq!(
            text.rank(&format!("subagent:{uuid}")),
            Some(MatchRank::Exact),
            "a whole key still matches"
        );
    }

    #[test]
    fn a_fuzzy_match_is_close_together() {
        let fuzzy = |name: &str, word: &str| {
            let word = FuzzyWord::new(word).expect("long enough");
            text(name, "agent:main:x", "s").matches_fuzzily(&word, &mut FuzzyMatcher::default())
        };
        assert!(fuzzy("telegram 8812", "tlgrm"));
        assert!(!fuzzy("Collect what is known about the size of a cache line", "tele"));
        assert_eq!(FuzzyWord::new("ab"), None);
    }

    #[test]
    fn match_ranges_refer_to_the_original_text() {
        assert_eq!(literal_ranges("Ops and OPS", "ops"), [0..3, 8..11]);
        assert_eq!(literal_ranges("İstanbul x", "x"), std::slice::from_ref(&(10..11)));
        assert_eq!(literal_ranges("飞书 周报", "周"), std::slice::from_ref(&(7..10)));
        assert!(literal_ranges("abc", "").is_empty());
        assert_eq!(fuzzy_ranges("telegram", "tlg"), [0..1, 2..3, 4..5]);
    }
}
