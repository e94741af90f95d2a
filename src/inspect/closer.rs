//! What steps that look at more than sizes ask for, read from the transcript once for a context.

use std::collections::HashMap;

use crate::context::{Context, bodies};
use crate::gateway::ruleset::Rules;
use crate::ids::EntryIx;
use crate::policy::compact::{Before, BranchEntry, Compacting, branch, weighted_tokens};
use crate::policy::texture::Texture;
use crate::store::body::{self, BodyError};
use crate::store::index::Index;
use crate::store::source::Source;

/// The branch as a compaction looks at it, and the texture of every message.
#[derive(Debug, Clone, PartialEq)]
pub struct Closer {
    /// The entries of the path, root first.
    pub branch: Vec<BranchEntry>,
    /// What its last compaction says.
    pub before: Before,
    /// Weighted tokens of the messages of the context, where the rules look at letters.
    pub tokens: HashMap<EntryIx, f64>,
    /// One for each message of the context.
    pub textures: Vec<Texture>,
}

impl Closer {
    /// Reads it for the rules of a version: every message of the context is read back, one at a time.
    pub fn read(source: &Source, index: &Index, context: &Context, rules: &Rules) -> Result<Self, BodyError> {
        let textures = context.messages.iter();
        let textures =
            textures.map(|message| Ok(Texture::of_under(rules, &bodies::message(source, index, message)?)));
        let entry = |ix| body::entry(source, index, ix);
        let branch = branch(index, &context.path, entry)?;
        Ok(Self {
            textures: textures.collect::<Result<_, BodyError>>()?,
            tokens: weighted_tokens(rules, context, |message| bodies::message(source, index, message))?,
            before: Before::of(index, &branch, entry)?,
            branch,
        })
    }

    /// The branch as a compaction asks for it.
    pub fn compacting(&self) -> Compacting<'_> {
        Compacting { branch: &self.branch, before: &self.before, tokens: &self.tokens }
    }
}
