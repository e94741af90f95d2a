//! State → cells.
pub mod glyphs;
pub mod theme;
pub mod widgets;
