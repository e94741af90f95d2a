//! The value of `--window`.

use crate::format::amount::parse_count;

/// A window to use in place of the configured one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowArg {
    /// The one that calls which the provider refused or answered prove.
    Learnt,
    /// A number of tokens.
    Tokens(u64),
}

impl WindowArg {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if let "learnt" | "learned" = text {
            return Ok(Self::Learnt);
        }
        let tokens = parse_count(text).map(f64::floor).filter(|tokens| *tokens >= 1.0);
        let expected = || format!("{text:?}: expected tokens such as 200000 or 200k, or learnt");
        tokens.map(|tokens| Self::Tokens(tokens as u64)).ok_or_else(expected)
    }
}
