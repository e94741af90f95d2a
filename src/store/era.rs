//! Detects from the storage of a store which versions of the gateway can have written it (sqlite A7).

use super::database_info::DatabaseInfo;
use super::key::SessionKind;
use super::path_kind::PathKind;
use super::session::Session;
use crate::gateway::ruleset::{Era, Version};

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

/// Returns the database that the newest release wrote; the first one when none names a release.
fn newest_database(databases: &[DatabaseInfo]) -> Option<&DatabaseInfo> {
    // `max_by_key` returns the last of equal items, so a reversed iterator yields the first.
    databases.iter().rev().max_by_key(|holding| {
        writer_version(holding).and_then(|text| text.parse::<Version>().ok()?.gateway())
    })
}

fn writer_version(holding: &DatabaseInfo) -> Option<&str> {
    holding.schema.as_ref()?.app_version.as_deref()
}
