//! Lines of evidence, and the values that have words.

use crate::ids::EntryIx;

/// One observation in words.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// The observation, with its numbers.
    pub text: String,
    /// The entries that show it; a screen jumps to the first.
    pub entries: Vec<EntryIx>,
    /// The rule behind it, such as `pruning 4.2`; empty for a plain count.
    pub rule: &'static str,
}

impl Evidence {
    /// Creates a line without entries or a rule.
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), entries: Vec::new(), rule: "" }
    }

    /// Sets the entries that show it.
    #[must_use]
    pub(super) fn with_entries(self, entries: impl IntoIterator<Item = EntryIx>) -> Self {
        Self { entries: entries.into_iter().collect(), ..self }
    }

    /// Sets the rule behind it.
    #[must_use]
    pub(super) fn with_rule(self, rule: &'static str) -> Self {
        Self { rule, ..self }
    }
}

/// The values of a finding that can be put into words.
pub(in crate::report::explain) trait Described {
    /// Describes the problem in one line.
    fn headline(&self) -> String;

    /// Describes the observations behind it.
    fn evidence(&self) -> Vec<Evidence>;

    /// Says what to do, as a sentence, where the values tell it and no setting was tried.
    fn step(&self) -> Option<String> {
        None
    }
}
