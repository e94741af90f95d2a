//! The facts of messages, each once, with the last message that has it.

use std::collections::HashMap;
use std::ops::Range;

use rayon::prelude::*;

use crate::ids::EntryIx;
use crate::report::facts::{Fact, FactKind, SentenceWords, constraints, decisions, facts, sentence_words};
use crate::session::LoadedSession;
use crate::session::message_texts::read_texts;
use crate::store::body::{BodyError, LineBuffer};
use crate::store::entry::Role;

/// A name with more older values belongs to the rows of a list, not to a setting.
pub(super) const MAX_OLDER_VALUES: usize = 8;
/// Entries whose texts are in memory together.
const PART_LEN: usize = 512;

/// A message of the path with its words.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) entry: EntryIx,
    pub(super) role: Role,
    pub(super) text: String,
}

/// Reads the messages of a path. Ranges are positions on it.
pub(super) struct MessageReader<'a> {
    pub(super) session: &'a LoadedSession,
    pub(super) path: &'a [EntryIx],
}

impl MessageReader<'_> {
    pub(super) fn read(&self, range: Range<usize>) -> Result<Vec<Message>, BodyError> {
        let read = |buffer: &mut LineBuffer, ix: &EntryIx| {
            let Some(size) = self.session.index.entry(*ix).message else { return Ok(None) };
            Ok(Some(Message { entry: *ix, role: size.role, text: read_texts(self.session, *ix, buffer)? }))
        };
        let entries = self.path[range].par_iter();
        let messages: Result<Vec<_>, BodyError> = entries.map_init(LineBuffer::default, read).collect();
        Ok(messages?.into_iter().flatten().collect())
    }

    /// Passes the messages of a range to `take` part by part, until it returns false.
    pub(super) fn each_part(
        &self,
        range: Range<usize>,
        mut take: impl FnMut(&[Message]) -> bool,
    ) -> Result<(), BodyError> {
        for from in range.clone().step_by(PART_LEN) {
            if !take(&self.read(from..range.end.min(from + PART_LEN))?) {
                break;
            }
        }
        Ok(())
    }
}

/// A fact of the summarised messages.
#[derive(Debug, Clone)]
pub(super) struct SourceFact {
    pub(super) kind: FactKind,
    pub(super) key: String,
    pub(super) text: String,
    pub(super) name: Option<String>,
    pub(super) source: EntryIx,
    /// Older values of the same name, the oldest first.
    pub(super) older: Vec<String>,
    /// The words of a sentence.
    pub(super) words: SentenceWords,
}

impl SourceFact {
    pub(super) fn audited(&self) -> AuditedFact {
        AuditedFact {
            kind: self.kind,
            text: self.text.clone(),
            name: self.name.clone(),
            source: self.source,
            state: FactState::Lost,
            used_later: None,
        }
    }
}

/// Returns the facts of one message. Only a user sets limits; a user or the model decides.
fn message_facts(message: &Message) -> Vec<Fact<'_>> {
    let mut found = facts(&message.text);
    if message.role == Role::User {
        found.extend(constraints(&message.text));
    }
    if matches!(message.role, Role::User | Role::Assistant) {
        found.extend(decisions(&message.text));
    }
    found
}

/// Returns the facts of each message.
pub(super) fn all_facts(messages: &[Message]) -> Vec<Vec<Fact<'_>>> {
    messages.par_iter().map(message_facts).collect()
}

/// Collects the facts of messages, each once, in the order of their first appearance.
#[derive(Debug, Default)]
pub(super) struct FactCollector {
    facts: Vec<SourceFact>,
    positions: HashMap<(FactKind, String), usize>,
    /// The last values of each name, the current one last.
    named: HashMap<String, Vec<String>>,
}

impl FactCollector {
    pub(super) fn add(&mut self, messages: &[Message]) {
        for (message, facts) in messages.iter().zip(all_facts(messages)) {
            for fact in facts {
                self.push(message.entry, fact);
            }
        }
    }

    fn push(&mut self, entry: EntryIx, fact: Fact<'_>) {
        let name = fact.name.map(str::to_lowercase);
        if let Some(name) = &name {
            let values = self.named.entry(name.clone()).or_default();
            values.retain(|value| *value != fact.key);
            values.push(fact.key.to_string());
            // Names of list rows have thousands of values, and more than a few are never compared.
            if values.len() > MAX_OLDER_VALUES + 2 {
                values.remove(0);
            }
        }
        let place = (fact.kind, fact.key.to_string());
        if let Some(at) = self.positions.get(&place) {
            let own = &mut self.facts[*at];
            (own.source, own.text) = (entry, fact.text.to_owned());
            own.name = name.or_else(|| own.name.take());
            return;
        }
        self.positions.insert(place, self.facts.len());
        let words =
            if fact.kind.is_sentence() { sentence_words(fact.text) } else { SentenceWords::default() };
        self.facts.push(SourceFact {
            kind: fact.kind,
            text: fact.text.to_owned(),
            key: fact.key.into_owned(),
            name,
            source: entry,
            older: Vec::new(),
            words,
        });
    }

    pub(super) fn finish(mut self) -> Vec<SourceFact> {
        for fact in &mut self.facts {
            let values = fact.name.as_ref().and_then(|name| self.named.get(name));
            // Only the current value of a name can be stale in the summary.
            if let Some((current, older)) = values.and_then(|values| values.split_last())
                && *current == fact.key
            {
                fact.older = older.to_vec();
            }
        }
        self.facts
    }
}

/// One summary and the facts of the messages that it replaces.
#[derive(Debug, Clone, PartialEq)]
pub struct SummaryAudit {
    /// The compaction.
    pub entry: EntryIx,
    /// Messages that it replaces, an earlier summary included.
    pub messages: usize,
    /// Each fact once: those lost and used later first, then stale, lost and kept ones.
    pub facts: Vec<AuditedFact>,
}

/// A fact of the summarised messages.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditedFact {
    pub kind: FactKind,
    /// As the last message writes it. May hold secrets.
    pub text: String,
    /// The name before it, as in `port: 8080`.
    pub name: Option<String>,
    /// The last message that has it.
    pub source: EntryIx,
    pub state: FactState,
    /// The first later message of the model or of the user that uses it although no message of the prompt had it.
    pub used_later: Option<EntryIx>,
}

/// The fate of a fact.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum FactState {
    /// The summary has it, a sentence perhaps in other words.
    Kept,
    /// A message after the cut has it, so the prompt does too.
    InKeptMessages,
    /// The summary has an older value of the same name.
    Stale { summary: String },
    /// Neither the summary nor a kept message has it.
    Lost,
}

impl FactState {
    /// The name in JSON and on screen.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::InKeptMessages => "in-kept-messages",
            Self::Stale { .. } => "stale",
            Self::Lost => "lost",
        }
    }
}

/// Counts of an audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AuditTotals {
    pub facts: usize,
    /// In the summary, or in a kept message.
    pub kept: usize,
    pub stale: usize,
    pub lost: usize,
    /// Lost or stale ones that were used later.
    pub used_later: usize,
}

impl SummaryAudit {
    pub fn totals(&self) -> AuditTotals {
        let mut totals = AuditTotals { facts: self.facts.len(), ..AuditTotals::default() };
        for fact in &self.facts {
            match fact.state {
                FactState::Kept | FactState::InKeptMessages => totals.kept += 1,
                FactState::Stale { .. } => totals.stale += 1,
                FactState::Lost => totals.lost += 1,
            }
            totals.used_later += usize::from(fact.used_later.is_some());
        }
        totals
    }
}
