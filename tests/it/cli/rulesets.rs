//! Versions: their origin and their effects.

use serde_json::{Value, json};

use crate::support::store::{COLD, Store};

#[test]
fn the_version_in_the_configuration_decides_whose_rules_apply() {
    let store = Store::new();
    for words in [&["sessions"][..], &["doctor"], &["context", "long-1"], &["simulate", "long-1"]] {
        let ruleset = &store.json(words)["ruleset"];
        assert_eq!(ruleset["id"], "2026.3.2", "{words:?}");
        let from = ruleset["from"].as_str().unwrap_or_default();
        assert!(from.starts_with("guessed from the date"), "{words:?}: {from}");
    }
    store.write("openclaw.json", "{\n meta: { lastTouchedVersion: '2026.9.6' },\n agents: { defaults: { contextPruning: { mode: 'cache-ttl', softTrimRatio: 0.9 } } } }");
    let answer = store.json(&["doctor"]);
    assert_eq!((&answer["ruleset"]["id"], &answer["ruleset"]["note"]), (&json!("2026.9.6"), &Value::Null));
    let from = answer["ruleset"]["from"].as_str().unwrap();
    assert!(from.ends_with("openclaw.json:2, meta.lastTouchedVersion"), "{from}");
    let row = |list: &str, key: &str| {
        let rows = answer[list].as_array().unwrap();
        rows.iter().find(|row| row["key"] == key).unwrap().clone()
    };
    let ratio = row("contextPruning", "softTrimRatio");
    assert_eq!((&ratio["value"], &ratio["from"]), (&json!(0.3), &json!("built in since 2026.8.1")));
    let reserve = row("compactionSettings", "reserveTokens");
    assert_eq!((&reserve["value"], &reserve["from"]), (&json!(20_000), &json!("built in since 2026.8.1")));
    let (_, text, _) = store.run(&["simulate", "long-1"]);
    assert!(
        text.contains("rules of openclaw 2026.9.6 (") && text.contains("built in since 2026.8.1"),
        "{text}"
    );
}

#[test]
fn a_rule_that_is_cited_can_be_printed() {
    let store = Store::new();
    let (code, text, _) = store.run(&["rules", "pruning-5.12", "releases", "R61"]);
    assert!(code == 0 && text.starts_with("pruning 5.12  ") && text.contains("\nreleases R61  "), "{text}");
    assert!(!text.contains('␊'), "{text}");
    let answer = store.json(&["rules", "compaction-8.1"]);
    assert_eq!(
        (&answer["rules"][0]["document"], &answer["rules"][0]["id"]),
        (&json!("compaction"), &json!("8.1"))
    );
    let (code, _, error) = store.run(&["rules", "pruning-99"]);
    assert!(code == 2 && error.contains("RULE \"pruning-99\": expected an id of pruning"), "{error}");
    let (_, contents, _) = store.run(&["rules", "store"]);
    assert!(contents.starts_with("store  ") && !contents.contains("Pruning algorithm"), "{contents}");
    let (_, contents, _) = store.run(&["rules", "--sections"]);
    assert!(contents.contains("\n  5 Pruning algorithm\n"), "{contents}");
}

#[test]
fn a_range_of_rules_and_the_id_of_an_overflow_text_can_be_printed() {
    let store = Store::new();
    for (words, expected) in [
        (&["rules", "pruning 3–5"][..], &["pruning 3  ", "\npruning 4  ", "\npruning 5  "][..]),
        (&["rules", "pruning", "3-5"], &["pruning 3  ", "\npruning 5  "]),
        (&["rules", "T01"], &["overflow-texts ", "| T01 |"]),
    ] {
        let (code, text, error) = store.run(words);
        assert!(code == 0 && expected.iter().all(|part| text.contains(part)), "{words:?}: {error}{text}");
    }
    let (code, _, error) = store.run(&["rules", "5.12"]);
    assert!(
        code == 2 && error.contains("Type: clawscope rules pruning-5.12") && !error.contains("--ruleset"),
        "{error}"
    );
}

#[test]
fn every_command_says_once_which_rules_stand_in_for_an_unknown_release() {
    let store = Store::new();
    for words in [
        &["sessions"][..],
        &["explain", "main"],
        &["explain", "--all"],
        &["cost"],
        &["context", "main"],
        &["doctor"],
        &["search", "build"],
    ] {
        let of = |release| store.run(&[words, &["--ruleset", release]].concat()).2;
        let error = of("2027.1.1");
        let note = "2027.1.1 is newer than every known release; clawscope uses the rules of 2026.9.6";
        assert_eq!(error.matches(note).count(), 1, "{words:?}: {error}");
        assert!(!of("2026.9.6").contains("note: 2026"), "{words:?}");
    }
}

#[test]
fn a_version_can_be_requested_and_an_unpublished_one_names_the_rules_used() {
    let store = Store::new();
    let ruleset = |words: &[&str]| store.json(&[&["context", "long-1"], words].concat())["ruleset"].clone();
    let requested = ruleset(&["--ruleset", "2026.5.8"]);
    assert_eq!((&requested["id"], &requested["from"]), (&json!("2026.5.7"), &json!("command line")));
    assert!(requested["note"].as_str().unwrap().contains("no release 2026.5.8 was published"));
    let asked = ruleset(&["--ruleset", "2026.5.6"]);
    assert_eq!((&asked["id"], &asked["note"]), (&json!("2026.5.2"), &Value::Null));
    let variable = store
        .command(&["context", "long-1", "--json"])
        .env("CLAWSCOPE_RULESET", "2026.2.19")
        .output()
        .unwrap();
    let variable: Value = serde_json::from_slice(&variable.stdout).unwrap();
    assert_eq!(
        (&variable["ruleset"]["id"], &variable["ruleset"]["from"]),
        (&json!("2026.2.17"), &json!("CLAWSCOPE_RULESET"))
    );
    store.write("home/.config/clawscope/config.toml", "ruleset = \"pi-0.55\"\n");
    let file = store
        .command(&["context", "long-1", "--json"])
        .env("HOME", store.path().join("home"))
        .output()
        .unwrap();
    let file: Value = serde_json::from_slice(&file.stdout).unwrap();
    assert_eq!(file["ruleset"]["id"], "pi-0.55");
    let (code, _, error) = store.run(&["sessions", "--ruleset", "newest"]);
    assert_eq!(code, 2);
    assert!(error.contains("--ruleset: \"newest\" is no release; expected one such as 2026.4.15"), "{error}");
}

#[test]
fn a_setting_that_the_version_does_not_have_is_refused() {
    let store = Store::new();
    let set =
        |ruleset: &str, set: &str| store.run(&["simulate", "long-1", "--ruleset", ruleset, "--set", set]);
    let (code, _, error) = set("2026.9", "contextPruning.softTrimRatio=0.1");
    assert_eq!(code, 2);
    assert!(error.contains("contextPruning.softTrimRatio cannot be set: openclaw 2026.9.6 does not read it (removed in 2026.8.1, built in: 0.3)"), "{error}");
    assert_eq!(set("2026.9", "contextTokens=5000").0, 2);
    for (ruleset, key) in
        [("2026.9", "contextPruning.ttl=2h"), ("2026.3.2", "contextPruning.softTrimRatio=0.1")]
    {
        assert_eq!(set(ruleset, key).0, 0, "{ruleset} {key}");
    }
}

#[test]
fn the_version_before_never_prunes_and_the_newest_sees_another_window() {
    let store = Store::new();
    let answer = store.json(&["simulate", "long-1", "--now", COLD, "--ruleset", "2026.2.19"]);
    assert_eq!((&answer["gate"]["reason"], &answer["changed"]), (&json!("no-pruner"), &json!(false)));
    let reference = store.json(&["simulate", "long-1", "--now", COLD]);
    assert_eq!(
        (&reference["changed"], &reference["window"]["contextTokens"]),
        (&json!(true), &json!(20_000))
    );
    let newest = store.json(&["simulate", "long-1", "--now", COLD, "--ruleset", "2026.9"]);
    assert_eq!(newest["window"]["contextTokens"], json!(null));
}
