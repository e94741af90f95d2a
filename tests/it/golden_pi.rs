//! Parity with the releases of pi: the cases of every folder of `tests/golden-pi`, one folder a release
//! (`tests/golden-pi/README.md`).
//!
//! `CLAWSCOPE_GOLDEN_PI=DIR` names another place of such folders. A field that a release does not report is not in its
//! answers and not compared.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clawscope::gateway::ruleset::{PiRelease, Ruleset, Version};
use clawscope::js::{self, JsString, Object, Value};
use clawscope::policy::overflow::{Runtime, StopDetails, is_recognised, judge};

use crate::golden_ops::{answer_of_pi, canonical};

fn read_json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    js::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The files of a folder with this ending, in order.
fn listed(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let items =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())).flatten();
    let mut paths: Vec<PathBuf> = items.map(|item| item.path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(ending));
    paths.sort();
    paths
}

fn word(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap().to_string_lossy()
}

/// Returns the folders of releases, each with its rules.
fn releases() -> Vec<(PathBuf, Ruleset)> {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden-pi");
    let root = std::env::var_os("CLAWSCOPE_GOLDEN_PI").map_or_else(own, PathBuf::from);
    let folders = listed(&root, "").into_iter().filter(|path| path.join("set.json").is_file());
    let rules = |path: PathBuf| {
        let version: Version = word(&read_json(&path.join("set.json")), "ruleset").parse().unwrap();
        (path, version.ruleset())
    };
    folders.map(rules).collect()
}

/// The fields of an answer that the expected one has too.
fn reported(answer: &Value, expected: &Value) -> Value {
    match (answer, expected) {
        (Value::Object(answer), Value::Object(expected)) => {
            let mut object = Object::default();
            for (key, value) in answer.iter() {
                if let Some(other) = expected.get(&key.to_string_lossy()) {
                    object.insert(key.clone(), reported(value, other));
                }
            }
            Value::Object(object)
        }
        (other, _) => other.clone(),
    }
}

fn shown(value: &Value) -> String {
    canonical(value).chars().take(1500).collect()
}

/// Returns the error texts that a release classifies: an overflow, or none.
fn overflows(release: &str, case: &Value) -> Value {
    let settings = case.get("settings").unwrap();
    let provider = settings.get("provider").and_then(Value::as_str).map(JsString::to_string_lossy);
    let judged = settings.get("errorMessages").and_then(Value::as_array).unwrap().iter().map(|text| {
        let said = StopDetails {
            provider: provider.clone().unwrap_or_default(),
            stop_reason: "error".to_owned(),
            message: text.as_str().unwrap().to_string_lossy(),
            codes: Vec::new(),
        };
        Value::Bool(is_recognised(&said, &judge(&said), Runtime::Pi(release)).unwrap())
    });
    Value::Array(judged.collect())
}

/// The answer to a case. Error texts change with single releases, so the exact release is tested.
fn answered(folder: &Path, case: &Value, pi: PiRelease) -> Value {
    let op = word(case, "op");
    if op != "overflow_match" {
        return answer_of_pi(pi, &op, case, folder).unwrap();
    }
    let strings = overflows(&folder.file_name().unwrap().to_string_lossy(), case);
    let result = Value::Object(Object::from([("strings", strings)]));
    Value::Object(Object::from([("op", Value::from(op.as_str())), ("result", result)]))
}

/// Returns the failures of a case; `None` if the answer matches the release's.
fn failure(folder: &Path, path: &Path, pi: PiRelease) -> Option<String> {
    let case = read_json(path);
    let expected = read_json(&folder.join("expected").join(path.file_name().unwrap()));
    let answer = reported(&answered(folder, &case, pi), &expected);
    (canonical(&answer) != canonical(&expected))
        .then(|| format!("{}\n   got  {}\n   want {}", path.display(), shown(&answer), shown(&expected)))
}

#[test]
fn every_release_of_pi_is_matched() {
    let mut counts: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    let mut failures = Vec::new();
    for (folder, ruleset) in releases() {
        let release = folder.file_name().unwrap().to_string_lossy().into_owned();
        for path in listed(&folder.join("cases"), ".json") {
            let failure = failure(&folder, &path, ruleset.rules().pi);
            let [passed, total] = counts.entry(format!("{release} by {}", ruleset.id())).or_default();
            *passed += usize::from(failure.is_none());
            *total += 1;
            failures.extend(failure);
        }
    }
    let mut lines: Vec<String> =
        failures.iter().take(25).map(|failure| format!("FAILED {failure}")).collect();
    lines.extend(counts.iter().map(|(name, [passed, total])| format!("pi {name}: {passed}/{total}")));
    // Written past the capturing of the test harness, so that the counts are always visible.
    writeln!(std::io::stdout().lock(), "\n{}", lines.join("\n")).unwrap();
    assert!(failures.is_empty(), "{} cases failed", failures.len());
    assert!(!counts.is_empty(), "there are no cases");
}
