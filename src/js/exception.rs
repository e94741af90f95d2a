//! The exception of a JavaScript program, without its text: the rules only need to know that it was thrown.

/// The real program throws here, and the whole operation fails (pruning 0).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the runtime throws an exception here")]
pub struct JsException;
