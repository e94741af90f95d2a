//! Stores of gateways from 2026.8.1 on, which keep rows and transcripts in one database per agent (sqlite A–E, H). The
//! gateway may write at any time, so this module only reads, and each transaction lasts for one query or snapshot.

mod archives;
mod database_probe;
mod events;
mod leftovers;
mod nodes;
mod open;
mod paths;
mod records;
mod size_cache;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub(in crate::store) use archives::{cold_lines, unpack_archive};
pub use database_probe::{DatabaseProbe, ProbeResult};
pub use events::Events;
pub(in crate::store) use events::event_note;
pub(in crate::store) use leftovers::mark_leftovers;
pub(in crate::store) use nodes::add_sessions;
pub use open::{Database, OpenError, Schema};
pub(in crate::store) use open::{NO_SESSIONS_HINT, has_sessions, version_without_sessions};
pub use paths::{DATABASE_NAME, database_of, item_path};
pub(in crate::store) use paths::{artifact_dir, find_databases};
pub use records::{session_labels, stored_record};
pub use size_cache::SizeCache;
pub(in crate::store) use size_cache::unpack_file;
