//! Configuration files that real releases were asked about: valid or refused, with their own sentences, and the values
//! in force. `tests/config-cases/README.md` describes the files; `CLAWSCOPE_CONFIG_CASES` names a folder with others.

use std::path::{Path, PathBuf};

use clawscope::gateway::config::GatewayConfig;
use clawscope::gateway::env::Environment;
use clawscope::gateway::pruning::effective_settings;
use serde_json::Value;

use crate::support::fixture::put;

fn folder() -> PathBuf {
    std::env::var_os("CLAWSCOPE_CONFIG_CASES")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/config-cases"), PathBuf::from)
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn load(text: &str) -> GatewayConfig {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("openclaw.json");
    put(&path, text);
    let vars = [("MY_TTL", "45m"), ("MY_MODE", "cache-ttl"), ("MY_NUM", "5")];
    GatewayConfig::load(Some(&path), &Environment::new(vars, None, dir.path().to_path_buf()), dir.path())
}

/// Every sentence with which the file is refused.
fn sentences(config: &GatewayConfig) -> Vec<String> {
    let others = config.diagnostics.iter().filter(|found| found.advice.ends_with("correct the value"));
    config
        .error
        .iter()
        .map(|error| error.message.clone())
        .chain(others.map(|found| found.message.clone()))
        .collect()
}

#[test]
fn files_are_valid_or_refused_as_their_release_says() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for release in ["2026.3.2", "2026.7.1", "2026.9.6"] {
        let Ok(text) = std::fs::read_to_string(folder().join(format!("generated-{release}.json"))) else {
            continue;
        };
        let cases: Vec<Value> = serde_json::from_str(&text).unwrap();
        for case in cases {
            count += 1;
            let mut said = sentences(&load(&case["file"].to_string()));
            let mut real: Vec<String> = serde_json::from_value(case["issues"].clone()).unwrap();
            said.sort();
            real.sort();
            if said != real {
                wrong.push(format!("{release} {}\n  real {real:?}\n  ours {said:?}", case["file"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 300, "{count}");
}

#[test]
fn values_in_force_are_those_of_the_reference() {
    let answers = read(&folder().join("answers-2026.3.2.json"));
    for (name, answer) in answers.as_object().unwrap() {
        let config = load(&std::fs::read_to_string(folder().join(name)).unwrap());
        assert_eq!(config.error.is_none(), answer["valid"] == true, "{name}: {:?}", config.error);
        if answer["valid"] == false {
            assert_eq!(config.root, serde_json::json!({}), "{name}");
            for (said, real) in sentences(&config).iter().zip(answer["issues"].as_array().unwrap()) {
                // The answers leave out the values that the release lists behind its sentence.
                assert!(said.starts_with(real.as_str().unwrap()), "{name}: {said} for {real}");
            }
            continue;
        }
        let at =
            |key: &str| config.root.pointer(&format!("/agents/defaults/{key}")).cloned().unwrap_or_default();
        assert_eq!(at("contextTokens"), answer["contextTokens"], "{name}");
        assert_eq!(at("compaction"), answer["compaction"], "{name}");
        let effective = effective_settings(config.value(&["agents", "defaults", "contextPruning"]));
        let real = &answer["effective"];
        assert_eq!(effective.is_some(), real.is_object(), "{name}");
        if let Some(settings) = effective {
            assert_eq!(Some(settings.ttl_ms.get()), real["ttlMs"].as_f64(), "{name}");
            assert_eq!(Some(settings.soft_trim_ratio), real["softTrimRatio"].as_f64(), "{name}");
            assert_eq!(
                settings.hard_clear.placeholder.to_string_lossy(),
                real["hardClear"]["placeholder"],
                "{name}"
            );
        }
    }
}

/// Cases in which clawscope reads on by choice: the gateway's own environment may have a secret that this one lacks; and one check
/// in code that is not known.
const READ_ALL_THE_SAME: [(&str, &str); 4] = [
    ("2026.3.2", "secret-missing"),
    ("2026.3.2", "apikey-missing"),
    ("2026.3.2", "token-missing"),
    ("2026.9.6", "in-list"),
];

/// Writes the files of a case for a release, and loads its configuration.
fn load_case(case: &Value, release: &str) -> GatewayConfig {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in case["files"].as_object().unwrap() {
        let (path, text) = (dir.path().join(name), text.as_str().unwrap());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        match text.strip_prefix("LINK:") {
            Some(target) => std::os::unix::fs::symlink(target, &path).unwrap(),
            None => put(&path, text.replace("RELEASE", release)),
        }
    }
    let vars = case["env"].as_object().unwrap().iter().map(|(name, value)| (name, value.as_str().unwrap()));
    let state = dir.path().join("s");
    GatewayConfig::load(
        Some(&state.join("openclaw.json")),
        &Environment::new(vars, None, state.clone()),
        &state,
    )
}

/// Whether every value of a release is in a configuration, which has defaults besides.
fn has_values(real: &Value, own: &Value) -> bool {
    match real.as_object() {
        Some(members) => members.iter().all(|(key, value)| has_values(value, &own[key])),
        None => real == own,
    }
}

#[test]
fn includes_and_variables_are_read_as_the_release_reads_them() {
    let cases = read(&folder().join("includes-and-variables.json"));
    let mut wrong = Vec::new();
    for case in cases.as_array().unwrap() {
        for (release, real) in case["answers"].as_object().unwrap() {
            let name = case["name"].as_str().unwrap();
            let config = load_case(case, release);
            let said = sentences(&config);
            let is_as_real = if real["valid"] == true {
                said.is_empty() && has_values(&real["values"], &config.root)
            } else {
                !said.is_empty() || READ_ALL_THE_SAME.contains(&(release, name))
            };
            if !is_as_real {
                wrong.push(format!("{release} {name}: real {real}\n  ours {said:?} {}", config.root));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
