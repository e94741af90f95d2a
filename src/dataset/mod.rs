//! The dataset: sessions as Parquet files, for engines that answer questions about thousands of them.
//!
//! A folder holds one folder for each table, partitioned by host and by the UTC day on which a session began. A partition
//! has one file, so that engines open few files; a run rewrites only the partitions of sessions that changed.
//! Rows come from the JSON of the reports that other commands print: [`columns`] names, for every column, the place in
//! that JSON. Nothing is computed here.

pub mod column;
pub mod columns;
pub mod documentation;
pub mod encode;
pub mod folder;
pub mod manifest;
pub mod recipes;
pub mod rewrite;
pub mod rows;
pub mod stamp;

pub use column::{Column, Kind};
pub use columns::Table;

/// Version of the tables. It increases when a column changes its meaning or is removed; a run then reads every session
/// again.
pub const SCHEMA_VERSION: u64 = 1;
