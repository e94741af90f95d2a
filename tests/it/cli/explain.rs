//! `explain`, with and without `--recovery`.

use serde_json::{Value, json};

use super::{has_keys, overflowed};
use crate::support::store::{Store, program, run};

#[test]
fn recovery_compares_recorded_and_expected_steps() {
    let store = overflowed();
    let answer = store.json(&["explain", "--recovery", "main"]);
    let wanted =
        ["session", "window", "compaction", "happened", "overflow", "attempts", "ending", "recorded"];
    has_keys(&answer, &wanted);
    let overflow = &answer["overflow"];
    assert_eq!(
        (&overflow["entry"], &overflow["tokens"], &overflow["limit"]),
        (&json!("refused-0"), &json!(203_412), &json!(200_000))
    );
    assert_eq!(overflow["detectors"]["chat"], true);
    assert_eq!(answer["compaction"]["mode"], "safeguard");
    assert_eq!(answer["compaction"]["maxResultChars"], 24_000);
    let steps = answer["attempts"][0]["steps"].as_array().unwrap();
    let reported: Vec<_> =
        steps.iter().map(|step| (&step["step"], &step["outcome"], &step["shown"])).collect();
    let [refused, compacted] = reported.as_slice() else { panic!("{reported:?}") };
    assert_eq!(*refused, (&json!("call"), &json!("refused"), &json!(true)));
    assert_eq!(*compacted, (&json!("compactionInRun"), &json!("cancelled"), &json!(true)));
    assert_eq!(answer["ending"]["outcome"], "earlierAnswer", "the run ends with the failed compaction");
    let recorded: Vec<_> = answer["recorded"].as_array().unwrap().iter().map(|seen| &seen["what"]).collect();
    assert_eq!(recorded, ["refused", "compacted", "answered"]);
    let (code, out, _) = store.run(&["explain", "--recovery", "main"]);
    assert_eq!(code, 0);
    assert!(out.contains("overflow at refused-0") && out.contains("compaction 8.10"), "{out}");
}

#[test]
fn recovery_without_an_overflow_predicts_the_next_call() {
    let answer = Store::new().json(&["explain", "--recovery", "main"]);
    assert_eq!((&answer["happened"], &answer["overflow"]["entry"]), (&json!(false), &json!(null)));
    assert_eq!(answer["recorded"], json!([]));
}

#[test]
fn an_explanation_names_the_verdict_first_and_has_stable_keys() {
    let store = overflowed();
    let answer = store.json(&["explain", "main"]);
    let wanted = [
        "schemaVersion",
        "session",
        "ruleset",
        "overflow",
        "events",
        "verdict",
        "mechanism",
        "parts",
        "guards",
        "counts",
        "mismeasured",
        "aftermath",
        "findings",
        "advice",
        "recorded",
        "tried",
        "exhausted",
        "noSettingHelps",
    ];
    has_keys(&answer, &wanted);
    assert_eq!(answer["schemaVersion"], 2);
    let event = &answer["events"][0];
    assert_eq!(
        (&event["entry"], &event["requested"], &event["limit"]),
        (&json!("refused-0"), &json!(203_412), &json!(200_000))
    );
    has_keys(&answer["verdict"], &["class", "confidence", "line"]);
    let first = &answer["findings"][0];
    has_keys(first, &["class", "confidence", "text", "rule", "flips", "evidence", "lines", "numbers"]);
    assert_eq!((&first["class"], &first["text"]), (&answer["verdict"]["class"], &answer["verdict"]["line"]));
    assert!(first["evidence"].as_array().unwrap().contains(&json!("refused-0")), "{first}");
    for advice in answer["advice"].as_array().unwrap() {
        let keys = [
            "set",
            "helps",
            "hasRoom",
            "overflows",
            "peak",
            "cost",
            "note",
            "fits",
            "before",
            "after",
            "compactions",
            "limit",
            "patch",
            "commands",
        ];
        has_keys(advice, &keys);
        assert!(
            advice["overflows"].is_u64() && advice["peak"].is_u64() && advice["cost"].is_number(),
            "{advice}"
        );
        assert_eq!(advice["helps"] == true, advice["overflows"] == 0, "{advice}");
    }
    let (code, out, _) = store.run(&["explain", "main"]);
    assert_eq!((code, out.lines().next()), (0, answer["verdict"]["line"].as_str()));
}

#[test]
fn a_whole_store_is_explained_with_those_at_risk_first() {
    let store = overflowed();
    let answer = store.json(&["explain", "--all", "--window", "1000", "--window", "131072"]);
    let session = &answer["sessions"][0];
    let keys = ["session", "overflow", "verdict", "noSettingHelps", "tokens", "window", "windows"];
    has_keys(session, &keys);
    assert_eq!(session["overflow"], true);
    let windows: Vec<_> =
        session["windows"].as_array().unwrap().iter().map(|it| (&it["window"], &it["overflows"])).collect();
    assert_eq!(windows.len(), 2);
    assert_eq!(windows[1], (&json!(131_072), &json!(false)));
    let (code, out, _) = store.run(&["explain", "--all"]);
    assert!(code == 0 && out.starts_with("1 session, 1 overflowed"), "{out}");
    let (code, _, error) = store.run(&["explain"]);
    assert!(code == 2 && error.contains("SESSION"), "{error}");
    let listed = demo_json(&["sessions"])["sessions"].as_array().unwrap().len();
    let (_, out, _) = run(&mut program(&["explain", "--all", "--demo"]));
    let head = out.lines().next().unwrap_or_default();
    assert!(
        head.starts_with(&format!("{listed} sessions, ")) && head.ends_with(", 1 without a transcript"),
        "{head}"
    );
}

/// Runs a command on the built-in store and reads its JSON.
fn demo_json(words: &[&str]) -> Value {
    let (code, out, error) = run(&mut program(&[words, &["--demo", "--json"]].concat()));
    assert_eq!(code, 0, "{words:?}: {error}");
    serde_json::from_str(&out).expect("JSON")
}

#[test]
fn a_change_that_is_asked_about_is_judged_as_advice_and_replays_are() {
    let session = "agent:main:telegram:direct:8812";
    let plain = demo_json(&["explain", session]);
    assert_eq!(plain["asked"], json!(null));
    let fix = "contextPruning.ttl=30m";
    let asked = &demo_json(&["explain", session, "--set", fix])["asked"];
    assert_eq!((asked, &asked["helps"]), (&plain["advice"][0], &json!(true)));
    let replay = demo_json(&["replay", session, "--set", fix]);
    assert_eq!(asked["peak"], replay["totals"]["simulated"]["peak"]);

    let (code, out, _) = run(&mut program(&["explain", session, "--demo", "--set", "historyLimit=20"]));
    assert!(
        code == 0 && out.contains("With your historyLimit 400 → 20: the call still does not fit."),
        "{out}"
    );
    assert!(out.contains("openclaw config set agents.defaults.contextPruning.ttl 30m"), "{out}");
    let twice = run(&mut program(&["explain", session, "--demo", "--set", fix])).1;
    assert_eq!(twice.matches("contextPruning.ttl 1h → 30m ").count(), 1, "one row for one change: {twice}");
}

#[test]
fn a_session_that_fits_answers_for_a_window_too() {
    let store = Store::new();
    let asked = &store.json(&["explain", "main", "--window", "9000"])["asked"];
    assert_eq!((&asked["set"], &asked["limit"]), (&json!({ "contextWindow": 9_000 }), &json!(9_000)));
    let replay = store.json(&["replay", "main", "--window", "9000"]);
    assert_eq!(asked["overflows"], replay["totals"]["simulated"]["overflows"]);
    let (code, out, _) = store.run(&["explain", "main", "--window", "9000"]);
    assert!(code == 0 && out.contains("With your contextWindow 200,000 → 9,000: "), "{out}");
}

#[test]
fn settings_are_tried_on_one_session_and_several_windows_on_a_store() {
    let store = Store::new();
    let path = store.path().to_str().expect("UTF-8");
    for (words, said) in [
        (["explain", "main", "--set", "historyLimit=x"].as_slice(), "historyLimit"),
        (&["explain", path, "--set", "historyLimit=3"], "name a SESSION"),
        (&["explain", "--all", "--set", "historyLimit=3"], "--all"),
        (&["explain", "main", "--window", "1", "--window", "2"], "several only with --all"),
        (&["explain", "--all", "--window", "learnt"], "--window learnt"),
    ] {
        let (code, _, error) = store.run(words);
        assert!(code == 2 && error.contains(said), "{words:?}: {code} {error}");
    }
}
