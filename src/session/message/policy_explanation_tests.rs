//! Checks the numbers in the sentences of policies that need content features.

use crate::policy::clear_tool_uses::ClearSettings;
use crate::policy::prune::Gate;
use crate::policy::settings::GuardSettings;
use crate::policy::{Policy, PolicySet, PolicySettings};
use crate::session::LoadedSession;
use crate::session::message::fate_explanation::explain_fate;
use crate::session::testing::{call, entry_ix, loaded_session, result, transcript, user};

fn session() -> LoadedSession {
    let long = "x".repeat(20_000);
    let lines = [
        user("go"),
        call("c1", "exec", "{}"),
        result("c1", "exec", &long, ""),
        result("c0", "exec", "no one asked", ""),
        call("c2", "exec", "{}"),
        result("c2", "exec", "short", ""),
    ];
    loaded_session(&transcript(&lines), 10_000.0).load_details().expect("memory is readable")
}

/// Returns the sentences for an entry under one policy, with plain spaces.
fn says(policy: Policy, settings: PolicySettings, entry: usize) -> Vec<String> {
    let session = session();
    let settings = PolicySettings { enabled: PolicySet::of(&[policy]), ..settings };
    let plan = session.plan(&settings, Gate::Off).expect("these messages can be measured");
    let position = session.context.position(entry_ix(entry)).expect("part of the context");
    let size = session.context.messages[position].size;
    explain_fate(&plan.fates()[position], &plan, &size)
}

#[track_caller]
fn check(policy: Policy, settings: PolicySettings, entry: usize, expected: &[&str]) {
    assert_eq!(says(policy, settings, entry), expected);
}

#[test]
fn a_truncated_result_names_its_limit_and_the_kept_chars() {
    let default = PolicySettings::default;
    let lines = [
        "Its 20,000 chars are over the 12,000 that one result may have.",
        "Keeps 12,000 chars, including a note.",
        "pruning 6.4",
    ];
    check(Policy::Truncate, default(), 2, &lines);
    let within = "Its 5 chars are not over the 12,000 that one result may have.";
    check(Policy::Truncate, default(), 5, &[within, "pruning 6.2"]);
}

#[test]
fn the_guard_names_limit_and_budget() {
    let default = PolicySettings::default;
    let lines = [
        "It counts as more than the 10,000 chars that the guard allows for one result.",
        "A result counts double, with its details. Keeps one text.",
        "pruning 6.33",
    ];
    check(Policy::Guard, default(), 2, &lines);
    let within = [
        "It counts as at most 10,000 chars.",
        "All messages together have 20,040 chars, within the guard's budget of 30,000 chars.",
        "pruning 6.35",
    ];
    check(Policy::Guard, default(), 5, &within);
    let small = PolicySettings { guard: GuardSettings { budget_share: 0.1, single_share: 0.5 }, ..default() };
    let total = "All messages together have 20,040 chars, over the guard's budget of 4,000 chars.";
    let gone = [total, "The guard replaces the oldest results with a short text.", "pruning 6.35"];
    check(Policy::Guard, small.clone(), 2, &gone);
    let spared = [total, "Replacing older results was enough.", "pruning 6.35"];
    check(Policy::Guard, small, 3, &spared);
}

#[test]
fn repair_names_the_fault() {
    let orphan = ["No earlier call has its id, so a provider would refuse it.", "compaction 6.2"];
    check(Policy::Repair, PolicySettings::default(), 3, &orphan);
}

#[test]
fn clearing_names_the_trigger_and_the_kept_uses() {
    let clear = |trigger, keep| PolicySettings {
        clear: ClearSettings { trigger, keep, ..ClearSettings::default() },
        ..PolicySettings::default()
    };
    let tokens = says(Policy::Clear, clear(100.0, 1.0), 2);
    assert!(
        tokens[0].starts_with("All messages have ~5,") && tokens[0].ends_with("over the trigger of 100.")
    );
    assert_eq!(tokens[1..], ["A placeholder of 9 chars replaces it.", "pruning 7.2"]);
    check(Policy::Clear, clear(100.0, 1.0), 5, &["Kept: the last result.", "pruning 7.2"]);
    let orphan = ["Never cleared: the answer before it has no call with its id.", "pruning 7.2"];
    check(Policy::Clear, clear(100.0, 1.0), 3, &orphan);
    assert!(says(Policy::Clear, clear(1e6, 1.0), 2)[0].ends_with("not over the trigger of 1,000,000."));
}
