//! Repairs tool calls and results before a model call (compaction 6). First, unusable calls are removed
//! ([`repair_inputs`], on texts); then every call gets exactly one result right after it ([`pair`]).
//!
//! Pairing needs only ids and names, the [`PairingShape`] of each message, so predictions from sizes can run it too.
//! [`apply_pairing`] builds the messages.

mod inputs;
mod pairing;
mod policy;
mod redact;
mod shape;
mod step;

pub use inputs::{AllowedTools, RepairedInputs, needs_input_repair, repair_inputs, repaired_message};
pub use pairing::{Pairing, PlacedMessage, apply_pairing, pair, rename_result};
pub use policy::Repair;
pub use shape::{MissingResult, PairedCall, PairingShape, is_call, shape_of};
pub use step::{RepairResult, pair_list, repair_list};
