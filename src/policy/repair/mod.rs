//! Repairs tool calls and results before a model call (compaction 6). First, unusable calls are removed
//! ([`repair_inputs`], on texts); then every call gets exactly one result right after it ([`pair`]).
//!
//! Releases pair differently (compaction 6.8): `by_id` uses each id once, `by_use` gives every use its own
//! result.
//!
//! Pairing needs only ids and names, the [`PairingShape`] of each message, so predictions from sizes can run it too.
//! [`apply_pairing`] builds the messages.

mod by_id;
mod by_use;
mod inputs;
mod pair;
mod shape;
mod step;

pub use by_use::{Pairing, PlacedMessage, apply_pairing, rename_result};
pub use inputs::{AllowedTools, RepairedInputs, needs_input_repair, repair_inputs, repaired_message};
pub use pair::pair;
pub use shape::{MissingResult, PairedCall, PairingShape, RepairRules, StubMark, is_call, shape_of};
pub use step::{Repair, RepairResult, pair_list, repair_list};
