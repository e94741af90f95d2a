//! The state of a search, which the transcript pane holds and the search itself changes.

/// The progress of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::app) struct SearchState {
    /// The number of entries, from the first, that were requested.
    pub(in crate::app) requested: usize,
    pub(in crate::app) is_pending: bool,
    /// Whether the answer moves the cursor, as the person just started the search.
    pub(in crate::app) moves_cursor: bool,
}
