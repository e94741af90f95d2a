//! Parses and resolves amount options such as `--budget 80%`; both failures name the option.

use super::failure::Failure;
use crate::format::amount::Amount;
use crate::units::Tokens;

pub(super) fn parse_amount(option: &str, text: &str) -> Result<Amount, Failure> {
    let wrong = || Failure::usage(format!("{option} {:?}: expected {}", text.trim(), Amount::EXPECTED));
    Amount::parse(text).ok_or_else(wrong)
}

/// Converts an amount to tokens of `window`.
pub(super) fn resolve_amount(amount: Amount, option: &str, window: Tokens) -> Result<Tokens, Failure> {
    amount.tokens(window).ok_or_else(|| {
        Failure::usage(format!(
            "{option}: the window of the model is unknown, so clawscope cannot compute a share of it. Give tokens instead."
        ))
    })
}
