//! The messages that have an identifier. Only those that the model or the person uses count, and of these only the ones
//! that several messages have: nothing else points from a use back to its source.

use std::sync::Arc;

use super::identifiers::IdentifierHash;
use super::path_message::{PathMessage, is_speaker};

/// For each message of a path, the positions of its identifiers among those that speakers use.
pub(super) type UsedIdentifiers = Box<[u32]>;

#[derive(Debug, Clone, Default)]
pub(super) struct IdentifierSources {
    /// Sorted.
    identifiers: Vec<IdentifierHash>,
    /// Where the messages of each begin in `messages`, and the end of the last.
    starts: Vec<u32>,
    /// Indexes of messages, ascending for each identifier.
    messages: Vec<u32>,
}

impl IdentifierSources {
    /// `used` are the identifiers that speakers use, sorted; `path` has those of each message.
    pub(super) fn new(mut used: Vec<IdentifierHash>, path: &[UsedIdentifiers]) -> Self {
        let all = || path.iter().flatten().map(|nth| *nth as usize);
        let mut counts = vec![0_u32; used.len()];
        all().for_each(|nth| counts[nth] += 1);
        let (mut starts, mut end) = (vec![0], 0);
        // Where the next message of each is written; `None` for those that only one message has.
        let mut next: Vec<Option<u32>> = Vec::with_capacity(counts.len());
        for count in counts {
            next.push((count > 1).then_some(end));
            if count > 1 {
                end += count;
                starts.push(end);
            }
        }
        let mut shared = next.iter().map(Option::is_some);
        used.retain(|_| shared.next() == Some(true));
        used.shrink_to_fit();
        let mut messages = vec![0; end as usize];
        for (at, own) in path.iter().enumerate() {
            for nth in own {
                let Some(place) = &mut next[*nth as usize] else { continue };
                messages[*place as usize] = at as u32;
                *place += 1;
            }
        }
        Self { identifiers: used, starts, messages }
    }

    /// Finds the identifiers in the messages of a path.
    pub(super) fn of_messages(path: &[Arc<PathMessage>]) -> Self {
        let used = used_identifiers(path.iter().map(|message| &**message));
        let own: Vec<_> = path.iter().map(|message| positions_among(&used, message)).collect();
        Self::new(used, &own)
    }

    /// Whether more than one message has an identifier, one of them a speaker's.
    pub(super) fn has(&self, identifier: IdentifierHash) -> bool {
        self.identifiers.binary_search(&identifier).is_ok()
    }

    /// Number of identifiers.
    pub(super) fn len(&self) -> usize {
        self.identifiers.len()
    }

    /// Returns the place of an identifier, and those of its messages that are before `at`.
    pub(super) fn before(&self, identifier: IdentifierHash, at: usize) -> Option<(usize, &[u32])> {
        let nth = self.identifiers.binary_search(&identifier).ok()?;
        let all = &self.messages[self.starts[nth] as usize..self.starts[nth + 1] as usize];
        Some((nth, &all[..all.partition_point(|message| (*message as usize) < at)]))
    }
}

/// Returns the identifiers that speakers use, sorted, each once.
pub(super) fn used_identifiers<'a>(path: impl Iterator<Item = &'a PathMessage>) -> Vec<IdentifierHash> {
    let speakers = path.filter(|message| is_speaker(message.role));
    let mut used: Vec<IdentifierHash> =
        speakers.flat_map(|message| message.identifiers.iter().copied()).collect();
    used.sort_unstable();
    used.dedup();
    used
}

/// Returns the positions of a message's identifiers among those that speakers use.
pub(super) fn positions_among(used: &[IdentifierHash], message: &PathMessage) -> UsedIdentifiers {
    message.identifiers.iter().filter_map(|own| used.binary_search(own).ok()).map(|nth| nth as u32).collect()
}
