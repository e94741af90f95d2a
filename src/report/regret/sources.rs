//! The messages that have an identifier. Only those that the model or the person uses count, and of these only the ones
//! that several messages have: nothing else points from a use back to its source.

use std::sync::Arc;

use super::path_message::{PathMessage, is_speaker};
use crate::report::facts::TextHash;

/// In place of an index, for an identifier that only one message has.
const UNSHARED: u32 = u32::MAX;

/// For each message of a path, the positions of its identifiers among those that speakers use.
#[derive(Debug, Default)]
pub(super) struct UsedIdentifiers {
    /// The positions of all messages, one after another.
    positions: Vec<u32>,
    /// The end of each message's positions.
    ends: Vec<usize>,
}

impl UsedIdentifiers {
    /// Adds the next message.
    pub(super) fn push(&mut self, positions: impl IntoIterator<Item = u32>) {
        self.positions.extend(positions);
        self.ends.push(self.positions.len());
    }

    fn of_each_message(&self) -> impl Iterator<Item = &[u32]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.positions[start..*end])
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct IdentifierSources {
    /// Sorted.
    identifiers: Vec<TextHash>,
    /// The start of each identifier's messages in `messages`, and the end of the last.
    starts: Vec<u32>,
    /// Indexes of messages, ascending for each identifier.
    messages: Vec<u32>,
}

impl IdentifierSources {
    /// `used` are the identifiers that speakers use, sorted; `path` has those of each message.
    pub(super) fn new(mut used: Vec<TextHash>, path: &UsedIdentifiers) -> Self {
        let mut counts = vec![0_u32; used.len()];
        path.positions.iter().for_each(|nth| counts[*nth as usize] += 1);
        let mut starts = Vec::with_capacity(counts.iter().filter(|count| **count > 1).count() + 1);
        starts.push(0);
        // From here on, where the next message of each is written.
        let mut next = counts;
        let mut end = 0;
        for place in &mut next {
            let count = std::mem::replace(place, if *place > 1 { end } else { UNSHARED });
            if count > 1 {
                end += count;
                starts.push(end);
            }
        }
        let mut places = next.iter();
        used.retain(|_| places.next() != Some(&UNSHARED));
        used.shrink_to_fit();
        let mut messages = vec![0; end as usize];
        for (at, own) in path.of_each_message().enumerate() {
            for nth in own {
                let place = &mut next[*nth as usize];
                if *place != UNSHARED {
                    messages[*place as usize] = at as u32;
                    *place += 1;
                }
            }
        }
        Self { identifiers: used, starts, messages }
    }

    /// Finds the identifiers in the messages of a path.
    pub(super) fn of_messages(path: &[Arc<PathMessage>]) -> Self {
        let used = used_identifiers(path.iter().map(|message| &**message));
        let mut own = UsedIdentifiers::default();
        for message in path {
            own.push(positions_among(&used, message));
        }
        Self::new(used, &own)
    }

    /// Whether more than one message has an identifier, one of them a speaker's.
    pub(super) fn has(&self, identifier: TextHash) -> bool {
        self.identifiers.binary_search(&identifier).is_ok()
    }

    /// Number of identifiers.
    pub(super) fn len(&self) -> usize {
        self.identifiers.len()
    }

    /// Returns the place of an identifier, and those of its messages that are before `at`.
    pub(super) fn before(&self, identifier: TextHash, at: usize) -> Option<(usize, &[u32])> {
        let nth = self.identifiers.binary_search(&identifier).ok()?;
        let all = &self.messages[self.starts[nth] as usize..self.starts[nth + 1] as usize];
        Some((nth, &all[..all.partition_point(|message| (*message as usize) < at)]))
    }
}

/// Returns the identifiers that speakers use, sorted, each once.
pub(super) fn used_identifiers<'a>(path: impl Iterator<Item = &'a PathMessage>) -> Vec<TextHash> {
    let speakers = path.filter(|message| is_speaker(message.role));
    let mut used: Vec<TextHash> = speakers.flat_map(|message| message.identifiers.iter().copied()).collect();
    used.sort_unstable();
    used.dedup();
    used
}

/// Returns the positions of a message's identifiers among those that speakers use.
pub(super) fn positions_among(used: &[TextHash], message: &PathMessage) -> impl Iterator<Item = u32> {
    message.identifiers.iter().filter_map(|own| used.binary_search(own).ok()).map(|nth| nth as u32)
}
