//! `sweep`.

use serde_json::{Value, json};

use super::has_keys;
use crate::support::store::{Store, program, run};

#[test]
fn sweep_answers_with_cells_a_front_and_the_smallest_change() {
    let store = Store::new();
    let vary =
        ["sweep", "main", "--vary", "clearToolUses.trigger=4000,8000", "--vary", "clearToolUses.keep=1..3:1"];
    let answer = store.json(&vary);
    has_keys(
        &answer,
        &["session", "ruleset", "axes", "cells", "pareto", "smallestChange", "current", "policy"],
    );
    let (axes, cells) = (answer["axes"].as_array().unwrap(), answer["cells"].as_array().unwrap());
    let product: usize = axes.iter().map(|axis| axis["values"].as_array().unwrap().len()).product();
    assert_eq!(cells.len(), product);
    for cell in cells {
        has_keys(cell, &["set", "overflows", "peak", "cost", "cleared", "summaries"]);
    }
    let both = |cell: &&Value| {
        ["clearToolUses.trigger", "clearToolUses.keep"].iter().all(|key| cell["set"].get(key).is_some())
    };
    // Clearing is off in the config, and off is a value of each axis.
    assert_eq!(cells.iter().filter(both).count(), 2 * 3);
    // A cell equals the totals of a replay under its settings.
    let at = cells.iter().position(|cell| both(&cell) && cell["set"]["clearToolUses.trigger"] == 4000);
    let at = at.unwrap();
    let keep = format!("clearToolUses.keep={}", cells[at]["set"]["clearToolUses.keep"]);
    let replayed = store.json(&["replay", "main", "--set", "clearToolUses.trigger=4000", "--set", &keep]);
    let totals = &replayed["totals"]["simulated"];
    assert_eq!((&cells[at]["peak"], &cells[at]["overflows"]), (&totals["peak"], &totals["overflows"]));
    assert!(answer["smallestChange"]["set"].is_object(), "{}", answer["smallestChange"]);
}

#[test]
fn sweep_shows_the_map_and_saves_the_patch_of_the_smallest_change() {
    let store = Store::new();
    let file = store.path().join("patch.json5");
    let file = file.to_str().unwrap();
    let requested = || {
        let mut demo = program(&["--demo", "sweep", "telegram:direct:8812", "--headroom", "10%"]);
        demo.args(["--patch", file]);
        demo.args([
            "--vary",
            "contextPruning.ttl=30m..2h:30m",
            "--vary",
            "contextPruning.keepLastAssistants=1,5",
        ]);
        demo
    };
    let (code, out, error) = run(&mut requested());
    assert_eq!((code, error.contains("saved as")), (0, true), "{error}");
    for part in [
        "best trade-offs",
        "peak (rows: ttl, columns: keepLastAssistants)",
        "smallest change: contextPruning.ttl 1h → 30m",
        "overflows 1 → 0",
        "openclaw config set agents.defaults.contextPruning.ttl 30m",
    ] {
        assert!(out.contains(part), "{part} in {out}");
    }
    let patch: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).expect("JSON");
    assert_eq!(patch, json!({ "agents": { "defaults": { "contextPruning": { "ttl": "30m" } } } }));
    // The existing file is kept.
    let (code, _, error) = run(&mut requested());
    assert_eq!((code, error.contains("already exists")), (4, true), "{error}");
    let own = store.path().join("openclaw.json");
    let (code, _, error) = store.run(&["sweep", "main", "--patch", own.to_str().unwrap()]);
    assert_eq!((code, error.contains("never overwrites your")), (4, true), "{error}");
    for odd in [
        &["--vary", "guard.budgetShare=0.1,0.2"][..],
        &["--vary", "contextPruning.ttl=soon"],
        &["--headroom", "much"],
        &["--vary", "contextPruning.ttl=5m", "--vary", "contextPruning.ttl=6m"],
        &["--vary", "contextPruning.ttl=5m", "--set", "contextPruning.ttl=6m"],
        &["--vary", "clearToolUses.keep=1,2", "--policy", "prune"],
        &[
            "--vary",
            "contextPruning.ttl=5m",
            "--ruleset",
            "2026.9",
            "--vary",
            "contextPruning.softTrimRatio=0.1",
        ],
    ] {
        let (code, _, error) = store.run(&[&["sweep", "main"], odd].concat());
        assert_eq!((code, error.starts_with("error: --")), (2, true), "{odd:?}: {error}");
    }
}
