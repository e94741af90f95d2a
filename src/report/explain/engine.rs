//! Detects a context-engine plugin. It replaces the gateway's own engine: it assembles the context and decides when to
//! compact.

use crate::report::explain::case::OverflowCase;
use crate::report::explain::finding::{Confidence, FindingClass, Found};

/// The configuration slot that names the engine.
const SLOT: [&str; 3] = ["plugins", "slots", "contextEngine"];
/// Values of the slot that select no plugin.
const BUILT_IN: [&str; 3] = ["legacy", "none", ""];

/// A plugin compacts, and ignores the gateway's compaction settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineOwned {
    pub plugin: String,
}

/// Returns the finding if a plugin is configured.
pub(super) fn find_engine_owned(case: &OverflowCase<'_>) -> Option<Found<EngineOwned>> {
    let facts = EngineOwned { plugin: engine_plugin(case)? };
    Some(Found::new(FindingClass::EngineOwned, Confidence::Likely, facts).with_rule("compaction 8.9"))
}

/// Returns the plugin, if one is configured.
pub(super) fn engine_plugin(case: &OverflowCase<'_>) -> Option<String> {
    let slot = case.session.config.value(&SLOT)?.as_str()?.to_string_lossy();
    let name = slot.trim();
    (!BUILT_IN.contains(&name.to_lowercase().as_str())).then(|| name.to_owned())
}
