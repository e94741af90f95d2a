//! Estimates of tokens. Every number they give is an estimate or anchored on a measured one, and says so.

pub mod chars4;
pub mod usage;

pub use chars4::estimate_message;
pub use usage::{ContextEstimate, estimate_context};
