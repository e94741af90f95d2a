//! The prompt of the next call by the best count there is, and the tokens that each of its parts takes. The provider's last
//! count comes first, be it of an answer or of a refusal; then the estimate, scaled to the counts of this session; then the
//! estimate alone.

use std::collections::{HashMap, HashSet};

use crate::context::Context;
use crate::context::budget::{Budget, FixedChars};
use crate::context::tokens::chars4::estimate_or_zero;
use crate::ids::EntryIx;
use crate::plan::Plan;
use crate::session::growth_weights::{FACTOR_RANGE, weights_from_growth};
use crate::session::overflow::{Overflow, OverflowKind};
use crate::session::{CountSource, TokenCount};
use crate::store::entry::{EntryKind, ReadMode, Usage};
use crate::store::index::Index;

/// Estimated tokens of messages below which they do not tell how the provider counts.
const MIN_MESSAGE_TOKENS: u64 = 2_000;

/// The counts of a session that speak for its prompts.
#[derive(Debug, Clone, Copy)]
pub(super) struct PromptCounts<'a> {
    pub(super) index: &'a Index,
    pub(super) context: &'a Context,
    pub(super) overflows: &'a [Overflow],
    /// Answers whose counts cannot be the whole prompt.
    pub(super) partial_counts: &'a HashSet<EntryIx>,
    /// Chars before the messages, where a run left a report.
    pub(super) fixed_chars: Option<FixedChars>,
}

/// The next prompt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NextPrompt {
    /// Tokens of all of it.
    pub total: TokenCount,
    /// Tokens by chars/4.
    pub estimated_tokens: u64,
    /// Tokens before the messages.
    pub fixed_tokens: u64,
    /// Tokens of each message of the context, by the same count as the total.
    pub message_tokens: Vec<u64>,
    fixed_chars: Option<FixedChars>,
}

/// The last prompt of the path that a provider counted.
struct LastCount {
    entry: EntryIx,
    tokens: f64,
    /// Tokens of its answer, which the next prompt holds too.
    answer_tokens: f64,
}

impl NextPrompt {
    pub(super) fn from_counts(counts: &PromptCounts<'_>) -> Self {
        let by_chars = Budget::from_context(counts.fixed_chars, counts.context);
        let estimates =
            || counts.context.messages.iter().map(|message| estimate_or_zero(&message.size) as f64);
        let grown = weights_from_growth(counts, None);
        let is_calibrated = grown.is_some();
        let weighed = match grown {
            Some((fixed, weights)) => {
                PromptWeights { fixed_tokens: fixed, message_tokens: counts.message_weights(&weights) }
            }
            None => PromptWeights {
                fixed_tokens: by_chars.fixed_tokens() as f64,
                message_tokens: estimates().collect(),
            },
        };
        let (weighed, source) = match counts.last_count() {
            Some(anchor) => weighed.scaled_to(counts.context, &anchor),
            None if is_calibrated => (weighed, CountSource::Calibrated),
            None => (weighed, CountSource::Estimated),
        };
        let (fixed_tokens, message_tokens) = weighed.rounded();
        let tokens = fixed_tokens + message_tokens.iter().sum::<u64>();
        Self {
            total: TokenCount { tokens, source },
            estimated_tokens: by_chars.total(),
            fixed_tokens,
            message_tokens,
            fixed_chars: counts.fixed_chars,
        }
    }

    /// What fills the window.
    pub fn budget(&self, context: &Context) -> Budget {
        Budget::with_fixed(self.fixed_chars, self.fixed_tokens, context, |at| {
            self.message_tokens.get(at).copied().unwrap_or(0)
        })
    }

    /// What would fill it under a plan: a message that is cut loses the same share of its tokens as of its chars.
    pub fn budget_after(&self, context: &Context, plan: &Plan) -> Budget {
        let scaled = |at: usize| {
            let own = self.message_tokens.get(at).copied().unwrap_or(0);
            Self::scaled(own, estimate_or_zero(&context.messages[at].size), plan.tokens_after[at])
        };
        let mut budget = Budget::with_fixed(self.fixed_chars, self.fixed_tokens, context, scaled);
        for (size, tokens) in plan.added_messages() {
            budget.add_message(&size, tokens);
        }
        budget
    }

    fn scaled(own: u64, estimate: u64, after: u64) -> u64 {
        match estimate {
            _ if after == estimate => own,
            0 => after,
            estimate => (own as f64 * after as f64 / estimate as f64).round() as u64,
        }
    }

    /// Tokens before the messages, and tokens of the messages for one that chars/4 estimates: by them a threshold in chars is
    /// put on the scale of the total.
    pub fn scale_factors(&self) -> (u64, f64) {
        let by_chars = self.estimated_tokens.saturating_sub(Budget::fixed_only(self.fixed_chars).total());
        let tokens: u64 = self.message_tokens.iter().sum();
        let factor =
            if by_chars < MIN_MESSAGE_TOKENS || tokens == 0 { 1.0 } else { tokens as f64 / by_chars as f64 };
        (self.fixed_tokens, factor)
    }
}

/// Tokens before the messages and of each message.
struct PromptWeights {
    fixed_tokens: f64,
    message_tokens: Vec<f64>,
}

impl PromptWeights {
    /// With what is up to the anchor as large as the anchor says.
    fn scaled_to(mut self, context: &Context, anchor: &LastCount) -> (Self, CountSource) {
        let messages = &context.messages;
        let after = messages.iter().rposition(|message| message.entry == anchor.entry);
        let at = after.unwrap_or_else(|| messages.partition_point(|message| message.entry < anchor.entry));
        let before: f64 = self.message_tokens[..at].iter().sum();
        let factor = ((anchor.tokens - self.fixed_tokens) / before).clamp(FACTOR_RANGE.0, FACTOR_RANGE.1);
        let factor = if before > 0.0 { factor.min(anchor.tokens / before) } else { 1.0 };
        self.message_tokens[..at].iter_mut().for_each(|tokens| *tokens *= factor);
        self.fixed_tokens = (anchor.tokens - before * factor).max(0.0);
        let behind = if after.is_some() { at + 1 } else { at };
        let is_last = self.message_tokens[behind..].iter().all(|tokens| *tokens == 0.0);
        if let Some(own) = self.message_tokens[at..behind].first_mut() {
            *own = if is_last { 0.0 } else { anchor.answer_tokens };
        }
        (self, if is_last { CountSource::Measured } else { CountSource::Calibrated })
    }

    /// In whole tokens, so that their sum is the sum rounded.
    fn rounded(&self) -> (u64, Vec<u64>) {
        let fixed = self.fixed_tokens.max(0.0).round();
        let (mut sum, mut shared) = (fixed, fixed as u64);
        let whole = |tokens: &f64| {
            sum += tokens.max(0.0);
            let upto = sum.round() as u64;
            upto - std::mem::replace(&mut shared, upto)
        };
        (fixed as u64, self.message_tokens.iter().map(whole).collect())
    }
}

impl PromptCounts<'_> {
    /// Tokens before the messages by chars/4.
    pub(super) fn fixed_tokens(&self) -> u64 {
        Budget::fixed_only(self.fixed_chars).total()
    }

    /// Prompts that the provider counted and refused, by their entries. What the gateway's own check says is no count.
    pub(super) fn refused_prompts(&self) -> HashMap<EntryIx, f64> {
        let counted = self.overflows.iter().filter(|overflow| overflow.kind != OverflowKind::Precheck);
        let prompts = counted.filter_map(|overflow| Some((overflow, overflow.prompt_tokens()?)));
        let prompts = prompts.filter(|(_, prompt)| *prompt > 0);
        let entries = prompts.flat_map(|(overflow, prompt)| {
            let all = std::iter::once(overflow.entry).chain(overflow.duplicates.iter().copied());
            all.map(move |entry| (entry, prompt as f64))
        });
        entries.collect()
    }

    /// The weights of the messages of the context, out of those of the path.
    fn message_weights(&self, weights: &[f64]) -> Vec<f64> {
        let mut by_entry = vec![0.0; self.index.entries.len()];
        for (ix, weight) in self.context.path.iter().zip(weights) {
            by_entry[ix.index()] = *weight;
        }
        self.context.messages.iter().map(|message| by_entry[message.entry.index()]).collect()
    }

    /// The last count of the path, unless the context was changed since.
    fn last_count(&self) -> Option<LastCount> {
        let (index, context) = (self.index, self.context);
        let refused = self.refused_prompts();
        for ix in context.path.iter().rev() {
            let entry = index.entry(*ix);
            let edited = index.reading == ReadMode::Projected && entry.kind == EntryKind::ContextEdit;
            let changed = Some(*ix) == context.compaction || Some(*ix) == context.reset;
            if changed || edited || super::item_loading::is_committed_branch(index, *ix) {
                return None;
            }
            if let Some(tokens) = refused.get(ix) {
                return Some(LastCount { entry: *ix, tokens: *tokens, answer_tokens: 0.0 });
            }
            let usage = entry.message.filter(|_| entry.is_model_call()).and_then(|size| size.usage);
            let usage = usage.filter(Usage::has_prompt_tokens).filter(|_| !self.partial_counts.contains(ix));
            if let Some(usage) = usage {
                let answer = Some(usage.output).filter(|tokens| tokens.is_finite()).unwrap_or(0.0);
                return Some(LastCount { entry: *ix, tokens: usage.prompt_tokens(), answer_tokens: answer });
            }
        }
        None
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

    fn adds_up(inspection: &LoadedSession) {
        let prompt = &inspection.next_prompt;
        assert_eq!(prompt.budget(&inspection.context).total(), prompt.total.tokens);
        let steps = PolicySettings::default();
        let nothing = PolicySettings { enabled: crate::policy::PolicySet::NONE, ..steps };
        let nothing: Plan = inspection.plan(&nothing, Gate::Off).expect("a plan");
        assert_eq!(prompt.budget_after(&inspection.context, &nothing).total(), prompt.total.tokens);
    }

    #[test]
    fn without_a_count_chars_by_four_decide() {
        let inspection = session(&[user(&"word ".repeat(4_000))]);
        let wanted = TokenCount { tokens: 5_000, source: CountSource::Estimated };
        assert_eq!(inspection.next_prompt.total, wanted);
        adds_up(&inspection);
    }

    #[test]
    fn the_last_count_is_measured_while_nothing_follows_it() {
        let text = "word ".repeat(4_000);
        let mut entries = vec![user(&text), answer(8_000, 10)];
        let inspection = session(&entries);
        assert_eq!(inspection.next_prompt.total, TokenCount { tokens: 8_000, source: CountSource::Measured });
        adds_up(&inspection);
        entries.push(user(&text));
        let inspection = session(&entries);
        let wanted = TokenCount { tokens: 13_010, source: CountSource::Calibrated };
        assert_eq!(inspection.next_prompt.total, wanted, "the count, its answer, and what follows");
        adds_up(&inspection);
    }

    #[test]
    fn what_follows_weighs_as_much_as_the_counts_before_it_say() {
        let text = "word ".repeat(4_000);
        let turns = (1..=6_u64).flat_map(|turn| [user(&text), answer(10_000 * turn, 0)]);
        let inspection = session(&turns.chain([user(&text)]).collect::<Vec<_>>());
        let total = inspection.next_prompt.total;
        assert!(total.is_estimate() && (69_000..71_000).contains(&total.tokens), "{total:?}");
        assert!(inspection.next_prompt.scale_factors().1 > 1.9, "two tokens for one of chars/4");
        adds_up(&inspection);
    }

    #[test]
    fn a_refusal_that_names_its_tokens_is_a_count() {
        let text = "word ".repeat(100_000);
        let refusal = refused("prompt is too long: 230000 tokens > 200000 maximum");
        let inspection = session(&[user(&text), refusal]);
        let wanted = TokenCount { tokens: 230_000, source: CountSource::Measured };
        assert_eq!(inspection.next_prompt.total, wanted);
        assert_eq!(inspection.next_prompt.estimated_tokens, 125_000);
        adds_up(&inspection);
    }

    #[test]
    fn what_the_gateways_own_check_says_is_no_count() {
        let text = "word ".repeat(4_000);
        let check = refused(
            "Context overflow: estimated context size exceeds safe threshold during tool loop (90000 > 80000)",
        );
        let inspection = session(&[user(&text), answer(8_000, 0), user(&text), check]);
        let total = inspection.next_prompt.total;
        assert!(total.is_estimate() && total.tokens < 20_000, "{total:?} {:?}", inspection.overflows);
    }

    #[test]
    fn a_plan_frees_as_large_a_share_of_the_count_as_of_the_chars() {
        let result = crate::session::testing::result("c", "exec", &"x".repeat(400_000), "");
        let call = crate::session::testing::call("c", "exec", "{}");
        let mut entries = vec![user("go"), call, result, answer(200_000, 1)];
        entries.extend((0..4).flat_map(|_| [user("on"), answer(200_000, 1)]));
        let inspection = session(&entries);
        let plan = prune_plan(&inspection, &crate::gateway::pruning::PruneSettings::default());
        let freed = inspection.tokens_freed_by(&plan) as f64;
        let by_chars = (plan.total_before() - plan.total_after()) as f64;
        assert!(by_chars > 90_000.0 && (1.8..2.1).contains(&(freed / by_chars)), "{freed} {by_chars}");
    }
}
