//! The reasons why an effect has no answer: the one error type that crosses from the performer of effects to the state
//! machine. Screens keep it and print it.

use std::sync::Arc;

use crate::commit::CommitError;
use crate::report::compare::BranchComparisonError;
use crate::report::estimators::EstimatesError;
use crate::session::setting_change::ChangeError;
use crate::store::body::BodyError;
use crate::write::request::WriteError;
use crate::write::summary::job::SummaryJobError;

/// Errors are shared because events and screens are cloned.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EffectError {
    /// A line of the transcript could not be read again.
    #[error("{0}")]
    Body(Arc<BodyError>),
    #[error("{0}")]
    Estimates(Arc<EstimatesError>),
    #[error("{0}")]
    Summary(Arc<SummaryJobError>),
    #[error("{0}")]
    Comparison(Arc<BranchComparisonError>),
    #[error("{0}")]
    Repair(Arc<CommitError>),
    #[error("{0}")]
    Write(Arc<WriteError>),
    /// A preset holds a key or value that the gateway would reject.
    #[error("{0}")]
    Setting(Arc<ChangeError>),
    /// The screen only reads; the reason and the alternative.
    #[error("{0}")]
    ReadOnly(String),
    /// The session was removed since it was requested.
    #[error("The session is no longer in the store.")]
    SessionGone,
}

macro_rules! from_shared {
    ($($error:ident => $variant:ident),*) => {
        $(impl From<$error> for EffectError {
            fn from(error: $error) -> Self {
                Self::$variant(Arc::new(error))
            }
        })*
    };
}

from_shared!(
    BodyError => Body,
    ChangeError => Setting,
    EstimatesError => Estimates,
    SummaryJobError => Summary,
    BranchComparisonError => Comparison,
    CommitError => Repair,
    WriteError => Write
);
