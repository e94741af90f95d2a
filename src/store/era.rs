//! How a store keeps its sessions: what that tells of the gateway's version (sqlite A7).

use super::discovery::DatabaseInfo;
use super::key::SessionKind;
use super::path_kind::PathKind;
use super::session::Session;
use crate::gateway::ruleset::{Era, Version};

/// The era of a store of this shape with these sessions and databases.
pub(super) fn detect_era(shape: &PathKind, sessions: &[Session], databases: &[DatabaseInfo]) -> Era {
    let is_pis = |session: &Session| session.kind == SessionKind::Pi;
    match shape {
        PathKind::PiAgentDir(_) | PathKind::PiSessionsDir(_) => Era::Pi,
        PathKind::Transcript(_) if sessions.iter().any(is_pis) => Era::Pi,
        _ => newest_database(databases).map_or(Era::Files, |holding| Era::Database {
            path: holding.path.clone(),
            written_by: writer_version(holding).map(str::to_owned),
        }),
    }
}

/// The database that the newest release wrote; the first where none tells.
fn newest_database(databases: &[DatabaseInfo]) -> Option<&DatabaseInfo> {
    // Of equals the last is the greatest, so from behind the first one.
    databases.iter().rev().max_by_key(|holding| {
        writer_version(holding).and_then(|text| text.parse::<Version>().ok()?.gateway())
    })
}

fn writer_version(holding: &DatabaseInfo) -> Option<&str> {
    holding.schema.as_ref()?.app_version.as_deref()
}
