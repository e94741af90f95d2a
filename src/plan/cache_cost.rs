//! Estimates a plan's effect on the provider's prompt cache from prices. The next call writes everything from the first
//! changed message on again; the prefix before it stays cached (compaction 10.9, 10.11).

use crate::gateway::models::Price;
use crate::plan::Plan;
use crate::units::Millis;

/// Lifetime of a cached prefix after a call: the short retention, which is the default (compaction 10.7).
pub const RETENTION_MS: Millis = Millis(300_000.0);

/// The cost of a plan in USD. Output costs the same with and without the plan and is left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CacheCost {
    /// Extra cost of the next call compared with no plan; negative when it is cheaper at once.
    pub next_call: f64,
    /// Savings of each later call while the cache is warm.
    pub later_calls: f64,
    /// The prefix is still cached.
    pub is_warm: bool,
}

impl CacheCost {
    /// Estimates the cost of a plan. `idle_ms` is the time since the last call; `None` means that nothing is cached.
    /// Returns `None` for a plan that changes no message.
    pub fn new(plan: &Plan, price: &Price, idle_ms: Option<Millis>) -> Option<Self> {
        let first = plan.fates().iter().position(|message| message.fate.is_change())?;
        let tokens = |counts: &[u64]| counts[first..].iter().sum::<u64>();
        // Added messages come after the first change: at a cut, or after a call.
        let after = tokens(&plan.tokens_after) + plan.tokens_added;
        let prompt = plan.tokens_before.iter().sum::<u64>();
        Some(Self::of_tail((tokens(&plan.tokens_before), after), &price.at(prompt as f64), idle_ms))
    }

    /// Estimates the cost of a change from the tokens of the first changed message and all behind it, before and after.
    pub fn of_tail((before, after): (u64, u64), price: &Price, idle_ms: Option<Millis>) -> Self {
        let (before, after) = (before as f64 / 1e6, after as f64 / 1e6);
        let warm = idle_ms.is_some_and(|idle| idle < RETENTION_MS);
        // Providers without a cache-write price charge the input price.
        let write = if price.cache_write > 0.0 { price.cache_write } else { price.input };
        let without = before * if warm { price.cache_read } else { write };
        Self {
            next_call: after * write - without,
            later_calls: (before - after) * price.cache_read,
            is_warm: warm,
        }
    }

    /// Returns the number of later calls that pay back a dearer next call; `None` when it is not dearer or never pays
    /// back.
    pub fn calls_to_break_even(&self) -> Option<u64> {
        let dearer = self.next_call > 0.0 && self.later_calls > 0.0;
        dearer.then(|| (self.next_call / self.later_calls).ceil() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::build_context;
    use crate::ids::LineIds;
    use crate::plan::PlanInput;
    use crate::policy::PolicySettings;
    use crate::policy::preflight::FixedPressure;
    use crate::policy::prune::Gate;
    use crate::store::load::load_bytes;
    use crate::transcript::{Leaf, Tree};
    use crate::units::Tokens;

    const OPUS: Price = Price::flat([5.0, 25.0, 0.5, 6.25]);

    /// A user message, a result of 400,000 chars that is trimmed, and three answers.
    fn plan() -> Plan {
        let message = |at: usize, message: &str| {
            let parent = at.checked_sub(1).map_or("null".to_owned(), |at| format!("\"e{at}\""));
            format!(r#"{{"type":"message","id":"e{at}","parentId":{parent},"message":{message}}}"#)
        };
        let result = format!(
            r#"{{"role":"toolResult","toolName":"exec","content":[{{"type":"text","text":"{}"}}]}}"#,
            "x".repeat(400_000)
        );
        let answer = r#"{"role":"assistant","content":[]}"#;
        let user = r#"{"role":"user","content":"hi"}"#;
        let messages = [user, &result, answer, answer, answer];
        let lines: Vec<String> = messages.iter().enumerate().map(|(at, text)| message(at, text)).collect();
        let text = format!("{{\"type\":\"session\",\"version\":3,\"id\":\"s\"}}\n{}\n", lines.join("\n"));
        let index = load_bytes("t.jsonl", text.as_bytes(), &mut LineIds);
        let context = build_context(&index, &Tree::new(&index), &Leaf::Own).expect("builds");
        Plan::new(&PlanInput {
            index: &index,
            context: &context,
            branch: None,
            features: None,
            remembered: None,
            settings: &PolicySettings::default(),
            window: Tokens(200_000.0),
            guard_window: Tokens(200_000.0),
            gate: Gate::Open { idle_ms: Millis::ZERO },
            drops_thinking: false,
            is_responses_api: false,
            fixed_pressure: FixedPressure::default(),
        })
        .expect("plans")
    }

    #[test]
    fn a_warm_cache_is_written_again_from_the_first_change_on() {
        let cost = CacheCost::new(&plan(), &OPUS, Some(Millis(60_000.0))).expect("a price");
        let after = 3087_f64.div_euclid(4.0) + 1.0;
        assert_eq!(cost.next_call, after / 1e6 * 6.25 - 0.1 * 0.5);
        assert_eq!(cost.later_calls, (0.1 - after / 1e6) * 0.5);
        assert!(cost.is_warm);
    }

    #[test]
    fn a_plan_with_a_cold_cache_makes_the_next_call_cheaper() {
        let cost = CacheCost::new(&plan(), &OPUS, Some(RETENTION_MS)).expect("a price");
        assert!(!cost.is_warm && cost.next_call < -0.6 && cost.calls_to_break_even().is_none());
    }

    #[test]
    fn later_calls_pay_back_a_more_expensive_one() {
        let cost = CacheCost { next_call: 0.41, later_calls: 0.14, is_warm: true };
        assert_eq!(cost.calls_to_break_even(), Some(3));
    }
}
