//! Prices of a model's tokens, with the steps above which a longer prompt costs more.

use crate::js::Value;

/// The most steps of one price in any known list.
const MAX_STEPS: usize = 2;

/// A list price in USD per million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// Prompt tokens that the provider had not cached.
    pub input: f64,
    pub output: f64,
    /// Prompt tokens read from the cache; 0 if the provider does not sell them.
    pub cache_read: f64,
    /// Prompt tokens written to the cache; 0 if they cost no more than input.
    pub cache_write: f64,
    steps: [PriceStep; MAX_STEPS],
}

/// The price of a whole call whose prompt is larger than a number of tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
struct PriceStep {
    /// Prompt tokens, cached ones included; infinite for a step that a price does not have.
    above: f64,
    /// USD per million tokens: input, output, cache read, cache write.
    rates: [f64; 4],
}

const NO_STEP: PriceStep = PriceStep { above: f64::INFINITY, rates: [0.0; 4] };

impl Price {
    /// Builds a price that does not depend on the size of the prompt: input, output, cache read, cache write.
    pub const fn flat([input, output, cache_read, cache_write]: [f64; 4]) -> Self {
        Self { input, output, cache_read, cache_write, steps: [NO_STEP; MAX_STEPS] }
    }

    /// Adds steps, each with the prompt tokens above which its rates count. Keeps the lowest ones.
    #[must_use]
    pub fn with_steps(mut self, steps: impl Iterator<Item = (f64, [f64; 4])>) -> Self {
        let mut steps: Vec<PriceStep> = steps.map(|(above, rates)| PriceStep { above, rates }).collect();
        steps.sort_by(|a, b| a.above.total_cmp(&b.above));
        for (slot, step) in self.steps.iter_mut().zip(steps) {
            *slot = step;
        }
        self
    }

    /// Returns the rates of a call with this many prompt tokens, cached ones included: those of the highest step below it.
    #[must_use]
    pub fn at(&self, prompt_tokens: f64) -> Self {
        let step = self.steps.iter().rev().find(|step| prompt_tokens > step.above);
        step.map_or(*self, |step| Self::flat(step.rates))
    }

    /// Reads a `cost` of a configuration or a registry, with pi's `tiers` or the gateway's `tieredPricing`. `None` unless it
    /// names input and output; cache prices that it omits are 0.
    pub fn from_cost(cost: &Value) -> Option<Self> {
        let rates = rates_of(cost)?;
        let list = |key: &str| cost.get(key).and_then(Value::as_array).unwrap_or_default();
        let above = list("tiers")
            .iter()
            .filter_map(|tier| Some((tier.get("inputTokensAbove")?.as_f64()?, rates_of(tier)?)));
        let ranges = list("tieredPricing").iter().filter_map(|tier| {
            let start = tier.get("range")?.as_array()?.first()?.as_f64().filter(|start| *start > 0.0)?;
            Some((start - 1.0, rates_of(tier)?))
        });
        Some(Self::flat(rates).with_steps(above.chain(ranges)))
    }
}

fn rates_of(cost: &Value) -> Option<[f64; 4]> {
    let number = |key: &str| cost.get(key)?.as_f64().filter(|usd| usd.is_finite() && *usd >= 0.0);
    let cached = |key: &str| number(key).unwrap_or(0.0);
    Some([number("input")?, number("output")?, cached("cacheRead"), cached("cacheWrite")])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cost: &str) -> Option<Price> {
        Price::from_cost(&crate::js::parse(cost).unwrap())
    }

    #[test]
    fn a_prompt_above_a_step_costs_that_steps_rates_as_a_whole() {
        let tiers = r#"{"input":2,"output":12,"cacheRead":0.2,"cacheWrite":2.5,"tiers":[
            {"inputTokensAbove":400000,"input":8,"output":30},{"inputTokensAbove":200000,"input":4,"output":18}]}"#;
        let ranges = r#"{"input":2,"output":12,"tieredPricing":[
            {"range":[0,200001],"input":2,"output":12},{"range":[200001,400001],"input":4,"output":18},
            {"range":[400001],"input":8,"output":30}]}"#;
        for price in [tiers, ranges].map(|cost| read(cost).unwrap()) {
            let inputs =
                [0.0, 200_000.0, 200_001.0, 400_000.0, 400_001.0].map(|tokens| price.at(tokens).input);
            assert_eq!(inputs, [2.0, 2.0, 4.0, 4.0, 8.0]);
            assert_eq!(price.at(300_000.0).output, 18.0);
        }
    }

    #[test]
    fn a_price_needs_input_and_output() {
        assert_eq!(
            read(r#"{"input":1,"output":2,"cacheRead":0.5}"#),
            Some(Price::flat([1.0, 2.0, 0.5, 0.0]))
        );
        for cost in [r#"{"input":1}"#, r#"{"input":1,"output":-2}"#, "null", "5"] {
            assert_eq!(read(cost), None, "{cost}");
        }
    }
}
