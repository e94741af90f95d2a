//! Entries → tree, branches and the rows a person sees. Pure.

pub mod tree;

pub use tree::{Leaf, Tree};
