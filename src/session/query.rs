//! The filter of the session list, typed on the screen or on the command line: words and conditions, all of which a
//! session must meet.

use std::collections::HashSet;
use std::ops::Range;

use crate::ids::SessionKey;
use crate::session::query_term::{Condition, QueryError, Term};
use crate::session::search_text::{
    FuzzyMatcher, FuzzyWord, MatchRank, SearchText, fuzzy_ranges, literal_ranges,
};
use crate::session::{Mark, SessionItem};
use crate::units::Moment;

/// A parsed filter. It meets every session until something is typed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionQuery {
    terms: Vec<Term>,
    /// The first condition that cannot be read, and its expected form. The query ignores it.
    pub problem: Option<QueryError>,
}

/// The sessions that a filter selects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Indices in the order of the list, each with the rank of its worst word.
    pub found: Vec<(usize, MatchRank)>,
    /// Words to highlight.
    pub words: Vec<MatchedWord>,
    /// The problem with the filter, if it has one.
    pub problem: Option<QueryError>,
}

/// A word of the filter that selects by text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchedWord {
    /// In lower case.
    pub text: String,
    /// Whether no session holds the word itself.
    pub is_fuzzy: bool,
}

impl MatchedWord {
    /// Returns the byte ranges of a text to highlight.
    pub fn ranges(&self, text: &str) -> Vec<Range<usize>> {
        if self.is_fuzzy { fuzzy_ranges(text, &self.text) } else { literal_ranges(text, &self.text) }
    }
}

impl Selection {
    /// Returns the best match; the first in the order of the list among equals.
    pub fn best(&self) -> Option<usize> {
        self.found.iter().min_by_key(|(at, rank)| (*rank, *at)).map(|(at, _)| *at)
    }
}

impl SessionQuery {
    /// Parses a filter. A condition that is still incomplete, such as `cost:>`, is ignored.
    pub fn parse(text: &str) -> Self {
        let mut query = Self::default();
        for token in text.split_whitespace() {
            match Term::parse(token) {
                Ok(term) => query.terms.extend(term),
                Err(problem) => query.problem = query.problem.or(Some(problem)),
            }
        }
        query
    }

    /// Whether a condition such as `full:>80` is in it, not only words.
    pub fn has_condition(&self) -> bool {
        let is_word = |term: &Term| matches!(term.condition, Condition::Word { .. });
        self.problem.is_some() || !self.terms.iter().all(is_word)
    }

    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Selects the sessions that meet every condition. `texts` belong to the items; `now_ms` is for ages.
    pub fn select(&self, items: &[SessionItem], texts: &[SearchText], now_ms: Moment) -> Selection {
        let needs_parents = self.terms.iter().any(|term| term.condition.needs_parents());
        let parents = items.iter().filter(|_| needs_parents).filter_map(|item| item.parent.as_ref());
        let parents: HashSet<&SessionKey> = parents.collect();
        let mut ranks: Vec<Option<MatchRank>> = vec![Some(MatchRank::Exact); items.len()];
        let mut selection = Selection { problem: self.problem.clone(), ..Selection::default() };
        for term in &self.terms {
            let found = match &term.condition {
                Condition::Word { text, mark, unknown_key } => {
                    let literal = literal_matches(text, *mark, items, texts);
                    let is_known = literal.iter().any(Option::is_some);
                    if let Some(key) = unknown_key.as_ref().filter(|_| !is_known) {
                        selection.problem =
                            selection.problem.or_else(|| Some(QueryError::UnknownKey(key.clone())));
                    }
                    let is_fuzzy = !is_known && mark.is_none() && !term.negated;
                    if !term.negated {
                        selection.words.push(MatchedWord { text: text.clone(), is_fuzzy });
                    }
                    if is_fuzzy { fuzzy_matches(text, texts) } else { literal }
                }
                condition => {
                    let is_met = |item: &SessionItem| {
                        condition
                            .is_met(item, now_ms, parents.contains(&item.key))
                            .then_some(MatchRank::Exact)
                    };
                    items.iter().map(is_met).collect()
                }
            };
            for (rank, found) in ranks.iter_mut().zip(found) {
                *rank = match (*rank, found, term.negated) {
                    (Some(rank), Some(found), false) => Some(rank.max(found)),
                    (Some(rank), None, true) => Some(rank),
                    _ => None,
                };
            }
        }
        selection.found = ranks.iter().enumerate().filter_map(|(at, rank)| Some((at, (*rank)?))).collect();
        selection
    }
}

/// Ranks the sessions that hold a word in their texts or have the mark of this name.
fn literal_matches(
    word: &str,
    mark: Option<Mark>,
    items: &[SessionItem],
    texts: &[SearchText],
) -> Vec<Option<MatchRank>> {
    let rank = |(item, text): (&SessionItem, &SearchText)| {
        let has_mark = mark.is_some_and(|mark| item.has(mark));
        text.rank(word).or_else(|| has_mark.then_some(MatchRank::WordStart))
    };
    items.iter().zip(texts).map(rank).collect()
}

fn fuzzy_matches(word: &str, texts: &[SearchText]) -> Vec<Option<MatchRank>> {
    let Some(word) = FuzzyWord::new(word) else { return vec![None; texts.len()] };
    let mut matcher = FuzzyMatcher::default();
    let rank = |text: &SearchText| text.matches_fuzzily(&word, &mut matcher).then_some(MatchRank::Fuzzy);
    texts.iter().map(rank).collect()
}

#[cfg(test)]
#[path = "query_tests.rs"]
mod tests;
