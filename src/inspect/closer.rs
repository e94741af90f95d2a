//! What steps that look at more than sizes ask for, read from the transcript once for a context.

use std::collections::HashMap;

use crate::context::{Context, bodies};
use crate::ids::EntryIx;
use crate::policy::compact::{BranchEntry, branch};
use crate::policy::texture::Texture;
use crate::store::body::{self, BodyError};
use crate::store::index::Index;
use crate::store::source::Source;

/// The branch as a compaction looks at it, and the texture of every message.
#[derive(Debug, Clone, PartialEq)]
pub struct Closer {
    /// The entries of the path, root first.
    pub branch: Vec<BranchEntry>,
    /// One for each message of the context.
    pub textures: Vec<Texture>,
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
    /// Reads it: every message of the context is read back, one at a time.
    pub fn read(source: &Source, index: &Index, context: &Context) -> Result<Self, BodyError> {
        let all = Self::read_while(source, index, context, None, &mut || true)?;
        Ok(all.unwrap_or_else(|| Self { branch: Vec::new(), textures: Vec::new() }))
    }

    /// The same, with what is known of messages that were there before, and as long as it is wanted: asked before each
    /// message is read. Nothing is answered when it is not.
    pub fn read_while(
        source: &Source,
        index: &Index,
        context: &Context,
        known: Option<Known<'_>>,
        wanted: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Self>, BodyError> {
        let known: HashMap<EntryIx, &Texture> = known.map(textures_by_entry).unwrap_or_default();
        let mut textures = Vec::with_capacity(context.messages.len());
        for message in &context.messages {
            if let Some(texture) = known.get(&message.entry) {
                textures.push((*texture).clone());
                continue;
            }
            if !wanted() {
                return Ok(None);
            }
            textures.push(Texture::of(&bodies::message(source, index, message)?));
        }
        let branch = branch(index, &context.path, |ix| body::entry(source, index, ix))?;
        Ok(Some(Self { branch, textures }))
    }
}

fn textures_by_entry(known: Known<'_>) -> HashMap<EntryIx, &Texture> {
    let entries = known.context.messages.iter().map(|message| message.entry);
    entries.zip(&known.closer.textures).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let (before, after) = (inspection(&lines(3), 1e5), inspection(&lines(5), 1e5));
        let closer = Closer::read(&before.source, &before.index, &before.context).unwrap();
        let known = Known { context: &before.context, closer: &closer };
        let mut asked = 0;
        let mut count = || {
            asked += 1;
            true
        };
        let (source, index, context) = (&after.source, &after.index, &after.context);
        let grown = Closer::read_while(source, index, context, Some(known), &mut count).unwrap();
        assert_eq!(asked, 2);
        assert_eq!(grown, Some(Closer::read(source, index, context).unwrap()));
    }

    #[test]
    fn reading_stops_when_nobody_wants_it() {
        let all = inspection(&lines(5), 1e5);
        let mut left = 2;
        let mut wanted = || {
            left -= 1;
            left > 0
        };
        let read = Closer::read_while(&all.source, &all.index, &all.context, None, &mut wanted).unwrap();
        assert_eq!((read, left), (None, 0));
    }
}
