//! Audits recorded summaries without a model: which facts of the summarised messages a summary keeps, which it lost, and
//! for which it has an older value. Facts are found by their form ([`crate::report::facts`]), so nothing is judged that is
//! not there word for word.

mod sources;

use std::collections::{HashMap, HashSet};

use rayon::prelude::*;

use crate::context::build::first_kept;
use crate::report::facts::{AwaitedSentences, FactKind, SentenceIndex, facts, sentence_words};
use crate::session::LoadedSession;
use crate::store::body::BodyError;
use crate::store::entry::{EntryKind, Role};
use sources::{FactCollector, MAX_OLDER_VALUES, Message, MessageReader, SourceFact, all_facts};

pub use sources::{AuditTotals, AuditedFact, FactState, SummaryAudit};

/// Audits every compaction of the active branch, one at a time: the facts of all summaries can take more memory than the
/// rest of a long session. Reads the texts of its messages, a few hundred at a time.
///
/// # Errors
/// When an entry cannot be read again.
pub fn summary_audits(session: &LoadedSession) -> impl Iterator<Item = Result<SummaryAudit, BodyError>> + '_ {
    let reader = MessageReader { session, path: &session.context.path };
    cuts(session).into_iter().filter_map(move |cut| audit_one(&reader, &cut).transpose())
}

/// Returns the cuts of the compactions of the active branch.
fn cuts(session: &LoadedSession) -> Vec<Cut> {
    let (index, path) = (&session.index, &session.context.path);
    let compactions: Vec<usize> =
        (0..path.len()).filter(|at| index.entry(path[*at]).kind == EntryKind::Compaction).collect();
    let mut from = 0;
    let cut = |(number, at): (usize, &usize)| {
        let reset = path[from..*at].iter().rposition(|ix| index.entry(*ix).kind == EntryKind::Reset);
        let start = reset.map_or(from, |reset| from + reset + 1);
        let first_kept = first_kept(index, &path[..*at], path[*at]).unwrap_or(*at).max(start);
        let until = compactions.get(number + 1).copied().unwrap_or(path.len());
        from = first_kept;
        Cut { start, first_kept, compaction: *at, until }
    };
    compactions.iter().enumerate().map(cut).collect()
}

/// Positions on the path around one compaction.
#[derive(Debug, Clone, Copy)]
struct Cut {
    /// The first summarised entry.
    start: usize,
    first_kept: usize,
    compaction: usize,
    /// The next compaction, or the end.
    until: usize,
}

/// Audits one summary; `None` if it cannot be found.
fn audit_one(reader: &MessageReader<'_>, cut: &Cut) -> Result<Option<SummaryAudit>, BodyError> {
    let Some(summary) = reader.read(cut.compaction..cut.compaction + 1)?.pop() else { return Ok(None) };
    let (mut found, mut messages) = (FactCollector::default(), 0);
    reader.each_part(cut.start..cut.first_kept, |part| {
        messages += part.len();
        found.add(part);
        true
    })?;
    let facts = found.finish();
    let known = SummaryFacts::new(&summary.text);
    let mut still = SummaryFacts::default();
    reader.each_part(cut.first_kept..cut.compaction, |part| {
        still.add_messages(part);
        true
    })?;
    let mut audited: Vec<AuditedFact> = facts
        .par_iter()
        .map(|fact| AuditedFact { state: state(fact, &known, &still), ..fact.audited() })
        .collect();
    let mut uses = UseFinder::new(&audited, &facts);
    reader.each_part(cut.compaction + 1..cut.until, |part| {
        uses.read(part, &mut audited);
        !uses.has_found_all()
    })?;
    audited.sort_by_key(|fact| {
        (fact.used_later.is_none(), std::cmp::Reverse(fact.state.clone()), fact.kind, fact.source)
    });
    Ok(Some(SummaryAudit { entry: summary.entry, messages, facts: audited }))
}

// Whether a summary has a fact, or an older value of it.

/// Letters of a digest that identify it without the rest.
const MIN_DIGEST_CHARS: usize = 7;

/// The facts of a summary, or of the kept messages.
#[derive(Debug, Default)]
struct SummaryFacts {
    keys: HashMap<FactKind, HashSet<String>>,
    /// The last parts of the paths: `main.rs` and `src/main.rs` of `/home/me/src/main.rs`.
    path_ends: HashSet<String>,
    /// The values of each name, as written.
    named: HashMap<String, Vec<(String, String)>>,
    /// The words of each line.
    lines: SentenceIndex,
}

impl SummaryFacts {
    fn new(text: &str) -> Self {
        let mut known = Self::default();
        known.add(text);
        known
    }

    fn add_messages(&mut self, messages: &[Message]) {
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
fn state(fact: &SourceFact, summary: &SummaryFacts, kept: &SummaryFacts) -> FactState {
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

// Finds the first use of a lost fact after the compaction.

/// Finds the first use of each lost or stale fact in the messages after the compaction. A message that shows the fact
/// again, such as a file that is read once more, ends the search: later uses do not need the summary.
struct UseFinder<'a> {
    open: HashMap<(FactKind, String), usize>,
    sentences: AwaitedSentences<'a>,
}

impl<'a> UseFinder<'a> {
    fn new(audited: &[AuditedFact], facts: &'a [SourceFact]) -> Self {
        let is_missing = |at: &usize| matches!(audited[*at].state, FactState::Lost | FactState::Stale { .. });
        let missing: Vec<usize> = (0..facts.len()).filter(is_missing).collect();
        let (sentences, words): (Vec<usize>, Vec<usize>) =
            missing.into_iter().partition(|at| facts[*at].kind.is_sentence());
        Self {
            open: words.into_iter().map(|at| ((facts[at].kind, facts[at].key.clone()), at)).collect(),
            sentences: AwaitedSentences::new(sentences.into_iter().map(|at| (at, &facts[at].words))),
        }
    }

    fn has_found_all(&self) -> bool {
        self.open.is_empty() && self.sentences.is_empty()
    }

    /// Notes the uses in the next messages.
    fn read(&mut self, messages: &[Message], audited: &mut [AuditedFact]) {
        for (message, facts) in messages.iter().zip(all_facts(messages)) {
            let speaks = matches!(message.role, Role::Assistant | Role::User);
            for fact in facts {
                if let Some(at) = self.open.remove(&(fact.kind, fact.key.into_owned())) {
                    audited[at].used_later = speaks.then_some(message.entry);
                }
            }
            if self.sentences.is_empty() || !speaks {
                continue;
            }
            for line in message.text.lines().map(sentence_words) {
                for at in self.sentences.take_repeated(&line) {
                    audited[at].used_later = Some(message.entry);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
