//! The messages that have an identifier. Only those that the model or the person uses count, and of these only the ones
//! that several messages have: nothing else points from a use back to its source.

use std::sync::Arc;

use super::identifiers::IdentifierHash;
use super::path_message::{PathMessage, is_speaker};

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
    pub(super) fn new(path: &[Arc<PathMessage>]) -> Self {
        let identifiers = shared_identifiers(path);
        let mut starts = vec![0; identifiers.len() + 1];
        let own = |message: &PathMessage| -> Vec<usize> {
            let found = message.identifiers.iter().filter_map(|own| identifiers.binary_search(own).ok());
            found.collect()
        };
        for message in path {
            for nth in own(message) {
                starts[nth + 1] += 1;
            }
        }
        for nth in 1..starts.len() {
            starts[nth] += starts[nth - 1];
        }
        let mut next = starts.clone();
        let mut messages = vec![0; starts.last().map_or(0, |end| *end as usize)];
        for (at, message) in path.iter().enumerate() {
            for nth in own(message) {
                messages[next[nth] as usize] = at as u32;
                next[nth] += 1;
            }
        }
        Self { identifiers, starts, messages }
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

/// Returns the identifiers that a speaker uses and that more than one message has, sorted.
fn shared_identifiers(path: &[Arc<PathMessage>]) -> Vec<IdentifierHash> {
    let of = |speaks: bool| {
        let some = path.iter().filter(move |message| is_speaker(message.role) == speaks);
        some.flat_map(|message| message.identifiers.iter().copied())
    };
    let mut used: Vec<IdentifierHash> = of(true).collect();
    used.sort_unstable();
    // `true` once a second message has it.
    let mut is_shared: Vec<bool> = Vec::with_capacity(used.len());
    let mut distinct: Vec<IdentifierHash> = Vec::with_capacity(used.len());
    for identifier in used {
        if distinct.last() == Some(&identifier) {
            is_shared.pop();
            is_shared.push(true);
        } else {
            distinct.push(identifier);
            is_shared.push(false);
        }
    }
    for identifier in of(false) {
        if let Ok(nth) = distinct.binary_search(&identifier) {
            is_shared[nth] = true;
        }
    }
    let mut shared = is_shared.iter();
    distinct.retain(|_| shared.next() == Some(&true));
    distinct.shrink_to_fit();
    distinct
}
