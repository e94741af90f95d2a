//! Finds the first use of a lost fact behind the compaction.

use std::collections::HashMap;

use super::audit::{AuditedFact, FactState};
use super::sources::{Message, SourceFact, message_facts};
use crate::report::facts::{AwaitedSentences, FactKind, sentence_words};
use crate::store::entry::Role;

/// Notes the first use of each lost or stale fact in the messages behind the compaction. A message that shows the fact
/// again, such as a file that is read once more, ends the search: later uses do not need the summary.
pub(super) fn find_uses(audited: &mut [AuditedFact], facts: &[SourceFact], later: &[Message]) {
    let is_missing = |at: &usize| matches!(audited[*at].state, FactState::Lost | FactState::Stale { .. });
    let missing: Vec<usize> = (0..facts.len()).filter(is_missing).collect();
    let (sentences, words): (Vec<usize>, Vec<usize>) =
        missing.into_iter().partition(|at| facts[*at].kind.is_sentence());
    let mut open: HashMap<(FactKind, String), usize> =
        words.into_iter().map(|at| ((facts[at].kind, facts[at].key.clone()), at)).collect();
    let mut sentences = AwaitedSentences::new(sentences.into_iter().map(|at| (at, &facts[at].words)));
    for message in later {
        let speaks = matches!(message.role, Role::Assistant | Role::User);
        for fact in message_facts(message) {
            if let Some(at) = open.remove(&(fact.kind, fact.key.into_owned())) {
                audited[at].used_later = speaks.then_some(message.entry);
            }
        }
        if sentences.is_empty() || !speaks {
            continue;
        }
        for line in message.text.lines().map(sentence_words) {
            for at in sentences.take_repeated(&line) {
                audited[at].used_later = Some(message.entry);
            }
        }
    }
}
