//! What steps that look at more than sizes ask for, read from the transcript once for a context.

use crate::context::{Context, bodies};
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

impl Closer {
    /// Reads it: every message of the context is read back, one at a time.
    pub fn read(source: &Source, index: &Index, context: &Context) -> Result<Self, BodyError> {
        let textures = context.messages.iter();
        let textures = textures.map(|message| Ok(Texture::of(&bodies::message(source, index, message)?)));
        Ok(Self {
            textures: textures.collect::<Result<_, BodyError>>()?,
            branch: branch(index, &context.path, |ix| body::entry(source, index, ix))?,
        })
    }
}
