//! Advice, run for real: each change that `explain` tested in a replay is written into the program's configuration, the
//! scenario runs again, and what happened is compared with what the replay promised.
//!
//! On demand: `cargo test --test it advice_run_for_real -- --ignored --nocapture` prints one table.
//! `CLAWSCOPE_E2E_OPENCLAW`, `CLAWSCOPE_E2E_PI` and `CLAWSCOPE_E2E_SCENARIO` select as in `on_demand.rs`.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value;

use super::changes::Changes;
use super::checks::History;
use super::installed;
use super::mock::{Kind, Request};
use super::moment::Moment;
use super::on_demand::{is_wanted, releases};
use super::openclaw::OpenClawProgram;
use super::pi::PiProgram;
use super::required::{Scenario, openclaw_2026_3_2, pi_0_55_3, pi_1_5_2};
use super::scenario::Finished;

/// Scenarios that overflow, fail or compact.
const SCENARIOS: &[&str] = &[
    "growth",
    "talk",
    "refusal",
    "anthropic",
    "unknown",
    "no_body",
    "late",
    "cut",
    "max_tokens",
    "failures",
    "summary_fails",
    "tool_loop",
    "single_huge",
    "thinking",
    "images",
];

/// What happened, or what a replay says would happen.
#[derive(Debug, Clone, PartialEq)]
struct Course {
    /// Calls whose prompt did not fit.
    overflows: u64,
    compactions: u64,
    /// Tokens of the largest prompt of a call, refused or not.
    peak: u64,
}

impl Course {
    fn promised(told: &Value) -> Self {
        let number = |key: &str| told[key].as_u64().unwrap_or(0);
        Self { overflows: number("overflows"), compactions: number("compactions"), peak: number("peak") }
    }

    fn real(finished: &Finished) -> Self {
        let window = window(finished);
        let chats = || finished.requests.iter().filter(|request| request.kind == Kind::Chat);
        let overflows = chats().filter(|request| is_too_large(request, window)).count();
        let entries = History::read(finished).entries;
        let compactions = entries[0].iter().filter(|entry| entry["type"] == "compaction").count();
        let peak = chats().map(|request| request.tokens).max().unwrap_or(0);
        Self { overflows: overflows as u64, compactions: compactions as u64, peak }
    }

    fn text(&self) -> String {
        format!("{} over, {} comp, peak {}", self.overflows, self.compactions, self.peak)
    }
}

/// Whether the server refused or cut a prompt, or the program takes its answer for an overflow.
fn is_too_large(request: &Request, window: u64) -> bool {
    let counted = request.usage.map(super::mock::Usage::prompt);
    request.is_above_limit || counted.is_some_and(|counted| counted < request.tokens || counted > window)
}

/// Tokens that the program is configured with.
fn window(finished: &Finished) -> u64 {
    let read = |name: &str| fs::read(finished.store.join(name)).ok();
    let config = read("models.json").or_else(|| read("openclaw.json")).expect("a configuration");
    let config: Value = serde_json::from_slice(&config).expect("JSON");
    let providers =
        if config["providers"].is_object() { &config["providers"] } else { &config["models"]["providers"] };
    let first = providers.as_object().and_then(|all| all.values().next()).expect("a provider");
    first["models"][0]["contextWindow"].as_u64().expect("a window")
}

/// A program that runs with changes in its configuration.
trait Changed: Clone {
    fn changed(&self, changes: Changes) -> Self;
}

impl Changed for PiProgram {
    fn changed(&self, changes: Changes) -> Self {
        Self { changes, ..self.clone() }
    }
}

impl Changed for OpenClawProgram {
    fn changed(&self, changes: Changes) -> Self {
        Self { changes, ..self.clone() }
    }
}

/// Runs a scenario, then again under each change that `explain` tested; returns the promises that were not kept.
fn broken_promises<P: Changed>(program: &P, (name, scenario): &Scenario<P>) -> Vec<String> {
    let finished = scenario(program);
    let explained = Moment::last(&finished).ask(&["explain"]).expect("an explanation");
    let real = Course::real(&finished);
    let recorded = explained["recorded"].is_object().then(|| Course::promised(&explained["recorded"]));
    let verdict = explained["verdict"]["line"].as_str().unwrap_or_default();
    row(&finished, "recorded", recorded.as_ref(), &real, verdict);
    let listed = explained["advice"].as_array().into_iter().flatten();
    let mut broken = Vec::new();
    for advice in listed {
        let changes = Changes::of_patch(advice["patch"].as_str().expect("a patch"));
        let Ok(after) = catch_unwind(AssertUnwindSafe(|| scenario(&program.changed(changes)))) else {
            broken.push(format!("{name}: {} did not end", advice["set"]));
            continue;
        };
        let (promised, really) = (Course::promised(advice), Course::real(&after));
        let note = advice["note"].as_str().unwrap_or_default();
        // Only a cure is a promise: the rest of the list says how close the other changes come.
        let is_kept = advice["helps"] != true || really.overflows == 0 && is_answered(&after);
        let mark = if is_kept { note.to_owned() } else { format!("BROKEN {note}") };
        row(&finished, &advice["set"].to_string(), Some(&promised), &really, &mark);
        if !is_kept {
            let kept = after.folder.keep();
            broken.push(format!(
                "{name}: {}: {note}, really {} ({})",
                advice["set"],
                really.text(),
                kept.display()
            ));
        }
    }
    if !broken.is_empty() {
        broken.push(format!("{name} before the changes: {}", finished.folder.keep().display()));
    }
    broken
}

/// Whether the program answered at all: a gateway fails every message if it rejects its configuration.
fn is_answered(finished: &Finished) -> bool {
    finished.requests.iter().any(|request| request.kind == Kind::Chat && request.is_answered())
}

#[expect(clippy::print_stdout, reason = "the table is the answer, and minutes pass between two rows")]
fn row(finished: &Finished, advice: &str, promised: Option<&Course>, real: &Course, note: &str) {
    let promised = promised.map_or_else(|| "-".to_owned(), Course::text);
    println!(
        "| {} | {} | {advice} | {promised} | {} | {note} |",
        finished.program,
        finished.scenario,
        real.text()
    );
}

fn check<P: Changed>(program: &P, scenarios: &[Scenario<P>]) -> Vec<String> {
    let wanted = scenarios.iter().filter(|(name, _)| SCENARIOS.contains(name) && is_wanted(name));
    wanted.flat_map(|scenario| broken_promises(program, scenario)).collect()
}

#[test]
#[ignore = "on demand: runs each scenario once for each change, for minutes"]
fn advice_run_for_real() {
    let pi = releases("CLAWSCOPE_E2E_PI", "0.55.3 1.5.2");
    let programs = pi.iter().filter_map(|release| match release.as_str() {
        "0.55.3" => installed::pi_0_55_3(),
        "1.5.2" => installed::pi_1_5_2(),
        other => Some(installed::pi(other)),
    });
    let mut broken: Vec<String> = programs
        .flat_map(|program| {
            let scenarios = if program.reports_end { pi_1_5_2::ALL } else { pi_0_55_3::ALL };
            check(&program, scenarios)
        })
        .collect();
    let openclaw = releases("CLAWSCOPE_E2E_OPENCLAW", "2026.3.2 2026.7.1 2026.9.6");
    let programs = openclaw.iter().filter_map(|release| installed::openclaw(release, true));
    broken.extend(programs.flat_map(|program| check(&program, openclaw_2026_3_2::ALL)));
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
