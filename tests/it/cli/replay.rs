//! `replay` and `check`.

use serde_json::{Value, json};

use super::has_keys;
use crate::support::store::{RESULTS, Store, program, run};

#[test]
fn a_replay_under_another_release_is_compared_with_the_one_that_wrote_the_store() {
    let store = Store::new();
    let (_, text, _) = store.run(&["replay", "long-1", "--ruleset", "2026.9.6"]);
    assert!(text.contains("the store does not name the release that wrote it"), "{text}");
    store.write("openclaw.json", "{ meta: { lastTouchedVersion: '2026.3.2' } }");
    let answer = store.json(&["replay", "long-1", "--ruleset", "2026.9.6"]);
    let ids = [&answer["recordedRuleset"]["id"], &answer["ruleset"]["id"]];
    assert_eq!(ids, ["2026.3.2", "2026.9.6"]);
    assert!(answer["policy"].as_array().unwrap().contains(&json!("compact")), "{}", answer["policy"]);
    let (_, text, _) = store.run(&["replay", "long-1", "--ruleset", "2026.9.6"]);
    assert!(text.contains("simulated under the rules of openclaw 2026.9.6 (command line)"), "{text}");
    let same = store.json(&["replay", "long-1", "--ruleset", "2026.3.2"]);
    assert_eq!(same["recordedRuleset"]["id"], same["ruleset"]["id"]);
    assert_eq!(same["totals"]["recorded"]["peak"], same["totals"]["simulated"]["peak"]);
}

#[test]
fn an_upgrade_of_the_demo_compacts_before_the_prompt_that_was_refused() {
    let words = ["replay", "telegram:direct:8812", "--demo", "--ruleset", "2026.7.1"];
    let answer = Store::new().json(&words);
    let of = |trace: &str, key: &str| answer["totals"][trace][key].as_u64().unwrap();
    assert_eq!([of("recorded", "overflows"), of("simulated", "overflows")], [1, 0]);
    assert!(of("simulated", "compactions") > of("recorded", "compactions"));
    let calls = answer["calls"].as_array().unwrap();
    let requested =
        |call: &&Value| call["simulated"]["checked"].as_str().is_some_and(|route| route != "fits");
    let compacted = calls.iter().filter(requested).filter(|call| !call["simulated"]["compacted"].is_null());
    assert!(compacted.count() > 0, "the check asked for it");
}

#[test]
fn replay_compares_every_recorded_call_with_the_simulated_one() {
    let store = Store::new();
    let answer = store.json(&["replay", "main"]);
    has_keys(
        &answer,
        &["session", "ruleset", "providerWindow", "retention", "policy", "calls", "totals", "log"],
    );
    let calls = answer["calls"].as_array().unwrap();
    assert_eq!(calls.len(), RESULTS + 3);
    for (at, call) in calls.iter().enumerate() {
        assert_eq!(call["index"], at);
        has_keys(&call["recorded"], &["tokens", "measured", "overflow", "cost"]);
        let keys =
            ["tokens", "overflow", "cleared", "trimmed", "compacted", "cacheRead", "cacheWrite", "cost"];
        has_keys(&call["simulated"], &keys);
        assert_eq!(call["recorded"]["tokens"], call["simulated"]["tokens"]);
    }
    assert_eq!(answer["totals"]["recorded"]["cost"], answer["totals"]["simulated"]["cost"]);
    let cleared = store.json(&["replay", "main", "--set", "clearToolUses.trigger=4000"]);
    let last = &cleared["calls"][RESULTS + 2];
    assert!(last["simulated"]["cleared"].as_u64() > Some(0), "{last}");
    assert!(last["simulated"]["tokens"].as_u64() < last["recorded"]["tokens"].as_u64());
    assert!(cleared["log"].as_array().unwrap().iter().any(|fired| fired["kind"] == "clear"));
}

#[test]
fn replay_prints_a_summary_the_calls_and_the_policies_effects() {
    let (code, out, _) = Store::new().run(&["replay", "main", "--set", "clearToolUses.trigger=4000"]);
    assert_eq!(code, 0);
    for part in [
        "9 calls on this branch, recorded → simulated: ",
        "largest prompt",
        "call-0",
        "policies that acted: ",
        "clear",
    ] {
        assert!(out.contains(part), "{part} in {out}");
    }
}

#[test]
fn replay_timeline_describes_the_calls_in_sentences() {
    let args = ["replay", "main", "--timeline", "--set", "clearToolUses.trigger=4000"];
    let (code, out, _) = Store::new().run(&args);
    assert_eq!(code, 0);
    for part in [
        "9 calls, ",
        "Thresholds in prompt tokens: window ",
        "Recorded: the largest answered prompt is ",
        "Simulated with ",
        "messages cleared",
        "every prompt fits",
    ] {
        assert!(out.contains(part), "{part} in {out}");
    }
    let sentences = out.lines().filter(|line| line.contains(" tokens")).count();
    assert!(out.contains(", compact 180,000"), "the runtime's own window counts: {out}");
    assert!(sentences > 3 && !out.contains('│') && !out.contains('\t'), "{out}");
    assert_eq!(Store::new().run(&["replay", "main", "--timeline", "--all"]).0, 2);
}

#[test]
fn check_answers_by_its_exit_code_and_in_one_line() {
    let store = Store::new();
    let (code, out, error) = store.run(&["check", "main", "--budget", "1000000"]);
    assert_eq!((code, out.lines().count(), error.as_str()), (0, 1, ""));
    let (code, out, error) = store.run(&["check", "main", "--budget", "99"]);
    assert_eq!((code, out.lines().count(), error.as_str()), (1, 1, ""));
    assert!(out.contains("9 of 9 calls exceed 99 tokens; the first is #1 (call-0)"), "{out}");
    let (code, out, _) = store.run(&["check", "main", "--budget", "99", "--json"]);
    let answer: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((code, &answer["fits"], &answer["over"]), (1, &json!(false), &json!(9)));
    assert_eq!(store.run(&["check", "main", "--budget", "much"]).0, 2);
}

#[test]
fn a_replay_notes_that_other_rules_read_another_path_from_a_damaged_tree() {
    let session = "agent:main:hook:9c2d7a64-0b1e-4f0a-8a55-6d2f4f6c1b23";
    for (ruleset, is_same) in [("2026.4.15", true), ("2026.9.2", false)] {
        let (code, text, errors) = run(&mut program(&["replay", "--demo", session, "--ruleset", ruleset]));
        assert_eq!((code, errors.as_str()), (0, ""));
        assert_eq!(text.contains("simulated under the rules of"), is_same, "{text}");
        assert_eq!(text.contains("would read another path"), !is_same, "{text}");
    }
}

#[test]
fn check_without_a_budget_tests_the_window() {
    let store = Store::new();
    let answer = store.json(&["check", "main"]);
    let window = store.json(&["check", "main", "--budget", "100%"]);
    assert_eq!((&answer["budget"], &answer["fits"]), (&window["budget"], &json!(true)));
    let (code, out, _) = run(&mut program(&["check", "8812", "--demo"]));
    assert!(code == 1 && out.contains("exceeds the provider's 200,000 tokens"), "{out}");
    assert!(out.contains("; 3 calls on other branches are not judged"), "{out}");
    let (code, out, err) = run(&mut program(&["check", "8812", "--demo", "--window", "150k"]));
    assert!(code == 0 && out.contains("within the provider's 200,000 tokens"), "{out}");
    assert!(err.contains("`--budget N` judges the calls by another limit"), "{err}");
}
