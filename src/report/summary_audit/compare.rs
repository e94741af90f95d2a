//! Whether a summary has a fact, or an older value of it.

use std::collections::{HashMap, HashSet};

use super::audit::FactState;
use super::sources::{MAX_OLDER_VALUES, Message, SourceFact};
use crate::report::facts::{FactKind, SentenceIndex, facts, sentence_words};

/// Letters of a digest that identify it without the rest.
const MIN_DIGEST_CHARS: usize = 7;

/// The facts of a summary, or of the kept messages.
#[derive(Debug, Default)]
pub(super) struct SummaryFacts {
    keys: HashMap<FactKind, HashSet<String>>,
    /// The last parts of the paths: `main.rs` and `src/main.rs` of `/home/me/src/main.rs`.
    path_ends: HashSet<String>,
    /// The values of each name, as written.
    named: HashMap<String, Vec<(String, String)>>,
    /// The words of each line.
    lines: SentenceIndex,
}

impl SummaryFacts {
    pub(super) fn new(text: &str) -> Self {
        let mut known = Self::default();
        known.add(text);
        known
    }

    pub(super) fn add_messages(&mut self, messages: &[Message]) {
        for message in messages {
            self.add(&message.text);
        }
    }

    fn add(&mut self, text: &str) {
        for fact in facts(text) {
            if fact.kind == FactKind::Path {
                self.path_ends.extend(path_ends(&fact.key).map(str::to_owned));
            }
            if let Some(name) = fact.name {
                let value = (fact.key.to_string(), fact.text.to_owned());
                self.named.entry(name.to_lowercase()).or_default().push(value);
            }
            self.keys.entry(fact.kind).or_default().insert(fact.key.into_owned());
        }
        text.lines().map(sentence_words).for_each(|line| self.lines.push(line));
    }

    fn has_key(&self, kind: FactKind, key: &str) -> bool {
        self.keys.get(&kind).is_some_and(|keys| keys.contains(key))
    }

    fn has(&self, fact: &SourceFact) -> bool {
        let keys = || self.keys.get(&fact.kind).into_iter().flatten();
        match fact.kind {
            _ if fact.kind.is_sentence() => self.lines.has_like(&fact.words),
            FactKind::Path => {
                self.path_ends.contains(&fact.key)
                    || path_ends(&fact.key).any(|end| self.has_key(FactKind::Path, end))
            }
            FactKind::Id => {
                self.has_key(FactKind::Id, &fact.key) || keys().any(|key| is_short_form(key, &fact.key))
            }
            FactKind::Date => {
                keys().any(|key| key.starts_with(fact.key.as_str()) || fact.key.starts_with(key.as_str()))
            }
            kind => self.has_key(kind, &fact.key),
        }
    }

    /// Returns an older value under the name of a fact, if the summary has that name without the current value.
    fn older_value(&self, fact: &SourceFact) -> Option<String> {
        let values = self.named.get(fact.name.as_ref()?)?;
        if fact.older.len() > MAX_OLDER_VALUES || values.iter().any(|(key, _)| *key == fact.key) {
            return None;
        }
        values.iter().find(|(key, _)| fact.older.contains(key)).map(|(_, text)| text.clone())
    }
}

/// Returns the fate of a fact.
pub(super) fn state(fact: &SourceFact, summary: &SummaryFacts, kept: &SummaryFacts) -> FactState {
    if let Some(older) = summary.older_value(fact) {
        return FactState::Stale { summary: older };
    }
    match (summary.has(fact), kept.has(fact)) {
        (true, _) => FactState::Kept,
        (false, true) => FactState::InKeptMessages,
        (false, false) => FactState::Lost,
    }
}

/// Returns a path and its ends of at least one folder and a name, and the bare name of a file.
fn path_ends(path: &str) -> impl Iterator<Item = &str> {
    let cuts = path.match_indices('/').map(|(at, _)| &path[at + 1..]);
    std::iter::once(path)
        .chain(cuts)
        .filter(move |end| end.contains('/') || end.contains('.') || *end == path)
}

/// Whether one digest is the start of the other.
fn is_short_form(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    let is_digest =
        short.len() >= MIN_DIGEST_CHARS && long.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    is_digest && long.starts_with(short)
}
