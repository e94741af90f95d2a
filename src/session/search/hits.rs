//! The hits of a search: one per entry that holds every word, grouped and ranked by session.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;
use std::sync::OnceLock;

use crate::ids::SessionKey;
use crate::redact::{SecretDisplay, masked};
use crate::session::search::query::SearchQuery;
use crate::units::Moment;

/// Chars of a text before and after its first match that are kept.
const BEFORE_CHARS: usize = 400;
const BEHIND_CHARS: usize = 1_000;
/// Chars around the kept ones that are read, so that a secret which the ends cut is still recognised.
const MARGIN_CHARS: usize = 512;
/// Bytes of the lines at both ends that are read as well: a token or a cookie may be longer than the margin.
const LINE_BYTES: usize = 4 << 10;
/// The same for a line that is longer still; its secrets are masked at once, because keeping so much of every hit would
/// fill the memory.
const LONG_LINE_BYTES: usize = 256 << 10;
/// Start of the mask of a secret.
const MASK_MARK: &str = "[redacted";
/// Mark of a private key, which may be longer than the margin.
const KEY_MARK: &str = "PRIVATE KEY";

/// The text around a match. Masking its secrets takes longer than finding it, so that happens when the hit becomes visible.
#[derive(Debug, Clone, Default)]
pub struct HitText {
    text: Box<str>,
    /// Text before and after it, without which a cut secret would not be recognised.
    margins: [Box<str>; 2],
    /// Whether text was cut off at the start and at the end.
    is_cut: [bool; 2],
    masked: OnceLock<Box<str>>,
}

impl PartialEq for HitText {
    fn eq(&self, other: &Self) -> bool {
        (&self.text, &self.margins, self.is_cut) == (&other.text, &other.margins, other.is_cut)
    }
}

impl HitText {
    /// Cuts the text around the first match.
    pub(super) fn new(text: &str, query: &SearchQuery) -> Self {
        let found = query.first_range(text).unwrap_or(0..0);
        let own = around(text, &found, BEFORE_CHARS, BEHIND_CHARS);
        let (wide, is_whole) = lines_around(text, &own, LINE_BYTES);
        let kept = Self {
            text: text[own.clone()].into(),
            margins: [text[wide.start..own.start].into(), text[own.end..wide.end].into()],
            is_cut: [own.start > 0, own.end < text.len()],
            masked: OnceLock::new(),
        };
        let has_key = text.contains(KEY_MARK);
        if has_key || !is_whole {
            let read = if has_key { text } else { &text[lines_around(text, &own, LONG_LINE_BYTES).0] };
            kept.masked.get_or_init(|| mask(read, query).unwrap_or_else(|| kept.cut_text().into()));
        }
        kept
    }

    /// Returns the text with its secrets masked or shown. `query` is the one that found it.
    pub fn with_secrets(&self, query: &SearchQuery, secrets: SecretDisplay) -> Cow<'_, str> {
        match secrets {
            SecretDisplay::Shown => Cow::Owned(self.cut_text()),
            SecretDisplay::Hidden => Cow::Borrowed(self.masked.get_or_init(|| self.masked_text(query))),
        }
    }

    fn masked_text(&self, query: &SearchQuery) -> Box<str> {
        let wide = [&self.margins[0], &self.text, &self.margins[1]].map(|text| &**text).concat();
        mask(&wide, query).unwrap_or_else(|| self.cut_text().into())
    }

    fn cut_text(&self) -> String {
        let ellipsis = |is_cut| if is_cut { "…" } else { "" };
        format!("{}{}{}", ellipsis(self.is_cut[0]), self.text, ellipsis(self.is_cut[1]))
    }

    /// Returns one line of text around the first match, of about `chars` chars, with white space collapsed.
    pub fn line(&self, query: &SearchQuery, secrets: SecretDisplay, chars: usize) -> String {
        let text = self.with_secrets(query, secrets);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        // A match in a secret is hidden by its mask.
        let mask = || text.find(MASK_MARK).map(|at| at..at);
        let found = query.first_range(&text).or_else(mask).unwrap_or(0..0);
        let room = chars.saturating_sub(text[found.clone()].chars().count());
        let own = around(&text, &found, room / 3, room);
        let mut line = if own.start > 0 {
            format!("…{}", text[own.clone()].trim_start_matches('…'))
        } else {
            text[own.clone()].to_owned()
        };
        if line.chars().count() > chars {
            line = line.chars().take(chars.saturating_sub(1)).chain(['…']).collect();
        } else if own.end < text.len() {
            line.push('…');
        }
        line
    }
}

/// Masks a text, then cuts it around the first match: half a secret would not be recognised. Returns `None` for a text
/// without secrets.
fn mask(text: &str, query: &SearchQuery) -> Option<Box<str>> {
    let Cow::Owned(masked) = masked(text) else { return None };
    // The mask moves the match; without one, the match was in a secret.
    let place = query.first_range(&masked).unwrap_or_else(|| {
        let at = common_prefix(&masked, text);
        at..at
    });
    Some(cut(&masked, around(&masked, &place, BEFORE_CHARS, BEHIND_CHARS)).into())
}

/// Returns a range with the margins around it and the lines at its ends, of which at most `limit` bytes on each side, and
/// whether these lines are whole.
fn lines_around(text: &str, own: &Range<usize>, limit: usize) -> (Range<usize>, bool) {
    let near = around(text, own, MARGIN_CHARS, MARGIN_CHARS);
    let first = text.floor_char_boundary(own.start.saturating_sub(limit));
    let last = text.ceil_char_boundary(own.end.saturating_add(limit).min(text.len()));
    let start = text[first..own.start].rfind('\n').map(|at| first + at + 1);
    let end = text[own.end..last].find('\n').map(|at| own.end + at);
    let is_whole = (start.is_some() || first == 0) && (end.is_some() || last == text.len());
    (start.unwrap_or(first).min(near.start)..end.unwrap_or(last).max(near.end), is_whole)
}

/// Returns the range of a number of chars before and after another range.
fn around(text: &str, found: &Range<usize>, before: usize, behind: usize) -> Range<usize> {
    let start =
        text[..found.start].char_indices().rev().take(before).last().map_or(found.start, |(at, _)| at);
    let end = text[found.end..].char_indices().nth(behind).map_or(text.len(), |(at, _)| found.end + at);
    start..end
}

fn cut(text: &str, range: Range<usize>) -> String {
    let lead = if range.start > 0 { "…" } else { "" };
    let tail = if range.end < text.len() { "…" } else { "" };
    format!("{lead}{}{tail}", &text[range])
}

fn common_prefix(one: &str, other: &str) -> usize {
    let same = one.char_indices().zip(other.chars()).find(|((_, one), other)| one != other);
    same.map_or(one.len().min(other.len()), |((at, _), _)| at)
}

/// An entry that holds every word.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SearchHit {
    /// Offset of its line in the transcript.
    pub offset: u64,
    /// Number of the line, from 1.
    pub line: u64,
    /// The entry's id.
    pub id: String,
    /// `None` for an entry without a time.
    pub time_ms: Option<Moment>,
    /// Role of a message, or type of any other entry.
    pub role: &'static str,
    /// The part with the first match: `text`, `thinking`, `call` or `error`.
    pub part: &'static str,
    /// The tool of a call or of a result.
    pub tool: Option<String>,
    pub text: HitText,
    /// Whether the entry is on the session's active branch.
    pub is_on_branch: bool,
}

/// The hits of one session.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionHits {
    pub key: SessionKey,
    /// Last change of the session.
    pub updated_ms: Option<Moment>,
    /// Those on the active branch first, and the newest first; at most as many as the search keeps.
    pub hits: Vec<SearchHit>,
    /// All hits.
    pub count: usize,
    /// Hits on the active branch.
    pub branch_count: usize,
}

impl SessionHits {
    /// Sorts sessions: most hits on the active branch first, then most recent.
    pub fn rank(&self) -> impl Ord + use<> {
        (Reverse(self.branch_count), Reverse(self.updated_ms.map(Moment::whole)), self.key.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_the_first_match_with_words_around_it() {
        let query = SearchQuery::new("needle");
        let text = format!("{}\n  the Needle is here\n{}", "hay ".repeat(300), "straw ".repeat(300));
        let text = HitText::new(&text, &query);
        let line = text.line(&query, SecretDisplay::Hidden, 40);
        assert!(
            line.starts_with('…') && line.ends_with('…') && line.contains("the Needle is here"),
            "{line}"
        );
        assert!(line.chars().count() <= 41, "{line}");
        assert_eq!(HitText::new("a needle", &query).line(&query, SecretDisplay::Hidden, 40), "a needle");
    }

    #[test]
    fn a_secret_is_masked_also_when_it_is_the_match() {
        let secret = "sk-ant-api03-Zx81Kq92Lm37Vb64Nc55QwZx81Kq92Lm37";
        let said = format!("{} the key is {secret} for now", "word ".repeat(400));
        for query in ["sk-ant", "for now"] {
            let query = SearchQuery::new(query);
            let text = HitText::new(&said, &query);
            let hidden = text.line(&query, SecretDisplay::Hidden, 120);
            assert!(!hidden.contains("Zx81Kq") && hidden.contains("[redacted"), "{hidden}");
            assert!(text.with_secrets(&query, SecretDisplay::Shown).contains(secret));
        }
    }

    #[test]
    fn a_token_longer_than_the_kept_text_is_masked() {
        let part = |chars: usize| "Zx81Kq92Lm37Vb64Nc55Qw".repeat(chars / 22);
        for chars in [900, 3_000, 20_000] {
            let token = format!("eyJhbGciOiJIUzI1NiJ9.eyJ{}.{}", part(chars), part(400));
            for said in [
                format!("token {token} needle"),
                format!("needle {token} end"),
                format!("a\n{token}\nneedle"),
            ] {
                let query = SearchQuery::new("needle");
                let text = HitText::new(&said, &query);
                let hidden = text.with_secrets(&query, SecretDisplay::Hidden);
                assert!(!hidden.contains("Zx81Kq") && hidden.contains("needle"), "{chars}: {hidden}");
            }
        }
    }

    #[test]
    fn the_end_of_a_private_key_is_masked() {
        let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n".repeat(80);
        let said = format!("-----BEGIN PRIVATE KEY-----\n{body}-----END PRIVATE KEY-----\nneedle");
        let query = SearchQuery::new("needle");
        let text = HitText::new(&said, &query);
        assert!(!text.with_secrets(&query, SecretDisplay::Hidden).contains("MIIEv"));
    }

    #[test]
    fn sessions_with_most_hits_on_the_branch_come_first_then_recent_ones() {
        let of = |key: &str, branch_count, updated_ms| SessionHits {
            key: SessionKey(key.into()),
            updated_ms,
            hits: Vec::new(),
            count: 9,
            branch_count,
        };
        let mut all = [
            of("b", 1, Some(Moment(5.0))),
            of("c", 2, Some(Moment(1.0))),
            of("a", 1, Some(Moment(7.0))),
            of("d", 1, None),
        ];
        all.sort_by_key(SessionHits::rank);
        assert_eq!(all.map(|session| session.key.0.clone()), ["c", "a", "b", "d"]);
    }
}
