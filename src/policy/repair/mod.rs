//! Repair of tool calls and results before a model call (compaction 6). First unusable calls are taken
//! out ([`repair_inputs`], on texts); then every call is followed by exactly one result ([`pair`]).
//!
//! Pairing is decided on [`PairingShape`]s, what a message is to it without its texts, so that rules which
//! work on sizes can run it too; [`apply_pairing`] makes the messages.

mod inputs;
mod pairing;
mod redact;
mod shape;
mod step;

pub use inputs::{AllowedTools, RepairedInputs, needs_input_repair, repair_inputs, repaired_message};
pub use pairing::{Pairing, PlacedMessage, apply_pairing, pair, rename_result};
pub use shape::{MissingResult, PairedCall, PairingShape, is_call, shape_of};
pub use step::{RepairResult, pair_list, repair_list};
