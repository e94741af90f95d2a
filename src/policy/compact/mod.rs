//! Compaction: what is summarised and what is kept, and how much at a time (compaction 3–5). The rules
//! work on sizes; only file lists and conversation texts look at texts.

pub mod chunks;
pub mod share;
