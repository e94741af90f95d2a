//! `--query FILE|RECIPE`: runs SQL on a dataset with the person's own DuckDB.

use std::io::{self, ErrorKind, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::command::environment::Invocation;
use crate::command::failure::Failure;
use crate::command::output::Output;
use crate::command::suggest::did_you_mean;
use crate::dataset::documentation::views;
use crate::dataset::folder;
use crate::dataset::recipes::RECIPES;
use crate::doc::{Align, Cell, Table, Tone};
use crate::files::{SMALL_FILE_BYTES, read_text};
use crate::gateway::env::absolute;
use crate::text::visible;

/// The program that runs queries.
pub(in crate::command) const PROGRAM: &str = "duckdb";

/// Reads the query: a recipe by its name, else a file.
pub(super) fn read(query: &Path, invocation: &Invocation) -> Result<String, Failure> {
    let path = absolute(&invocation.env.cwd, query);
    let name = query.to_string_lossy();
    if let Some(recipe) = RECIPES.iter().find(|recipe| recipe.name == name && !path.exists()) {
        return Ok(recipe.sql.to_owned());
    }
    read_text(&path, SMALL_FILE_BYTES).map_err(|error| {
        let near = did_you_mean(&name, RECIPES.iter().map(|recipe| recipe.name));
        let names = RECIPES.map(|recipe| recipe.name).join(", ");
        let why = match error.kind() {
            ErrorKind::NotFound => "the file does not exist".to_owned(),
            _ => format!("cannot read the file: {error}"),
        };
        Failure::usage(format!("--query {name}: {why}. Name a file with SQL, or a recipe: {names}.{near}"))
    })
}

/// Runs the query in the dataset's folder and prints the answer. The views are made here and not read from the dataset:
/// a file in another person's dataset could hold commands for the program.
pub(super) fn run(root: &Path, sql: &str, output: &mut Output) -> Result<(), Failure> {
    let Some(manifest) = folder::manifest(root)? else {
        return Err(Failure::unreadable(format!(
            "{}: no dataset there. Name another folder, or write it first: clawscope export --format parquet --out DIR",
            root.display()
        )));
    };
    let sql = format!("{}\n{sql}\n", views(&manifest));
    let answer = run_duckdb(root, &sql).map_err(|error| launch_failure(&error))?;
    for line in answer.text.lines() {
        writeln!(output, "{}", visible(line))?;
    }
    if !answer.succeeded || !answer.errors.is_empty() {
        return Err(Failure::unreadable(format!("--query: {PROGRAM} refused it: {}", answer.errors.trim())));
    }
    Ok(())
}

/// Lists the recipes.
pub(super) fn print_recipes(output: &mut Output) -> Result<(), Failure> {
    let mut table = Table::new(&[("recipe", Align::Left), ("answers", Align::Left)]);
    for recipe in RECIPES {
        table.push(vec![Cell::new(recipe.name, Tone::Plain), Cell::new(recipe.question(), Tone::Plain)]);
    }
    Ok(table.print(output, "")?)
}

fn launch_failure(error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::NotFound {
        return Failure::unreadable(format!(
            "--query: the program {PROGRAM} is not on the PATH. Install DuckDB's command line, or read the files with \
             another engine; `clawscope guide dataset` lists the tables."
        ));
    }
    Failure::unreadable(format!("--query: cannot run {PROGRAM}: {error}"))
}

struct Answer {
    text: String,
    errors: String,
    succeeded: bool,
}

fn run_duckdb(root: &Path, sql: &str) -> io::Result<Answer> {
    let mut child = Command::new(PROGRAM)
        .arg("-bail")
        .current_dir(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // A program that ends early, because the SQL is wrong, says so on its error stream.
        _ = input.write_all(sql.as_bytes());
    }
    let done = child.wait_with_output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Answer { text: text(&done.stdout), errors: text(&done.stderr), succeeded: done.status.success() })
}
