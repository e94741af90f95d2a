//! The difference that is found when a commit is read back from the file (store P9).

use std::io;

use crate::store::body::BodyError;
use crate::store::load::LoadError;

/// A difference between the file and the plan.
#[derive(Debug, thiserror::Error)]
pub enum Difference {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Body(#[from] BodyError),
    #[error("the appended bytes differ")]
    Bytes,
    #[error("the file is not the old file with lines appended")]
    NotAppended,
    #[error("appended {written} lines but read {read}")]
    Lines { written: usize, read: usize },
    #[error("cannot build the context")]
    NoContext,
    /// Counted from 1.
    #[error("message {0} of the context differs")]
    Message(usize),
    #[error("the file is empty")]
    Empty,
    #[error("the last line is not the planned leaf")]
    Leaf,
    #[error("the plan has no commit record")]
    NoRecord,
    #[error("the commit record is not where it was written")]
    RecordMoved,
}
