//! The messages that have an identifier. Only those that the model or the person uses count, and of these only the ones
//! that several messages have: nothing else points from a use back to its source.

use std::sync::Arc;

use crate::ids::EntryIx;
use crate::report::facts::TextHash;
use crate::store::entry::Role;
use crate::units::Tokens;

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

/// Parts of the names of tools that change files.
const WRITING_TOOLS: [&str; 4] = ["write", "edit", "patch", "replace"];

/// One message of the path.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PathMessage {
    pub(super) entry: EntryIx,
    /// Position on the path.
    pub(super) position: usize,
    pub(super) role: Role,
    /// The tool of a result.
    pub(super) tool: Option<Box<str>>,
    /// The call that a result answers.
    pub(super) answers: Option<Box<str>>,
    /// Tokens by rule.
    pub(super) estimate: f64,
    /// In the order of their digests, each once.
    pub(super) identifiers: Box<[TextHash]>,
    /// The texts of these identifiers; only for messages of the model and of the person, which use them.
    pub(super) names: Box<[Box<str>]>,
    pub(super) uses: Box<[ToolUse]>,
}

impl PathMessage {
    /// Keeps only these identifiers and their names; none of a message without names.
    pub(super) fn retain_identifiers(&mut self, is_kept: impl Fn(TextHash) -> bool) {
        let names = std::mem::take(&mut self.names).into_vec();
        let named = self.identifiers.iter().copied().zip(names).filter(|(own, _)| is_kept(*own));
        let (identifiers, names): (Vec<TextHash>, Vec<Box<str>>) = named.unzip();
        (self.identifiers, self.names) = (identifiers.into(), names.into());
    }
}

/// A tool call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ToolUse {
    pub(super) id: Box<str>,
    pub(super) tool: Box<str>,
    /// With sorted keys, without blanks around values and without nulls.
    pub(super) arguments: Box<str>,
    /// The file that it names.
    pub(super) path: Option<Box<str>>,
    /// It runs a command, which may read any file.
    pub(super) runs_command: bool,
    /// Estimated tokens of name and arguments.
    pub(super) tokens: Tokens,
}

impl ToolUse {
    /// Whether it changes a file.
    pub(super) fn writes(&self) -> bool {
        let tool = self.tool.to_ascii_lowercase();
        self.path.is_some() && WRITING_TOOLS.iter().any(|part| tool.contains(part))
    }
}

/// Whether messages of a role use texts of others.
pub(super) fn is_speaker(role: Role) -> bool {
    matches!(role, Role::Assistant | Role::User)
}
