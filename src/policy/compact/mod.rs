//! Compaction: when it fires.

pub mod trigger;
