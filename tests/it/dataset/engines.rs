//! Runs every recipe in DuckDB and Spark over the same files, and compares their counts with clawscope's.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use clawscope::dataset::recipes::RECIPES;

use super::{path, write};
use crate::support::driver::write_demo;
use crate::support::skipped;

/// Sums over the tables, which both engines must agree on.
const SUMS: &str = "SELECT count(*) AS calls, sum(tokens) AS tokens, sum(cache_read) AS cache_read, \
                    round(sum(cost), 6) AS cost FROM calls WHERE trace = 'recorded'";

const SPARK: &str = r#"
import json, sys
from pyspark.sql import SparkSession
root, queries = sys.argv[1], json.load(sys.stdin)
spark = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
         .config("spark.sql.session.timeZone", "UTC").getOrCreate())
for table in sorted(queries["tables"]):
    spark.read.parquet(root + "/" + table).createOrReplaceTempView(table)
rows = [[[str(value) for value in row] for row in spark.sql(query).collect()] for query in queries["sql"]]
print("ANSWER " + json.dumps(rows))
"#;

/// The demo as a dataset with a replay.
fn dataset(folder: &tempfile::TempDir) -> String {
    let (store, out) = (path(folder, "store"), path(folder, "out"));
    write_demo(Path::new(&store));
    write(&[&store, "--out", &out, "--replay", "short=contextPruning.ttl=5m"]);
    out
}

/// Records that an engine is missing; fails if `CLAWSCOPE_REQUIRE_ENGINES=1` requires it.
fn skip(what: &str, why: &str) {
    let required = std::env::var_os("CLAWSCOPE_REQUIRE_ENGINES").is_some_and(|value| value == "1");
    assert!(!required, "{what} is not here: {why}");
    skipped::note(what, why);
}

/// Fails if a command does not run here.
fn has(program: &str, words: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(words).stdin(Stdio::null()).output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            Err(String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default().to_owned())
        }
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn duckdb_answers_every_recipe() {
    if let Err(why) = has("duckdb", &["--version"]) {
        return skip("duckdb", &why);
    }
    let folder = tempfile::tempdir().unwrap();
    let out = dataset(&folder);
    for recipe in RECIPES {
        let answer = query(&out, recipe.name);
        // The demo has no session without a sure verdict.
        assert!(answer.contains('│') || recipe.name == "unsure-verdicts", "{}: {answer}", recipe.name);
    }
    assert!(query(&out, "regret-per-policy").contains("summarised"));
    let file = path(&folder, "sums.sql");
    std::fs::File::create(&file).unwrap().write_all(SUMS.as_bytes()).unwrap();
    assert!(query(&out, &file).contains("531"), "the calls of the demo");
}

fn query(out: &str, query: &str) -> String {
    let mut command =
        crate::support::store::program(&["export", "--format", "parquet", "--out", out, "--query", query]);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let (code, output, error) = crate::support::store::run(&mut command);
    assert_eq!(code, 0, "{query}: {error}");
    output
}

/// Runs queries in DuckDB; each answer is its rows, each row its values as text.
fn in_duckdb(out: &str, sql: &str) -> Vec<Vec<String>> {
    let views = std::fs::read_to_string(Path::new(out).join("views.sql")).unwrap();
    let sql = format!("{views}\n{}", sql.trim_end_matches([';', '\n', ' ']));
    let output = Command::new("duckdb")
        .args(["-json", "-bail", "-c", &sql])
        .current_dir(out)
        .output()
        .expect("duckdb runs");
    assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<serde_json::Map<String, serde_json::Value>> =
        if text.trim().is_empty() { Vec::new() } else { serde_json::from_str(&text).unwrap_or_default() };
    rows.into_iter().map(|row| row.into_iter().map(|(_, value)| plain(&value)).collect()).collect()
}

/// A value as both engines write it: numbers without trailing zeros.
fn plain(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Null => "None".to_owned(),
        serde_json::Value::String(text) => number(text),
        other => number(&other.to_string()),
    }
}

fn number(text: &str) -> String {
    text.parse::<f64>().map_or_else(|_| text.to_owned(), |number| number.to_string())
}

#[test]
fn spark_answers_every_recipe_as_duckdb_does() {
    if let Err(why) = has("duckdb", &["--version"]) {
        return skip("duckdb", &why);
    }
    if let Err(why) = has("java", &["-version"]) {
        return skip("Java", &why);
    }
    if let Err(why) = has("python3", &["-c", "import pyspark"]) {
        return skip("PySpark", &why);
    }
    let folder = tempfile::tempdir().unwrap();
    let out = dataset(&folder);
    let sql: Vec<&str> =
        RECIPES.iter().map(|recipe| recipe.sql.trim().trim_end_matches(';')).chain([SUMS]).collect();
    let tables = clawscope::dataset::Table::ALL.map(clawscope::dataset::Table::name);
    let mut child = Command::new("python3")
        .args(["-c", SPARK, &out])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let question = serde_json::json!({ "tables": tables, "sql": sql }).to_string();
    child.stdin.take().unwrap().write_all(question.as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&done.stdout);
    let answer = text.lines().find_map(|line| line.strip_prefix("ANSWER "));
    let answer = answer.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&done.stderr)));
    let spark: Vec<Vec<Vec<String>>> = serde_json::from_str(answer).unwrap();
    for (sql, rows) in sql.iter().zip(spark) {
        let rows: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().map(|text| number(text)).collect()).collect();
        assert_eq!(rows, in_duckdb(&out, sql), "{sql}");
    }
}
