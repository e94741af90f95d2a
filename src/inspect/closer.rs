//! What steps that look at more than sizes ask for, read from the transcript once for a context.

use std::collections::HashMap;

use crate::context::{Context, bodies};
use crate::gateway::ruleset::{Pruner, Rules};
use crate::ids::EntryIx;
use crate::policy::compact::{Before, BranchEntry, Compacting, branch_as, weighted_tokens};
use crate::policy::prune::projections::{MARKER_TYPE, Snapshot};
use crate::policy::texture::Texture;
use crate::store::body::{self, BodyError};
use crate::store::entry::EntryKind;
use crate::store::index::Index;
use crate::store::source::Source;

/// The branch as a compaction looks at it, and the texture of every message.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Closer {
    /// The entries of the path, root first.
    pub branch: Vec<BranchEntry>,
    /// What its last compaction says.
    pub before: Before,
    /// Weighted tokens of the messages of the context, where the rules look at letters.
    pub tokens: HashMap<EntryIx, f64>,
    /// One for each message of the context.
    pub textures: Vec<Texture>,
    /// What the gateway remembers of pruned and cut results, where its pruner does (pruning 8.2).
    pub remembered: Snapshot,
}

/// What was read of a context before entries were added to its transcript.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// The context.
    pub context: &'a Context,
    /// What was read of it.
    pub closer: &'a Closer,
}

impl Closer {
    /// Reads it for the rules of a version: every message of the context is read back, one at a time.
    pub fn read(
        source: &Source,
        index: &Index,
        context: &Context,
        rules: &'static Rules,
    ) -> Result<Self, BodyError> {
        let all = Self::read_while(source, index, context, rules, None, &mut || true)?;
        Ok(all.unwrap_or_default())
    }

    /// The same, with what is known by the same rules of messages that were there before, and as long as it is wanted: asked before each
    /// message is read. Nothing is answered when it is not.
    pub fn read_while(
        source: &Source,
        index: &Index,
        context: &Context,
        rules: &'static Rules,
        known: Option<Known<'_>>,
        wanted: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Self>, BodyError> {
        let known_textures: HashMap<EntryIx, &Texture> = known.map(textures_by_entry).unwrap_or_default();
        let mut textures = Vec::with_capacity(context.messages.len());
        let mut tokens = HashMap::new();
        for message in &context.messages {
            if let Some(texture) = known_textures.get(&message.entry) {
                textures.push((*texture).clone());
                let weighted = known.and_then(|known| known.closer.tokens.get(&message.entry));
                tokens.extend(weighted.map(|weighted| (message.entry, *weighted)));
                continue;
            }
            if !wanted() {
                return Ok(None);
            }
            let body = bodies::message(source, index, message)?;
            textures.push(Texture::of_under(rules, &body));
            tokens.extend(weighted_tokens(rules, &body).map(|weighted| (message.entry, weighted)));
        }
        let entry = |ix| body::entry(source, index, ix);
        let branch = branch_as(index, &context.since_reset(index), entry)?;
        let before = Before::of(index, &branch, entry)?;
        let remembered = remembered(source, index, context, rules)?;
        Ok(Some(Self { branch, before, tokens, textures, remembered }))
    }

    /// The branch as a compaction asks for it.
    pub fn compacting(&self) -> Compacting<'_> {
        Compacting { branch: &self.branch, before: &self.before, tokens: &self.tokens }
    }
}

/// The snapshot in force at the leaf: only markers are read, the newest first, up to a reset (sqlite G5).
fn remembered(
    source: &Source,
    index: &Index,
    context: &Context,
    rules: &'static Rules,
) -> Result<Snapshot, BodyError> {
    if rules.pruner != (Pruner::Projections { stored: true }) {
        return Ok(Snapshot::default());
    }
    for ix in context.path.iter().rev() {
        let entry = index.entry(*ix);
        if entry.kind == EntryKind::Reset {
            break;
        }
        let is_marker = || index.words.value(entry.word).is_some_and(|word| word.str_is(MARKER_TYPE));
        if entry.kind == EntryKind::Custom
            && is_marker()
            && let Some(snapshot) = Snapshot::of_branch([&body::entry(source, index, *ix)?])
        {
            return Ok(snapshot);
        }
    }
    Ok(Snapshot::default())
}

fn textures_by_entry(known: Known<'_>) -> HashMap<EntryIx, &Texture> {
    let entries = known.context.messages.iter().map(|message| message.entry);
    entries.zip(&known.closer.textures).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;
    use crate::inspect::testing::{call, inspection, result, transcript, user};

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
    fn after_growth_only_what_was_added_is_read() {
        let rules = Ruleset::V2026_9_2.rules();
        let (before, after) = (inspection(&lines(3), 1e5), inspection(&lines(5), 1e5));
        let closer = Closer::read(&before.source, &before.index, &before.context, rules).unwrap();
        let known = Known { context: &before.context, closer: &closer };
        let mut asked = 0;
        let mut count = || {
            asked += 1;
            true
        };
        let (source, index, context) = (&after.source, &after.index, &after.context);
        let grown = Closer::read_while(source, index, context, rules, Some(known), &mut count).unwrap();
        assert_eq!(asked, 2);
        assert_eq!(grown, Some(Closer::read(source, index, context, rules).unwrap()));
    }

    #[test]
    fn reading_stops_when_nobody_wants_it() {
        let rules = Ruleset::default().rules();
        let all = inspection(&lines(5), 1e5);
        let mut left = 2;
        let mut wanted = || {
            left -= 1;
            left > 0
        };
        let read =
            Closer::read_while(&all.source, &all.index, &all.context, rules, None, &mut wanted).unwrap();
        assert_eq!((read, left), (None, 0));
    }
}
