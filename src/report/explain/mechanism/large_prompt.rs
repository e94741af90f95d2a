//! The finding about the part that made the prompt too large.

use crate::js::Value;
use crate::report::explain::case::OverflowCase;
use crate::report::explain::failure::{Failure, PromptSize};
use crate::report::explain::finding::{Confidence, FindingClass, Found, Numbers};
use crate::report::explain::mechanism::cap::largest_fitting_limit;
use crate::report::explain::mechanism::cause::Mechanism;
use crate::store::entry::Role;
use crate::units::{Chars, Tokens};

/// Share of the prompt outside all messages above which the finding is about it.
const MIN_UNSEEN_SHARE: f64 = 0.3;

/// A mechanism, and the prompt that it made too large.
#[derive(Debug, Clone, PartialEq)]
pub struct LargePrompt {
    pub mechanism: Mechanism,
    pub size: PromptSize,
    /// Tokens that fit.
    pub limit: u64,
    /// Tokens before the messages.
    pub fixed_tokens: u64,
    /// Tokens that are in no message of the transcript.
    pub unseen_tokens: u64,
    /// The model that the call went to.
    pub model: Option<String>,
    /// Counted tokens per token that the last accepted call and the messages since lead to expect.
    pub counted_more: Option<f64>,
    /// The tool of the first result; secrets are masked.
    pub tool: Option<String>,
    /// The role of the first message of the part.
    pub role: Option<Role>,
    /// Whether the configuration gives heartbeats a session of their own.
    pub is_isolated: bool,
    /// The largest limit of chars per tool result under which the prompt fits, and the number of results that it cuts.
    pub result_limit: Option<(Chars, usize)>,
}

/// The fit of a single message into the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageFit {
    /// The message alone exceeds the limit.
    NeverFits,
    /// The message and the fixed parts exceed the limit.
    NeverFitsWithFixedParts,
    /// The message fits without earlier ones.
    FitsAlone,
}

impl LargePrompt {
    fn new(case: &OverflowCase<'_>, failure: &Failure, mechanism: &Mechanism) -> Self {
        let results =
            [FindingClass::SingleResult, FindingClass::ParallelResults, FindingClass::ToolLoopTreadmill];
        let is_result = mechanism.class == FindingClass::SingleResult;
        let shown = mechanism.entries.first().filter(|_| is_result);
        let seen = failure.fixed_tokens + (failure.weights.iter().sum::<Tokens>()).whole();
        Self {
            mechanism: mechanism.clone(),
            size: failure.prompt_size(),
            limit: failure.limit,
            fixed_tokens: failure.fixed_tokens,
            unseen_tokens: failure.prompt_tokens.saturating_sub(seen),
            counted_more: failure
                .expected_tokens()
                .filter(|expected| failure.is_measured && *expected > 0)
                .map(|expected| failure.prompt_tokens as f64 / expected as f64),
            model: failure.model.and_then(|(_, id)| case.session.index.values.text(id)),
            role: mechanism.entries.first().and_then(|entry| case.session.index.entry(*entry).role()),
            is_isolated: isolates_heartbeats(case),
            tool: shown.map(|entry| case.tool_name(*entry)),
            result_limit: largest_fitting_limit(failure).filter(|_| results.contains(&mechanism.class)),
        }
    }

    /// Returns the fit of the mechanism's part as a single message.
    pub fn message_fit(&self) -> MessageFit {
        let (tokens, limit) = (self.mechanism.tokens, Tokens(self.limit as f64));
        if tokens > limit {
            MessageFit::NeverFits
        } else if tokens + Tokens(self.fixed_tokens as f64) > limit {
            MessageFit::NeverFitsWithFixedParts
        } else {
            MessageFit::FitsAlone
        }
    }

    /// Whether a large share of the prompt is in no message.
    pub fn is_mostly_unseen(&self) -> bool {
        self.unseen_tokens as f64 >= MIN_UNSEEN_SHARE * self.size.tokens as f64
    }

    pub(in crate::report::explain) fn numbers(&self) -> Numbers {
        let mut numbers = vec![
            ("tokens", self.mechanism.tokens.get().round()),
            ("count", self.mechanism.count as f64),
            ("requested", self.size.tokens as f64),
            ("limit", self.limit as f64),
            ("over", self.size.tokens.saturating_sub(self.limit) as f64),
        ];
        numbers.extend(self.result_limit.map(|(chars, _)| ("capChars", chars.get())));
        numbers
    }
}

/// Whether `heartbeat.isolatedSession` is on.
fn isolates_heartbeats(case: &OverflowCase<'_>) -> bool {
    let key = ["agents", "defaults", "heartbeat", "isolatedSession"];
    case.session.config.value(&key) == Some(&Value::Bool(true))
}

/// Builds the finding of a mechanism.
pub(in crate::report::explain) fn mechanism_finding(
    case: &OverflowCase<'_>,
    failure: &Failure,
    mechanism: &Mechanism,
) -> Found<LargePrompt> {
    let confidence = match mechanism.class {
        FindingClass::GradualGrowth => Confidence::Possible,
        FindingClass::CountShift => Confidence::Likely,
        _ if failure.is_measured => Confidence::Sure,
        _ => Confidence::Likely,
    };
    Found::new(mechanism.class, confidence, LargePrompt::new(case, failure, mechanism))
        .with_rule("compaction 8.8")
}
