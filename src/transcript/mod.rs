//! Entries → tree, branches and names. Pure.

pub mod labels;
pub mod tree;

pub use tree::{Leaf, Tree};
