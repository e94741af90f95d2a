//! A fact and its kind.

use std::borrow::Cow;

/// A fact longer than this is data, not a name or a sentence.
pub const MAX_FACT_BYTES: usize = 300;

/// The form of a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FactKind {
    /// A rule that a user set.
    Constraint,
    /// A choice that was made.
    Decision,
    /// A line that reports an error.
    Error,
    /// A file, a folder or an address.
    Path,
    /// A digest, a ticket, a version, an address of a machine.
    Id,
    /// A number, an amount of money, a share.
    Number,
    Date,
}

impl FactKind {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Constraint => "constraint",
            Self::Decision => "decision",
            Self::Error => "error",
            Self::Path => "path",
            Self::Id => "id",
            Self::Number => "number",
            Self::Date => "date",
        }
    }

    /// Whether the fact is a sentence, which a summary may keep in other words.
    pub fn is_sentence(self) -> bool {
        matches!(self, Self::Constraint | Self::Decision | Self::Error)
    }
}

/// A fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact<'a> {
    pub kind: FactKind,
    /// Its text in the source.
    pub text: &'a str,
    /// The same for every way to write it: `48,213` and `48213`, `.\src\a.rs` and `src/a.rs`.
    pub key: Cow<'a, str>,
    /// The name before it, as in `port: 8080`.
    pub name: Option<&'a str>,
}
