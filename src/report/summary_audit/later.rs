//! Finds the first use of a lost fact after the compaction.

use std::collections::HashMap;

use super::audit::{AuditedFact, FactState};
use super::sources::{Message, SourceFact, all_facts};
use crate::report::facts::{AwaitedSentences, FactKind, sentence_words};
use crate::store::entry::Role;

/// Finds the first use of each lost or stale fact in the messages after the compaction. A message that shows the fact
/// again, such as a file that is read once more, ends the search: later uses do not need the summary.
pub(super) struct UseFinder<'a> {
    open: HashMap<(FactKind, String), usize>,
    sentences: AwaitedSentences<'a>,
}

impl<'a> UseFinder<'a> {
    pub(super) fn new(audited: &[AuditedFact], facts: &'a [SourceFact]) -> Self {
        let is_missing = |at: &usize| matches!(audited[*at].state, FactState::Lost | FactState::Stale { .. });
        let missing: Vec<usize> = (0..facts.len()).filter(is_missing).collect();
        let (sentences, words): (Vec<usize>, Vec<usize>) =
            missing.into_iter().partition(|at| facts[*at].kind.is_sentence());
        Self {
            open: words.into_iter().map(|at| ((facts[at].kind, facts[at].key.clone()), at)).collect(),
            sentences: AwaitedSentences::new(sentences.into_iter().map(|at| (at, &facts[at].words))),
        }
    }

    pub(super) fn has_found_all(&self) -> bool {
        self.open.is_empty() && self.sentences.is_empty()
    }

    /// Notes the uses in the next messages.
    pub(super) fn read(&mut self, messages: &[Message], audited: &mut [AuditedFact]) {
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
