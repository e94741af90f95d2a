//! Finds prices written per token where the gateway expects them per million tokens: its costs then show as nothing.

use super::models::ModelList;
use crate::js::{JsString, Value};

/// USD per million tokens; every real price is above it.
const MIN_PRICE: f64 = 0.001;
/// The ratio of such a price, times a million, to the list price.
const RATIO_RANGE: std::ops::Range<f64> = 0.1..10.0;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct PerTokenPrice {
    pub trail: Vec<String>,
    pub message: String,
}

/// Lists the models of `models.providers` with such a price, each once.
pub(super) fn find_per_token_prices(config: &Value) -> Vec<PerTokenPrice> {
    let providers =
        config.get("models").and_then(|models| models.get("providers")).and_then(Value::as_object);
    let mut found = Vec::new();
    for (provider, entry) in providers.into_iter().flat_map(crate::js::Object::iter) {
        let provider = provider.to_string_lossy();
        let models = entry.get("models").and_then(Value::as_array).unwrap_or_default();
        for (at, model) in models.iter().enumerate() {
            let id = model.get("id").and_then(Value::as_str).map(JsString::to_string_lossy);
            let Some((key, usd)) = id.as_deref().and_then(|id| suspicious(&provider, id, model)) else {
                continue;
            };
            let trail = ["models", "providers", &provider, "models", &at.to_string(), "cost", key];
            let model = id.unwrap_or_default();
            let what = format!(
                "the {key} price of {provider}/{model} is {usd} USD per million tokens, which looks like a \
                 price per token: costs show a million times too low"
            );
            found.push(PerTokenPrice { trail: trail.map(str::to_owned).to_vec(), message: what });
        }
    }
    found
}

fn suspicious(provider: &str, id: &str, model: &Value) -> Option<(&'static str, f64)> {
    let listed = ModelList::default().find(provider, id).and_then(|found| found.values.price);
    ["input", "output"].into_iter().find_map(|key| {
        let usd = model.get("cost")?.get(key)?.as_f64().filter(|usd| *usd > 0.0 && *usd < MIN_PRICE)?;
        let list = listed.map(|price| if key == "input" { price.input } else { price.output });
        list.filter(|usd| *usd > 0.0)
            .is_none_or(|list| RATIO_RANGE.contains(&(usd * 1e6 / list)))
            .then_some((key, usd))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_per_token_is_noticed_and_a_low_price_is_not() {
        let config = |model: &str, cost: &str| {
            let text = format!(
                r#"{{"models":{{"providers":{{"anthropic":{{"models":[{{"id":"{model}","cost":{cost}}}]}}}}}}}}"#
            );
            find_per_token_prices(&crate::js::parse(&text).unwrap())
        };
        let found = config("claude-sonnet-4-5", r#"{"input":0.000003,"output":0.000015}"#);
        assert_eq!(found.len(), 1);
        assert!(found[0].message.contains("anthropic/claude-sonnet-4-5 is 0.000003 USD per million"));
        assert_eq!(found[0].trail.join("."), "models.providers.anthropic.models.0.cost.input");
        assert_eq!(config("own-model", r#"{"input":0.0000005,"output":2}"#).len(), 1);
        for cost in [r#"{"input":0,"output":0}"#, r#"{"input":3,"output":15}"#, r#"{"input":0.05}"#, "null"] {
            assert_eq!(config("claude-sonnet-4-5", cost), [], "{cost}");
        }
        assert_eq!(config("claude-sonnet-4-5", r#"{"input":0.0000000003}"#), []);
    }
}
