//! Detects a context-engine plugin. It replaces the gateway's own engine: it assembles the context and decides when to
//! compact.

use crate::gateway::context_engine::engine_plugin;
use crate::report::explain::case::OverflowCase;
use crate::report::explain::finding::{Confidence, FindingClass, Found};

/// A plugin compacts, and ignores the gateway's compaction settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineOwned {
    pub plugin: String,
}

/// Returns the finding if a plugin is configured.
pub(super) fn find_engine_owned(case: &OverflowCase<'_>) -> Option<Found<EngineOwned>> {
    let facts = EngineOwned { plugin: engine_plugin(&case.session.config)? };
    Some(Found::new(FindingClass::EngineOwned, Confidence::Likely, facts).with_rule("compaction 8.9"))
}
