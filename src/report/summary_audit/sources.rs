//! The facts of messages, each once, with the last message that has it.

use std::collections::HashMap;

use rayon::prelude::*;

use super::audit::{AuditedFact, FactState};
use crate::context::bodies::into_message;
use crate::ids::EntryIx;
use crate::report::facts::{Fact, FactKind, SentenceWords, constraints, decisions, facts, sentence_words};
use crate::session::LoadedSession;
use crate::session::message_texts::join_texts;
use crate::store::body::{BodyError, read_entry};
use crate::store::entry::Role;

/// A message of the path with its words.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) entry: EntryIx,
    /// Position on the path.
    pub(super) position: usize,
    pub(super) role: Role,
    pub(super) text: String,
}

/// Reads the messages of a path.
pub(super) fn read_messages(session: &LoadedSession, path: &[EntryIx]) -> Result<Vec<Message>, BodyError> {
    let read = |(position, ix): (usize, &EntryIx)| {
        let entry = session.index.entry(*ix);
        let Some(size) = entry.message else { return Ok(None) };
        let body = read_entry(&session.source, &session.index, *ix)?;
        let text = join_texts(&into_message(body, entry.kind));
        Ok(Some(Message { entry: *ix, position, role: size.role, text }))
    };
    let messages: Result<Vec<_>, BodyError> = path.par_iter().enumerate().map(read).collect();
    Ok(messages?.into_iter().flatten().collect())
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
pub(super) fn message_facts(message: &Message) -> Vec<Fact<'_>> {
    let mut found = facts(&message.text);
    if message.role == Role::User {
        found.extend(constraints(&message.text));
    }
    if matches!(message.role, Role::User | Role::Assistant) {
        found.extend(decisions(&message.text));
    }
    found
}

/// Collects the facts of messages, each once, in the order of their first appearance.
pub(super) fn collect(messages: &[Message]) -> Vec<SourceFact> {
    let mut all: Vec<SourceFact> = Vec::new();
    let mut known: HashMap<(FactKind, String), usize> = HashMap::new();
    let mut named: HashMap<String, Vec<String>> = HashMap::new();
    for message in messages {
        for fact in message_facts(message) {
            let name = fact.name.map(str::to_lowercase);
            if let Some(name) = &name {
                let values = named.entry(name.clone()).or_default();
                values.retain(|value| *value != fact.key);
                values.push(fact.key.to_string());
            }
            let place = (fact.kind, fact.key.to_string());
            if let Some(at) = known.get(&place) {
                let own = &mut all[*at];
                (own.source, own.text) = (message.entry, fact.text.to_owned());
                own.name = name.or_else(|| own.name.take());
                continue;
            }
            known.insert(place, all.len());
            let words =
                if fact.kind.is_sentence() { sentence_words(fact.text) } else { SentenceWords::default() };
            all.push(SourceFact {
                kind: fact.kind,
                text: fact.text.to_owned(),
                key: fact.key.into_owned(),
                name,
                source: message.entry,
                older: Vec::new(),
                words,
            });
        }
    }
    for fact in &mut all {
        let values = fact.name.as_ref().and_then(|name| named.get(name));
        // Only the current value of a name can be stale in the summary.
        if let Some((current, older)) = values.and_then(|values| values.split_last())
            && *current == fact.key
        {
            fact.older = older.to_vec();
        }
    }
    all
}
