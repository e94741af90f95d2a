//! The threshold of a provider that compacts by itself, below which the gateway does not compact (releases R67).

use crate::js::Value;
use crate::units::Tokens;

/// Returns the configured `responsesCompactThreshold` of a model, if its provider compacts: `OpenAI` unless it is switched
/// off, others only if it is switched on.
pub fn server_compaction_threshold(config: &Value, provider: &str, model: &str) -> Option<Tokens> {
    let params = params_of(config, provider, model);
    let param = |key: &str| params.iter().find_map(move |params| params.get(key));
    let switched = param("responsesServerCompaction").and_then(Value::as_bool);
    if !switched.unwrap_or(provider == "openai") {
        return None;
    }
    let tokens = param("responsesCompactThreshold").and_then(Value::as_f64)?;
    Some(Tokens(tokens.floor())).filter(|tokens| tokens.is_finite() && *tokens > Tokens::ZERO)
}

/// Returns the parameters of a model, those that override others first.
fn params_of<'a>(config: &'a Value, provider: &str, model: &str) -> Vec<&'a Value> {
    let defaults = config.get("agents").and_then(|agents| agents.get("defaults"));
    let of_model = defaults.and_then(|all| all.get("models")?.get(&format!("{provider}/{model}")));
    let provider = config.get("models").and_then(|models| models.get("providers")?.get(provider));
    let listed = provider.and_then(|provider| {
        let models = provider.get("models")?.as_array()?;
        models.iter().find(|entry| entry.get("id").is_some_and(|id| id.str_is(model)))
    });
    let sources = [of_model, defaults, listed, provider];
    sources.into_iter().filter_map(|source| source?.get("params")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(config: &str, provider: &str) -> Option<f64> {
        let config = crate::js::parse(config).expect("test JSON");
        server_compaction_threshold(&config, provider, "m").map(Tokens::get)
    }

    #[test]
    fn only_a_provider_that_compacts_has_a_threshold() {
        let config = r#"{"agents":{"defaults":{"params":{"responsesCompactThreshold":90000}}}}"#;
        assert_eq!((of(config, "openai"), of(config, "other")), (Some(90_000.0), None));
        let off = r#"{"agents":{"defaults":{"params":{"responsesCompactThreshold":90000},
            "models":{"openai/m":{"params":{"responsesServerCompaction":false}}}}}}"#;
        assert_eq!(of(off, "openai"), None);
    }

    #[test]
    fn the_parameters_of_the_model_override_those_of_its_provider() {
        let config = r#"{"models":{"providers":{"openai":{"params":{"responsesCompactThreshold":70000},
            "models":[{"id":"m","params":{"responsesCompactThreshold":80000.5}}]}}}}"#;
        assert_eq!(of(config, "openai"), Some(80_000.0));
        assert_eq!(of("{}", "openai"), None);
    }
}
