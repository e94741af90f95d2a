//! Weighs each entry of a path by every measure that an estimator needs. It parses lines in parallel, a batch at a
//! time, and keeps only the weights, so that a large file needs little memory.

use std::ops::{Add, Sub};

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::context::bodies::entry_message;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::context::tokens::script::ScriptChars;
use crate::context::tokens::sent::{SentSize, each_text};
use crate::context::tokens::weighted;
use crate::ids::EntryIx;
use crate::js::Value;
use crate::session::LoadedSession;
use crate::store::body;
use crate::store::body::BodyError;
use crate::store::entry::{EntryKind, MessageSize};
use crate::units::{Bytes, Chars};

/// Bytes of lines to parse between two checks for cancellation.
const BATCH_BYTES: Bytes = Bytes(4 << 20);

/// Weights of one message, or the sum of several.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Weights {
    /// Tokens as pi estimates them (compaction 1.1); 0 for a message on which pi's estimate throws.
    pub(super) pi: u64,
    /// Chars as the context pruner counts them (pruning 5.4).
    pub(super) gateway: Chars,
    /// Tokens in the weighted form (pruning 8.5).
    pub(super) weighted: u64,
    /// Chars that are sent.
    pub(super) chars: ScriptChars,
    /// Images that are sent.
    pub(super) images: u64,
}

impl Weights {
    fn from_message(size: &MessageSize, message: &Value) -> Self {
        let mut weights = Self {
            pi: estimate_or_zero(size),
            gateway: size.prune_chars.whole_chars(),
            weighted: weighted::estimate_or_zero(message).whole(),
            ..Self::default()
        };
        weights.images =
            u64::from(each_text(message, &mut |text| weights.chars += ScriptChars::from_text(text)));
        weights
    }
}

impl From<SentSize> for Weights {
    fn from(SentSize { chars, images }: SentSize) -> Self {
        Self { chars, images, ..Self::default() }
    }
}

impl Add for Weights {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            pi: self.pi + other.pi,
            gateway: self.gateway + other.gateway,
            weighted: self.weighted + other.weighted,
            chars: self.chars + other.chars,
            images: self.images + other.images,
        }
    }
}

impl Sub for Weights {
    type Output = Self;

    /// Subtracts prefix sums, to get the weights of a range.
    fn sub(self, other: Self) -> Self {
        Self {
            pi: self.pi - other.pi,
            gateway: self.gateway - other.gateway,
            weighted: self.weighted - other.weighted,
            chars: self.chars - other.chars,
            images: self.images - other.images,
        }
    }
}

/// Weighs every entry of the path, in order; an entry without a message weighs 0.
pub(super) fn weigh_path(
    session: &LoadedSession,
    progress: Progress<'_>,
) -> Result<Vec<Weights>, EstimatesError> {
    let path = &session.context.path;
    let bytes = |ix: &EntryIx| session.index.entry(*ix).bytes();
    let total: Bytes = path.iter().map(bytes).sum();
    let mut weights = Vec::with_capacity(path.len());
    let mut done = Bytes::ZERO;
    while weights.len() < path.len() {
        if !progress(done, total) {
            return Err(EstimatesError::Stopped);
        }
        let batch = next_batch(&path[weights.len()..], bytes);
        done += batch.iter().map(bytes).sum::<Bytes>();
        let read: Result<Vec<Weights>, BodyError> =
            batch.par_iter().map(|ix| weigh_entry(session, *ix)).collect();
        weights.extend(read?);
    }
    Ok(weights)
}

/// Returns the first entries that fill a batch, at least one.
fn next_batch(path: &[EntryIx], bytes: impl Fn(&EntryIx) -> Bytes) -> &[EntryIx] {
    let mut sum = Bytes::ZERO;
    let fits = path.iter().take_while(|ix| {
        sum += bytes(ix);
        sum <= BATCH_BYTES
    });
    let count = fits.count();
    &path[..count.max(1)]
}

fn weigh_entry(session: &LoadedSession, ix: EntryIx) -> Result<Weights, BodyError> {
    let entry = session.index.entry(ix);
    let sent = entry.becomes_message() || entry.kind == EntryKind::Compaction;
    let Some(size) = entry.message.filter(|_| sent) else { return Ok(Weights::default()) };
    let value = body::read_entry(&session.source, &session.index, ix)?;
    Ok(Weights::from_message(&size, &entry_message(&value, entry.kind)))
}

// Progress of reading a path, and the reasons for stopping without estimates.

#[derive(Debug, thiserror::Error)]
pub enum EstimatesError {
    /// The caller cancelled the read.
    #[error("stopped")]
    Stopped,
    /// A message could not be read again.
    #[error(transparent)]
    Body(#[from] BodyError),
}

/// Receives bytes done and bytes in total; returns whether to continue.
pub type Progress<'a> = &'a mut dyn FnMut(Bytes, Bytes) -> bool;
