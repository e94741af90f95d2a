//! The dataset: sums that equal `--json`, runs that read only changed sessions, no words without `--text`, and common
//! engines.

mod engines;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clawscope::dataset::Table;
use clawscope::dataset::encode::read_rows;
use clawscope::dataset::rows::{Rows, Values};
use serde_json::{Value, json};

use crate::support::driver::write_demo;
use crate::support::store::{Store, message, program, run};

/// The Parquet files below a folder, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(items) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = items.map(|item| item.unwrap().path());
    let mut found: Vec<PathBuf> = paths
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "parquet"))
        .collect();
    found.sort();
    found
}

/// Every row of a table, each as its columns that are not null.
fn rows(root: &Path, table: Table) -> Vec<BTreeMap<&'static str, Value>> {
    let mut all = Rows::new(table);
    for path in files(&root.join(table.name())) {
        read_rows(table, File::open(path).unwrap(), |rows| {
            all.append(rows);
            Ok(())
        })
        .unwrap();
    }
    let mut found = vec![BTreeMap::new(); all.len()];
    for cells in all.cells {
        let mut values: Box<dyn Iterator<Item = Value>> = match cells.values {
            Values::Text(values) => {
                let texts: Vec<Value> = values.iter().map(|text| Value::from(&**text)).collect();
                Box::new(texts.into_iter())
            }
            Values::Integer(values) => Box::new(values.into_iter().map(Value::from)),
            Values::Number(values) => Box::new(values.into_iter().map(Value::from)),
            Values::Boolean(values) => Box::new(values.into_iter().map(Value::from)),
        };
        for (row, present) in found.iter_mut().zip(cells.present) {
            if present {
                row.insert(cells.column.name, values.next().unwrap());
            }
        }
    }
    found
}

type Row = BTreeMap<&'static str, Value>;

/// The rows with these texts in these columns.
fn of<'a>(rows: &'a [Row], columns: &[(&str, &str)]) -> Vec<&'a Row> {
    let fits =
        |row: &&Row| columns.iter().all(|(name, text)| row.get(*name).and_then(Value::as_str) == Some(text));
    rows.iter().filter(fits).collect()
}

fn sum<'a>(rows: impl IntoIterator<Item = &'a Row>, column: &str) -> f64 {
    rows.into_iter().filter_map(|row| row.get(column)?.as_f64()).sum()
}

/// Sums a number over a JSON list.
fn json_sum(list: &Value, pointer: &str) -> f64 {
    list.as_array().unwrap().iter().filter_map(|item| item.pointer(pointer)?.as_f64()).sum()
}

#[track_caller]
fn assert_near(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0), "{what}: {found} and {expected}");
}

fn path(folder: &tempfile::TempDir, name: &str) -> String {
    folder.path().join(name).to_string_lossy().into_owned()
}

/// Writes a dataset; returns the program's output.
#[track_caller]
fn write(words: &[&str]) -> String {
    let words: Vec<&str> = ["export", "--format", "parquet"].iter().chain(words).copied().collect();
    let (code, output, error) = run(&mut program(&words));
    assert_eq!(code, 0, "{words:?}: {error}");
    output + &error
}

fn answer(words: &[&str]) -> Value {
    let output = program(words).arg("--json").output().unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{words:?}: {error}: {}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn every_sum_equals_that_of_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let (store, out) = (path(&folder, "store"), path(&folder, "out"));
    write_demo(Path::new(&store));
    write(&[&store, "--out", &out, "--replay", "short=contextPruning.ttl=5m"]);
    let tables: BTreeMap<Table, Vec<Row>> =
        Table::ALL.iter().map(|table| (*table, rows(Path::new(&out), *table))).collect();
    let sessions = answer(&["sessions", "--store", &store]);
    let listed = sessions["sessions"].as_array().unwrap();
    assert_eq!(tables[&Table::Sessions].len(), listed.len());
    for session in listed {
        let key = session["key"].as_str().unwrap();
        let ask = |command: &str| answer(&[command, key, "--store", &store]);
        let found = |table, more: &[(&str, &str)]| {
            of(&tables[&table], &[&[("key", key)], more].concat()).into_iter().cloned().collect::<Vec<_>>()
        };
        let row = &found(Table::Sessions, &[])[0];
        for (column, pointer) in [
            ("tokens", "/tokens/value"),
            ("cost", "/usage/cost"),
            ("calls", "/usage/calls"),
            ("window_tokens", "/window"),
        ] {
            let expected = session.pointer(pointer).and_then(Value::as_f64);
            assert_eq!(row.contains_key(column), expected.is_some(), "{key}: {column}");
            assert_near(sum([row], column), expected.unwrap_or(0.0), &format!("{key}: {column}"));
        }
        if session["path"].is_null() || session["flags"].as_array().unwrap().contains(&json!("missing")) {
            continue;
        }
        let entries = found(Table::Entries, &[]);
        let tree = ask("tree");
        assert_eq!(entries.len(), tree["nodes"].as_array().unwrap().len(), "{key}");
        assert_near(sum(&entries, "tokens"), json_sum(&tree["nodes"], "/tokens"), key);
        let replay = answer(&["replay", key, "--store", &store, "--set", "contextPruning.ttl=5m"]);
        for (trace, member) in [("recorded", "recorded"), ("short", "simulated")] {
            let calls = found(Table::Calls, &[("trace", trace)]);
            assert_eq!(calls.len(), replay["calls"].as_array().unwrap().len(), "{key}: {trace}");
            for (column, name) in [("cost", "cost"), ("tokens", "tokens"), ("cache_read", "cacheRead")] {
                let pointer = format!("/{member}/{name}");
                assert_near(
                    sum(&calls, column),
                    json_sum(&replay["calls"], &pointer),
                    &format!("{key}: {trace}"),
                );
            }
        }
        let cache = ask("cost");
        let misses = found(Table::Cache, &[]);
        assert_near(sum(&misses, "cost"), json_sum(&cache["calls"], "/cost"), key);
        assert_near(sum(&misses, "missed"), json_sum(&cache["calls"], "/miss/tokens"), key);
        let explained = ask("explain");
        assert_eq!(
            found(Table::Findings, &[("part", "finding")]).len(),
            explained["findings"].as_array().unwrap().len(),
            "{key}"
        );
        let regret = answer(&["replay", "--lost", key, "--store", &store, "--set", "contextPruning.ttl=5m"]);
        for (trace, member) in [("recorded", "recorded"), ("short", "simulated")] {
            let losses = found(Table::Losses, &[("trace", trace)]);
            let (lost, totals) = (&regret[member]["lost"], &regret[member]["totals"]);
            assert_eq!(losses.len(), lost.as_array().unwrap().len(), "{key}: {trace}");
            assert_near(sum(&losses, "quoted"), totals["quoted"].as_f64().unwrap(), key);
            assert_near(sum(&losses, "fetched_again"), totals["fetchedAgain"].as_f64().unwrap(), key);
            assert_near(sum(&losses, "repeated_cost"), totals["cost"].as_f64().unwrap_or(0.0), key);
        }
        let settings = ask("settings");
        assert_eq!(
            found(Table::Settings, &[]).len(),
            settings["settings"].as_array().unwrap().len(),
            "{key}"
        );
    }
    let overflows = of(&tables[&Table::Events], &[]).into_iter().filter(|row| row["overflow"] == true);
    assert!(overflows.count() > 0 && !tables[&Table::Losses].is_empty(), "the demo has overflows and losses");
}

#[test]
fn a_second_run_reads_only_changed_sessions() {
    let store = Store::new();
    let folder = tempfile::tempdir().unwrap();
    let (place, out) = (store.path().to_string_lossy().into_owned(), path(&folder, "out"));
    let again = || write(&[&place, "--out", &out]);
    assert!(again().contains("1 read, 0 unchanged, 0 removed"));
    let manifest = || std::fs::read_to_string(Path::new(&out).join("manifest.json")).unwrap();
    let first = manifest();
    assert!(again().contains("0 read, 1 unchanged, 0 removed"));
    assert_eq!(manifest(), first);
    let before = rows(Path::new(&out), Table::Entries).len();
    store.append(&message("zz1", Some("zz0"), &json!({ "role": "user", "content": "more" })));
    assert!(again().contains("1 read, 0 unchanged, 0 removed"));
    assert_eq!(rows(Path::new(&out), Table::Entries).len(), before + 1);
    // Another trace makes every session read again.
    let words = [&place, "--out", &out, "--replay", "off=contextPruning.mode=off"].map(|word: &str| word);
    assert!(write(&words).contains("1 read, 0 unchanged"));
    store.write_rows(&json!({}));
    std::fs::remove_file(store.transcript()).unwrap();
    assert!(again().contains("0 read, 0 unchanged, 1 removed"));
    assert!(rows(Path::new(&out), Table::Entries).is_empty());
    assert!(files(Path::new(&out)).is_empty());
}

#[test]
fn a_run_keeps_sessions_of_other_stores_and_hosts() {
    let (one, other) = (Store::new(), Store::new());
    let folder = tempfile::tempdir().unwrap();
    let out = path(&folder, "out");
    let [first, second] = [&one, &other].map(|store| store.path().to_string_lossy().into_owned());
    write(&[&first, "--out", &out, "--host", "left"]);
    write(&[&second, "--out", &out, "--host", "right/../x"]);
    let found = rows(Path::new(&out), Table::Sessions);
    assert_eq!(found.len(), 2);
    let paths = files(&Path::new(&out).join("sessions"));
    let hosts: Vec<String> = paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    assert!(
        hosts[0].contains("/host=left/day=") && hosts[1].contains("/host=right%2F..%2Fx/day="),
        "{hosts:?}"
    );
    assert!(
        write(&[&first, &second, &first, "--out", &out, "--host", "left"]).contains("1 read, 1 unchanged")
    );
}

/// Copies every file below a folder but the manifest, as `rsync -a --exclude manifest.json` does.
fn copy_rows(from: &Path, to: &Path) {
    for item in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(item.file_name());
        if item.path().is_dir() {
            std::fs::create_dir_all(&target).unwrap();
            copy_rows(&item.path(), &target);
        } else if item.file_name() != "manifest.json" {
            std::fs::copy(item.path(), target).unwrap();
        }
    }
}

#[test]
fn rows_copied_from_another_machine_are_kept() {
    let (here, there) = (Store::new(), Store::new());
    let folder = tempfile::tempdir().unwrap();
    let (own, other) = (path(&folder, "own"), path(&folder, "other"));
    let [here_path, there_path] = [&here, &there].map(|store| store.path().to_string_lossy().into_owned());
    write(&[&here_path, "--out", &own, "--host", "here"]);
    write(&[&there_path, "--out", &other, "--host", "there"]);
    copy_rows(Path::new(&other), Path::new(&own));
    here.append(&message("zz1", Some("zz0"), &json!({ "role": "user", "content": "more" })));
    assert!(write(&[&here_path, "--out", &own, "--host", "here"]).contains("1 read, 0 unchanged, 0 removed"));
    let hosts = |out: &str| files(&Path::new(out).join("entries")).len();
    assert_eq!([hosts(&own), hosts(&other)], [2, 1]);
    let entries = |out: &str| rows(Path::new(out), Table::Entries).len();
    assert_eq!(entries(&own), 2 * entries(&other) + 1);
    assert_eq!(rows(Path::new(&own), Table::Sessions).len(), 2);
}

const PHRASE: &str = "PURPLE-ELEPHANT";
const TOKEN: &str = "ghp_aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5";

/// A store with words of the conversation in every place.
fn talkative() -> Store {
    let store = Store::new();
    store.write_rows(&json!({ "agent:main:main": {
        "sessionId": "long-1", "updatedAt": 1_772_700_000_000_u64, "displayName": format!("{PHRASE} title"), "label": format!("{PHRASE} label"),
    }}));
    store.append(&message(
        "y1",
        Some("y0"),
        &json!({ "role": "user", "content": format!("{PHRASE} {TOKEN}") }),
    ));
    let refusal = format!("400 prompt is too long: 203412 tokens > 200000 maximum {PHRASE}");
    store.append(&message(
        "y2",
        Some("y1"),
        &json!({
            "role": "assistant", "content": [], "stopReason": "error", "errorMessage": refusal,
            "provider": "anthropic", "model": "claude-opus-4-5", "api": "anthropic-messages",
        }),
    ));
    store.append(&json!({ "type": "label", "id": "y3", "parentId": "y2", "timestamp": "2026-03-05T10:00:00.000Z", "targetId": "y1", "label": PHRASE }));
    store
}

fn texts(out: &str) -> String {
    let rows: Vec<Row> = Table::ALL.iter().flat_map(|table| rows(Path::new(out), *table)).collect();
    format!("{rows:#?}")
}

#[test]
fn no_words_are_written_without_text_and_no_secrets_with_it() {
    let store = talkative();
    let folder = tempfile::tempdir().unwrap();
    let (place, out) = (store.path().to_string_lossy().into_owned(), path(&folder, "out"));
    write(&[&place, "--out", &out]);
    let plain = texts(&out);
    assert!(!plain.contains(PHRASE), "{}", plain.lines().find(|line| line.contains(PHRASE)).unwrap());
    assert!(plain.contains("overflow"), "the refusal is there, without its text");
    write(&[&place, "--out", &out, "--text"]);
    let with_text = texts(&out);
    assert!(with_text.matches(PHRASE).count() >= 3, "title, text and refusal");
    assert!(!with_text.contains(TOKEN));
}

#[test]
fn mistakes_are_refused_before_anything_is_written() {
    let store = Store::new();
    let folder = tempfile::tempdir().unwrap();
    let place = store.path().to_string_lossy().into_owned();
    let full = folder.path().join("full");
    std::fs::create_dir(&full).unwrap();
    File::create(full.join("notes.txt")).unwrap().write_all(b"mine").unwrap();
    let inside = store.path().join("agents/main/sessions/out").to_string_lossy().into_owned();
    let new = path(&folder, "new");
    for (words, expected) in [
        (vec![place.as_str(), "--out", full.to_str().unwrap()], "no dataset"),
        (vec![place.as_str(), "--out", &inside], "folder of sessions"),
        (vec![place.as_str(), "--out", &new, "--replay", "x"], "NAME=SETTINGS"),
        (vec!["/nonexistent/store", "--out", &new], "/nonexistent/store"),
        (vec!["--out", &new, "--query", "overflow-per-week"], "overflows-per-week"),
        (vec!["--out", &new, "--query", "overflows-per-week"], "no dataset there"),
        (vec![place.as_str()], "--out"),
    ] {
        let words: Vec<&str> = ["export", "--format", "parquet"].into_iter().chain(words).collect();
        let (code, _, error) = run(&mut program(&words));
        assert!(code != 0 && error.contains(expected), "{words:?}: {error}");
    }
    assert_eq!(std::fs::read_dir(&full).unwrap().count(), 1);
    assert!(!Path::new(&new).exists() && !Path::new(&inside).exists());
    let (code, recipes, _) = run(&mut program(&["export", "--recipes"]));
    assert!(
        code == 0 && recipes.contains("overflows-per-week") && recipes.contains("Which models"),
        "{recipes}"
    );
}
