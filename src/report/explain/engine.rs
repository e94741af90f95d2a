//! A plugin in the place of the gateway's own context engine: it says what is sent and when to compact.

use crate::report::explain::case::Case;

/// The slot of the configuration that names the engine.
const SLOT: [&str; 3] = ["plugins", "slots", "contextEngine"];
/// What stands there for the gateway's own, or for none.
const BUILT_IN: [&str; 3] = ["legacy", "none", ""];

/// The plugin, where one is configured.
pub(super) fn engine_plugin(case: &Case<'_>) -> Option<String> {
    let slot = case.session.config.value(&SLOT)?.as_str()?.to_string_lossy();
    let name = slot.trim();
    (!BUILT_IN.contains(&name.to_lowercase().as_str())).then(|| name.to_owned())
}
