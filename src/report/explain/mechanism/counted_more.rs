//! A prompt that grew without its messages: the provider counts more tokens for the same text than before.

use crate::report::explain::case::OverflowCase;
use crate::report::explain::failure::Failure;
use crate::report::explain::finding::FindingClass;
use crate::report::explain::mechanism::cause::Mechanism;
use crate::units::Tokens;

/// Counted tokens per expected token from which the count has shifted.
const MIN_SHIFT: f64 = 1.1;
/// Tokens per estimated token that new text has at most: other scripts take more than chars/4.
const MAX_TEXT_FACTOR: f64 = 3.0;
/// Relative difference up to which the growth is the reply's reservation.
const RESERVE_TOLERANCE: f64 = 0.05;

/// Detects a prompt that the provider counts higher than the last one of the same model, although the messages since
/// add almost nothing: another host, another tokenizer, or more before the messages.
pub(super) fn detect_count_shift(case: &OverflowCase<'_>, failure: &Failure) -> Option<Mechanism> {
    let (before, _) = failure.last_counted?;
    let is_same_model = case.session.index.entry(before).model == failure.model;
    let expected = largest_expected(failure)?;
    let shifted = failure.prompt_tokens as f64 - expected;
    let is_shift = failure.is_measured
        && is_same_model
        && failure.prompt_tokens as f64 >= MIN_SHIFT * expected
        && expected <= failure.limit as f64
        && !is_reply_reserve(case, shifted);
    is_shift.then(|| Mechanism {
        class: FindingClass::CountShift,
        tokens: Tokens(shifted),
        count: 1,
        entries: vec![before],
    })
}

/// Returns the most tokens that the prompt can have if the provider counts as it did for the last accepted call.
pub(super) fn largest_expected(failure: &Failure) -> Option<f64> {
    let (_, counted) = failure.last_counted?;
    let added = failure.expected_tokens()?.saturating_sub(counted);
    Some(counted as f64 + MAX_TEXT_FACTOR * added as f64)
}

/// Whether the additional tokens are those that the model's configuration reserves for the reply.
fn is_reply_reserve(case: &OverflowCase<'_>, tokens: f64) -> bool {
    let session = case.session;
    let reserve = session.max_tokens(&(session.provider.clone(), session.model.clone())).map(Tokens::get);
    reserve.is_some_and(|reserve| (tokens - reserve).abs() <= RESERVE_TOLERANCE * reserve)
}
