//! How far reading a path is, and why it ends without estimates.

use crate::store::body::BodyError;

/// Why there are no estimates.
#[derive(Debug, thiserror::Error)]
pub enum EstimatesError {
    /// Someone asked for something else meanwhile.
    #[error("stopped")]
    Stopped,
    /// A message could not be read back.
    #[error(transparent)]
    Body(#[from] BodyError),
}

/// How far reading is: bytes done, bytes in all; answers whether to go on.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64) -> bool;
