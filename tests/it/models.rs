//! Each model of the lists that pi and the gateway ship, as a session of that model in a store of that release: window,
//! effective context, output limit and price are those of the package.
//!
//! `tests/fixtures/models` holds the packages' own data, written by its `dump.mjs` and by the real program's
//! `models list`, not by the script that makes clawscope's table.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clawscope::gateway::env::Environment;
use clawscope::gateway::models::{ListedModel, ModelList, Program};
use clawscope::gateway::recorded_window::ModelUser;
use clawscope::gateway::window::WindowSource;
use clawscope::session::Mark;
use clawscope::session::list::list_item;
use clawscope::session::price::list_price;
use clawscope::store::discovery::discover;
use clawscope::units::{Moment, Tokens};
use serde_json::{Value, json};

use crate::support::fixture::{put, unpack};
use crate::support::store;

fn fixture(name: &str) -> Value {
    let dir = tempfile::tempdir().expect("a folder");
    let to = dir.path().join("data.json");
    unpack(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/models").join(format!("{name}.json.zst")),
        &to,
    );
    serde_json::from_slice(&std::fs::read(to).expect("the data")).expect("JSON")
}

/// What a package says of a model.
#[derive(Debug, Clone, PartialEq)]
struct Expected {
    window: f64,
    context_tokens: Option<f64>,
    max_tokens: f64,
    /// Billionths of a USD per million tokens, of prompts of 1, 150,000, 300,000 and 600,000 tokens: input, output, cache read, cache write.
    rates: Option<[[f64; 4]; 4]>,
}

const PROMPTS: [f64; 4] = [1.0, 150_000.0, 300_000.0, 600_000.0];

/// Both readers of numbers may differ in the last bit.
fn rounded(usd: f64) -> f64 {
    (usd * 1e9).round()
}

fn rates_of(cost: &Value) -> [f64; 4] {
    ["input", "output", "cacheRead", "cacheWrite"].map(|key| rounded(cost[key].as_f64().unwrap_or(0.0)))
}

/// The rates of a prompt as the packages choose them: pi's highest tier below it, the gateway's range around it.
fn rates_at(cost: &Value, prompt: f64) -> [f64; 4] {
    let tiers = cost["tiers"].as_array().into_iter().flatten();
    let above = |tier: &Value| tier["inputTokensAbove"].as_f64().expect("a number");
    let tier = tiers.filter(|tier| prompt > above(tier)).max_by(|a, b| above(a).total_cmp(&above(b)));
    let within = |tier: &&Value| {
        let range = tier["range"].as_array().expect("a range");
        let end = range.get(1).and_then(Value::as_f64).unwrap_or(f64::INFINITY);
        (range[0].as_f64().expect("a number")..end).contains(&prompt)
    };
    let range = cost["tieredPricing"].as_array().into_iter().flatten().find(within);
    rates_of(tier.or(range).unwrap_or(cost))
}

fn expected(model: &Value) -> Expected {
    let number = |key: &str| model[key].as_f64();
    Expected {
        window: number("contextWindow").expect("a window"),
        context_tokens: number("contextTokens"),
        max_tokens: number("maxTokens").expect("an output limit"),
        rates: model["cost"].is_object().then(|| PROMPTS.map(|prompt| rates_at(&model["cost"], prompt))),
    }
}

fn found(model: &ListedModel) -> Expected {
    let values = model.values;
    Expected {
        window: values.window.expect("a window").get(),
        context_tokens: values.context_tokens.map(Tokens::get),
        max_tokens: values.max_tokens.expect("an output limit").get(),
        rates: values.price.map(|price| {
            PROMPTS
                .map(|prompt| price.at(prompt))
                .map(|at| [at.input, at.output, at.cache_read, at.cache_write].map(rounded))
        }),
    }
}

/// The models of a fixture: `{provider: {id: model}}`.
fn models_of(data: &Value) -> Vec<(String, String, Value)> {
    let providers = data.as_object().expect("providers");
    let models = providers.iter().flat_map(|(provider, models)| {
        let models = models.as_object().expect("models");
        models.iter().map(move |(id, model)| (provider.clone(), id.clone(), model.clone()))
    });
    models.collect()
}

/// Tokens to which the plug-in of Anthropic raises what its manifest lists.
fn raised(release: &str, provider: &str, id: &str) -> f64 {
    let is_raised =
        ["claude-opus-4-6", "claude-opus-4-7", "claude-opus-4-8", "claude-sonnet-4-6"].contains(&id);
    match (release, provider) {
        ("2026.7.1", "anthropic" | "claude-cli") if is_raised => 1_048_576.0,
        ("2026.9.6", "anthropic") if is_raised => 1_000_000.0,
        _ => 0.0,
    }
}

/// A store of a gateway with a session of each model.
fn gateway_store(release: &str, models: &[(String, String, Value)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    put(&dir.path().join("openclaw.json"), json!({ "meta": { "lastTouchedVersion": release } }).to_string());
    let rows: BTreeMap<String, Value> = models
        .iter()
        .enumerate()
        .map(|(at, (provider, id, _))| {
            let row = json!({ "sessionId": format!("s{at}"), "updatedAt": 1, "modelProvider": provider, "model": id });
            (format!("agent:main:m{at}"), row)
        })
        .collect();
    put(&dir.path().join("agents/main/sessions/sessions.json"), json!(rows).to_string());
    dir
}

/// A folder of pi with a session of each model.
fn pi_store(release: &str, models: &[(String, String, Value)]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a folder");
    let agent = dir.path().join("agent");
    put(&agent.join("settings.json"), json!({ "lastChangelogVersion": release }).to_string());
    for (at, (provider, id, _)) in models.iter().enumerate() {
        let time = "2026-11-20T10:00:00.000Z";
        let entries = [
            json!({ "type": "session", "version": 3, "id": format!("s{at}"), "timestamp": time, "cwd": "/w" }),
            json!({ "type": "model_change", "id": "00000001", "parentId": null, "timestamp": time,
                "provider": provider, "modelId": id }),
        ];
        let text = entries.map(|entry| entry.to_string()).join("\n") + "\n";
        put(&agent.join(format!("sessions/--w--/2026-11-20T10-00-00-000Z_s{at}.jsonl")), text);
    }
    (dir, agent)
}

fn env_of(dir: &Path) -> Environment {
    Environment::new([("HOME", dir.display().to_string())], None, dir.to_path_buf())
}

#[test]
fn every_model_of_pis_lists_has_the_values_of_its_package() {
    for (release, numbers, least) in [("0.55.3", [0, 55, 3], 757), ("1.5.2", [1, 5, 2], 1_643)] {
        let models = models_of(&fixture(&format!("pi-{release}")));
        assert_eq!(models.len(), least);
        let (dir, agent) = pi_store(release, &models);
        let store = discover(Some(&agent), &env_of(dir.path()));
        assert_eq!(store.sessions.len(), least);
        assert_eq!(store.config.models, ModelList::of(Program::Pi, numbers), "{release}");
        for (provider, id, model) in &models {
            let listed = store.config.models.find(provider, id).expect("a listed model");
            assert_eq!(found(&listed), expected(model), "{provider}/{id} in {release}");
            let price = list_price(&store.config, provider, id, None).expect("a price");
            assert_eq!(rounded(price.input), rates_of(&model["cost"])[0]);
        }
    }
}

#[test]
fn a_session_of_each_listed_model_has_its_window_in_the_list() {
    for release in ["2026.3.2", "2026.7.1", "2026.9.6"] {
        let models = models_of(&fixture(&format!("gateway-{release}")));
        let dir = gateway_store(release, &models);
        let store = discover(Some(dir.path()), &env_of(dir.path()));
        let rules = store.ruleset.id.rules();
        for session in &store.sessions {
            let at: usize = session.key.0.trim_start_matches("agent:main:m").parse().expect("a number");
            let (provider, id, model) = &models[at];
            let item = list_item(&store, session, Moment(2.0));
            let own = model["contextTokens"].as_f64().filter(|_| release != "2026.3.2");
            let window =
                own.or(model["contextWindow"].as_f64()).expect("a window").max(raised(release, provider, id));
            assert_eq!(item.window, window as u64, "{provider}/{id} in {release}");
            assert!(!item.has(Mark::AssumedWindow), "{provider}/{id}");
            let user = ModelUser { agent: "main", session: "" };
            assert_eq!(store.config.window(rules, user, provider, id).source, WindowSource::Listed);
            // The real program's own list names windows only.
            if model["maxTokens"].is_number() {
                let listed = store.config.models.find(provider, id).expect("a listed model");
                let (found, expected) = (found(&listed), expected(model));
                assert_eq!(found.max_tokens, expected.max_tokens, "{provider}/{id} in {release}");
                assert!(
                    expected.rates.is_none() || found.rates == expected.rates,
                    "{provider}/{id} in {release}"
                );
            }
        }
        assert_eq!(store.sessions.len(), models.len());
    }
}

#[test]
fn the_program_shows_the_window_of_the_release() {
    let model = |provider: &str, id: &str| vec![(provider.to_owned(), id.to_owned(), Value::Null)];
    for (release, provider, id, window, mark) in [
        ("2026.3.2", "anthropic", "claude-opus-4-6", 200_000, false),
        ("2026.9.6", "anthropic", "claude-opus-4-6", 1_000_000, false),
        ("2026.9.6", "openai", "gpt-5.5", 272_000, false),
        ("2026.3.2", "openai-codex", "gpt-5.3-codex", 272_000, false),
        ("2026.3.2", "github-copilot", "gpt-5.3-codex", 272_000, true),
        ("2026.3.7", "openai", "gpt-5.4", 1_050_000, true),
        ("2026.3.2", "openrouter", "openai/gpt-6.1-sol", 200_000, true),
        ("2026.3.2", "corp-proxy", "claude-opus-4-6", 200_000, true),
    ] {
        let dir = gateway_store(release, &model(provider, id));
        let path = dir.path().to_str().expect("a path");
        let (code, output, problems) = store::run(&mut store::program(&["sessions", path, "--json"]));
        assert_eq!((code, problems.as_str()), (0, ""));
        let listed: Value = serde_json::from_str(&output).expect("JSON");
        let item = &listed["sessions"][0];
        assert_eq!(item["window"], window, "{release} {provider}/{id}: {item}");
        let marks = item["flags"].to_string();
        assert_eq!(marks.contains("window-assumed"), mark, "{release} {provider}/{id}: {marks}");
    }
}
