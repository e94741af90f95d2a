//! Turns entries into a tree with branches and names, without IO.

mod copies;
pub mod drawing_order;
pub mod envelope;
mod leaf_resolution;
pub mod tree;
pub mod writer;

pub(crate) use copies::marked_keys;
pub use copies::{copied_answers, copied_failures, copied_in_file, originals, run_replies};
pub use tree::{Leaf, Tree};
