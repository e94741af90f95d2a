//! Token estimates. Every result is an estimate or anchored on a provider's count, and is marked as such.

pub mod calibration;
pub mod chars4;
pub mod deviation;
pub mod projected;
pub mod script;
pub mod sent;
pub mod usage;
pub mod weighted;

pub use chars4::estimate_message;
pub use projected::{estimate_for_runtime, estimate_projected, estimate_under};
pub use usage::{ContextEstimate, estimate_context, estimate_context_under};
