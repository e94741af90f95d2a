//! Reports: the questions that people ask of one opened session, answered as values. Each reads a
//! [`crate::session::LoadedSession`] and none reads another's prose, so that a command and a screen print the same numbers.

pub mod breakdown;
pub mod compaction;
pub mod compare;
pub mod estimators;
pub mod explain;
pub mod recorded_context;
pub mod recovery;
pub mod sweep;
pub mod timeline;
