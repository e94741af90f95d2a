//! The numbers in a refusal: the size of the prompt and the limit. `text_match` reads them, by the words next to each.

/// The numbers of a refusal, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RefusalNumbers {
    /// The prompt, plus the requested reply if the provider adds it.
    pub requested: Option<u64>,
    pub limit: Option<u64>,
    /// The prompt's part of a sum that the text splits.
    pub input: Option<u64>,
    /// The reply's part of that sum: the tokens reserved for the answer.
    pub output: Option<u64>,
}
