//! Parity with the real programs: every case of a folder in the format of `tests/golden/README.md`.
//!
//! `CLAWSCOPE_GOLDEN=DIR` names another set, or a folder of sets; `CLAWSCOPE_GOLDEN_OUT=DIR` also writes each answer to
//! `DIR/SET/NAME.json`, and those of the one set that is named to `DIR/NAME.json` too; `CLAWSCOPE_GOLDEN_OP=OP`
//! answers the cases of one op only. Ops that are not built count as not
//! passed and are listed; the others are required.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clawscope::gateway::ruleset::Ruleset;
use clawscope::js::{self, Value};

use crate::golden_ops::{BUILT, answer, canonical};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

fn read_json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    js::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn cases(root: &Path) -> Vec<PathBuf> {
    let mut cases: Vec<PathBuf> = fs::read_dir(root.join("cases"))
        .unwrap_or_else(|error| panic!("{}/cases: {error}", root.display()))
        .filter_map(|item| item.ok().map(|item| item.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    cases.sort();
    cases
}

#[derive(Default)]
struct Tally {
    passed: usize,
    total: usize,
}

#[test]
fn every_golden_case_of_a_built_op_is_answered_as_the_real_programs_do() {
    let named = std::env::var_os("CLAWSCOPE_GOLDEN").map(PathBuf::from);
    match named {
        Some(root) if root.join("set.json").exists() => {
            let out = std::env::var_os("CLAWSCOPE_GOLDEN_OUT").map(PathBuf::from);
            assert!(answered(&root, &[out, out_of(&root)]), "cases of built ops failed");
        }
        Some(root) => every_set(&root),
        None => every_case(&folder("golden")),
    }
}

#[test]
fn every_golden_case_of_todays_pi_is_answered_as_it_does() {
    every_case(&folder("golden-pi-1.5"));
}

#[test]
fn every_golden_case_of_every_release_is_answered_as_it_does() {
    every_set(&folder("golden-releases"));
}

#[test]
fn every_breakpoint_has_a_case_that_shows_the_releases_before_it_from_those_after_it() {
    let gateways: Vec<Ruleset> = Ruleset::all_known().filter(|ruleset| !ruleset.is_pi()).collect();
    let mut lines = Vec::new();
    for pair in gateways.windows(2) {
        let (before, after) = (pair[0].id(), pair[1].id());
        let case = told_apart(after, before).or_else(|| told_apart(before, after));
        let case = case.unwrap_or_else(|| panic!("no case tells {before} from {after}"));
        lines.push(format!("{before:9} → {after:9}  {case}"));
    }
    tell(&lines);
}

/// A case of a release that the rules of another answer otherwise, with the set it is in.
fn told_apart(own: &str, other: &str) -> Option<String> {
    let set =
        if own == Ruleset::default().id() { folder("golden") } else { folder("golden-releases").join(own) };
    let differs = |path: &PathBuf| {
        let (_, op, case) = read_case(path);
        let answered = answer(&format!("openclaw-{other}"), &op, &case, &set)?;
        let expected = read_json(&set.join("expected").join(path.file_name()?));
        (canonical(&answered) != canonical(&expected)).then_some(())
    };
    let case = cases(&set).into_iter().find(|path| differs(path).is_some())?;
    Some(format!("{own}/{}", case.file_stem()?.to_string_lossy()))
}

/// A case: its name, its op and all of it.
fn read_case(path: &Path) -> (String, String, Value) {
    let case = read_json(path);
    let name = path.file_stem().expect("a file").to_string_lossy().into_owned();
    let op = case.get("op").and_then(Value::as_str).expect("a case names its op").to_string_lossy();
    (name, op, case)
}

/// Every set of a folder.
fn every_set(root: &Path) {
    let sets = fs::read_dir(root).unwrap_or_else(|error| panic!("{}: {error}", root.display()));
    let mut sets: Vec<PathBuf> = sets.filter_map(|item| item.ok().map(|item| item.path())).collect();
    sets.retain(|set| set.join("set.json").exists());
    sets.sort();
    assert!(!sets.is_empty(), "{}: no set.json in it, nor in a folder of it", root.display());
    let failed: Vec<PathBuf> = sets.into_iter().filter(|set| !answered(set, &[None, out_of(set)])).collect();
    assert!(failed.is_empty(), "cases failed in {failed:?}");
}

fn every_case(root: &Path) {
    assert!(answered(root, &[None, out_of(root)]), "cases of built ops failed");
}

/// Where the answers of a set go: each has a folder of its own.
fn out_of(root: &Path) -> Option<PathBuf> {
    let set = root.file_name().unwrap_or_default();
    std::env::var_os("CLAWSCOPE_GOLDEN_OUT").map(|out| PathBuf::from(out).join(set))
}

/// Answers the cases of a set; whether all are as they were recorded. The answers are written to these folders.
fn answered(root: &Path, outs: &[Option<PathBuf>; 2]) -> bool {
    let ruleset = read_json(&root.join("set.json"));
    let ruleset = ruleset.get("ruleset").and_then(Value::as_str).expect("set.json names a ruleset");
    let only = std::env::var("CLAWSCOPE_GOLDEN_OP").ok();
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    let mut failures = Vec::new();
    for path in cases(root) {
        let (name, op, case) = read_case(&path);
        if only.as_ref().is_some_and(|only| *only != op) {
            continue;
        }
        let tally = tallies.entry(op.clone()).or_default();
        tally.total += 1;
        let Some(answer) = answer(&ruleset.to_string_lossy(), &op, &case, root) else { continue };
        for out in outs.iter().flatten() {
            fs::create_dir_all(out).expect("the folder for answers");
            let mut file = fs::File::create(out.join(format!("{name}.json"))).expect("the answer's file");
            file.write_all(js::stringify(&answer).as_bytes()).expect("the answer");
        }
        let expected = read_json(&root.join("expected").join(format!("{name}.json")));
        if canonical(&answer) == canonical(&expected) {
            tally.passed += 1;
        } else {
            failures.push(format!("{name}\n   got  {}\n   want {}", shown(&answer), shown(&expected)));
        }
    }
    report(root, &tallies, &failures);
    failures.is_empty()
}

fn shown(value: &Value) -> String {
    canonical(value).chars().take(1500).collect()
}

fn report(root: &Path, tallies: &BTreeMap<String, Tally>, failures: &[String]) {
    let mut lines: Vec<String> =
        failures.iter().take(20).map(|failure| format!("FAILED {failure}")).collect();
    for (op, tally) in tallies {
        let built = if BUILT.contains(&op.as_str()) { "" } else { "   (not built yet)" };
        lines.push(format!("{op:22} {:4}/{}{built}", tally.passed, tally.total));
    }
    let (passed, total) =
        tallies.values().fold((0, 0), |(passed, total), tally| (passed + tally.passed, total + tally.total));
    let folder = root.file_name().unwrap_or_default().to_string_lossy();
    lines.push(format!("{folder}: cases passed: {passed}/{total}"));
    tell(&lines);
}

/// Written past the capturing of the test harness: the counts are always to be seen.
fn tell(lines: &[String]) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{}", lines.join("\n")).expect("standard output");
}
