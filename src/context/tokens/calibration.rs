//! Fits tokens per char to one session from the counts of its provider: one factor per script class, and one number for
//! everything before the messages.
//!
//! The system prompt and the tool schemas are in every count but in no transcript. Therefore the factors are fitted not
//! to the counts but to their *growth* from one call to the next, in which that fixed part cancels out. For example, if
//! 4,000 more ASCII chars raise the count by 1,000 tokens, the factor is 0.25, for any system prompt. The
//! fixed part is then the median of the remainders; if it would be negative, the factors are scaled to the counts
//! instead.
//!
//! Pairs across a compaction are not used, nor are growths that no tokenizer could produce, such as after a prompt was
//! pruned in memory for one call. The fit weighs errors linearly, not squared, so the few outliers that remain do not
//! move it.

use crate::context::tokens::deviation::Deviation;
use crate::context::tokens::script::{Script, ScriptChars};
use crate::context::tokens::sent::IMAGE_TOKENS;
use crate::units::Chars;

/// Smallest number of growths that can be fitted.
pub const MIN_GROWTHS: usize = 4;

/// Share of all chars below which a class shares the factor of another.
const MIN_CHAR_SHARE: f64 = 0.02;

/// Largest standard error, relative to its factor, at which a factor counts as reliable.
const MAX_RELATIVE_ERROR: f64 = 0.25;

/// Upper bound for any byte-pair vocabulary: a UTF-16 unit has at most three bytes in UTF-8.
const MAX_TOKENS_PER_CHAR: f64 = 3.0;

/// Tokens that a provider may add around the messages of one step.
const WRAPPER_TOKENS: f64 = 256.0;

/// One call: the contents of its context and the provider's count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    pub chars: ScriptChars,
    pub images: u64,
    /// Tokens of the whole prompt, as counted.
    pub prompt_tokens: f64,
    /// The context extends the one of the previous sample.
    pub extends_previous: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibration {
    /// Tokens per char of each class, in the order of [`Script::ALL`]. Classes that the data cannot separate share one
    /// factor.
    pub factors: [f64; 3],
    /// The factors that were fitted from one class.
    pub fitted_alone: [bool; 3],
    /// Tokens before the messages.
    pub fixed_tokens: f64,
    /// Number of growths that the factors were fitted from.
    pub growths: usize,
    /// Deviation at the calls that were fitted.
    pub deviation: Deviation,
    /// Mean absolute deviation at the second half of the calls when only the first half is fitted: the error to expect
    /// for future calls. `None` with too few calls.
    pub holdout_error: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too few calls: {growths} of the {MIN_GROWTHS} increases that calibration needs")]
pub struct TooFewCalls {
    /// Usable growths.
    pub growths: usize,
}

impl Calibration {
    /// Estimates a whole prompt with these messages, in tokens.
    pub fn prompt_tokens(&self, chars: ScriptChars, images: u64) -> f64 {
        self.fixed_tokens + self.message_tokens(chars, images)
    }

    /// Estimates only messages, in tokens.
    pub fn message_tokens(&self, chars: ScriptChars, images: u64) -> f64 {
        tokens(&self.factors, chars, images)
    }

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

/// Returns factors and fixed tokens. If the fixed part would be negative, the prompts hold less than their growth
/// implies, for example because a provider drops old thinking; then the factors are scaled and the fixed part is 0.
fn fit_fixed_tokens(factors: [f64; 3], samples: &[Sample]) -> ([f64; 3], f64) {
    let fitted = |sample: &Sample| tokens(&factors, sample.chars, sample.images);
    let fixed = median(samples.iter().map(|sample| sample.prompt_tokens - fitted(sample)).collect());
    if fixed >= 0.0 {
        return (factors, fixed);
    }
    let rates = samples
        .iter()
        .filter(|sample| fitted(sample) > 0.0)
        .map(|sample| sample.prompt_tokens / fitted(sample));
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

/// Returns the growth in chars and tokens between two calls; `None` if it reveals nothing about tokens per char.
fn growth(before: &Sample, after: &Sample) -> Option<(ScriptChars, f64)> {
    let chars = after.chars - before.chars;
    let tokens = after.prompt_tokens - before.prompt_tokens;
    let possible = tokens > 0.0 && tokens <= chars.total().get() * MAX_TOKENS_PER_CHAR + WRAPPER_TOKENS;
    (after.extends_previous && after.images == before.images && chars.total() > Chars::ZERO && possible)
        .then_some((chars, tokens))
}

/// Fits a factor for each class. If the fit cannot separate classes, or a factor is not positive, the smallest group of
/// classes joins the largest and the fit repeats; in the end one factor may serve all.
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
    // A single factor is the mean rate of all data and needs no reliability check.
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

/// Classes that share a factor: the group of each class, and the chars of each group.
#[derive(Debug, Clone, Copy)]
struct Groups {
    group_of: [usize; 3],
    group_chars: [f64; 3],
}

impl Groups {
    /// Returns chars and number of the group with the fewest chars; `None` if only one group is left.
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
            // All groups are equally large, so the choice makes no difference.
            self.group_of = [largest; 3];
            return;
        };
        self.group_chars[largest] += chars;
        self.group_chars[smallest] = 0.0;
        self.group_of = self.group_of.map(|group| if group == smallest { largest } else { group });
    }

    /// Returns the column of each class: groups numbered from 0 without gaps.
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

// Weighted least squares with at most three unknowns. Returns `None` when the columns are collinear.

/// One observation: `y` is the sum of `x` times the unknowns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Observation {
    pub(super) x: [f64; 3],
    pub(super) y: f64,
}

/// The unknowns with their standard errors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Solution {
    pub(super) factors: [f64; 3],
    pub(super) errors: [f64; 3],
}

/// Minimum pivot; below it the columns are collinear.
const MIN_PIVOT: f64 = 0.02;

/// Rounds of reweighting; more make no visible difference.
const REWEIGHT_ROUNDS: usize = 16;

/// Fits the first `unknowns` columns so that the sum of absolute errors is minimal: repeated least squares, each round
/// weighting a row by the inverse of its residual. A few outliers, such as prompts that were pruned unseen, do not move
/// the result. `None` for collinear columns or too few rows.
pub(super) fn fit(rows: &[Observation], unknowns: usize) -> Option<Solution> {
    let size = |row: &Observation| row.x[..unknowns].iter().sum::<f64>().max(1.0);
    let mut weights: Vec<f64> = rows.iter().map(|row| 1.0 / size(row)).collect();
    let mut solution = solve(rows, &weights, unknowns)?;
    for _ in 0..REWEIGHT_ROUNDS {
        for (row, weight) in rows.iter().zip(&mut weights) {
            *weight = 1.0 / residual(row, &solution.factors).abs().max(1.0 + row.y.abs() / 100.0);
        }
        solution = solve(rows, &weights, unknowns)?;
    }
    Some(solution)
}

fn residual(row: &Observation, factors: &[f64; 3]) -> f64 {
    row.y - row.x.iter().zip(factors).map(|(x, factor)| x * factor).sum::<f64>()
}

/// Solves the normal equations, with columns scaled alike, by elimination.
fn solve(rows: &[Observation], weights: &[f64], unknowns: usize) -> Option<Solution> {
    if rows.len() <= unknowns {
        return None;
    }
    let mut normal = [[0.0; 3]; 3];
    let mut right = [0.0; 3];
    for (row, weight) in rows.iter().zip(weights) {
        for (i, line) in normal.iter_mut().enumerate().take(unknowns) {
            right[i] += weight * row.x[i] * row.y;
            for (cell, x) in line.iter_mut().zip(row.x) {
                *cell += weight * row.x[i] * x;
            }
        }
    }
    let scale: [f64; 3] = std::array::from_fn(|i| normal[i][i].sqrt());
    if scale[..unknowns].iter().any(|scale| *scale <= 0.0 || !scale.is_finite()) {
        return None;
    }
    let scaled = std::array::from_fn(|i| std::array::from_fn(|j| normal[i][j] / (scale[i] * scale[j])));
    let inverse = inverse(scaled, unknowns)?;
    let mut factors = [0.0; 3];
    for i in 0..unknowns {
        factors[i] = (0..unknowns).map(|j| inverse[i][j] * right[j] / scale[j]).sum::<f64>() / scale[i];
    }
    let squares: f64 =
        rows.iter().zip(weights).map(|(row, weight)| weight * residual(row, &factors).powi(2)).sum();
    let variance = squares / (rows.len() - unknowns) as f64;
    let mut errors = [0.0; 3];
    for i in 0..unknowns {
        errors[i] = (variance * inverse[i][i]).sqrt() / scale[i];
    }
    Some(Solution { factors, errors })
}

/// Inverts the leading part of a symmetric matrix with ones on its diagonal.
fn inverse(mut matrix: [[f64; 3]; 3], size: usize) -> Option<[[f64; 3]; 3]> {
    let mut inverse: [[f64; 3]; 3] =
        std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))));
    for at in 0..size {
        let pivot = matrix[at][at];
        if pivot < MIN_PIVOT {
            return None;
        }
        for j in 0..size {
            matrix[at][j] /= pivot;
            inverse[at][j] /= pivot;
        }
        for i in (0..size).filter(|i| *i != at) {
            let times = matrix[i][at];
            for j in 0..size {
                matrix[i][j] -= times * matrix[at][j];
                inverse[i][j] -= times * inverse[at][j];
            }
        }
    }
    Some(inverse)
}

#[cfg(test)]
#[path = "calibration_tests.rs"]
mod tests;

#[cfg(test)]
mod least_squares_tests {
    use super::*;

    fn rows(points: &[[f64; 3]], factors: [f64; 3]) -> Vec<Observation> {
        let y = |x: &[f64; 3]| x.iter().zip(factors).map(|(x, factor)| x * factor).sum();
        points.iter().map(|x| Observation { x: *x, y: y(x) }).collect()
    }

    #[test]
    fn exact_data_gives_exact_factors() {
        let points = [[10.0, 0.0, 2.0], [3.0, 9.0, 1.0], [5.0, 5.0, 9.0], [8.0, 1.0, 1.0], [2.0, 2.0, 0.0]];
        let solution = fit(&rows(&points, [0.25, 0.7, 0.5]), 3).expect("independent rows");
        for (found, wanted) in solution.factors.iter().zip([0.25, 0.7, 0.5]) {
            assert!((found - wanted).abs() < 1e-9, "{solution:?}");
        }
    }

    #[test]
    fn collinear_columns_are_reported() {
        let points = [[10.0, 20.0, 0.0], [3.0, 6.0, 0.0], [5.0, 10.01, 0.0], [8.0, 16.0, 0.0]];
        assert_eq!(fit(&rows(&points, [0.25, 0.7, 0.0]), 2), None);
        assert!(fit(&rows(&points, [0.25, 0.7, 0.0]), 1).is_some());
        assert_eq!(fit(&rows(&points[..2], [0.25, 0.7, 0.0]), 2), None);
    }

    #[test]
    fn one_outlier_does_not_change_the_fit() {
        let points: Vec<[f64; 3]> =
            (1..12).map(|at| [f64::from(at) * 1000.0, f64::from(at % 5) * 700.0, 0.0]).collect();
        let mut rows = rows(&points, [0.25, 0.7, 0.0]);
        rows[4].y += 90_000.0;
        let solution = fit(&rows, 2).expect("independent rows");
        assert!((solution.factors[0] - 0.25).abs() < 0.005, "{solution:?}");
        assert!((solution.factors[1] - 0.7).abs() < 0.02, "{solution:?}");
    }
}
