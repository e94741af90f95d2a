//! A terminal session inspector: why did this LLM session overflow its context window, and which
//! settings would have prevented it?
pub mod error;
pub mod gateway;
pub mod ids;
pub mod js;
