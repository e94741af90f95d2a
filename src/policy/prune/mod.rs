//! Context pruning: shortens old tool results to head and tail, then replaces them with a placeholder, once the
//! provider's cache is cold and the context is a large share of the window (pruning 3–5).

pub mod gate;
mod policy;
pub mod projections;
pub mod round;
mod size;
mod soft_trim;
mod stages;
#[cfg(test)]
mod vectors;

pub use gate::{Gate, gate_under, is_touched_by, last_touch_under, touches, touches_under};
pub use policy::{Prune, RoundInput, prune_list, prune_round_list};
pub use size::weighted_chars;
pub use soft_trim::{SoftTrimmer, cleared_message, soft_trimmed_message, trimmable_chars};
pub(in crate::policy) use soft_trim::{joined_metrics, trimmed_metrics};
pub use stages::{CHARS_PER_TOKEN, HardClearer, PruneInput, PruneOutcome, cutoff_among, keeps_images, prune};
