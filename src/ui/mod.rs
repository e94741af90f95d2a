//! State → cells.
pub mod detail;
pub mod glyphs;
pub mod highlight;
pub mod message;
mod message_body;
pub mod theme;
pub mod widgets;
