//! How a store keeps its sessions: what that tells of the gateway's version (sqlite A7).

use super::key::Kind;
use super::session::Session;
use super::shape::Shape;
use super::survey::Holding;
use crate::gateway::ruleset::Era;

/// The era of a store of this shape with these sessions and databases.
pub(super) fn era(shape: &Shape, sessions: &[Session], databases: &[Holding]) -> Era {
    let is_pis = |session: &Session| session.kind == Kind::Pi;
    match shape {
        Shape::PiAgentDir(_) | Shape::PiSessions(_) => Era::Pi,
        Shape::Transcript(_) if sessions.iter().any(is_pis) => Era::Pi,
        _ => databases.first().map_or(Era::Files, |first| Era::Database(first.path.clone())),
    }
}
