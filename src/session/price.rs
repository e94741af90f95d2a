//! Resolves the price of a model's tokens: from the configuration, else the agent's registry, else the list of the release.

use std::collections::HashMap;

use crate::gateway::config::GatewayConfig;
use crate::gateway::models::Price;
use crate::ids::EntryIx;
use crate::js::Value;
use crate::session::LoadedSession;
use crate::store::index::Index;
use crate::store::intern::ValueIx;

/// Returns the price of a model in USD per million tokens. A configured `cost` counts if it names at least input and
/// output; cache prices that it omits are 0.
///
/// `registered` is the price from the agent's registry.
pub fn list_price(
    config: &GatewayConfig,
    provider: &str,
    model: &str,
    registered: Option<Price>,
) -> Option<Price> {
    let listed = || config.models.find(provider, model)?.values.price;
    configured_price(&config.js_root, provider, model).or(registered).or_else(listed)
}

/// A transcript whose models have prices, with the price of its last model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PriceSource<'a> {
    pub(crate) index: &'a Index,
    pub(crate) config: &'a GatewayConfig,
    pub(crate) provider: &'a str,
    pub(crate) model: &'a str,
    /// The price of the session's own model, which already includes the agent's registry.
    pub(crate) price: Option<Price>,
}

impl<'a> From<&'a LoadedSession> for PriceSource<'a> {
    fn from(session: &'a LoadedSession) -> Self {
        Self {
            index: &session.index,
            config: &session.config,
            provider: &session.provider,
            model: &session.model,
            price: session.price,
        }
    }
}

/// Returns the list price of every model that these entries name.
pub(crate) fn list_prices(
    source: &PriceSource<'_>,
    entries: impl Iterator<Item = EntryIx>,
) -> HashMap<(ValueIx, ValueIx), Option<Price>> {
    let index = source.index;
    let mut prices = HashMap::new();
    for model in entries.filter_map(|ix| index.entry(ix).model) {
        prices.entry(model).or_insert_with(|| {
            let (provider, id) = (index.values.text(model.0)?, index.values.text(model.1)?);
            let known = source.price.filter(|_| provider == source.provider && id == source.model);
            list_price(source.config, &provider, &id, known)
        });
    }
    prices
}

fn configured_price(config: &Value, provider: &str, model: &str) -> Option<Price> {
    let models = config.get("models")?.get("providers")?.get(provider)?.get("models")?.as_array()?;
    let entry = models.iter().find(|entry| entry.get("id").is_some_and(|id| id.str_is(model)))?;
    Price::from_cost(entry.get("cost")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js::parse;

    #[test]
    fn the_configured_price_comes_before_the_listed_one() {
        let config = parse(
            r#"{"models":{"providers":{"anthropic":{"models":[
                {"id":"claude-opus-4-6","cost":{"input":1,"output":2,"cacheRead":0.5}},
                {"id":"claude-sonnet-4-5","cost":{"input":1}}]}}}}"#,
        )
        .unwrap();
        let mut own = GatewayConfig::empty();
        own.js_root = config;
        let price = |provider, model| list_price(&own, provider, model, None);
        let own = price("anthropic", "claude-opus-4-6").unwrap();
        assert_eq!((own.input, own.output, own.cache_read, own.cache_write), (1.0, 2.0, 0.5, 0.0));
        let listed = price("anthropic", "claude-sonnet-4-5").unwrap();
        assert_eq!((listed.input, listed.output), (3.0, 15.0));
        assert_eq!(price("nobody", "nothing"), None);
    }
}
