//! Lists every setting of a gateway that affects a session, with the value in force, its origin, and the places that
//! it overrides (store B5). Pruning, compaction and the memory flush have their own tables.

use super::config::GatewayConfig;
use super::registry::Provenance;
use crate::js::{self, Value};

/// Settings and their defaults as JSON; `null` for no default.
const SETTINGS: [(&str, &str); 31] = [
    ("gateway.mode", "\"local\""),
    ("session.store", "null"),
    ("session.scope", "\"per-sender\""),
    ("session.dmScope", "\"main\""),
    ("session.mainKey", "\"main\""),
    ("session.idleMinutes", "null"),
    ("session.reset.mode", "\"daily\""),
    ("session.reset.atHour", "4"),
    ("session.reset.idleMinutes", "null"),
    ("session.resetByType", "null"),
    ("session.resetByChannel", "null"),
    ("session.resetTriggers", "[\"/new\",\"/reset\"]"),
    ("session.parentForkMaxTokens", "100000"),
    ("session.maintenance.mode", "\"warn\""),
    ("session.maintenance.pruneAfter", "\"30d\""),
    ("session.maintenance.maxEntries", "500"),
    ("session.maintenance.rotateBytes", "10485760"),
    ("session.maintenance.resetArchiveRetention", "null"),
    ("session.maintenance.maxDiskBytes", "null"),
    ("session.maintenance.highWaterBytes", "null"),
    ("agents.defaults.model", "\"anthropic/claude-opus-4-6\""),
    ("agents.defaults.models", "null"),
    ("agents.defaults.contextTokens", "null"),
    ("agents.defaults.compaction.mode", "\"default\""),
    ("agents.defaults.compaction.maxHistoryShare", "0.5"),
    ("agents.defaults.compaction.identifierPolicy", "\"strict\""),
    ("agents.defaults.heartbeat.every", "null"),
    ("agents.defaults.bootstrapMaxChars", "20000"),
    ("agents.defaults.bootstrapTotalMaxChars", "150000"),
    ("models.mode", "\"merge\""),
    ("meta.lastTouchedVersion", "null"),
];

/// The keys of a channel that limit the turns that are sent.
const LIMIT_KEYS: [&str; 2] = ["historyLimit", "dmHistoryLimit"];

#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedSetting {
    pub key: String,
    /// The value in force; null without one.
    pub value: Value,
    pub provenance: Provenance,
    /// The overridden places, in order of precedence.
    pub overridden: Vec<Provenance>,
}

/// Lists every setting that affects sessions.
pub fn list_settings(config: &GatewayConfig) -> Vec<ResolvedSetting> {
    let mut rows: Vec<ResolvedSetting> =
        SETTINGS.iter().map(|(key, default)| setting_at(config, key, default)).collect();
    let channels = config.value(&["channels"]).and_then(Value::as_object);
    for (channel, settings) in channels.into_iter().flat_map(js::Object::iter) {
        let channel = format!("channels.{}", channel.to_string_lossy());
        let limits = LIMIT_KEYS.iter().filter(|limit| settings.get(limit).is_some());
        rows.extend(limits.map(|limit| setting_at(config, &format!("{channel}.{limit}"), "null")));
        let people = settings.get("dms").and_then(Value::as_object);
        for (user, own) in people.into_iter().flat_map(js::Object::iter) {
            // An id may contain dots, so its row needs the path itself.
            if own.get("historyLimit").is_some() {
                let user = user.to_string_lossy();
                let name = channel.strip_prefix("channels.").unwrap_or(&channel);
                rows.push(setting_row(
                    config,
                    &["channels", name, "dms", &user, "historyLimit"],
                    Value::Null,
                ));
            }
        }
    }
    rows
}

fn setting_at(config: &GatewayConfig, key: &str, default: &str) -> ResolvedSetting {
    let path: Vec<&str> = key.split('.').collect();
    setting_row(config, &path, js::parse(default).unwrap_or(Value::Null))
}

fn setting_row(config: &GatewayConfig, path: &[&str], default: Value) -> ResolvedSetting {
    let key = path.join(".");
    if key == "session.mainKey" {
        // The gateway always uses this value and ignores the configured one (store B5).
        let why = "the gateway always uses \"main\"".to_owned();
        let provenance = match config.value(path) {
            Some(_) => Provenance::Rule { rule: "main key", why },
            None => Provenance::Default,
        };
        return ResolvedSetting {
            key,
            value: default,
            provenance,
            overridden: config.provenance_chain(path),
        };
    }
    let mut over = config.provenance_chain(path);
    let value = config.value(path).cloned();
    let provenance = config.provenance(path);
    if matches!(provenance, Provenance::File { .. }) && !over.is_empty() {
        over.remove(0);
    }
    ResolvedSetting { key, value: value.unwrap_or(default), provenance, overridden: over }
}

/// Names the overridden places: `over agents.json:3`; empty if there are none.
pub fn overridden_text(over: &[impl ToString]) -> String {
    let places: Vec<String> = over.iter().map(ToString::to_string).collect();
    if places.is_empty() { String::new() } else { format!("over {}", places.join(", over ")) }
}
