//! Estimates of tokens. Every number they give is an estimate or anchored on a measured one, and says so.

pub mod bpe;
pub mod calibrated;
pub mod chars4;
pub mod deviation;
mod least_squares;
pub mod projected;
pub mod script;
pub mod sent;
pub mod usage;
pub mod weighted;

pub use chars4::estimate_message;
pub use projected::{estimate_as, estimate_projected};
pub use usage::{ContextEstimate, estimate_context};
