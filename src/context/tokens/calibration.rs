//! Tokens per char of this very session, fitted from what its provider counted call by call: a factor for each
//! script class, and one number for all that precedes the messages.
//!
//! What precedes the messages (system prompt, schemas) is in every count and in no transcript, so the factors
//! are not fitted from the counts themselves but from how they *grew* from one call to the next while the context
//! grew by known chars: the fixed part falls out of the difference. It is then the median of what the factors
//! leave over; where that is less than nothing, the factors are scaled to the counts. Growth across a compaction is no growth, and is not used; nor is one that no tokenizer gives, as
//! when a prompt was pruned in memory for one call. What slips through does not move a fit that weighs errors, not
//! their squares.

use crate::context::tokens::deviation::Deviation;
use crate::context::tokens::least_squares::{Observation, Solution, fit};
use crate::context::tokens::script::{Script, ScriptChars};
use crate::context::tokens::sent::IMAGE_TOKENS;

/// Growths below which nothing is fitted.
pub const MIN_GROWTHS: usize = 4;
/// Share of all chars below which a class has no factor of its own.
const MIN_CHAR_SHARE: f64 = 0.02;
/// A factor whose standard error is a larger share of it is not told apart.
const MAX_RELATIVE_ERROR: f64 = 0.25;
/// No byte-pair vocabulary takes more tokens for a char: three bytes in UTF-8.
const MAX_TOKENS_PER_CHAR: f64 = 3.0;
/// What a provider may wrap around the messages of one step, tokens.
const WRAPPER_TOKENS: f64 = 256.0;

/// One call: what the context held, and what the provider counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Chars of the messages.
    pub chars: ScriptChars,
    /// Images among them.
    pub images: u64,
    /// Tokens of the whole prompt as counted.
    pub prompt_tokens: f64,
    /// Its context is that of the sample before, and more.
    pub extends_previous: bool,
}

/// Factors fitted to a session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibration {
    /// Tokens per char of each class, in the order of [`Script::ALL`]. Classes that the data do not tell apart
    /// share one.
    pub factors: [f64; 3],
    /// Which factors were fitted from their class alone.
    pub fitted_alone: [bool; 3],
    /// Tokens before the messages.
    pub fixed_tokens: f64,
    /// Growths the factors were fitted from.
    pub growths: usize,
    /// How far the fitted numbers are off at the calls they were fitted from.
    pub deviation: Deviation,
    /// The same (mean, without sign) at the second half of the calls for a fit of the first half: what to expect of calls
    /// to come. None when there are too few.
    pub holdout_error: Option<f64>,
}

/// There are too few calls to fit anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too few calls: {growths} of the {MIN_GROWTHS} growths it takes")]
pub struct TooFewCalls {
    /// Usable growths there are.
    pub growths: usize,
}

impl Calibration {
    /// Tokens of a whole prompt with these messages.
    pub fn prompt_tokens(&self, chars: ScriptChars, images: u64) -> f64 {
        self.fixed_tokens + self.message_tokens(chars, images)
    }

    /// Tokens of messages alone.
    pub fn message_tokens(&self, chars: ScriptChars, images: u64) -> f64 {
        tokens(&self.factors, chars, images)
    }

    /// Chars of a class to one token.
    pub fn chars_per_token(&self, script: Script) -> f64 {
        1.0 / self.factors[script as usize]
    }
}

/// Fits the calls of a session, in order.
pub fn calibrate(samples: &[Sample]) -> Result<Calibration, TooFewCalls> {
    let half = calibrate_all(&samples[..samples.len() / 2]).ok();
    let ahead =
        half.and_then(|half| deviation(&half.factors, half.fixed_tokens, &samples[samples.len() / 2..]));
    Ok(Calibration { holdout_error: ahead.map(|ahead| ahead.mean), ..calibrate_all(samples)? })
}

fn calibrate_all(samples: &[Sample]) -> Result<Calibration, TooFewCalls> {
    let growths: Vec<(ScriptChars, f64)> =
        samples.windows(2).filter_map(|pair| growth(&pair[0], &pair[1])).collect();
    let too_few = TooFewCalls { growths: growths.len() };
    if growths.len() < MIN_GROWTHS {
        return Err(too_few);
    }
    let (factors, own) = fit_factors(&growths).ok_or(too_few)?;
    let (factors, fixed) = fit_fixed_tokens(factors, samples);
    let deviation = deviation(&factors, fixed, samples).ok_or(too_few)?;
    Ok(Calibration {
        factors,
        fitted_alone: own,
        fixed_tokens: fixed,
        growths: growths.len(),
        deviation,
        holdout_error: None,
    })
}

/// What is left for the part before the messages. Less than nothing cannot be: then the prompts hold less than what
/// they grew by, as where a provider drops old thoughts, and the factors give way instead.
fn fit_fixed_tokens(factors: [f64; 3], samples: &[Sample]) -> ([f64; 3], f64) {
    let held = |sample: &Sample| tokens(&factors, sample.chars, sample.images);
    let fixed = median(samples.iter().map(|sample| sample.prompt_tokens - held(sample)).collect());
    if fixed >= 0.0 {
        return (factors, fixed);
    }
    let rates =
        samples.iter().filter(|sample| held(sample) > 0.0).map(|sample| sample.prompt_tokens / held(sample));
    let scale = median(rates.collect());
    if scale <= 0.0 {
        return (factors, 0.0);
    }
    (factors.map(|factor| factor * scale), 0.0)
}

fn tokens(factors: &[f64; 3], chars: ScriptChars, images: u64) -> f64 {
    let texts: f64 = chars.as_f64().iter().zip(factors).map(|(chars, factor)| chars * factor).sum();
    texts + (images * IMAGE_TOKENS) as f64
}

fn deviation(factors: &[f64; 3], fixed: f64, samples: &[Sample]) -> Option<Deviation> {
    Deviation::from_pairs(
        samples
            .iter()
            .map(|sample| (fixed + tokens(factors, sample.chars, sample.images), sample.prompt_tokens)),
    )
}

/// By how much chars and tokens grew from a call to the next, where that tells anything of tokens per char.
fn growth(before: &Sample, after: &Sample) -> Option<(ScriptChars, f64)> {
    let chars = after.chars - before.chars;
    let tokens = after.prompt_tokens - before.prompt_tokens;
    let possible = tokens > 0.0 && tokens <= chars.total() as f64 * MAX_TOKENS_PER_CHAR + WRAPPER_TOKENS;
    (after.extends_previous && after.images == before.images && chars.total() > 0 && possible)
        .then_some((chars, tokens))
}

/// A factor for each class. Where the fit cannot tell classes apart, or calls one free, the smallest group of
/// classes joins the largest and the fit is made anew; in the end there is one factor for all.
fn fit_factors(growths: &[(ScriptChars, f64)]) -> Option<([f64; 3], [bool; 3])> {
    let sums = growths.iter().fold(ScriptChars::default(), |sum, (chars, _)| sum + *chars).as_f64();
    let all: f64 = sums.iter().sum();
    let mut groups = Groups { group_of: [0, 1, 2], group_chars: sums };
    while groups.smallest().is_some_and(|(chars, _)| chars < all * MIN_CHAR_SHARE) {
        groups.join_smallest();
    }
    loop {
        if let Some(factors) = fit_groups(growths, &groups) {
            let alone = |at: usize| {
                groups.group_of.iter().filter(|group| **group == groups.group_of[at]).count() == 1
            };
            return Some((factors, std::array::from_fn(alone)));
        }
        groups.smallest()?;
        groups.join_smallest();
    }
}

fn fit_groups(growths: &[(ScriptChars, f64)], groups: &Groups) -> Option<[f64; 3]> {
    let columns = groups.columns();
    let unknowns = columns.iter().max()? + 1;
    let rows: Vec<Observation> =
        growths.iter().map(|(chars, tokens)| observation(*chars, *tokens, &columns)).collect();
    let solution = fit(&rows, unknowns)?;
    // One factor alone is the mean rate of all: as sure as the data are.
    let sure = unknowns == 1 || is_reliable(&solution, unknowns);
    let factors = columns.map(|column| solution.factors[column]);
    (sure && factors.iter().all(|factor| *factor > 0.0 && factor.is_finite())).then_some(factors)
}

fn observation(chars: ScriptChars, tokens: f64, columns: &[usize; 3]) -> Observation {
    let mut x = [0.0; 3];
    for (column, chars) in columns.iter().zip(chars.as_f64()) {
        x[*column] += chars;
    }
    Observation { x, y: tokens }
}

fn is_reliable(solution: &Solution, unknowns: usize) -> bool {
    let pairs = solution.factors.iter().zip(&solution.errors).take(unknowns);
    pairs
        .into_iter()
        .all(|(factor, error)| *factor <= MAX_TOKENS_PER_CHAR && *error <= factor * MAX_RELATIVE_ERROR)
}

/// Classes that share a factor: the group of each, and the chars of each group.
#[derive(Debug, Clone, Copy)]
struct Groups {
    group_of: [usize; 3],
    group_chars: [f64; 3],
}

impl Groups {
    /// The group with the fewest chars, where there is more than one: its chars and its number.
    fn smallest(&self) -> Option<(f64, usize)> {
        let alive = || (0..3).filter(|group| self.group_of.contains(group));
        (alive().count() > 1).then_some(())?;
        alive().map(|group| (self.group_chars[group], group)).min_by(|one, other| one.0.total_cmp(&other.0))
    }

    fn largest(&self) -> usize {
        let alive = (0..3).filter(|group| self.group_of.contains(group));
        alive.max_by(|one, other| self.group_chars[*one].total_cmp(&self.group_chars[*other])).unwrap_or(0)
    }

    /// Joins the smallest group to the largest.
    fn join_smallest(&mut self) {
        let largest = self.largest();
        let Some((chars, smallest)) = self.smallest().filter(|(_, smallest)| *smallest != largest) else {
            // All groups are equally large: which one joins makes no difference.
            self.group_of = [largest; 3];
            return;
        };
        self.group_chars[largest] += chars;
        self.group_chars[smallest] = 0.0;
        self.group_of = self.group_of.map(|group| if group == smallest { largest } else { group });
    }

    /// The column of each class: groups numbered from 0 without gaps.
    fn columns(&self) -> [usize; 3] {
        let number = |group: usize| (0..group).filter(|before| self.group_of.contains(before)).count();
        self.group_of.map(number)
    }
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    match numbers.get(middle) {
        Some(number) if numbers.len() % 2 == 1 => *number,
        Some(number) => f64::midpoint(numbers[middle - 1], *number),
        None => 0.0,
    }
}

#[cfg(test)]
#[path = "calibration_tests.rs"]
mod tests;
