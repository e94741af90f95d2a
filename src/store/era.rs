//! How a store keeps its sessions: what that tells of the gateway's version (sqlite A7).

use super::shape::Shape;
use super::survey::Holding;
use crate::gateway::ruleset::Era;

/// The era of a store of this shape with these databases of sessions.
pub(super) fn era(shape: &Shape, databases: &[Holding]) -> Era {
    match shape {
        Shape::PiAgentDir(_) | Shape::PiSessions(_) => Era::Pi,
        _ => databases.first().map_or(Era::Files, |first| Era::Database(first.path.clone())),
    }
}
