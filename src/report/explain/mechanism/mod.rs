//! The mechanism: the smallest part of the failing prompt's growth without which the prompt fits.
//!
//! Newer growth is tested first: since the last accepted call, then since the start of the run, then the rest. A part
//! qualifies only if it is large for this session; otherwise any message would explain a prompt that exceeded the limit
//! by a few tokens.

mod large_prompt;
mod parts;

use crate::context::tokens::chars4::estimate_or_zero;
use crate::ids::EntryIx;
use crate::report::explain::case::OverflowCase;
use crate::report::explain::failure::Failure;
use crate::report::explain::finding::FindingClass;
use crate::session::overflow::Overflow;
use crate::store::entry::{EntryKind, Role};
use crate::units::Tokens;

pub(super) use large_prompt::mechanism_finding;
pub use large_prompt::{LargePrompt, Mechanism, MessageFit};
pub(super) use parts::prompt_parts;
pub use parts::{PromptPart, PromptPartKind};

/// Share of the limit above which one new part is large.
const LARGE_SHARE: f64 = 0.15;

/// Factor by which a part must exceed its siblings to be an outlier.
const OUTLIER_RATIO: f64 = 1.5;

/// The same factor for a message among the other user messages.
const MESSAGE_OUTLIER_RATIO: f64 = 3.0;

/// Share of the newest results that a single one must have to be the cause.
const SINGLE_RESULT_SHARE: f64 = 0.7;

/// Share of the prompt that messages of extensions, or outputs of commands, must take.
const FLOOD_SHARE: f64 = 0.4;

/// Share of the prompt that images must take.
const IMAGE_SHARE: f64 = 0.4;

/// Share of the room for messages that the results of a run must take to be a loop, and their minimum number.
const LOOP_THRESHOLD: (f64, usize) = (0.4, 3);

/// Share of the limit that the tokens before the messages must take.
const FIXED_SHARE: f64 = 0.6;

/// Share of the limit that the previous model must have been sent.
const PREVIOUS_MODEL_SHARE: f64 = 0.5;

/// Finds the mechanism of a failure.
pub(super) fn find_mechanism(case: &OverflowCase<'_>, failure: &Failure) -> Mechanism {
    let own = [
        detect_byte_limit,
        detect_model_switch,
        detect_count_shift,
        detect_fixed_alone,
        detect_images,
        detect_user_message,
        detect_results,
        detect_tool_loop,
        detect_flood,
        detect_fixed_most,
    ];
    let found = own.iter().find_map(|look| look(case, failure));
    found
        .or_else(|| large_prompt::detect_recurring(case, failure))
        .unwrap_or_else(|| gradual_growth(case, failure))
}

fn detect_byte_limit(_: &OverflowCase<'_>, failure: &Failure) -> Option<Mechanism> {
    let (images, tokens) = failure.images();
    let entries = messages_with_images(failure);
    failure.is_byte_limit().then_some(Mechanism {
        class: FindingClass::BytesLimit,
        tokens,
        count: images as usize,
        entries,
    })
}

/// The call went to a model that takes less than the previous model was sent.
fn detect_model_switch(case: &OverflowCase<'_>, failure: &Failure) -> Option<Mechanism> {
    let (before, tokens) =
        failure.last_counted.or_else(|| case.calls.last().map(|call| (call.entry, call.prompt_tokens)))?;
    let from = case.session.index.entry(before).model?;
    let to = failure.model?;
    let took = tokens as f64 > PREVIOUS_MODEL_SHARE * failure.limit as f64;
    let runner = case.replays.as_ref()?;
    // In the tokens of the previous model, too: another tokenizer can count more for the same text.
    let counted = failure.prompt_tokens as f64;
    let own_count = largest_expected(failure).map_or(counted, |expected| expected.min(counted));
    let fitted = runner.learned_limit(Some(from))? as f64 >= own_count;
    (from != to && took && fitted).then(|| Mechanism {
        class: FindingClass::ModelSwitch,
        tokens: Tokens(failure.prompt_tokens as f64),
        count: 1,
        entries: vec![before],
    })
}

fn detect_fixed_alone(_: &OverflowCase<'_>, failure: &Failure) -> Option<Mechanism> {
    (failure.fixed_tokens >= failure.limit).then(|| fixed_mechanism(failure))
}

fn detect_fixed_most(_: &OverflowCase<'_>, failure: &Failure) -> Option<Mechanism> {
    (failure.fixed_tokens as f64 >= FIXED_SHARE * failure.limit as f64).then(|| fixed_mechanism(failure))
}

fn fixed_mechanism(failure: &Failure) -> Mechanism {
    Mechanism {
        class: FindingClass::FixedOverhead,
        tokens: Tokens(failure.fixed_tokens as f64),
        count: 0,
        entries: Vec::new(),
    }
}

fn detect_images(_: &OverflowCase<'_>, failure: &Failure) -> Option<Mechanism> {
    let (count, tokens) = failure.images();
    let most = tokens >= Tokens(IMAGE_SHARE * failure.prompt_tokens as f64);
    (count > 0 && most && fits_without(failure, tokens)).then(|| Mechanism {
        class: FindingClass::ImageBloat,
        tokens,
        count: count as usize,
        entries: messages_with_images(failure),
    })
}

fn messages_with_images(failure: &Failure) -> Vec<EntryIx> {
    let messages = failure.session.context.messages.iter();
    messages.filter(|message| message.size.images > 0).map(|message| message.entry).collect()
}

/// The largest message since the last accepted call that is neither an answer nor a result: of a person, a `!command`
/// or an extension. Without an accepted call, the one that opened the run.
fn detect_user_message(_: &OverflowCase<'_>, failure: &Failure) -> Option<Mechanism> {
    let messages = &failure.session.context.messages;
    let weight = |at: &usize| failure.weights[*at];
    let new = (failure.first_new..messages.len()).filter(|at| is_input(messages[*at].size.role));
    let largest =
        new.max_by(|a, b| weight(a).total_cmp(&weight(b))).filter(|_| failure.last_counted.is_some());
    let at = largest.or(failure.run_opening())?;
    let is_newest = (at + 1..messages.len()).all(|at| messages[at].size.role != Role::ToolResult);
    let tokens = failure.weights[at];
    let others = messages[..at].iter().enumerate().filter(|(_, message)| is_input(message.size.role));
    let usual = median(others.map(|(at, _)| failure.weights[at].get()).collect());
    let odd = usual.is_none_or(|usual| tokens >= Tokens(MESSAGE_OUTLIER_RATIO * usual));
    let input = is_input(messages[at].size.role);
    (input && is_newest && odd && is_large(failure, tokens) && fits_without(failure, tokens)).then(|| {
        Mechanism { class: FindingClass::UserMessage, tokens, count: 1, entries: vec![messages[at].entry] }
    })
}

/// Many messages of extensions or outputs of commands that fill the prompt together.
fn detect_flood(_: &OverflowCase<'_>, failure: &Failure) -> Option<Mechanism> {
    [Role::Custom, Role::BashExecution].into_iter().find_map(|role| {
        let tokens = failure.tokens_of(|_, size| size.role == role);
        let messages = failure.session.context.messages.iter().filter(|message| message.size.role == role);
        let entries: Vec<EntryIx> = messages.rev().map(|message| message.entry).collect();
        let most = tokens >= Tokens(FLOOD_SHARE * failure.prompt_tokens as f64);
        (most && !entries.is_empty() && fits_without(failure, tokens)).then_some(Mechanism {
            class: FindingClass::UserMessage,
            tokens,
            count: entries.len(),
            entries,
        })
    })
}

/// Whether a message is input that the model is sent.
fn is_input(role: Role) -> bool {
    matches!(role, Role::User | Role::Custom | Role::BashExecution)
}

/// The results of the newest turn, one or all of them. Results no larger than their siblings are a loop.
fn detect_results(_: &OverflowCase<'_>, failure: &Failure) -> Option<Mechanism> {
    let newest = failure.newest_results();
    let messages = &failure.session.context.messages;
    let weight = |at: &usize| failure.weights[*at];
    let largest = newest.iter().copied().max_by(|a, b| weight(a).total_cmp(&weight(b)))?;
    let all: Tokens = newest.iter().map(weight).sum();
    let first = newest[0];
    let one = weight(&largest);
    if one >= all * SINGLE_RESULT_SHARE {
        let siblings =
            (run_start_position(failure)..first).filter(|at| messages[*at].size.role == Role::ToolResult);
        let usual = siblings.map(|at| failure.weights[at]).fold(Tokens::ZERO, Tokens::max);
        let odd = one > usual * OUTLIER_RATIO && is_large(failure, one) && fits_without(failure, one);
        return odd.then(|| Mechanism {
            class: FindingClass::SingleResult,
            tokens: one,
            count: 1,
            entries: vec![messages[largest].entry],
        });
    }
    let usual = turn_result_tokens(failure, run_start_position(failure)..first)
        .into_iter()
        .fold(Tokens::ZERO, Tokens::max);
    (all > usual * OUTLIER_RATIO && is_large(failure, all) && fits_without(failure, all)).then(|| Mechanism {
        class: FindingClass::ParallelResults,
        tokens: all,
        count: newest.len(),
        entries: newest.iter().map(|at| messages[*at].entry).collect(),
    })
}

/// Sums the tokens of results per turn in a range of messages.
fn turn_result_tokens(failure: &Failure, range: std::ops::Range<usize>) -> Vec<Tokens> {
    let mut turns = vec![Tokens::ZERO];
    for at in range {
        match failure.session.context.messages[at].size.role {
            Role::ToolResult => {
                if let Some(turn) = turns.last_mut() {
                    *turn += failure.weights[at];
                }
            }
            _ => turns.push(Tokens::ZERO),
        }
    }
    turns
}

/// The results of one run exceeded the remaining room, or a run was refused or compacted and filled up again.
fn detect_tool_loop(case: &OverflowCase<'_>, failure: &Failure) -> Option<Mechanism> {
    let messages = &failure.session.context.messages;
    let results: Vec<usize> = (run_start_position(failure)..messages.len())
        .filter(|at| messages[*at].size.role == Role::ToolResult)
        .collect();
    let tokens: Tokens = results.iter().map(|at| failure.weights[*at]).sum();
    let room = failure.limit.saturating_sub(failure.fixed_tokens) as f64;
    let fills = results.len() >= LOOP_THRESHOLD.1 && tokens >= Tokens(LOOP_THRESHOLD.0 * room);
    let again = refusals_in_run(case, failure) + compactions_in_run(case, failure) > 1
        && results.len() >= LOOP_THRESHOLD.1;
    (fills && fits_without(failure, tokens) || again && tokens >= Tokens(LARGE_SHARE * room)).then(|| {
        Mechanism {
            class: FindingClass::ToolLoopTreadmill,
            tokens,
            count: results.len(),
            entries: results.iter().rev().map(|at| messages[*at].entry).collect(),
        }
    })
}

/// Returns the position after the message that opened the run; 0 if a compaction removed that message.
fn run_start_position(failure: &Failure) -> usize {
    failure.run_opening().map_or(0, |at| at + 1)
}

/// Counts the refusals since the last user message before the failing call, including the failing call.
pub(super) fn refusals_in_run(case: &OverflowCase<'_>, failure: &Failure) -> usize {
    let from = run_start_entry(case);
    let in_run = |overflow: &&Overflow| overflow.entry >= from && overflow.entry <= failure.overflow.entry;
    case.overflows().iter().filter(in_run).count()
}

fn compactions_in_run(case: &OverflowCase<'_>, failure: &Failure) -> usize {
    let from = run_start_entry(case);
    let index = &case.session.index;
    let compactions = case.path.iter().filter(|ix| index.entry(**ix).kind == EntryKind::Compaction);
    compactions.filter(|ix| **ix >= from && **ix < failure.overflow.entry).count()
}

fn run_start_entry(case: &OverflowCase<'_>) -> EntryIx {
    case.user_messages().last().copied().unwrap_or(EntryIx(0))
}

/// The fallback: no part stands out.
fn gradual_growth(_: &OverflowCase<'_>, failure: &Failure) -> Mechanism {
    let messages = &failure.session.context.messages;
    let newest = messages.last().map(|message| message.entry);
    Mechanism {
        class: FindingClass::GradualGrowth,
        tokens: Tokens(failure.prompt_tokens.saturating_sub(failure.fixed_tokens) as f64),
        count: messages.len(),
        entries: newest.into_iter().collect(),
    }
}

fn fits_without(failure: &Failure, tokens: Tokens) -> bool {
    failure.prompt_tokens as f64 - tokens.get() <= failure.limit as f64
}

fn is_large(failure: &Failure, tokens: Tokens) -> bool {
    tokens >= Tokens(LARGE_SHARE * failure.limit as f64)
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

// A prompt that grew without its messages: the provider counts more tokens for the same text than before.

/// Counted tokens per expected token from which the count has shifted.
const MIN_SHIFT: f64 = 1.1;

/// Tokens per estimated token that new text has at most, where the session shows no more: other scripts take more than
/// chars/4.
const MAX_TEXT_FACTOR: f64 = 3.0;
/// Estimated tokens of a message from which its own factor says something about its script.
const MIN_SHOWN: f64 = 200.0;

/// Relative difference up to which the growth is the reply's reservation.
const RESERVE_TOLERANCE: f64 = 0.05;

/// Detects a prompt that the provider counts higher than the last one of the same model, although the messages since
/// add almost nothing: another host, another tokenizer, or more before the messages.
fn detect_count_shift(case: &OverflowCase<'_>, failure: &Failure) -> Option<Mechanism> {
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
fn largest_expected(failure: &Failure) -> Option<f64> {
    let (_, counted) = failure.last_counted?;
    let added = failure.expected_tokens()?.saturating_sub(counted);
    Some(counted as f64 + largest_text_factor(failure) * added as f64)
}

/// Returns the most tokens per estimated token of a message that was counted before.
fn largest_text_factor(failure: &Failure) -> f64 {
    let counted = failure.session.context.messages[..failure.first_new].iter().zip(&failure.weights);
    let factors = counted.filter_map(|(message, weight)| {
        let estimated = Some(estimate_or_zero(&message.size) as f64).filter(|tokens| *tokens >= MIN_SHOWN)?;
        Some(weight.get() / estimated)
    });
    factors.fold(MAX_TEXT_FACTOR, f64::max)
}

/// Whether the additional tokens are those that the model's configuration reserves for the reply.
fn is_reply_reserve(case: &OverflowCase<'_>, tokens: f64) -> bool {
    let session = case.session;
    let reserve = session.max_tokens(&(session.provider.clone(), session.model.clone())).map(Tokens::get);
    reserve.is_some_and(|reserve| (tokens - reserve).abs() <= RESERVE_TOLERANCE * reserve)
}

#[cfg(test)]
#[path = "boundary_tests.rs"]
mod tests;
