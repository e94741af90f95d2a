//! The plugin that assembles and compacts the context instead of the gateway.

use crate::gateway::config::GatewayConfig;

/// The configuration slot that names the engine.
const SLOT: [&str; 3] = ["plugins", "slots", "contextEngine"];
/// Values of the slot that select no plugin.
const BUILT_IN: [&str; 3] = ["legacy", "none", ""];

/// Returns the plugin, if one is configured.
pub fn engine_plugin(config: &GatewayConfig) -> Option<String> {
    let slot = config.value(&SLOT)?.as_str()?.to_string_lossy();
    let name = slot.trim();
    (!BUILT_IN.contains(&name.to_lowercase().as_str())).then(|| name.to_owned())
}
