//! What leaves the program as a document: a drawn screen becomes an SVG picture.
//!
//! Everything here is a pure function from values to text. Who writes the file is the caller's business.

mod colour;
mod glyphs;
mod lines;
mod shapes;
pub mod svg;
mod tiles;

pub use colour::Rgb;
pub use svg::{Picture, svg};
