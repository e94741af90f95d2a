//! The finding about the part that made the prompt too large.

use crate::ids::EntryIx;
use crate::js::Value;
use crate::report::explain::case::OverflowCase;
use crate::report::explain::failure::{Failure, PromptSize};
use crate::report::explain::finding::{Confidence, FindingClass, Found, Numbers};
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

// The largest limit of chars per tool result under which the failing prompt fits. The limit cuts every longer result
// in the prompt, not only the newest.

/// A result cut below this many chars is useless.
const MIN_LIMIT_CHARS: Chars = Chars(200.0);

/// Returns that limit in chars and the number of results that it cuts; `None` if the prompt fits, or if no limit frees
/// enough.
pub(in crate::report::explain) fn largest_fitting_limit(failure: &Failure) -> Option<(Chars, usize)> {
    let messages = failure.session.context.messages.iter().enumerate();
    let results: Vec<(Chars, f64)> = messages
        .filter(|(_, message)| message.size.role == Role::ToolResult)
        .map(|(at, message)| (message.size.text_chars.get(), failure.weights[at].get()))
        .filter(|(chars, _)| *chars > MIN_LIMIT_CHARS)
        .collect();
    let over = failure.excess_tokens() as f64;
    let over = if over > 0.0 { over + failure.uncounted_margin() as f64 } else { over };
    let freed = |cap: Chars| -> f64 {
        results
            .iter()
            .filter(|(chars, _)| *chars > cap)
            .map(|(chars, tokens)| tokens * (1.0 - cap / *chars))
            .sum()
    };
    let (mut low, mut high) =
        (MIN_LIMIT_CHARS, results.iter().map(|(chars, _)| *chars).fold(MIN_LIMIT_CHARS, Chars::max));
    if over <= 0.0 || freed(low) < over {
        return None;
    }
    while high - low > Chars(1.0) {
        let middle = Chars(f64::midpoint(low.get(), high.get()));
        if freed(middle) >= over { low = middle } else { high = middle }
    }
    let cut = results.iter().filter(|(chars, _)| *chars > low).count();
    Some((low.floor(), cut))
}

/// The reason why the call was too large.
#[derive(Debug, Clone, PartialEq)]
pub struct Mechanism {
    pub class: FindingClass,
    /// Tokens of the part in the provider's count.
    pub tokens: Tokens,
    /// Number of messages, results, images or runs in the part.
    pub count: usize,
    /// The entries that show it; a screen jumps to the first.
    pub entries: Vec<EntryIx>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::explain::testing::with_failure;

    /// The limit for results of these chars and tokens in a prompt that is this much too large.
    fn limit_for(results: &[(u32, f64)], over: u64) -> Option<(u64, usize)> {
        let sizes: Vec<String> = results.iter().map(|(_, tokens)| format!("r:{tokens}")).collect();
        with_failure(&format!("u:9 a:9 {}", sizes.join(" ")), 1_000 + over, 0, |_, failure| {
            let mut failure = failure.clone();
            let context = std::sync::Arc::make_mut(&mut failure.session.context);
            for (message, (chars, _)) in context.messages[2..].iter_mut().zip(results) {
                message.size.text_chars = Chars::from(*chars).into();
            }
            largest_fitting_limit(&failure).map(|(chars, cut)| (chars.whole(), cut))
        })
    }

    #[test]
    fn results_are_cut_just_as_far_as_the_prompt_is_too_large() {
        let one = limit_for(&[(4_000, 1_000.0)], 250).expect("a limit");
        assert!((2_999..=3_000).contains(&one.0) && one.1 == 1, "a quarter of 4,000 chars goes: {one:?}");
        let longest = limit_for(&[(4_000, 1_000.0), (2_000, 500.0)], 250).expect("a limit");
        assert_eq!(longest, one, "the shorter one stays whole");
        let both = limit_for(&[(4_000, 1_000.0), (2_000, 500.0)], 900).expect("a limit");
        assert!((1_199..=1_200).contains(&both.0) && both.1 == 2, "{both:?}");
    }

    #[test]
    fn a_prompt_that_nobody_counted_is_cut_well_below_the_limit() {
        let limit = |counts: (Option<u64>, bool)| {
            with_failure("u:9 a:9 r:1000", 1_001, 0, |_, failure| {
                let mut failure = failure.clone();
                (failure.overflow.requested, failure.is_measured) = counts;
                failure.last_counted = None;
                let context = std::sync::Arc::make_mut(&mut failure.session.context);
                context.messages[2].size.text_chars = Chars(4_000.0).into();
                assert_eq!(failure.prompt_size().is_lower_bound, counts.0.is_none());
                largest_fitting_limit(&failure).map(|(chars, _)| chars.whole())
            })
        };
        let counted = limit((Some(1_001), true)).expect("a limit");
        assert!((3_995..=3_996).contains(&counted), "one token of 1,000 goes: {counted}");
        let uncounted = limit((None, false)).expect("a limit");
        assert!((1_995..=1_996).contains(&uncounted), "half of what nobody counted goes too: {uncounted}");
    }

    #[test]
    fn no_limit_is_proposed_that_is_too_small_or_not_needed() {
        assert_eq!(limit_for(&[(4_000, 1_000.0)], 950), Some((200, 1)), "200 chars of 4,000 stay");
        assert_eq!(limit_for(&[(4_000, 1_000.0)], 951), None);
        assert_eq!(limit_for(&[(200, 500.0)], 10), None, "a result this short is useless when cut");
        assert_eq!(limit_for(&[(4_000, 1_000.0)], 0), None, "the prompt fits");
    }
}
