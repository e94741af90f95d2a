//! A person's actions, key by key, without a terminal.

mod breakdown;
mod changes;
mod command_log;
mod commits;
mod compare;
mod custom_commands;
mod estimators;
mod explain;
mod help;
mod hints;
#[cfg(unix)]
mod hostile_commands;
mod jumps;
mod letters;
mod message;
mod palette;
mod panes;
mod presets;
mod recovery;
mod search;
mod sessions;
mod small_steps;
mod swapped;
mod transcript;
mod tuning;
mod walks;
mod way_out;

use crate::support::driver::Driver;

fn rows(driver: &Driver) -> usize {
    driver.app.transcript.as_ref().expect("a session").rows.len()
}

/// Opens the overflowed build session under a plan with open gates.
fn tuned() -> Driver {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("p");
    driver
}
