//! `doctor`: configuration, prices, resets and hosts.

use serde_json::{Value, json};

use super::has_keys;
use crate::support::store::{Store, TOUCHED_MS, long_session, message};

#[test]
fn doctor_names_the_entry_when_the_gateway_would_fail_on_it() {
    let store = Store::new();
    store.append(&message("odd", Some("touch-0"), &json!({ "role": "user", "content": null })));
    let finding = store.json(&["doctor"])["findings"][0].clone();
    assert_eq!((&finding["entry"], &finding["line"]), (&json!("odd"), &json!(long_session().len() + 1)));
    let (code, _, error) = store.run(&["simulate", "main", "--set", "contextPruning.softTrimRatio=0"]);
    assert!(code == 3 && error.contains("`clawscope doctor` lists"), "{error}");
}

#[test]
fn doctor_shows_the_memory_flush_as_the_version_has_it() {
    let store = Store::new();
    let size = |ruleset: &str| {
        let rows = store.json(&["doctor", "--ruleset", ruleset])["memoryFlush"].clone();
        let rows = rows.as_array().unwrap();
        let row = rows.iter().find(|row| row["key"] == "memoryFlush.forceFlushTranscriptBytes");
        row.unwrap()["value"].clone()
    };
    assert_eq!((size("2026.3.2"), size("2026.2.19")), (json!(2_097_152), json!(0)));
}

/// Returns the diagnostic of `doctor` whose message contains a text.
#[track_caller]
fn finding_with(store: &Store, text: &str) -> Value {
    let answer = store.json(&["doctor"]);
    let findings = answer["findings"].as_array().unwrap().iter();
    let own = findings.filter(|finding| finding["what"].as_str().unwrap().contains(text)).collect::<Vec<_>>();
    assert_eq!(own.len(), 1, "{answer}");
    own[0].clone()
}

#[test]
fn doctor_reads_the_retired_place_of_settings_and_says_when_a_release_ignores_it() {
    let store = Store::new();
    let setting = |store: &Store| {
        let answer = store.json(&["doctor"]);
        let rows = answer["contextPruning"].as_array().unwrap().clone();
        rows.iter().find(|row| row["key"] == "ttl").map(|row| row["value"].clone())
    };
    store.write("openclaw.json", "{\n agent: { contextPruning: { mode: 'cache-ttl', ttl: '7m' } },\n}");
    let finding = finding_with(&store, "agent.* was moved; use agents.defaults");
    assert_eq!((&finding["severity"], &finding["line"]), (&json!("note"), &json!(2)), "{finding}");
    assert_eq!(setting(&store), Some(json!("7m")));
    store.write(
        "openclaw.json",
        "{\n meta: { lastTouchedVersion: '2026.9.6' },\n agent: { contextPruning: { mode: 'cache-ttl', ttl: '7m' } },\n}",
    );
    let finding = finding_with(&store, "<root>: Unrecognized key: \"agent\"");
    assert_eq!((&finding["severity"], &finding["line"]), (&json!("warning"), &json!(3)), "{finding}");
    assert_ne!(setting(&store), Some(json!("7m")), "an ignored place sets nothing");
}

#[test]
fn doctor_reports_a_price_per_token_with_its_line() {
    let store = Store::new();
    let config = |input: &str| {
        format!(
            "{{\n models: {{ providers: {{ lab: {{ models: [\n  {{ id: 'own-model', cost: {{\n   input: {input} }} }},\n ] }} }} }},\n}}"
        )
    };
    store.write("openclaw.json", &config("0.000003"));
    let finding = finding_with(&store, "looks like a price per token");
    assert!(finding["what"].as_str().unwrap().contains("lab/own-model"), "{finding}");
    assert_eq!(finding["line"], 4, "{finding}");
    store.write("openclaw.json", &config("3"));
    assert!(!store.run(&["doctor"]).1.contains("price per token"));
}

#[test]
fn doctor_names_the_floor_that_raises_a_reserve() {
    let store = Store::new();
    let shown = |reserve: &str| {
        let config = format!(
            "{{ agents: {{ defaults: {{ contextTokens: 200000, compaction: {{ {reserve} reserveTokensFloor: 30000 }} }} }} }}"
        );
        store.write("openclaw.json", &config);
        let (code, out, error) = store.run(&["doctor"]);
        assert_eq!(code, 0, "{error}");
        out.replace('\u{a0}', " ")
    };
    let low = shown("reserveTokens: 9000,");
    assert!(low.contains("overrides the configured reserve 9,000"), "{low}");
    let own = shown("");
    assert!(own.contains("overrides the runtime's reserve"), "{own}");
    assert!(!shown("reserveTokens: 40000,").contains("overrides the configured"));
}

#[test]
fn doctor_lists_diagnostics_with_file_and_line() {
    let store = Store::new();
    let healthy = store.json(&["doctor"]);
    has_keys(
        &healthy,
        &[
            "stateDir",
            "config",
            "counts",
            "agents",
            "contextPruning",
            "compaction",
            "memoryFlush",
            "locks",
            "findings",
        ],
    );
    assert_eq!(healthy["stateDir"]["why"], "by OPENCLAW_STATE_DIR");
    assert_eq!((&healthy["counts"]["sessions"], &healthy["counts"]["transcripts"]), (&json!(1), &json!(1)));
    store.append(&json!(null));
    store.write("openclaw.json", "{\n agents: [,\n}");
    let (code, out, error) = store.run(&["doctor", "--json"]);
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(code, 3, "{error}");
    assert_eq!(answer["config"]["error"]["line"], 2, "{answer}");
    assert!(answer["config"]["error"]["column"].is_u64());
    let lines = answer["findings"].as_array().unwrap().iter().filter_map(|finding| finding["line"].as_u64());
    assert!(lines.into_iter().any(|line| line as usize == long_session().len() + 1), "{answer}");
    assert!(store.run(&["doctor"]).1.contains("openclaw.json:2:"));
}

#[test]
fn doctor_shows_the_origin_of_every_setting_and_the_next_reset_of_each_session() {
    let store = Store::new();
    store.write(
        "openclaw.json",
        "{ $include: 'base.json',\n session: { reset: { mode: 'idle', idleMinutes: 30 } },\n agents: { defaults: { contextPruning: { softTrimRatio: 0.2 } } } }",
    );
    store.write("base.json", "{ session: { scope: 'global', reset: {\n atHour: 6, idleMinutes: 5 } },\n agents: { defaults: { contextPruning: { softTrimRatio: 0.1 } } } }");
    let answer = store.json(&["doctor"]);
    let row = |list: &str, key: &str| {
        let rows = answer[list].as_array().unwrap();
        rows.iter().find(|row| row["key"] == key).unwrap_or_else(|| panic!("{key}")).clone()
    };
    let ends = |value: &Value, end: &str| value.as_str().is_some_and(|text| text.ends_with(end));
    let idle = row("settings", "session.reset.idleMinutes");
    assert!(
        idle["value"] == 30
            && ends(&idle["from"], "/openclaw.json:2")
            && ends(&idle["over"][0], "/base.json:2"),
        "{idle}"
    );
    let scope = row("settings", "session.dmScope");
    assert_eq!(
        (&scope["value"], &scope["from"], &scope["over"]),
        (&json!("main"), &json!("default"), &json!([]))
    );
    let soft = row("contextPruning", "softTrimRatio");
    assert!(ends(&soft["from"], "default") || ends(&soft["over"][0], "/base.json:3"), "{soft}");
    let life = row("lifecycle", "agent:main:main");
    assert_eq!(
        (&life["type"], &life["mode"]["value"], &life["idleMinutes"]["value"]),
        (&json!("direct"), &json!("idle"), &json!(30))
    );
    let next = TOUCHED_MS + 30 * 60_000;
    assert_eq!(
        (&life["next"]["at"], &life["next"]["reason"], &life["next"]["due"]),
        (&json!(next), &json!("idle"), &json!(true))
    );
    assert!(life["leaves"].as_str().unwrap().contains("orphan"));
    let (code, out, _) = store.run(&["doctor"]);
    assert_eq!(code, 0);
    for part in ["base.json:2", "idle 30m", "the next message resets the session", "over"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert_eq!(store.json(&["sessions"])["sessions"][0]["reset"]["next"]["at"], json!(next));
}

#[test]
fn the_daily_reset_falls_in_the_time_zone_of_the_host() {
    let store = Store::new();
    let at = |zone: &str| {
        let output = store.command(&["sessions", "--json"]).env("TZ", zone).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let next = answer["sessions"][0]["reset"]["next"].clone();
        (next["at"].as_u64().unwrap(), next["local"].as_str().unwrap().to_owned())
    };
    // Touched on 2026-03-05 at 08:40 UTC.
    assert_eq!(at("UTC"), (1_772_769_600_000, "2026-03-06 04:00 UTC".to_owned()));
    assert_eq!(at("Asia/Shanghai"), (1_772_740_800_000, "2026-03-06 04:00 Asia/Shanghai".to_owned()));
}

#[test]
fn a_remote_configuration_names_the_host_to_run_on() {
    let store = Store::new();
    store
        .write("openclaw.json", "{ gateway: { mode: 'remote', remote: { url: 'wss://gw.example:18789' } } }");
    let (_, out, _) = store.run(&["doctor"]);
    assert!(out.contains("ssh -t gw.example clawscope"), "{out}");
}
