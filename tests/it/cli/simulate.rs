//! `simulate`: fates, sizes, gates and settings.

use clawscope::js;
use clawscope::store::measure::prune_chars;
use clawscope::units::Chars;
use serde_json::{Value, json};

use super::{has_keys, sum};
use crate::support::store::{COLD, Store, program, run};

#[test]
fn simulate_shows_a_fate_for_every_message_and_its_sums_agree() {
    let store = Store::new();
    let answer = store.json(&["simulate", "main", "--now", COLD]);
    has_keys(&answer, &["settings", "before", "after", "fates", "gate", "window", "provenance"]);
    let fates = &answer["fates"];
    has_keys(&fates[0], &["index", "entry", "fate", "reason", "before", "after"]);
    assert_eq!(answer["gate"]["open"], true);
    assert_eq!(answer["before"]["chars"], sum(fates, "before"));
    assert_eq!(answer["after"]["chars"], sum(fates, "after"));
    assert_eq!(answer["before"]["tokens"], sum(fates, "tokensBefore"));
    assert_eq!(answer["after"]["tokens"], sum(fates, "tokensAfter"));
    assert!(answer["after"]["tokens"].as_u64() < answer["before"]["tokens"].as_u64());
    let context = store.json(&["context", "main"]);
    assert_eq!(answer["before"]["tokens"], context["messageTokens"]);
    assert_eq!(sum(&context["messages"], "prunerChars"), sum(fates, "before"));
    assert_eq!(answer["provenance"]["softTrimRatio"], "default");
    assert!(answer["provenance"]["minPrunableToolChars"].as_str().unwrap().ends_with("openclaw.json:3"));
}

#[test]
fn the_sizes_that_simulate_predicts_are_those_of_its_messages() {
    let store = Store::new();
    for set in [
        "contextPruning.hardClear.enabled=false",
        "contextPruning.softTrim.headChars=1",
        "contextPruning.hardClearRatio=0",
    ] {
        let answer = store.json(&["simulate", "main", "--messages", "--set", set]);
        let fates = answer["fates"].as_array().unwrap();
        assert!(fates.iter().any(|fate| fate["before"] != fate["after"]), "{set}");
        for (fate, message) in fates.iter().zip(answer["messages"].as_array().unwrap()) {
            let message = js::parse(&message.to_string()).unwrap();
            assert_eq!(prune_chars(&message), Ok(Chars(fate["after"].as_f64().unwrap())), "{set} {fate}");
        }
    }
}

#[test]
fn a_gate_closed_at_the_given_time_changes_no_message() {
    let store = Store::new();
    let warm = ["simulate", "main", "--now", "2026-03-05T08:41:00Z"];
    let answer = store.json(&warm);
    assert_eq!(answer["gate"]["reason"], "cache-warm");
    assert_eq!(answer["before"], answer["after"]);
    let (code, out, _) = store.run(&warm);
    assert!(code == 0 && out.contains("not pruning now: "), "{out}");
}

#[test]
fn without_a_time_simulate_ignores_the_gate_and_reports_it() {
    let dir = tempfile::tempdir().unwrap();
    clawscope::store::demo::write_to(dir.path()).unwrap();
    let words = ["simulate", "agent:main:telegram:direct:8812", "--json", "--store"];
    let (code, out, error) = run(program(&words).arg(dir.path()));
    assert_eq!(code, 0, "{error}");
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert!(answer["after"]["tokens"].as_u64() < answer["before"]["tokens"].as_u64());
}

#[test]
fn the_parts_of_a_compaction_add_up_and_its_lines_are_reported_once() {
    let words = ["simulate", "telegram:direct:8812", "--demo", "--policy", "compact"];
    let (_, out, _) = run(program(&words).arg("--json"));
    let answer: Value = serde_json::from_str(&out).unwrap();
    let of = |part: &str, key: &str| answer["compaction"][part][key].as_u64().unwrap();
    let parts = ["previousSummary", "history", "turnPrefix", "kept", "lost"];
    let sum = |key: &str| parts.iter().map(|part| of(part, key)).sum::<u64>();
    assert_eq!(sum("tokens"), answer["steps"][0]["tokensBefore"].as_u64().unwrap());
    assert_eq!(sum("messages"), answer["steps"][0]["messagesBefore"].as_u64().unwrap());
    assert_eq!(of("previousSummary", "messages"), 1);
    let (_, out, _) = run(&mut program(&words));
    assert!(out.contains("the previous summary, merged into the new one"), "{out}");
    assert!(!out.contains("\n\n\n"), "{out}");
}

#[test]
fn sentences_group_their_digits_as_the_tables_do() {
    for words in [
        &["context", "telegram:direct:8812", "--demo"][..],
        &["explain", "--recovery", "telegram:direct:8812", "--demo"],
    ] {
        let (code, out, _) = run(&mut program(words));
        assert_eq!(code, 0);
        assert!(!out.contains('\u{a0}'), "{out}");
    }
    let (_, out, _) = run(&mut program(&["context", "telegram:direct:8812", "--demo"]));
    assert!(
        out.contains("runtime's estimate now: ~189,030 = 176,202 measured at #78 (916be621) with its answer + ~12,828 since by chars/4"),
        "{out}"
    );
    assert!(out.contains("next call: 203,412, measured · 102% of the window"), "{out}");
    assert!(out.contains("by part, scaled to that: system ~9,851"), "{out}");
}

#[test]
fn a_session_without_messages_gets_no_empty_tables() {
    let store = Store::new();
    store.write("empty.jsonl", "{\"type\":\"session\",\"version\":3,\"id\":\"e\",\"timestamp\":\"2026-03-05T08:00:00.000Z\",\"cwd\":\"/\"}\n");
    let path = store.path().join("empty.jsonl");
    for command in ["simulate", "context"] {
        let (code, out, error) = run(program(&[command]).arg(&path));
        assert_eq!(code, 0, "{error}");
        let has_table = out.lines().any(|line| line.trim_start().starts_with("unchanged"));
        assert!(!has_table && !out.contains("by part"), "{out}");
    }
}

#[test]
fn setting_a_key_switches_pruning_on_for_the_preview() {
    let store = Store::new();
    store.write("openclaw.json", "{}");
    let answer = store.json(&["simulate", "main", "--now", COLD]);
    assert_eq!(
        (&answer["gate"]["reason"], &answer["settings"]["mode"]),
        (&json!("pruning-off"), &json!("off"))
    );
    let set = "contextPruning.softTrimRatio=0.01";
    let answer =
        store.json(&["simulate", "main", "--now", COLD, "--set", set, "--set", "contextTokens=30000"]);
    assert_eq!((&answer["gate"]["open"], &answer["settings"]["mode"]), (&json!(true), &json!("cache-ttl")));
    assert_eq!(
        (&answer["settings"]["softTrimRatio"], &answer["window"]["contextTokens"]),
        (&json!(0.01), &json!(30_000))
    );
    assert_eq!(answer["provenance"]["softTrimRatio"], "command line");
    let off = store.json(&["simulate", "main", "--set", set, "--set", "contextPruning.mode=off"]);
    assert_eq!(off["gate"]["reason"], "pruning-off");
}

#[test]
fn unknown_keys_and_wrong_values_are_usage_errors_that_teach() {
    let store = Store::new();
    let (code, out, error) = store.run(&["simulate", "main", "--set", "contextPruning.softRatio=0.2"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(error.contains("did you mean `contextPruning.softTrimRatio`?"), "{error}");
    let (code, _, error) =
        store.run(&["simulate", "main", "--set", "contextPruning.keepLastAssistants=few", "--json"]);
    let error: Value = serde_json::from_str(&error).unwrap();
    assert_eq!((code, &error["error"]["kind"]), (2, &json!("usage")));
    assert!(error["error"]["message"].as_str().unwrap().contains("a whole number, 0 or more"));
    assert_eq!(store.run(&["simulate", "main", "--policy", "magic"]).0, 2);
    assert_eq!(store.run(&["context", "main", "--nope"]).0, 2);
}

#[test]
fn the_rule_that_a_table_offers_to_print_exists() {
    for words in [
        &["simulate", "main", "--policy", "guard"][..],
        &["simulate", "main"],
        &["simulate", "telegram:direct:8812", "--policy", "all"],
        &["explain", "--recovery", "telegram:direct:8812"],
    ] {
        let printed = program(words).arg("--demo").output().unwrap();
        let text = String::from_utf8(printed.stdout).unwrap();
        let offered = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("`clawscope rules ")?.strip_suffix("` prints a rule"));
        let offered = offered.unwrap_or_else(|| panic!("{words:?}: {text}"));
        let rule = program(&["rules", offered]).output().unwrap();
        assert!(rule.status.success() && !rule.stdout.is_empty(), "{words:?}: {offered}");
    }
}

#[test]
fn a_window_in_tokens_is_the_context_window_setting() {
    let answer = |words: &[&str]| {
        let words = [&["replay", "telegram:direct:8812", "--demo", "--json"], words].concat();
        let printed = program(&words).output().unwrap();
        let answer: Value = serde_json::from_slice(&printed.stdout).unwrap();
        [answer["window"].clone(), answer["calls"].clone(), answer["totals"].clone()]
    };
    let named = answer(&["--window", "100,000"]);
    assert_eq!(named, answer(&["--set", "contextWindow=100000"]));
    assert_ne!(named, answer(&[]));
}
