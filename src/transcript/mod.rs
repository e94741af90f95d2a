//! Entries → tree, branches and names. Pure.

mod copies;
pub mod labels;
mod leaf_rows;
pub mod tree;

pub use copies::copied_answers;
pub use tree::{Leaf, Tree};
