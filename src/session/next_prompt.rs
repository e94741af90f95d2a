//! Counts the prompt of the next call, in total and by part, from the best source there is.
//!
//! The provider's last count takes precedence, whether of an answer or of a refusal; then the estimate, scaled to the
//! counts of this session; then the plain estimate. All parts use the same count, so they add up to the total.

use crate::context::Context;
use crate::context::budget::{Budget, FixedChars};
use crate::context::tokens::chars4::{estimate_chars, estimate_or_zero};
use crate::plan::Plan;
use crate::policy::PolicySet;
use crate::session::growth_weights::{FACTOR_RANGE, weights_from_growth};
use crate::session::prompt_counts::{LastCount, PromptCounts};
use crate::session::prompt_estimates::estimate_with_images;
use crate::session::sent_forms::SentForms;
use crate::session::{CountSource, TokenCount};
use crate::store::entry::MessageSize;
use crate::units::Tokens;

/// Estimated tokens below which the messages do not show the provider's scale.
const MIN_MESSAGE_TOKENS: u64 = 2_000;
/// The forms of a count are taken over if its error with them is below this share of the error without.
const MIN_FORM_IMPROVEMENT: f64 = 0.5;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct NextPrompt {
    /// Tokens of the whole prompt.
    pub total: TokenCount,
    /// Tokens of the whole prompt by chars/4.
    pub estimated_tokens: u64,
    /// Tokens before the messages.
    pub fixed_tokens: u64,
    /// Tokens of each message of the context as it is sent, by the same count as the total.
    pub message_tokens: Vec<u64>,
    /// Tokens of each whole message, by the same count.
    whole_tokens: Vec<u64>,
    /// The steps that shorten the messages in every call.
    pub(super) own_steps: PolicySet,
    /// Tokens of the last answer, which the total includes and the provider counted apart from its prompt.
    pub last_answer_tokens: u64,
    /// Whether a commit planned the prompt, and no call was made since.
    pub is_planned: bool,
    /// Tokens that changed limits remove from the workspace files of a prompt under a plan; below 0 if they add some.
    pub files_reduction: i64,
    fixed_chars: Option<FixedChars>,
}

impl NextPrompt {
    /// `forms` are the forms in which the gateway sends the messages, if it does not send them whole.
    pub(super) fn from_counts(counts: &PromptCounts<'_>, forms: Option<&SentForms>) -> Self {
        let by_chars = Budget::from_context(counts.fixed_chars, counts.context);
        let estimates =
            || counts.context.messages.iter().map(|message| Tokens(estimate_or_zero(&message.size) as f64));
        let grown = weights_from_growth(counts, None);
        let is_calibrated = grown.is_some();
        let weighed = match grown {
            Some((fixed, weights)) => {
                PromptWeights { fixed_tokens: fixed, message_tokens: counts.message_weights(&weights) }
            }
            None => PromptWeights {
                fixed_tokens: Tokens(by_chars.fixed_tokens() as f64),
                message_tokens: estimates().collect(),
            },
        };
        let anchor = counts.last_count();
        let is_planned = anchor.as_ref().is_some_and(|anchor| anchor.is_planned);
        let last_answer = anchor.as_ref().map_or(Tokens::ZERO, |anchor| anchor.answer_tokens);
        let forms = forms.and_then(|forms| Some((forms, anchor.as_ref()?)));
        let forms = forms.and_then(|(forms, anchor)| weighed.forms_of_count(counts.context, forms, anchor));
        let (weighed, source) = match anchor {
            Some(anchor) => weighed.scaled_to(counts.context, &anchor, forms),
            None if is_calibrated => (weighed, CountSource::Calibrated),
            None => (weighed, CountSource::Estimated),
        };
        let (fixed_tokens, whole_tokens) = weighed.rounded();
        let message_tokens = match forms {
            Some(forms) => weighed.with_forms(counts.context, &forms.next).rounded().1,
            None => whole_tokens.clone(),
        };
        let tokens = fixed_tokens + message_tokens.iter().sum::<u64>();
        Self {
            total: TokenCount { tokens, source },
            estimated_tokens: by_chars.total(),
            fixed_tokens,
            message_tokens,
            whole_tokens,
            own_steps: forms.map_or(PolicySet::NONE, |forms| forms.steps),
            is_planned,
            files_reduction: 0,
            last_answer_tokens: if source == CountSource::Measured { last_answer.whole() } else { 0 },
            fixed_chars: counts.fixed_chars,
        }
    }

    /// Returns the tokens of a prompt around messages by chars/4; `estimated` is that size of the messages of the context.
    pub(super) fn prompt_around(&self, message_tokens: Tokens, estimated: u64) -> Tokens {
        let counted = self.whole_tokens.iter().sum::<u64>();
        let scale = if estimated == 0 { 1.0 } else { counted as f64 / estimated as f64 };
        let tokens = Tokens(self.fixed_tokens as f64) + message_tokens.max(Tokens::ZERO) * scale;
        Tokens(tokens.get().round())
    }

    /// Returns the content of the window.
    pub fn budget(&self, context: &Context) -> Budget {
        Budget::with_fixed(self.fixed_chars, self.fixed_tokens, context, |at| self.tokens_of(at))
    }

    /// Returns the content of the window under a plan that includes the gateway's own steps. A message that is cut loses the same share of its tokens as of
    /// its estimate.
    pub(super) fn budget_after(&self, context: &Context, plan: &Plan) -> Budget {
        let tokens = |at: usize| self.tokens_after(context, plan, at);
        let mut budget = Budget::with_fixed(self.fixed_chars, self.fixed_tokens, context, tokens);
        for (size, tokens) in plan.added_messages() {
            budget.add_message(&size, tokens);
        }
        budget.with_smaller_files(self.files_reduction)
    }

    /// Returns the tokens of a message now.
    pub fn tokens_of(&self, at: usize) -> u64 {
        self.message_tokens.get(at).copied().unwrap_or(0)
    }

    /// Returns the tokens of a whole message, before the gateway's own steps.
    pub fn whole_tokens_of(&self, at: usize) -> u64 {
        self.whole_tokens.get(at).copied().unwrap_or(0)
    }

    /// Returns the tokens of a message that the prompt does not have, by the average ratio of those that it has.
    pub fn tokens_off_context(&self, size: &MessageSize) -> u64 {
        (estimate_or_zero(size) as f64 * self.scale_factors().1).round() as u64
    }

    /// Returns the tokens of a message under a plan.
    pub fn tokens_after(&self, context: &Context, plan: &Plan, at: usize) -> u64 {
        Self::scaled(
            self.whole_tokens_of(at),
            estimate_or_zero(&context.messages[at].size),
            plan.tokens_after[at],
        )
    }

    /// Returns the tokens of a message without its images: the share that its text has of its estimate.
    pub fn tokens_of_text(&self, context: &Context, at: usize) -> u64 {
        let size = &context.messages[at].size;
        Self::scaled(self.tokens_of(at), estimate_with_images(size), estimate_chars(size.text_chars.get()))
    }

    fn scaled(own: u64, estimate: u64, after: u64) -> u64 {
        match estimate {
            _ if after == estimate => own,
            0 => after,
            estimate => (own as f64 * after as f64 / estimate as f64).round() as u64,
        }
    }

    /// Returns the tokens before the messages, and the tokens per message token that chars/4 estimates. They convert a
    /// threshold in chars to the scale of the total.
    pub fn scale_factors(&self) -> (u64, f64) {
        let by_chars = self.estimated_tokens.saturating_sub(Budget::fixed_only(self.fixed_chars).total());
        let tokens: u64 = self.whole_tokens.iter().sum();
        let factor =
            if by_chars < MIN_MESSAGE_TOKENS || tokens == 0 { 1.0 } else { tokens as f64 / by_chars as f64 };
        (self.fixed_tokens, factor)
    }
}

/// Scales the tokens of messages so that they and the fixed part, which is returned, add up to a provider's count.
pub fn scale_to_count(fixed_tokens: Tokens, message_tokens: &mut [Tokens], count: Tokens) -> Tokens {
    let before: Tokens = message_tokens.iter().sum();
    let factor = ((count - fixed_tokens) / before).clamp(FACTOR_RANGE.0, FACTOR_RANGE.1);
    let factor = if before > Tokens::ZERO { factor.min(count / before) } else { 1.0 };
    for tokens in message_tokens.iter_mut() {
        *tokens *= factor;
    }
    (count - before * factor).max(Tokens::ZERO)
}

struct PromptWeights {
    fixed_tokens: Tokens,
    message_tokens: Vec<Tokens>,
}

impl PromptWeights {
    /// Returns the forms if the count agrees with them better than with whole messages: the gateway may have had other
    /// settings then.
    fn forms_of_count<'a>(
        &self,
        context: &Context,
        forms: &'a SentForms,
        count: &LastCount,
    ) -> Option<&'a SentForms> {
        let error = |weights: &[Tokens]| {
            let messages: Tokens = weights[..forms.at_count.len()].iter().sum();
            (self.fixed_tokens + messages - count.tokens).abs()
        };
        let [whole, sent] =
            [error(&self.message_tokens), error(&self.with_forms(context, &forms.at_count).message_tokens)];
        (sent == whole || sent < whole * MIN_FORM_IMPROVEMENT).then_some(forms)
    }

    /// Returns the weights of messages in these forms: the same share of each weight as of its estimate.
    fn with_forms(&self, context: &Context, forms: &[u64]) -> Self {
        let mut weights = self.message_tokens.clone();
        for ((weight, message), form) in weights.iter_mut().zip(&context.messages).zip(forms) {
            let whole = estimate_or_zero(&message.size);
            if *form != whole && whole > 0 {
                *weight *= *form as f64 / whole as f64;
            }
        }
        Self { fixed_tokens: self.fixed_tokens, message_tokens: weights }
    }

    /// Scales the messages such that those up to the anchor, in the forms in which its call sent them, add up to its
    /// count.
    fn scaled_to(
        mut self,
        context: &Context,
        anchor: &LastCount,
        forms: Option<&SentForms>,
    ) -> (Self, CountSource) {
        let messages = &context.messages;
        if anchor.is_planned {
            let at =
                messages.iter().rposition(|message| message.entry <= anchor.entry).map_or(0, |at| at + 1);
            self.scale_first(at, None, context, anchor);
            return (self, CountSource::Calibrated);
        }
        let after = messages.iter().rposition(|message| message.entry == anchor.entry);
        let at = after.unwrap_or_else(|| messages.partition_point(|message| message.entry < anchor.entry));
        self.scale_first(at, forms, context, anchor);
        let behind = if after.is_some() { at + 1 } else { at };
        let is_last = self.message_tokens[behind..].iter().all(|tokens| *tokens == Tokens::ZERO)
            && forms.is_none_or(SentForms::is_sent_again);
        if let Some(own) = self.message_tokens[at..behind].first_mut() {
            *own = anchor.answer_tokens;
        }
        (self, if is_last { CountSource::Measured } else { CountSource::Calibrated })
    }

    /// Scales the first `at` messages to the count.
    fn scale_first(&mut self, at: usize, forms: Option<&SentForms>, context: &Context, count: &LastCount) {
        let mut sent = match forms {
            Some(forms) => self.with_forms(context, &forms.at_count).message_tokens,
            None => self.message_tokens.clone(),
        };
        let before: Tokens = sent[..at].iter().sum();
        self.fixed_tokens = scale_to_count(self.fixed_tokens, &mut sent[..at], count.tokens);
        let factor = sent[..at].iter().sum::<Tokens>() / before;
        for weight in self.message_tokens[..at].iter_mut().filter(|_| before > Tokens::ZERO) {
            *weight *= factor;
        }
    }

    /// Rounds to whole tokens such that they add up to the rounded total.
    fn rounded(&self) -> (u64, Vec<u64>) {
        let fixed = self.fixed_tokens.max(Tokens::ZERO).get().round();
        let (mut sum, mut shared) = (fixed, fixed as u64);
        let whole = |tokens: &Tokens| {
            sum += tokens.max(Tokens::ZERO).get();
            let upto = sum.round() as u64;
            upto - std::mem::replace(&mut shared, upto)
        };
        (fixed as u64, self.message_tokens.iter().map(whole).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::policy::PolicySettings;
    use crate::policy::prune::Gate;
    use crate::session::LoadedSession;
    use crate::session::testing::{loaded_session, message, prune_plan, transcript, user};

    fn answer(prompt: u64, output: u64) -> String {
        let usage = format!(
            r#"{{"input":{prompt},"output":{output},"cacheRead":0,"cacheWrite":0,"totalTokens":{}}}"#,
            prompt + output
        );
        message(&format!(
            r#"{{"role":"assistant","provider":"anthropic","model":"claude-opus-4-6","content":[{{"type":"text","text":"ok"}}],"stopReason":"stop","usage":{usage}}}"#
        ))
    }

    fn refused(text: &str) -> String {
        message(&format!(
            r#"{{"role":"assistant","provider":"anthropic","model":"claude-opus-4-6","content":[],"stopReason":"error","errorMessage":"{text}"}}"#
        ))
    }

    fn session(entries: &[String]) -> LoadedSession {
        loaded_session(&transcript(entries), 200_000.0)
    }

    fn adds_up(loaded: &LoadedSession) {
        let prompt = &loaded.next_prompt;
        assert_eq!(prompt.budget(&loaded.context).total(), prompt.total.tokens);
        let steps = PolicySettings::default();
        let nothing = PolicySettings { enabled: crate::policy::PolicySet::NONE, ..steps };
        let nothing: Plan = loaded.plan(&nothing, Gate::Off).expect("a plan");
        assert_eq!(loaded.next_budget_after(&nothing).total(), prompt.total.tokens);
    }

    #[test]
    fn without_a_count_chars_by_four_decide() {
        let loaded = session(&[user(&"word ".repeat(4_000))]);
        let wanted = TokenCount { tokens: 5_000, source: CountSource::Estimated };
        assert_eq!(loaded.next_prompt.total, wanted);
        adds_up(&loaded);
    }

    #[test]
    fn the_next_prompt_is_measured_only_right_after_a_count() {
        let text = "word ".repeat(4_000);
        let mut entries = vec![user(&text), answer(8_000, 10)];
        let loaded = session(&entries);
        assert_eq!(loaded.next_prompt.total, TokenCount { tokens: 8_010, source: CountSource::Measured });
        adds_up(&loaded);
        entries.push(user(&text));
        let loaded = session(&entries);
        let wanted = TokenCount { tokens: 13_010, source: CountSource::Calibrated };
        assert_eq!(loaded.next_prompt.total, wanted, "the count, its answer, and what follows");
        adds_up(&loaded);
    }

    #[test]
    fn a_single_count_shows_the_tokens_before_the_messages_also_after_a_compaction() {
        let compaction =
            r#""type":"compaction","summary":"so far","firstKeptEntryId":"e1","tokensBefore":25010}"#;
        let loaded = session(&[user("hi"), answer(25_000, 10), compaction.to_owned()]);
        let total = loaded.next_prompt.total;
        assert_eq!(total.source, CountSource::Calibrated);
        assert!((24_990..25_100).contains(&total.tokens), "{total:?}");
        adds_up(&loaded);
    }

    #[test]
    fn messages_after_the_last_count_are_scaled_by_earlier_counts() {
        let text = "word ".repeat(4_000);
        let turns = (1..=6_u64).flat_map(|turn| [user(&text), answer(10_000 * turn, 0)]);
        let loaded = session(&turns.chain([user(&text)]).collect::<Vec<_>>());
        let total = loaded.next_prompt.total;
        assert!(total.is_estimate() && (69_000..71_000).contains(&total.tokens), "{total:?}");
        assert!(loaded.next_prompt.scale_factors().1 > 1.9, "two tokens for one of chars/4");
        adds_up(&loaded);
    }

    #[test]
    fn a_refusal_that_names_its_tokens_is_a_count() {
        let text = "word ".repeat(100_000);
        let refusal = refused("prompt is too long: 230000 tokens > 200000 maximum");
        let loaded = session(&[user(&text), refusal]);
        let wanted = TokenCount { tokens: 230_000, source: CountSource::Measured };
        assert_eq!(loaded.next_prompt.total, wanted);
        assert_eq!(loaded.next_prompt.estimated_tokens, 125_000);
        adds_up(&loaded);
    }

    #[test]
    fn a_refusal_by_the_gateways_check_is_not_a_count() {
        let text = "word ".repeat(4_000);
        let check = refused(
            "Context overflow: estimated context size exceeds safe threshold during tool loop (90000 > 80000)",
        );
        let loaded = session(&[user(&text), answer(8_000, 0), user(&text), check]);
        let total = loaded.next_prompt.total;
        assert!(total.is_estimate() && total.tokens < 20_000, "{total:?} {:?}", loaded.overflows);
    }

    #[test]
    fn a_plan_frees_as_large_a_share_of_the_count_as_of_the_chars() {
        let result = crate::session::testing::result("c", "exec", &"x".repeat(400_000), "");
        let call = crate::session::testing::call("c", "exec", "{}");
        let mut entries = vec![user("go"), call, result, answer(200_000, 1)];
        entries.extend((0..4).flat_map(|_| [user("on"), answer(200_000, 1)]));
        let loaded = session(&entries);
        let plan = prune_plan(&loaded, &crate::gateway::pruning::PruneSettings::default());
        let freed = loaded.tokens_freed_by(&plan) as f64;
        let by_chars = (plan.total_before() - plan.total_after()) as f64;
        assert!(by_chars > 90_000.0 && (1.8..2.1).contains(&(freed / by_chars)), "{freed} {by_chars}");
    }
}
