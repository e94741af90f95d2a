//! Ways out in words.

use crate::format::format_count;
use crate::report::explain::way_out::WayOut;
use crate::session::ManualChange;

/// More messages than these are counted.
const MAX_NAMES: usize = 3;

impl WayOut {
    /// Says in a few words what it does: `Continue without 3f1a2b3c`.
    pub fn description(&self) -> String {
        let names = self.names.join(", ");
        match &self.change {
            ManualChange::Branch(_) => format!("Continue from {names}"),
            ManualChange::Drop(_) if self.names.len() <= MAX_NAMES => format!("Continue without {names}"),
            ManualChange::Drop(entries) => {
                format!("Continue without {}", format_count(entries.len() as u64, "message", "messages"))
            }
        }
    }
}
