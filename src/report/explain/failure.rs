//! The failed call at the time it was made: the context sent, and the tokens of each message scaled to the provider's
//! count.

use crate::context::budget::Budget;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::ids::EntryIx;
use crate::report::explain::counted_calls::CountedCall;
use crate::report::explain::replay_runner::ReplayRunner;
use crate::session::LoadedSession;
use crate::session::next_prompt::scale_to_count;
use crate::session::overflow::{ModelWindow, Overflow, OverflowKind};
use crate::store::entry::{MessageSize, Role};
use crate::store::intern::ValueIx;
use crate::units::Tokens;

/// Tokens of an image by the runtime's estimate (compaction 1.4).
const IMAGE_TOKENS: f64 = 1_200.0;
/// A limit above this share of the believed window counts as equal to it.
const SAME_WINDOW_SHARE: f64 = 0.97;
/// Share of the uncounted part of a refused prompt without a number that must stay free under a change: the prompt was
/// larger than the limit, and nobody knows by how much.
const UNCOUNTED_SHARE: f64 = 0.5;

/// A call that overflowed, or the next one.
#[derive(Debug, Clone)]
pub struct Failure {
    pub overflow: Overflow,
    /// The session at the time of the call.
    pub session: LoadedSession,
    pub model: Option<(ValueIx, ValueIx)>,
    /// The window that the runtime believed in for that model, and the gateway's, in tokens.
    pub believed_window: ModelWindow,
    /// The last counted call before it, after the same compaction, and its tokens.
    pub last_counted: Option<(EntryIx, u64)>,
    /// Context index of the first message since that call, its answer included; 0 without such a call.
    pub first_new: usize,
    /// Tokens of the prompt: the provider's count, otherwise an estimate.
    pub prompt_tokens: u64,
    /// Whether the provider counted the prompt.
    pub is_measured: bool,
    /// Tokens that fit: as the provider reported, otherwise learned from accepted calls.
    pub limit: u64,
    /// Tokens before the messages, scaled to the provider's count.
    pub fixed_tokens: u64,
    /// Tokens of earlier messages that were sent and are not in the file.
    pub head_tokens: u64,
    /// Tokens of the prompt by the fit to the counted calls.
    pub fitted_tokens: u64,
    /// Tokens of each message of the context, scaled to the provider's count.
    pub weights: Vec<Tokens>,
    /// Whether it is the next call, which has not been made yet.
    pub is_next_call: bool,
}

/// The origin of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitOrigin {
    Stated {
        /// The party that stated it, as a noun.
        by: &'static str,
    },
    /// The window that the gateway assumes.
    AssumedWindow,
    /// The window minus the reserve, which the gateway's own check compares with.
    GatewayBudget,
    /// Follows from the calls that were accepted or refused.
    Inferred,
}

/// The size of a refused prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptSize {
    pub tokens: u64,
    /// Whether the provider counted them.
    pub is_measured: bool,
    /// Whether nothing is known but that it was more than the limit: the tokens are one more than that.
    pub is_lower_bound: bool,
}

impl Failure {
    /// Builds the failure of an overflow; `None` if the overflow has no place in the tree. `calls` are the counted
    /// calls of its path.
    pub(super) fn new(runner: &ReplayRunner, overflow: &Overflow, calls: &[CountedCall]) -> Option<Self> {
        let loaded = &runner.session;
        let then = loaded.before_call(overflow)?;
        let model = overflow.model.or(then.context.model);
        let mut weights = runner.weights_of(&then.context.messages);
        let mut fixed = runner.fixed_tokens;
        let mut head = Tokens::ZERO;
        let behind = |call: &&CountedCall| {
            call.entry < overflow.entry
                && then.context.compaction.is_none_or(|compacted| compacted < call.entry)
        };
        let before = calls.iter().rev().find(behind).map(|call| (call.entry, call.prompt_tokens));
        let new_from = before.and_then(|(entry, _)| then.context.position(entry)).unwrap_or(0);
        let sent = runner.recorded_call(overflow.entry);
        let requested = overflow.prompt_tokens().or(sent.map(|sent| sent.expected.whole()));
        let estimated = fixed.whole() + weights.iter().sum::<Tokens>().whole();
        if let Some((counted_fixed, counted)) = counted_as_next_prompt(loaded, &then, overflow) {
            (fixed, weights) = (counted_fixed, counted);
        } else if let Some(counted) = provider_count(overflow) {
            let cut_off = before.filter(|(_, accepted)| {
                loaded.lineage.cut_off.is_some() && Tokens(*accepted as f64) < counted
            });
            if let Some((_, accepted)) = cut_off {
                head = split_at_accepted(fixed, &mut weights, new_from, (Tokens(accepted as f64), counted));
            } else if counted.whole() != estimated {
                fixed = scale_to_count(fixed, &mut weights, counted);
            }
            round_to_total(&mut fixed, &mut weights);
        }
        let believed = believed_window(loaded, model);
        let learned = runner.learned_limit(model).filter(|_| overflow.kind != OverflowKind::Precheck);
        let assumed = match overflow.kind {
            OverflowKind::Precheck => then.gateway_limit(&believed),
            _ => believed.runtime,
        };
        let limit = overflow.prompt_limit().or(learned).unwrap_or(assumed.whole());
        Some(Self {
            overflow: overflow.clone(),
            last_counted: before,
            first_new: new_from,
            prompt_tokens: requested.unwrap_or(estimated),
            is_measured: overflow.requested.is_some() && overflow.is_counted(),
            limit,
            fixed_tokens: fixed.whole(),
            head_tokens: head.whole(),
            fitted_tokens: estimated,
            weights,
            is_next_call: false,
            believed_window: believed,
            model,
            session: then,
        })
    }

    /// Whether the provider refused the bytes, not the tokens.
    pub fn is_byte_limit(&self) -> bool {
        self.overflow.kind == OverflowKind::Bytes
    }

    /// Whether the gateway refused it, without asking the provider.
    pub fn is_by_gateway(&self) -> bool {
        self.overflow.kind == OverflowKind::Precheck
    }

    /// Returns the origin of the limit.
    pub fn limit_origin(&self) -> LimitOrigin {
        let assumed = self.believed_window.runtime.whole();
        match self.overflow.limit {
            Some(_) => LimitOrigin::Stated { by: self.overflow.limit_source() },
            None if self.overflow.kind == OverflowKind::Precheck => LimitOrigin::GatewayBudget,
            None if self.limit == assumed => LimitOrigin::AssumedWindow,
            None => LimitOrigin::Inferred,
        }
    }

    /// Returns the parts of the prompt, in the provider's tokens.
    pub fn budget(&self) -> Budget {
        let before = self.fixed_tokens + self.head_tokens;
        Budget::with_fixed(self.session.fixed_chars, before, &self.session.context, |at| {
            self.weights.get(at).copied().unwrap_or(Tokens::ZERO).whole()
        })
    }

    /// Whether the provider serves a smaller window than the runtime believes. The reply's reservation makes no window
    /// smaller.
    pub fn serves_less(&self) -> bool {
        let believed = self.believed_window.runtime;
        let served = self.overflow.limit.unwrap_or(self.limit);
        let kinds = [OverflowKind::Refused, OverflowKind::CutShort, OverflowKind::Unrecorded];
        let tokens = kinds.contains(&self.overflow.kind) || self.overflow.is_truncated();
        tokens && self.limit > 0 && Tokens(served as f64) < believed * SAME_WINDOW_SHARE
    }

    /// Returns the tokens reserved for the reply, if the prompt alone would have fitted.
    pub fn blocking_reply(&self) -> Option<u64> {
        let limit = self.overflow.limit?;
        self.overflow.reply_reserve.filter(|reply| *reply > 0 && self.prompt_tokens <= limit)
    }

    /// Returns the tokens of the prompt, and how well they are known.
    pub fn prompt_size(&self) -> PromptSize {
        let says_nothing = self.overflow.requested.or(self.overflow.excess).is_none();
        let by_tokens = !self.is_byte_limit() && !self.is_by_gateway();
        PromptSize {
            tokens: self.prompt_tokens,
            is_measured: self.is_measured,
            is_lower_bound: says_nothing && by_tokens && self.excess_tokens() == 1,
        }
    }

    /// Returns the tokens below the limit that a change must leave free where no provider counted a part of the prompt.
    pub(super) fn uncounted_margin(&self) -> u64 {
        if self.overflow.requested.or(self.overflow.excess).is_some() {
            return 0;
        }
        let counted = self.last_counted.map_or(0, |(_, tokens)| tokens);
        (self.prompt_tokens.saturating_sub(counted) as f64 * UNCOUNTED_SHARE) as u64
    }

    /// Returns the tokens above the limit.
    pub fn excess_tokens(&self) -> u64 {
        self.prompt_tokens.saturating_sub(self.limit)
    }

    /// Returns the gateway's own estimate of the prompt: chars / 4 of everything.
    pub fn gateway_estimate(&self) -> u64 {
        let messages = self.session.context.messages.iter();
        self.session.fixed_tokens() + messages.map(|it| estimate_or_zero(&it.size)).sum::<u64>()
    }

    /// Returns the tokens of the prompt if the provider counted as it did for the last accepted call: that count and the
    /// estimate of the messages since. `None` without such a call, or if images were added.
    pub(super) fn expected_tokens(&self) -> Option<u64> {
        let (_, counted) = self.last_counted?;
        let added = &self.session.context.messages[self.first_new..];
        let is_text = added.iter().all(|message| message.size.images == 0);
        is_text.then(|| counted + added.iter().map(|it| estimate_or_zero(&it.size)).sum::<u64>())
    }

    /// Sums the tokens of the messages that `of` selects, in the provider's count.
    pub(super) fn tokens_of(&self, of: impl Fn(usize, &MessageSize) -> bool) -> Tokens {
        let messages = self.session.context.messages.iter().enumerate();
        messages.filter(|(at, message)| of(*at, &message.size)).map(|(at, _)| self.weights[at]).sum()
    }

    /// Returns the positions of tool results since the last counted call: the results of one turn.
    pub(super) fn newest_results(&self) -> Vec<usize> {
        let messages = &self.session.context.messages;
        let from = messages.iter().rposition(|message| message.size.role != Role::ToolResult);
        let from = from.map_or(0, |at| at + 1).max(self.first_new);
        (from..messages.len()).collect()
    }

    /// Returns the position of the message that opened the failing run: the last one that is neither answer nor result.
    pub(super) fn run_opening(&self) -> Option<usize> {
        let opens =
            |role: Role| !matches!(role, Role::Assistant | Role::ToolResult | Role::CompactionSummary);
        self.session.context.messages.iter().rposition(|message| opens(message.size.role))
    }

    /// Returns the number of images in the prompt, and their tokens.
    pub(super) fn images(&self) -> (u64, Tokens) {
        let messages = self.session.context.messages.iter().enumerate();
        messages.fold((0, Tokens::ZERO), |(count, tokens), (at, message)| {
            let images = f64::from(message.size.images);
            let text = message.size.text_chars.get().get() / 4.0;
            let share = images * IMAGE_TOKENS / (images * IMAGE_TOKENS + text).max(1.0);
            let sent = self.weights[at].max(Tokens(images * IMAGE_TOKENS));
            (
                count + u64::from(message.size.images),
                tokens + if images > 0.0 { sent * share } else { Tokens::ZERO },
            )
        })
    }
}

/// Returns the tokens before the messages and those of each message as the header counts them, if the refused prompt is
/// the last one that the provider counted.
fn counted_as_next_prompt(
    loaded: &LoadedSession,
    then: &LoadedSession,
    overflow: &Overflow,
) -> Option<(Tokens, Vec<Tokens>)> {
    let (now, sent) = (&loaded.context.messages, &then.context.messages);
    let is_last = now.get(sent.len()).is_some_and(|message| message.entry == overflow.entry);
    let same = now.iter().zip(sent.iter()).all(|(a, b)| a.entry == b.entry);
    let prompt = &loaded.next_prompt;
    let counted = provider_count(overflow).is_some_and(|counted| counted.whole() == prompt.total.tokens);
    (is_last && same && counted && !prompt.total.is_estimate()).then(|| {
        let weights = (0..sent.len()).map(|at| Tokens(prompt.tokens_of(at) as f64)).collect();
        (Tokens(prompt.fixed_tokens as f64), weights)
    })
}

/// Scales the messages since the last accepted call to what the prompt grew by since. Returns the tokens of that call
/// that neither its messages nor the fixed parts explain: messages that are not in the file.
fn split_at_accepted(
    fixed: Tokens,
    weights: &mut [Tokens],
    new_from: usize,
    (accepted, counted): (Tokens, Tokens),
) -> Tokens {
    let (older, newer) = weights.split_at_mut(new_from.min(weights.len()));
    let estimate: Tokens = newer.iter().copied().sum();
    let ratio = (counted - accepted) / estimate.max(Tokens(1.0));
    for weight in newer {
        *weight *= ratio;
    }
    let known = fixed + older.iter().copied().sum::<Tokens>();
    (accepted - known).max(Tokens::ZERO)
}

/// Rounds to whole tokens such that every sum of parts is the rounded sum.
fn round_to_total(fixed: &mut Tokens, weights: &mut [Tokens]) {
    let mut sum = *fixed;
    *fixed = Tokens(fixed.get().round());
    let mut shared = *fixed;
    for weight in weights {
        sum += *weight;
        let upto = Tokens(sum.get().round());
        *weight = upto - shared;
        shared = upto;
    }
}

/// Returns the tokens of the prompt as the provider counted them.
fn provider_count(overflow: &Overflow) -> Option<Tokens> {
    let counts = !matches!(overflow.kind, OverflowKind::Precheck | OverflowKind::Bytes);
    overflow.prompt_tokens().filter(|tokens| counts && *tokens > 0).map(|tokens| Tokens(tokens as f64))
}

/// Returns the windows that the gateway believed in for the model of a call.
pub(super) fn believed_window(session: &LoadedSession, model: Option<(ValueIx, ValueIx)>) -> ModelWindow {
    let words = &session.index.values;
    let names = model.and_then(|(provider, id)| Some((words.text(provider)?, words.text(id)?)));
    let own = (session.provider.clone(), session.model.clone());
    match names {
        Some(names) if names != own => ModelWindow::for_model(&session.overflow_scope(), &names.0, &names.1),
        _ => session.windows(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::explain::testing::with_failure;

    fn failure(change: impl FnOnce(&mut Failure)) -> Failure {
        let mut failure = with_failure("u:300 a:9 r:700", 1_100, 91, |_, failure| failure.clone());
        change(&mut failure);
        failure
    }

    #[test]
    fn a_provider_serves_less_from_three_hundredths_below_the_believed_window_on() {
        let serves_less = |believed: f64, reply: Option<u64>| {
            failure(|it| {
                it.believed_window.runtime = Tokens(believed);
                (it.overflow.limit, it.overflow.reply_reserve) = (Some(1_000), reply);
            })
            .serves_less()
        };
        assert!(!serves_less(1_030.0, None) && serves_less(1_031.0, None));
        assert!(!serves_less(1_030.0, Some(900)), "a reserve for the reply is no smaller window");
    }

    #[test]
    fn only_a_token_limit_reveals_a_smaller_window() {
        let serves_less = |kind: OverflowKind, limit: u64| {
            failure(|it| {
                it.believed_window.runtime = Tokens(5_000.0);
                (it.overflow.kind, it.overflow.limit, it.limit) = (kind, None, limit);
            })
            .serves_less()
        };
        assert!(serves_less(OverflowKind::Refused, 1_000) && serves_less(OverflowKind::CutShort, 1_000));
        assert!(!serves_less(OverflowKind::Bytes, 1_000) && !serves_less(OverflowKind::Precheck, 1_000));
        assert!(!serves_less(OverflowKind::Refused, 0), "nobody named or learned a limit");
    }

    #[test]
    fn the_excess_and_the_tokens_of_chosen_messages_are_sums_of_the_failing_prompt() {
        let failure = failure(|_| {});
        assert_eq!(failure.excess_tokens(), 100);
        assert_eq!(failure.tokens_of(|_, size| size.role == Role::ToolResult), Tokens(700.0));
        assert_eq!(failure.tokens_of(|at, _| at < 2), Tokens(309.0));
        assert_eq!((failure.run_opening(), failure.newest_results()), (Some(0), vec![2]));
        assert_eq!(failure.images(), (0, Tokens::ZERO));
    }

    #[test]
    fn an_image_counts_its_share_of_its_message() {
        let images = with_failure("i:2400 a:9 i:600", 1_100, 0, |_, failure| failure.images());
        assert_eq!(images, (2, Tokens(2_400.0 + 1_200.0)), "never less than the runtime counts for an image");
    }
}
