//! The prompt of the next call by the best count there is, and the tokens that each of its parts takes. The provider's last
//! count comes first, be it of an answer or of a refusal; then the estimate, scaled to the counts of this session; then the
//! estimate alone.

use std::collections::{HashMap, HashSet};

use crate::context::Context;
use crate::context::budget::{Budget, FixedChars};
use crate::context::tokens::chars4::estimate_or_zero;
use crate::ids::EntryIx;
use crate::inspect::overflow::{Overflow, Sign};
use crate::inspect::weights::{FACTORS, grown_weights};
use crate::inspect::{Counted, SourceOfCount};
use crate::plan::Plan;
use crate::store::entry::{EntryKind, Reading, Usage};
use crate::store::index::Index;

/// Estimated tokens of messages below which they do not tell how the provider counts.
const ENOUGH: u64 = 2_000;

/// The counts of a session that speak for its prompts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts<'a> {
    pub(super) index: &'a Index,
    pub(super) context: &'a Context,
    pub(super) overflows: &'a [Overflow],
    /// Answers whose counts cannot be the whole prompt.
    pub(super) doubted: &'a HashSet<EntryIx>,
    /// Chars before the messages, where a run left a report.
    pub(super) fixed: Option<FixedChars>,
}

/// The next prompt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NextPrompt {
    /// Tokens of all of it.
    pub total: Counted,
    /// Tokens by chars/4.
    pub estimate: u64,
    /// Tokens before the messages.
    pub fixed: u64,
    /// Tokens of each message of the context, by the same count as the total.
    pub messages: Vec<u64>,
    chars: Option<FixedChars>,
}

/// The last prompt of the path that a provider counted.
struct Anchor {
    entry: EntryIx,
    tokens: f64,
    /// Tokens of its answer, which the next prompt holds too.
    answer: f64,
}

impl NextPrompt {
    pub(super) fn of(counts: &Counts<'_>) -> Self {
        let by_chars = Budget::of(counts.fixed, counts.context);
        let estimates =
            || counts.context.messages.iter().map(|message| estimate_or_zero(&message.size) as f64);
        let grown = grown_weights(counts, None);
        let is_calibrated = grown.is_some();
        let weighed = match grown {
            Some((fixed, weights)) => Weighed { fixed, messages: counts.of_messages(&weights) },
            None => Weighed { fixed: by_chars.fixed() as f64, messages: estimates().collect() },
        };
        let (weighed, source) = match counts.anchor() {
            Some(anchor) => weighed.anchored(counts.context, &anchor),
            None if is_calibrated => (weighed, SourceOfCount::Calibrated),
            None => (weighed, SourceOfCount::Est),
        };
        let (fixed, messages) = weighed.rounded();
        let tokens = fixed + messages.iter().sum::<u64>();
        Self {
            total: Counted { tokens, source },
            estimate: by_chars.total(),
            fixed,
            messages,
            chars: counts.fixed,
        }
    }

    /// What fills the window.
    pub fn budget(&self, context: &Context) -> Budget {
        Budget::with_fixed(self.chars, self.fixed, context, |at| self.messages.get(at).copied().unwrap_or(0))
    }

    /// What would fill it under a plan: a message that is cut loses the same share of its tokens as of its chars.
    pub fn budget_after(&self, context: &Context, plan: &Plan) -> Budget {
        let scaled = |at: usize| {
            let own = self.messages.get(at).copied().unwrap_or(0);
            Self::scaled(own, estimate_or_zero(&context.messages[at].size), plan.tokens_after[at])
        };
        let mut budget = Budget::with_fixed(self.chars, self.fixed, context, scaled);
        for (size, tokens) in plan.made() {
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
    pub fn scale(&self) -> (u64, f64) {
        let by_chars = self.estimate.saturating_sub(Budget::before_messages(self.chars).total());
        let tokens: u64 = self.messages.iter().sum();
        let factor = if by_chars < ENOUGH || tokens == 0 { 1.0 } else { tokens as f64 / by_chars as f64 };
        (self.fixed, factor)
    }
}

/// Tokens before the messages and of each message.
struct Weighed {
    fixed: f64,
    messages: Vec<f64>,
}

impl Weighed {
    /// With what is up to the anchor as large as the anchor says.
    fn anchored(mut self, context: &Context, anchor: &Anchor) -> (Self, SourceOfCount) {
        let messages = &context.messages;
        let after = messages.iter().rposition(|message| message.entry == anchor.entry);
        let at = after.unwrap_or_else(|| messages.partition_point(|message| message.entry < anchor.entry));
        let before: f64 = self.messages[..at].iter().sum();
        let factor = ((anchor.tokens - self.fixed) / before).clamp(FACTORS.0, FACTORS.1);
        let factor = if before > 0.0 { factor.min(anchor.tokens / before) } else { 1.0 };
        self.messages[..at].iter_mut().for_each(|tokens| *tokens *= factor);
        self.fixed = (anchor.tokens - before * factor).max(0.0);
        let behind = if after.is_some() { at + 1 } else { at };
        let is_last = self.messages[behind..].iter().all(|tokens| *tokens == 0.0);
        if let Some(own) = self.messages[at..behind].first_mut() {
            *own = if is_last { 0.0 } else { anchor.answer };
        }
        (self, if is_last { SourceOfCount::Measured } else { SourceOfCount::Calibrated })
    }

    /// In whole tokens, so that their sum is the sum rounded.
    fn rounded(&self) -> (u64, Vec<u64>) {
        let fixed = self.fixed.max(0.0).round();
        let (mut sum, mut shared) = (fixed, fixed as u64);
        let whole = |tokens: &f64| {
            sum += tokens.max(0.0);
            let upto = sum.round() as u64;
            upto - std::mem::replace(&mut shared, upto)
        };
        (fixed as u64, self.messages.iter().map(whole).collect())
    }
}

impl Counts<'_> {
    /// Tokens before the messages by chars/4.
    pub(super) fn fixed_tokens(&self) -> u64 {
        Budget::before_messages(self.fixed).total()
    }

    /// Prompts that the provider counted and refused, by their entries. What the gateway's own check says is no count.
    pub(super) fn refused(&self) -> HashMap<EntryIx, f64> {
        let counted = self.overflows.iter().filter(|overflow| overflow.sign != Sign::Precheck);
        let prompts = counted.filter_map(|overflow| Some((overflow, overflow.prompt()?)));
        let prompts = prompts.filter(|(_, prompt)| *prompt > 0);
        let entries = prompts.flat_map(|(overflow, prompt)| {
            let all = std::iter::once(overflow.entry).chain(overflow.again.iter().copied());
            all.map(move |entry| (entry, prompt as f64))
        });
        entries.collect()
    }

    /// The weights of the messages of the context, out of those of the path.
    fn of_messages(&self, weights: &[f64]) -> Vec<f64> {
        let mut by_entry = vec![0.0; self.index.entries.len()];
        for (ix, weight) in self.context.path.iter().zip(weights) {
            by_entry[ix.at()] = *weight;
        }
        self.context.messages.iter().map(|message| by_entry[message.entry.at()]).collect()
    }

    /// The last count of the path, unless the context was changed since.
    fn anchor(&self) -> Option<Anchor> {
        let (index, context) = (self.index, self.context);
        let refused = self.refused();
        for ix in context.path.iter().rev() {
            let entry = index.entry(*ix);
            let edited = index.reading == Reading::Projected && entry.kind == EntryKind::ContextEdit;
            let changed = Some(*ix) == context.compaction || Some(*ix) == context.reset;
            if changed || edited || super::count::is_commit(index, *ix) {
                return None;
            }
            if let Some(tokens) = refused.get(ix) {
                return Some(Anchor { entry: *ix, tokens: *tokens, answer: 0.0 });
            }
            let usage = entry.message.filter(|_| entry.is_call()).and_then(|size| size.usage);
            let usage = usage.filter(Usage::is_counted).filter(|_| !self.doubted.contains(ix));
            if let Some(usage) = usage {
                let answer = Some(usage.output).filter(|tokens| tokens.is_finite()).unwrap_or(0.0);
                return Some(Anchor { entry: *ix, tokens: usage.prompt_tokens(), answer });
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::Inspection;
    use crate::inspect::testing::{inspection, message, plan, transcript, user};
    use crate::plan::Plan;
    use crate::policy::StepSettings;
    use crate::policy::prune::Gate;

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

    fn session(entries: &[String]) -> Inspection {
        inspection(&transcript(entries), 200_000.0)
    }

    fn adds_up(inspection: &Inspection) {
        let prompt = &inspection.next_prompt;
        assert_eq!(prompt.budget(&inspection.context).total(), prompt.total.tokens);
        let steps = StepSettings::default();
        let nothing = StepSettings { steps: crate::policy::StepSet::NONE, ..steps };
        let nothing: Plan = inspection.plan(&nothing, Gate::Off).expect("a plan");
        assert_eq!(prompt.budget_after(&inspection.context, &nothing).total(), prompt.total.tokens);
    }

    #[test]
    fn without_a_count_chars_by_four_decide() {
        let inspection = session(&[user(&"word ".repeat(4_000))]);
        let wanted = Counted { tokens: 5_000, source: SourceOfCount::Est };
        assert_eq!(inspection.next_prompt.total, wanted);
        adds_up(&inspection);
    }

    #[test]
    fn the_last_count_is_measured_while_nothing_follows_it() {
        let text = "word ".repeat(4_000);
        let mut entries = vec![user(&text), answer(8_000, 10)];
        let inspection = session(&entries);
        assert_eq!(inspection.next_prompt.total, Counted { tokens: 8_000, source: SourceOfCount::Measured });
        adds_up(&inspection);
        entries.push(user(&text));
        let inspection = session(&entries);
        let wanted = Counted { tokens: 13_010, source: SourceOfCount::Calibrated };
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
        assert!(inspection.next_prompt.scale().1 > 1.9, "two tokens for one of chars/4");
        adds_up(&inspection);
    }

    #[test]
    fn a_refusal_that_names_its_tokens_is_a_count() {
        let text = "word ".repeat(100_000);
        let refusal = refused("prompt is too long: 230000 tokens > 200000 maximum");
        let inspection = session(&[user(&text), refusal]);
        let wanted = Counted { tokens: 230_000, source: SourceOfCount::Measured };
        assert_eq!(inspection.next_prompt.total, wanted);
        assert_eq!(inspection.next_prompt.estimate, 125_000);
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
        let result = crate::inspect::testing::result("c", "exec", &"x".repeat(400_000), "");
        let call = crate::inspect::testing::call("c", "exec", "{}");
        let mut entries = vec![user("go"), call, result, answer(200_000, 1)];
        entries.extend((0..4).flat_map(|_| [user("on"), answer(200_000, 1)]));
        let inspection = session(&entries);
        let plan = plan(&inspection, &crate::gateway::pruning::PruneSettings::default());
        let freed = inspection.freed_by(&plan) as f64;
        let by_chars = (plan.total_before() - plan.total_after()) as f64;
        assert!(by_chars > 90_000.0 && (1.8..2.1).contains(&(freed / by_chars)), "{freed} {by_chars}");
    }
}
