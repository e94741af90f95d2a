//! Progress of reading a path, and the reasons for stopping without estimates.

use crate::store::body::BodyError;
use crate::units::Bytes;

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
