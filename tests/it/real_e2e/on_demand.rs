//! Other releases, on demand: `cargo test --test it on_demand -- --ignored --nocapture`, or `just e2e`.
//!
//! `CLAWSCOPE_E2E_OPENCLAW` and `CLAWSCOPE_E2E_PI` list releases instead of the default ones, `CLAWSCOPE_E2E_SCENARIO`
//! scenarios. Releases are installed into the build folder: each OpenClaw fills half a gigabyte and takes minutes.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::required::{Scenario, openclaw_2026_3_2, pi_1_5_2};
use super::{installed, unexpected};

/// The gateways that people run, next to the required one.
const OPENCLAW: &str = "2026.7.1 2026.9.6";
/// The newest pi is required, so none is left.
const PI: &str = "";

pub(super) fn releases(variable: &str, default: &str) -> Vec<String> {
    let text = std::env::var(variable).unwrap_or_else(|_| default.to_owned());
    text.split_whitespace().map(str::to_owned).collect()
}

/// Whether a scenario was asked for.
pub(super) fn is_wanted(name: &str) -> bool {
    let wanted = std::env::var("CLAWSCOPE_E2E_SCENARIO").unwrap_or_default();
    wanted.is_empty() || wanted.split_whitespace().any(|it| it == name)
}

/// Runs the scenarios, and returns what every one of them found.
#[expect(clippy::print_stdout, reason = "minutes pass between two scenarios")]
fn found<P>(program: &P, scenarios: &[Scenario<P>]) -> Vec<String> {
    let mut all = Vec::new();
    for (name, scenario) in scenarios.iter().filter(|(name, _)| is_wanted(name)) {
        let found = catch_unwind(AssertUnwindSafe(|| unexpected(scenario(program))));
        let found = found.unwrap_or_else(|_| vec![format!("{name} did not end")]);
        println!("{name}: {}", if found.is_empty() { "as expected".to_owned() } else { found.join("\n") });
        all.extend(found);
    }
    all
}

#[test]
#[ignore = "on demand: installs releases and runs for minutes"]
fn openclaw_on_demand() {
    let releases = releases("CLAWSCOPE_E2E_OPENCLAW", OPENCLAW);
    let programs = releases.iter().filter_map(|release| installed::openclaw(release, true));
    let found: Vec<String> = programs.flat_map(|program| found(&program, openclaw_2026_3_2::ALL)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
#[ignore = "on demand: installs releases and runs for minutes"]
fn pi_on_demand() {
    let releases = releases("CLAWSCOPE_E2E_PI", PI);
    let programs = releases.iter().map(|release| installed::pi(release));
    let found: Vec<String> = programs.flat_map(|program| found(&program, pi_1_5_2::ALL)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}
