//! Advice, run for real: each change that `explain` tested in a replay is written into the program's configuration, the
//! scenario runs again, and what happened is compared with what the replay promised.
//!
//! The counts of overflows and compactions are equal, or a change stands in the list of known differences.
//!
//! On demand: `cargo test --test it advice_run_for_real -- --ignored --nocapture` prints one table.
//! `CLAWSCOPE_E2E_OPENCLAW`, `CLAWSCOPE_E2E_PI` and `CLAWSCOPE_E2E_SCENARIO` select as in `on_demand.rs`.

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value;

use super::changes::Changes;
use super::checks::{Check, History, Outcome};
use super::mock::{Kind, Request};
use super::moment::Moment;
use super::on_demand::{is_wanted, releases};
use super::openclaw::OpenClawProgram;
use super::pi::PiProgram;
use super::required::{Scenario, openclaw_2026_3_2, pi_0_55_3, pi_1_5_2};
use super::scenario::Finished;
use super::{exceptions, installed, kept};

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
        let too_large = chats().filter(|request| is_too_large(request, window)).count();
        let entries = History::read(finished).entries;
        let overflows = too_large + refused_by_gateway(finished, &entries[0]);
        let compactions = entries[0].iter().filter(|entry| entry["type"] == "compaction").count();
        let peak = chats().map(|request| request.tokens).max().unwrap_or(0);
        Self { overflows: overflows as u64, compactions: compactions as u64, peak }
    }

    /// Overflows and compactions. The peak of a promise is an estimate.
    fn counts(&self) -> (u64, u64) {
        (self.overflows, self.compactions)
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

/// Calls that the gateway ended by its own estimate: they leave a failed answer and no request.
fn refused_by_gateway(finished: &Finished, entries: &[Value]) -> usize {
    let failed = entries.iter().filter(|entry| entry["message"]["stopReason"] == "error");
    // A branch that the program wrote again copies its failed answers.
    let failed: BTreeSet<String> = failed.map(|entry| entry["message"]["timestamp"].to_string()).collect();
    let asked = finished.requests.iter().filter(|it| it.kind == Kind::Chat && !it.is_answered());
    failed.len().saturating_sub(asked.count())
}

/// The turns that requests belong to, as the newest message of the person names them.
fn turns(finished: &Finished, is_wanted: impl Fn(&Request) -> bool) -> BTreeSet<String> {
    let number = |message: &Value| {
        let text = message["content"].to_string();
        let (_, rest) = text.rsplit_once("Turn ")?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        Some(digits).filter(|digits| message["role"] == "user" && !digits.is_empty())
    };
    let chats = finished.requests.iter().filter(|it| it.kind == Kind::Chat && is_wanted(it));
    chats.filter_map(|it| it.messages.iter().rev().find_map(number)).collect()
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

/// Runs a scenario, then again under each change that `explain` tested, and returns the promises that were not kept.
fn broken_promises<P: Changed>(program: &P, (name, scenario): &Scenario<P>) -> Vec<String> {
    let finished = scenario(program);
    let explained = Moment::last(&finished).ask(&["explain"]).expect("an explanation");
    let (mut outcome, mut broken) = (Outcome::default(), Vec::new());
    let verdict = explained["verdict"]["line"].as_str().unwrap_or_default();
    let recorded = explained["recorded"].is_object().then(|| Course::promised(&explained["recorded"]));
    compare(&finished, "recorded", recorded, verdict, &mut outcome);
    for advice in explained["advice"].as_array().into_iter().flatten() {
        let set = advice["set"].to_string();
        let changes = Changes::of_patch(advice["patch"].as_str().expect("a patch"));
        let Ok(after) = catch_unwind(AssertUnwindSafe(|| scenario(&program.changed(changes)))) else {
            broken.push(format!("{name}: {set} did not end"));
            continue;
        };
        let note = advice["note"].as_str().unwrap_or_default();
        let is_equal = compare(&after, &set, Some(Course::promised(advice)), note, &mut outcome);
        // No list excuses a cure that does not cure.
        let is_answered = turns(&finished, |_| true).is_subset(&turns(&after, Request::is_answered));
        let is_cure = Course::real(&after).overflows == 0 && is_answered;
        let is_kept = advice["helps"] != true || is_cure;
        if !is_kept {
            broken.push(format!("{name}: {set}: {note}, really {}", Course::real(&after).text()));
        }
        if !is_kept || !is_equal {
            keep(after, &set);
        }
    }
    broken.extend(exceptions::unexpected_advice(&finished.program, name, &outcome));
    if !outcome.differences.is_empty() || !broken.is_empty() {
        keep(finished, "recorded");
    }
    broken
}

/// Compares a promise with what happened and prints both; returns whether they are equal.
fn compare(
    finished: &Finished,
    set: &str,
    promised: Option<Course>,
    note: &str,
    outcome: &mut Outcome,
) -> bool {
    let real = Course::real(finished);
    row(finished, set, promised.as_ref(), &real, note);
    let Some(promised) = promised else { return true };
    let is_equal = promised.counts() == real.counts();
    let found = format!("{set}: promised {}, really {}", promised.text(), real.text());
    outcome.add(Check::Advice, (!is_equal).then_some(found));
    is_equal
}

/// Keeps the folder of a scenario, so that `kept_again` can read it.
#[expect(clippy::print_stdout, reason = "it belongs to the row above")]
fn keep(finished: Finished, set: &str) {
    kept::write(&finished);
    println!("  {set} is kept in {}", finished.folder.keep().display());
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
