//! Parity with the real programs: every case of a folder in the format of `tests/golden/README.md`.
//!
//! `CLAWSCOPE_GOLDEN=DIR` names another set, or a folder of sets; `CLAWSCOPE_GOLDEN_OUT=DIR` also writes each answer to
//! `DIR/SET/NAME.json`, and those of the one set that is named to `DIR/NAME.json` too. A shipped set that has the name of
//! a named one is not written, so that no folder mixes two sets. `CLAWSCOPE_GOLDEN_OP=OP` answers the cases of one op only.
//! An unknown op or ruleset fails, and so does a shipped folder with fewer cases of an op than it had.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clawscope::gateway::ruleset::Ruleset;
use clawscope::js::{self, Value};

use crate::golden_ops::{answer, canonical};

/// Cases of each op that a shipped folder has at least.
type Minimums = &'static [(&'static str, usize)];

const REFERENCE_CASES: Minimums = &[
    ("chunks", 26),
    ("clear_tool_uses", 31),
    ("compaction_prepare", 39),
    ("context", 73),
    ("history_limit", 32),
    ("history_share", 25),
    ("overflow_match", 14),
    ("prune", 117),
    ("repair", 29),
    ("tokens", 37),
    ("truncate", 34),
    ("truncate_session", 22),
    ("window", 18),
];
const PI_CASES: Minimums = &[
    ("append_branch", 10),
    ("branch_prepare", 6),
    ("compaction_check", 20),
    ("compaction_prepare", 30),
    ("context", 57),
    ("overflow_match", 3),
    ("tokens", 22),
];
/// Cases of releases inside and at the borders of ranges, all together.
const SPAN_CASES: Minimums = &[
    ("chat_preflight", 20),
    ("guard", 95),
    ("history_images", 44),
    ("history_limit", 55),
    ("overflow_match", 95),
    ("preflight", 35),
    ("prune", 189),
    ("reduce", 41),
    ("repair", 19),
    ("reserve", 54),
    ("tokens", 56),
    ("truncate", 98),
    ("window", 107),
];
/// Cases of all releases together.
const RELEASE_CASES: Minimums = &[
    ("chat_preflight", 325),
    ("guard", 120),
    ("history_images", 25),
    ("history_limit", 17),
    ("overflow_match", 77),
    ("preflight", 42),
    ("prune", 188),
    ("reduce", 78),
    ("repair", 80),
    ("reserve", 42),
    ("tokens", 57),
    ("truncate", 114),
    ("window", 153),
];

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

#[derive(Default, Clone, Copy)]
struct Tally {
    passed: usize,
    total: usize,
}

/// Counts by op.
type Tallies = BTreeMap<String, Tally>;

#[test]
fn every_golden_case_matches_the_real_programs() {
    match named_folder() {
        Some(root) if root.join("set.json").exists() => {
            let out = std::env::var_os("CLAWSCOPE_GOLDEN_OUT").map(PathBuf::from);
            assert!(answered(&root, &[out, out_of(&root)]).1, "cases failed");
        }
        Some(root) => _ = every_set(&root),
        None => every_case(&folder("golden"), REFERENCE_CASES),
    }
}

/// The set, or the folder of sets, that the environment names.
fn named_folder() -> Option<PathBuf> {
    let named = PathBuf::from(std::env::var_os("CLAWSCOPE_GOLDEN")?);
    Some(named.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", named.display())))
}

#[test]
fn every_golden_case_of_todays_pi_matches_it() {
    every_case(&folder("golden-pi-1.5"), PI_CASES);
}

#[test]
fn every_golden_case_of_every_release_matches_it() {
    let tallies = every_set(&folder("golden-releases"));
    assert_minimums("golden-releases", &tallies, RELEASE_CASES);
}

#[test]
fn every_golden_case_of_a_release_inside_a_range_matches_it() {
    let tallies = every_set(&folder("golden-spans"));
    assert_minimums("golden-spans", &tallies, SPAN_CASES);
}

/// Neighbours that no case tells apart: the reference and the release before it, a time limit, and what a restart keeps.
const ALIKE_IN_CASES: [(&str, &str); 3] =
    [("2026.3.1", "2026.3.2"), ("2026.6.1", "2026.6.6"), ("2026.8.1", "2026.9.2")];

#[test]
fn every_breakpoint_has_a_case_that_separates_older_from_newer_releases() {
    let gateways: Vec<Ruleset> = Ruleset::all_known().filter(|ruleset| !ruleset.is_pi()).collect();
    let mut lines = Vec::new();
    for pair in gateways.windows(2) {
        let (before, after) = (pair[0].id(), pair[1].id());
        if ALIKE_IN_CASES.contains(&(before, after)) {
            continue;
        }
        let case = first_difference(after, before).or_else(|| first_difference(before, after));
        let case = case.unwrap_or_else(|| panic!("no case tells {before} from {after}"));
        lines.push(format!("{before:9} → {after:9}  {case}"));
    }
    tell(&lines);
}

/// Returns the first case of a release whose answer differs under the rules of another one, with its set.
fn first_difference(own: &str, other: &str) -> Option<String> {
    sets_of(own).iter().find_map(|set| first_difference_in(set, own, other))
}

/// The sets that were recorded of the first release of a range.
fn sets_of(own: &str) -> Vec<PathBuf> {
    if own == Ruleset::default().id() {
        return vec![folder("golden")];
    }
    // Only 2026.2.6-3 was published of 2026.2.6.
    let own = if own == "2026.2.6" { "2026.2.6-3" } else { own };
    let folders = ["golden-releases", "golden-spans"].map(|name| folder(name).join(own));
    folders.into_iter().filter(|set| set.join("set.json").exists()).collect()
}

fn first_difference_in(set: &Path, own: &str, other: &str) -> Option<String> {
    let other = if other == "2026.2.6" { "2026.2.6-3" } else { other };
    let differs = |path: &PathBuf| {
        let (_, op, case) = read_case(path);
        let answered = answer(&format!("openclaw-{other}"), &op, &case, set)?;
        let expected = read_json(&set.join("expected").join(path.file_name()?));
        (canonical(&answered) != canonical(&expected)).then_some(())
    };
    let case = cases(set).into_iter().find(|path| differs(path).is_some())?;
    Some(format!("{own}/{}", case.file_stem()?.to_string_lossy()))
}

/// A case: its name, its op and all of it.
fn read_case(path: &Path) -> (String, String, Value) {
    let case = read_json(path);
    let name = path.file_stem().expect("a file").to_string_lossy().into_owned();
    let op = case.get("op").and_then(Value::as_str).expect("a case names its op").to_string_lossy();
    (name, op, case)
}

/// The sets of a folder, sorted.
fn sets(root: &Path) -> Vec<PathBuf> {
    let sets = fs::read_dir(root).unwrap_or_else(|error| panic!("{}: {error}", root.display()));
    let mut sets: Vec<PathBuf> = sets.filter_map(|item| item.ok().map(|item| item.path())).collect();
    sets.retain(|set| set.join("set.json").exists());
    sets.sort();
    sets
}

/// Answers every set of a folder; returns the cases of all of them.
fn every_set(root: &Path) -> Tallies {
    let sets = sets(root);
    assert!(!sets.is_empty(), "{}: no set.json in it, nor in a folder of it", root.display());
    let (mut failed, mut all) = (Vec::new(), Tallies::new());
    for set in &sets {
        let (tallies, passed) = answered(set, &[None, out_of(set)]);
        failed.extend((!passed).then_some(set));
        for (op, tally) in tallies {
            let sum = all.entry(op).or_default();
            *sum = Tally { passed: sum.passed + tally.passed, total: sum.total + tally.total };
        }
    }
    assert!(failed.is_empty(), "cases failed in {failed:?}");
    all
}

fn every_case(root: &Path, minimums: Minimums) {
    let (tallies, passed) = answered(root, &[None, out_of(root)]);
    assert!(passed, "cases failed");
    assert_minimums(&root.display().to_string(), &tallies, minimums);
}

/// Fails when a folder lost cases, unless the environment selects one op.
fn assert_minimums(folder: &str, tallies: &Tallies, minimums: Minimums) {
    if std::env::var_os("CLAWSCOPE_GOLDEN_OP").is_some() {
        return;
    }
    for (op, minimum) in minimums {
        let passed = tallies.get(*op).map_or(0, |tally| tally.passed);
        assert!(passed >= *minimum, "{folder}: {passed} cases of {op}, of at least {minimum}");
    }
}

/// Returns the folder for a set's answers; each set has its own.
fn out_of(root: &Path) -> Option<PathBuf> {
    let out = PathBuf::from(std::env::var_os("CLAWSCOPE_GOLDEN_OUT")?);
    let named = named_folder().map_or_else(Vec::new, |named| {
        if named.join("set.json").exists() { vec![named] } else { sets(&named) }
    });
    let root = root.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", root.display()));
    Some(out.join(out_name(&root, &named)?))
}

/// Returns the name of a set's own folder; `None` if a named set uses it. Paths are canonical.
fn out_name(root: &Path, named: &[PathBuf]) -> Option<PathBuf> {
    let name = root.file_name()?;
    let taken = named.iter().any(|set| set != root && set.file_name() == Some(name));
    (!taken).then(|| name.into())
}

#[test]
fn no_folder_receives_the_answers_of_two_sets() {
    let named = ["/cases/golden-pi-1.5".into(), "/cases/other".into()];
    let name = |root: &str| out_name(Path::new(root), &named);
    assert_eq!(name("/cases/golden-pi-1.5"), Some("golden-pi-1.5".into()));
    assert_eq!(name("/tests/golden-pi-1.5"), None, "the named set goes there");
    assert_eq!(name("/tests/golden-releases/2026.9.6"), Some("2026.9.6".into()));
    assert_eq!(name("/"), None);
    let shipped: Vec<PathBuf> = sets(&folder("golden-releases"))
        .into_iter()
        .chain([folder("golden"), folder("golden-pi-1.5")])
        .collect();
    let mut names: Vec<_> = shipped.iter().filter_map(|set| set.file_name()).collect();
    names.sort();
    names.dedup();
    assert!(names.len() == shipped.len() && names.len() > 20, "{names:?}");
}

#[test]
fn an_unknown_op_and_an_unknown_ruleset_fail() {
    let dir = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        let mut file = fs::File::create(path).expect("a file");
        file.write_all(text.as_bytes()).expect("written");
    };
    write("cases/one.json", r#"{"op":"unheard_of"}"#);
    write("expected/one.json", "{}");
    for ruleset in ["openclaw-2026.3.2", "openclaw-2026.9.2", "openclaw-1.0.0", "pi-1.5.2", "other"] {
        write("set.json", &format!(r#"{{"ruleset":"{ruleset}"}}"#));
        assert!(!check_set(dir.path(), &[None, None]).is_passed(), "{ruleset}");
    }
    write("set.json", r#"{"ruleset":"openclaw-1.0.0"}"#);
    write("cases/one.json", r#"{"op":"window","settings":{}}"#);
    assert!(!check_set(dir.path(), &[None, None]).is_passed(), "no such release");
}

/// The answers of a set and the recorded ones.
#[derive(Default)]
struct Checked {
    tallies: Tallies,
    failures: Vec<String>,
}

impl Checked {
    fn is_passed(&self) -> bool {
        self.failures.is_empty()
    }
}

/// Answers the cases of a set and reports them; returns the counts, and whether all match the recorded ones.
fn answered(root: &Path, outs: &[Option<PathBuf>; 2]) -> (Tallies, bool) {
    let checked = check_set(root, outs);
    report(root, &checked.tallies, &checked.failures);
    let passed = checked.is_passed();
    (checked.tallies, passed)
}

/// Answers the cases of a set. The answers are written to these folders.
fn check_set(root: &Path, outs: &[Option<PathBuf>; 2]) -> Checked {
    let ruleset = read_json(&root.join("set.json"));
    let ruleset = ruleset.get("ruleset").and_then(Value::as_str).expect("set.json names a ruleset");
    let ruleset = ruleset.to_string_lossy();
    let only = std::env::var("CLAWSCOPE_GOLDEN_OP").ok();
    let mut checked = Checked::default();
    for path in cases(root) {
        let (name, op, case) = read_case(&path);
        if only.as_ref().is_some_and(|only| *only != op) {
            continue;
        }
        let tally = checked.tallies.entry(op.clone()).or_default();
        tally.total += 1;
        let Some(answer) = answer(&ruleset, &op, &case, root) else {
            checked.failures.push(format!("{name}: no op {op} under {ruleset}"));
            continue;
        };
        for out in outs.iter().flatten() {
            fs::create_dir_all(out).expect("the folder for answers");
            let mut file = fs::File::create(out.join(format!("{name}.json"))).expect("the answer's file");
            file.write_all(js::stringify(&answer).as_bytes()).expect("the answer");
        }
        let expected = read_json(&root.join("expected").join(format!("{name}.json")));
        if canonical(&answer) == canonical(&expected) {
            tally.passed += 1;
        } else {
            let (got, want) = (shown(&answer), shown(&expected));
            checked.failures.push(format!("{name}\n   got  {got}\n   want {want}"));
        }
    }
    checked
}

fn shown(value: &Value) -> String {
    canonical(value).chars().take(1500).collect()
}

fn report(root: &Path, tallies: &Tallies, failures: &[String]) {
    let mut lines: Vec<String> =
        failures.iter().take(20).map(|failure| format!("FAILED {failure}")).collect();
    for (op, tally) in tallies {
        lines.push(format!("{op:22} {:4}/{}", tally.passed, tally.total));
    }
    let (passed, total) =
        tallies.values().fold((0, 0), |(passed, total), tally| (passed + tally.passed, total + tally.total));
    let folder = root.file_name().unwrap_or_default().to_string_lossy();
    lines.push(format!("{folder}: cases passed: {passed}/{total}"));
    tell(&lines);
}

/// Writes past the capturing of the test harness, so that the counts are always visible.
fn tell(lines: &[String]) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{}", lines.join("\n")).expect("standard output");
}
