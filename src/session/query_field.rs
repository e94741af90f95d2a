//! The words of a session filter before a colon or after `has:`.

/// The words before a colon, as the status line lists them.
pub(super) const FILTER_KEYS: [&str; 13] = [
    "agent",
    "channel",
    "kind",
    "model",
    "id",
    "is",
    "has",
    "full",
    "tokens",
    "cost",
    "age",
    "compactions",
    "overflows",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextField {
    Agent,
    Channel,
    Kind,
    Model,
    Id,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberField {
    /// Percent of the window.
    Full,
    Tokens,
    /// USD.
    Cost,
    /// Ms since the last change.
    Age,
    Compactions,
    Overflows,
}

/// Things that a session has or lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Feature {
    Compaction,
    Overflow,
    Cost,
    Transcript,
    Subagent,
}

/// Features by the names that `has:` takes.
pub(super) const FEATURES: [(&str, Feature); 5] = [
    ("compaction", Feature::Compaction),
    ("overflow", Feature::Overflow),
    ("cost", Feature::Cost),
    ("transcript", Feature::Transcript),
    ("subagent", Feature::Subagent),
];
