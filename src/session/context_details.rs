//! Body-derived data for policies that sizes cannot decide, read from the transcript once per context.

use std::collections::HashMap;

use crate::context::{Context, bodies};
use crate::gateway::ruleset::{Pruner, Rules};
use crate::ids::EntryIx;
use crate::policy::compact::{
    BranchEntry, CompactionInput, PreviousCompaction, branch_entries_for_runtime, weighted_tokens,
};
use crate::policy::features::ContentFeatures;
use crate::policy::prune::projections::{MARKER_TYPE, ProjectionSnapshot};
use crate::store::body::{self, BodyError};
use crate::store::entry::{Entry, EntryKind, Role};
use crate::store::index::Index;
use crate::store::source::Source;
use crate::units::{Moment, Tokens};

/// The branch as a compaction reads it, and the content features of every message.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContextDetails {
    /// Entries of the path, root first.
    pub branch: Vec<BranchEntry>,
    pub previous_compaction: PreviousCompaction,
    /// Weighted tokens of each message, when the ruleset weights characters.
    pub weighted_tokens: HashMap<EntryIx, Tokens>,
    /// One per message of the context.
    pub features: Vec<ContentFeatures>,
    /// Pruned and cut results that the gateway's pruner stored (pruning 8.2).
    pub stored_pruning: ProjectionSnapshot,
}

/// Details of a context from before its transcript grew.
#[derive(Debug, Clone, Copy)]
pub struct PreviousDetails<'a> {
    pub context: &'a Context,
    pub details: &'a ContextDetails,
}

impl ContextDetails {
    /// Reads every message of the context back, one at a time.
    pub fn read(
        source: &Source,
        index: &Index,
        context: &Context,
        rules: &'static Rules,
    ) -> Result<Self, BodyError> {
        let all = Self::read_while(source, index, context, rules, None, &mut || true)?;
        Ok(all.unwrap_or_default())
    }

    /// Like [`Self::read`], but reuses `known` for messages that were read under the same ruleset, and returns `None`
    /// once `wanted` returns false. `wanted` is called before each message that is read.
    pub fn read_while(
        source: &Source,
        index: &Index,
        context: &Context,
        rules: &'static Rules,
        known: Option<PreviousDetails<'_>>,
        wanted: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Self>, BodyError> {
        let known_features: HashMap<EntryIx, &ContentFeatures> =
            known.map(features_by_entry).unwrap_or_default();
        let mut features = Vec::with_capacity(context.messages.len());
        let mut tokens = HashMap::new();
        for message in &context.messages {
            if let Some(kept) = known_features.get(&message.entry) {
                features.push((*kept).clone());
                let weighted = known.and_then(|known| known.details.weighted_tokens.get(&message.entry));
                tokens.extend(weighted.map(|weighted| (message.entry, *weighted)));
                continue;
            }
            if !wanted() {
                return Ok(None);
            }
            let body = bodies::read_message(source, index, message)?;
            features.push(ContentFeatures::of_under(rules, &body));
            tokens.extend(weighted_tokens(rules, &body).map(|weighted| (message.entry, weighted)));
        }
        let entry = |ix| body::read_entry(source, index, ix);
        let branch = branch_entries_for_runtime(index, &context.entries_since_reset(index), entry)?;
        let before = PreviousCompaction::read(index, &branch, entry)?;
        let remembered = read_stored_pruning(source, index, &context.path, rules)?;
        Ok(Some(Self {
            branch,
            previous_compaction: before,
            weighted_tokens: tokens,
            features,
            stored_pruning: remembered,
        }))
    }

    pub fn compaction_input(&self) -> CompactionInput<'_> {
        CompactionInput {
            branch: &self.branch,
            previous: &self.previous_compaction,
            weighted_tokens: &self.weighted_tokens,
        }
    }
}

/// Returns the snapshot in force at the end of a path. Reads only markers, newest first, back to a reset (sqlite G5).
pub(super) fn read_stored_pruning(
    source: &Source,
    index: &Index,
    path: &[EntryIx],
    rules: &'static Rules,
) -> Result<ProjectionSnapshot, BodyError> {
    for at in markers(rules, index, path) {
        let marker = body::read_entry(source, index, path[at])?;
        if let Some(snapshot) = ProjectionSnapshot::from_branch([&marker]) {
            return Ok(ProjectionSnapshot { run_started: run_started(index, &path[..at]), ..snapshot });
        }
    }
    Ok(ProjectionSnapshot::default())
}

/// Returns the positions on a path of the markers since the last reset that may hold a snapshot, newest first.
pub(super) fn markers(rules: &Rules, index: &Index, path: &[EntryIx]) -> impl Iterator<Item = usize> {
    let stored = rules.pruner == Pruner::Projections { stored: true };
    let path = path.iter().enumerate().rev().take_while(move |_| stored);
    let since_reset = path.take_while(|(_, ix)| index.entry(**ix).kind != EntryKind::Reset);
    let is_marker =
        |entry: &Entry| index.values.value(entry.payload).is_some_and(|word| word.str_is(MARKER_TYPE));
    since_reset.filter_map(move |(at, ix)| {
        let entry = index.entry(*ix);
        (entry.kind == EntryKind::Custom && is_marker(entry)).then_some(at)
    })
}

/// Returns the time of the newest user message of a path.
fn run_started(index: &Index, path: &[EntryIx]) -> Option<Moment> {
    let is_user = |entry: &&Entry| entry.message.as_ref().is_some_and(|message| message.role == Role::User);
    let entry = path.iter().rev().map(|ix| index.entry(*ix)).find(is_user)?;
    Some(entry.time_ms).filter(|time| !time.is_nan())
}

fn features_by_entry(known: PreviousDetails<'_>) -> HashMap<EntryIx, &ContentFeatures> {
    let entries = known.context.messages.iter().map(|message| message.entry);
    entries.zip(&known.details.features).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;
    use crate::session::testing::{call, loaded_session, result, transcript, user};

    fn lines(count: usize) -> String {
        let all = [
            user("go"),
            call("c1", "exec", "{}"),
            result("c1", "exec", "one\ntwo", ""),
            user("and on"),
            user("and on still"),
        ];
        transcript(&all[..count])
    }

    #[test]
    fn after_growth_only_new_messages_are_read() {
        let rules = Ruleset::V2026_9_6.rules();
        let (before, after) = (loaded_session(&lines(3), 1e5), loaded_session(&lines(5), 1e5));
        let context_details =
            ContextDetails::read(&before.source, &before.index, &before.context, rules).unwrap();
        let known = PreviousDetails { context: &before.context, details: &context_details };
        let mut requested = 0;
        let mut count = || {
            requested += 1;
            true
        };
        let (source, index, context) = (&after.source, &after.index, &after.context);
        let grown =
            ContextDetails::read_while(source, index, context, rules, Some(known), &mut count).unwrap();
        assert_eq!(requested, 2);
        assert_eq!(grown, Some(ContextDetails::read(source, index, context, rules).unwrap()));
    }

    #[test]
    fn reading_details_can_be_cancelled() {
        let rules = Ruleset::default().rules();
        let all = loaded_session(&lines(5), 1e5);
        let mut left = 2;
        let mut wanted = || {
            left -= 1;
            left > 0
        };
        let read =
            ContextDetails::read_while(&all.source, &all.index, &all.context, rules, None, &mut wanted)
                .unwrap();
        assert_eq!((read, left), (None, 0));
    }

    #[test]
    fn a_marker_belongs_to_the_run_of_the_user_message_before_it() {
        let marker = r#"{"type":"custom","customType":"openclaw.cache-ttl","data":{"prunedToolResults":[{"key":"tool:c1","mode":"soft"}]}}"#;
        let all =
            loaded_session(&transcript(&[user("go"), user("and on"), marker.to_owned(), user("more")]), 1e5);
        let details =
            ContextDetails::read(&all.source, &all.index, &all.context, Ruleset::V2026_9_6.rules()).unwrap();
        let before = all.index.entries.iter().filter(|entry| entry.message.is_some()).nth(1).unwrap();
        assert_eq!(details.stored_pruning.run_started, Some(before.time_ms));
    }
}
