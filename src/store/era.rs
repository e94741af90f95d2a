//! How a store keeps its sessions: what that tells of the gateway's version (sqlite A7).

use super::key::Kind;
use super::session::Session;
use super::shape::Shape;
use super::survey::Holding;
use crate::gateway::ruleset::{Era, Version};

/// The era of a store of this shape with these sessions and databases.
pub(super) fn era(shape: &Shape, sessions: &[Session], databases: &[Holding]) -> Era {
    let is_pis = |session: &Session| session.kind == Kind::Pi;
    match shape {
        Shape::PiAgentDir(_) | Shape::PiSessions(_) => Era::Pi,
        Shape::Transcript(_) if sessions.iter().any(is_pis) => Era::Pi,
        _ => newest(databases).map_or(Era::Files, |holding| Era::Database {
            path: holding.path.clone(),
            written_by: writer(holding).map(str::to_owned),
        }),
    }
}

/// The database that the newest release wrote; the first where none tells.
fn newest(databases: &[Holding]) -> Option<&Holding> {
    // Of equals the last is the greatest, so from behind the first one.
    databases
        .iter()
        .rev()
        .max_by_key(|holding| writer(holding).and_then(|text| text.parse::<Version>().ok()?.gateway()))
}

fn writer(holding: &Holding) -> Option<&str> {
    holding.schema.as_ref()?.app_version.as_deref()
}
