//! One later need of a lost message.

use crate::ids::EntryIx;
use crate::units::Tokens;

/// The sign that a lost message was needed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NeedKind {
    /// The same call, with nothing written to its path since.
    FetchedAgain,
    /// The model used an identifier of it.
    Quoted,
    /// The person used an identifier of it.
    AskedAgain,
}

impl NeedKind {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FetchedAgain => "fetched-again",
            Self::Quoted => "quoted",
            Self::AskedAgain => "asked-again",
        }
    }

    /// The words for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::FetchedAgain => "fetched again",
            Self::Quoted => "quoted",
            Self::AskedAgain => "asked for again",
        }
    }
}

/// One later need of a lost message.
#[derive(Debug, Clone, PartialEq)]
pub struct Need {
    pub kind: NeedKind,
    /// The answer or question that needed it.
    pub entry: EntryIx,
    /// Index of the call.
    pub call: usize,
    /// Calls since the message was lost; 0 at the first call without it.
    pub distance: usize,
    /// Tokens of the repeated call and its result; 0 unless fetched again.
    pub tokens: Tokens,
    /// List price of these tokens in USD; `None` without a price.
    pub cost: Option<f64>,
    /// The identifier, or the arguments of the repeated call. May hold secrets.
    pub evidence: String,
}
