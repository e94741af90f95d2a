//! The session store: bytes to entries, and the only reader of session files and databases.
//!
//! [`discovery`] lists the sessions of a gateway or of pi without reading transcripts; [`load`] turns one transcript
//! into an [`index`] of sizes; [`body`] reads texts again on demand. [`sqlite`] does the same for agent databases,
//! [`demo`] holds an embedded store, and [`migration`] compares files with their import in a database.

pub mod archive;
pub mod body;
mod chunk_queue;
mod chunks;
mod contents;
pub mod context_tokens;
mod database_info;
pub mod demo;
pub mod discovery;
pub mod entry;
mod era;
mod file_identity;
pub mod find;
pub mod foreign_file;
pub mod gateway_process;
pub mod index;
mod informal_archive_name;
pub mod intern;
pub mod key;
mod limits;
mod listed_files;
pub mod load;
pub mod locate;
pub mod location;
pub mod measure;
pub mod migration;
pub mod model;
pub mod no_reply;
pub mod path_kind;
pub mod pi;
pub mod prompt_report;
mod refused_file;
mod role;
pub mod scan;
pub mod session;
pub mod session_builder;
mod session_record;
pub mod session_records;
mod session_records_reader;
pub mod shared_vec;
pub mod source;
pub mod sqlite;
pub mod trajectory;
