//! Compares every estimator with the tokens that the provider counted, call by call along the path, and estimates the
//! next prompt with each. Each body is read once, weighed and dropped.

mod document;
mod message_weights;
mod walk;

use crate::context::tokens::calibration::{Calibration, Sample, TooFewCalls, calibrate};
use crate::context::tokens::chars4::estimate_chars;
use crate::context::tokens::deviation::{Deviation, relative_error};
use crate::context::tokens::script::ScriptChars;
use crate::context::tokens::sent::SentSize;
use crate::format::format_counted;
use crate::ids::EntryIx;
use crate::session::{CountSource, LoadedSession};
use crate::units::Tokens;
use message_weights::Weights;
pub use message_weights::{EstimatesError, Progress};
use walk::{Anchor, Prompt};

/// A method to estimate the tokens of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Estimator {
    /// Four chars per token, rounded up per message, as pi and the gateway's compaction count (compaction 1.1 to 1.9).
    Pi,
    /// Four chars per token as the gateway's context pruning counts: 8,000 chars per image, 256 for other roles
    /// (pruning 5.4).
    Gateway,
    /// The weighted form of 2026.9 (pruning 8.5).
    Weighted,
    /// The last count plus pi's estimate of every later message (compaction 1.12, 2.14).
    Usage,
    /// Factors fitted to this session.
    Calibrated,
}

impl Estimator {
    /// Every estimator, in the order of tables.
    pub const ALL: [Self; 5] = [Self::Pi, Self::Gateway, Self::Weighted, Self::Usage, Self::Calibrated];

    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pi => "pi",
            Self::Gateway => "gateway",
            Self::Weighted => "weighted",
            Self::Usage => "usage",
            Self::Calibrated => "calibrated",
        }
    }

    /// The name on screen, which explain and the guide use too.
    pub fn label(self) -> &'static str {
        match self {
            Self::Pi => "chars/4",
            Self::Gateway => "pruning",
            Self::Weighted => "weighted",
            Self::Usage => "usage",
            Self::Calibrated => "calibrated",
        }
    }

    /// A short description.
    pub fn description(self) -> &'static str {
        match self {
            Self::Pi => "as pi and compaction count",
            Self::Gateway => "chars/4 as pruning counts",
            Self::Weighted => "chars/4, CJK weighs more",
            Self::Usage => "last count + chars/4 since",
            Self::Calibrated => "fitted to the answered calls",
        }
    }
}

/// Tokens by each estimator, in the order of [`Estimator::ALL`]; `None` where an estimator has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenEstimates([Option<u64>; 5]);

impl TokenEstimates {
    /// Returns the tokens by one estimator.
    pub fn get(&self, estimator: Estimator) -> Option<u64> {
        self.0[estimator as usize]
    }
}

/// One call that a provider counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredCall {
    /// The answer.
    pub entry: EntryIx,
    /// Prompt tokens: `input` + `cacheRead` + `cacheWrite`.
    pub measured: u64,
    /// The estimates of the same prompt.
    pub estimates: TokenEstimates,
    /// Whether the count is below an earlier one although the context only grew: the gateway removed content only for
    /// this call, as context pruning does. The estimates are of another prompt, so errors leave this call out.
    pub shrunk: bool,
}

impl MeasuredCall {
    /// Returns the relative error of an estimator at this call, as a share of the counted tokens.
    pub fn error(&self, estimator: Estimator) -> Option<f64> {
        relative_error(Tokens(self.estimates.get(estimator)? as f64), self.measured as f64)
    }
}

/// All estimators of one session.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimates {
    /// The counted calls on the path, in order.
    pub calls: Vec<MeasuredCall>,
    /// Estimates of the next prompt.
    pub next_prompt: TokenEstimates,
    /// Whether the provider counted all of the next prompt.
    pub is_next_measured: bool,
    /// Chars of the messages in the next prompt.
    pub chars: ScriptChars,
    /// Images in the next prompt.
    pub images: u64,
    /// Estimated tokens before the messages, if a run left a report; every estimator except the last adds them.
    pub fixed_tokens: Option<u64>,
    /// The fit, or why there is none.
    pub calibration: Result<Calibration, TooFewCalls>,
    /// Answers left out because they are copies on a rewritten branch: their counts are of the original context.
    pub copies: usize,
    deviations: [Option<Deviation>; 5],
}

impl Estimates {
    /// Formats an estimator's tokens of the next prompt. The last usage is no estimate if nothing follows it.
    pub fn describe_next(&self, estimator: Estimator) -> Option<String> {
        let is_count = estimator == Estimator::Usage && self.is_next_measured;
        self.next_prompt.get(estimator).map(|tokens| format_counted(tokens, is_count))
    }

    /// Returns the error statistics of an estimator over all reliable calls; `None` without such calls.
    pub fn deviation(&self, estimator: Estimator) -> Option<&Deviation> {
        self.deviations[estimator as usize].as_ref()
    }

    /// Returns the last call that is not `shrunk`.
    pub fn last_reliable_call(&self) -> Option<&MeasuredCall> {
        self.calls.iter().rev().find(|call| !call.shrunk)
    }
}

/// Reads the path of a session and estimates every call on it.
pub fn read(session: &LoadedSession, progress: Progress<'_>) -> Result<Estimates, EstimatesError> {
    let weights = message_weights::weigh_path(session, progress)?;
    let walked = walk::walk_path(session, &weights);
    let calibration = calibrate(&calibration_samples(&walked.calls));
    let judge =
        PromptEstimator { fixed_tokens: session.fixed_tokens(), calibration: calibration.as_ref().ok() };
    let calls: Vec<MeasuredCall> = walked.calls.iter().map(|prompt| judge.estimate_call(prompt)).collect();
    Ok(Estimates {
        next_prompt: judge.estimate_prompt(&walked.next),
        is_next_measured: session.next_prompt.total.source == CountSource::Measured,
        chars: walked.next.weights.chars,
        images: walked.next.weights.images,
        fixed_tokens: session.fixed_chars.map(|_| session.fixed_tokens()),
        calibration,
        copies: walked.copies,
        deviations: Estimator::ALL.map(|estimator| deviation(&calls, estimator)),
        calls,
    })
}

impl LoadedSession {
    /// Fits this session and returns the tokens of each path entry's message; `None` with too few calls. `sent_sizes`
    /// follows the path; entries without a message have zero sizes.
    pub fn calibrate(&self, sent_sizes: &[SentSize]) -> Option<(Calibration, Vec<f64>)> {
        let weights: Vec<Weights> = sent_sizes.iter().copied().map(Weights::from).collect();
        let fit = calibrate(&calibration_samples(&walk::walk_path(self, &weights).calls)).ok()?;
        let tokens = weights.iter().map(|weights| fit.message_tokens(weights.chars, weights.images));
        Some((fit, tokens.collect()))
    }
}

/// Returns the samples of the fit: reliable calls of the most recent model only, because each model has its own
/// tokenizer.
fn calibration_samples(calls: &[Prompt]) -> Vec<Sample> {
    let Some(last) = calls.last() else { return Vec::new() };
    let usable = calls.iter().filter(|call| call.model == last.model && !call.shrunk);
    let mut before = None;
    usable
        .map(|call| Sample {
            chars: call.weights.chars,
            images: call.weights.images,
            prompt_tokens: call.measured as f64,
            extends_previous: before.replace(call.boundary) == Some(call.boundary),
        })
        .collect()
}

fn deviation(calls: &[MeasuredCall], estimator: Estimator) -> Option<Deviation> {
    let counting = calls.iter().filter(|call| !call.shrunk);
    Deviation::from_pairs(
        counting.filter_map(|call| Some((call.estimates.get(estimator)? as f64, call.measured as f64))),
    )
}

/// Converts the contents of a context into the result of each estimator.
struct PromptEstimator<'a> {
    fixed_tokens: u64,
    calibration: Option<&'a Calibration>,
}

impl PromptEstimator<'_> {
    fn estimate_call(&self, prompt: &Prompt) -> MeasuredCall {
        MeasuredCall {
            entry: prompt.entry,
            measured: prompt.measured,
            estimates: self.estimate_prompt(prompt),
            shrunk: prompt.shrunk,
        }
    }

    fn estimate_prompt(&self, prompt: &Prompt) -> TokenEstimates {
        let weights = &prompt.weights;
        let calibrated =
            self.calibration.map(|fit| fit.prompt_tokens(weights.chars, weights.images).round() as u64);
        TokenEstimates([
            Some(self.fixed_tokens + weights.pi),
            Some(self.fixed_tokens + estimate_chars(weights.gateway)),
            Some(self.fixed_tokens + weights.weighted),
            self.estimate_from_usage(prompt),
            calibrated,
        ])
    }

    /// Without any count, estimates everything; after a compaction, returns `None` until the next count (compaction
    /// 1.12, 2.14).
    fn estimate_from_usage(&self, prompt: &Prompt) -> Option<u64> {
        match prompt.anchor {
            Anchor::Counted { tokens, since } => {
                let sum = tokens + Tokens(since as f64);
                (sum.is_finite() && sum >= Tokens::ZERO).then_some(sum.whole())
            }
            Anchor::NoCount => Some(self.fixed_tokens + prompt.weights.pi),
            Anchor::Stale => None,
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
