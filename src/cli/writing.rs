//! Arguments of commands that write: summaries, branches and exports.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::session::SessionArgs;
use super::settings::{PlanArgs, SUMMARIZERS};

/// The formats of one session.
const DOCUMENT_FORMATS: [&str; 5] = ["html", "md", "json", "svg", "pi"];
/// Other words for them.
const FORMAT_WORDS: [(&str, &str); 2] = [("markdown", "md"), ("jsonl", "pi")];
/// The format of whole stores.
const DATASET_FORMAT: &str = "parquet";

/// Parses the name of a format, or another word for it.
fn format_parser() -> impl TypedValueParser<Value = String> {
    let words = |name| FORMAT_WORDS.into_iter().filter(move |word| word.1 == name).map(|word| word.0);
    let names = DOCUMENT_FORMATS.into_iter().chain([DATASET_FORMAT]);
    PossibleValuesParser::new(names.map(|name| PossibleValue::new(name).aliases(words(name)))).map(|typed| {
        let name = FORMAT_WORDS.into_iter().find(|word| word.0 == typed);
        name.map_or(typed, |word| word.1.to_owned())
    })
}

/// The words that name the format of one session.
fn document_formats() -> impl Iterator<Item = &'static str> {
    DOCUMENT_FORMATS.into_iter().chain(FORMAT_WORDS.into_iter().map(|word| word.0))
}

#[derive(Debug, Args)]
pub struct CommitArgs {
    #[command(flatten)]
    pub target: SessionArgs,
    #[command(flatten)]
    pub plan: PlanArgs,
    /// Make the branch that ends with this entry the active one: its id or a unique prefix of it; no policy runs
    #[arg(long, visible_alias = "leaf", value_name = "ID", conflicts_with_all = ["drop", "policy", "set", "settings", "window", "now", "gates", "with"])]
    pub branch: Option<String>,
    /// Continue on a branch without these messages; a tool call leaves with its results, and a message with text loses
    /// only its images; repeatable
    #[arg(long, value_name = "ID", num_args = 1.., conflicts_with_all = ["policy", "set", "settings", "window", "now", "gates", "with"])]
    pub drop: Vec<String>,
    /// Write a compaction's summary with this summarizer [default: extractive; with --apply, config.toml, else extractive]
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(SUMMARIZERS))]
    pub with: Option<String>,
    #[command(flatten)]
    pub write: WriteArgs,
}

#[derive(Debug, Args)]
pub struct UndoArgs {
    #[command(flatten)]
    pub target: SessionArgs,
    /// Undo the last undo: the commit becomes active again
    #[arg(long)]
    pub redo: bool,
    /// Undo this commit, or this undo, and everything after it; --list shows ids [default: the last commit]
    #[arg(long, value_name = "ID", conflicts_with = "redo")]
    pub commit: Option<String>,
    /// List the commits and undos of the session, and which are active
    #[arg(long, conflicts_with_all = ["redo", "commit", "compare", "apply", "allow_orphan"])]
    pub list: bool,
    /// Compare two branches by messages, tokens and cost: the branch that ends at the first entry [default: before the last
    /// commit, else the newest other leaf] and the one that ends at the second [default: the active leaf]
    #[arg(long, value_name = "ID", num_args = 0..=2, conflicts_with_all = ["redo", "commit", "apply", "allow_orphan"])]
    pub compare: Option<Vec<String>>,
    /// With --compare: list every message [default: only those that differ]
    #[arg(long, requires = "compare")]
    pub all: bool,
    #[command(flatten)]
    pub write: WriteArgs,
}

/// The options for writing to a transcript.
#[derive(Debug, Clone, Copy, Args)]
pub struct WriteArgs {
    /// Write it; on a gateway with a database, stage a new session for its importer [default: only show what would be written]
    #[arg(long)]
    pub apply: bool,
    /// Allow writing to a transcript that the store does not list
    #[arg(long)]
    pub allow_orphan: bool,
    /// On a gateway with a database (2026.8.1 and later): let its own `openclaw` import the new session at once
    #[arg(long, requires = "apply")]
    pub run: bool,
}

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The session: its key, its id or a unique prefix of it, or a transcript's path, and the store that it is in; with
    /// --format parquet, any number of stores
    #[arg(value_name = "SESSION", required_if_eq_any = document_formats().map(|format| ("format", format)))]
    pub targets: Vec<String>,
    /// Write this format: html, md, json, svg (a picture of the screen), pi (a transcript that the runtime opens) or parquet
    /// (a folder with the sessions of whole stores, for DuckDB and Spark) [default: as --out ends]
    #[arg(long, value_name = "FORMAT", value_parser = format_parser(), required_unless_present_any = ["recipes", "out"])]
    pub format: Option<String>,
    /// End the branch at this entry: its id or a unique prefix of it [default: the active leaf]
    #[arg(long, value_name = "ID")]
    pub leaf: Option<String>,
    /// Write to this file, or with `-` to standard output [default: standard output]; with --format parquet, to this
    /// folder: new, empty, or an earlier dataset, of which only changed sessions are read again
    #[arg(short, long, value_name = "FILE|DIR")]
    pub out: Option<PathBuf>,
    /// Overwrite the file of --out if it exists
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Keep secrets and images
    #[arg(long)]
    pub no_redact: bool,
    /// Mask e-mail addresses, phone numbers, card numbers and IBANs too
    #[arg(long, conflicts_with = "no_redact")]
    pub mask_personal: bool,
    /// Replace every letter and digit and keep sizes and structure, for bug reports
    #[arg(long, conflicts_with = "no_redact")]
    pub shape_only: bool,
    /// With --format svg: draw the picture with this many columns and rows [default: 130x40]
    #[arg(long, value_name = "COLSxROWS")]
    pub size: Option<String>,
    /// With --format svg: use these colours, dark, light or mono [default: dark]
    #[arg(long, value_name = "NAME")]
    pub colours: Option<String>,
    #[command(flatten)]
    pub dataset: DatasetArgs,
    /// The plan to include, if any of these options is set.
    #[command(flatten)]
    pub plan: PlanArgs,
}

/// The options of `--format parquet`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Format parquet")]
pub struct DatasetArgs {
    /// Replay every session under these settings too: KEY=VALUE[,KEY=VALUE], a JSON5 file or a preset; repeatable
    #[arg(long, value_name = "NAME=SETTINGS")]
    pub replay: Vec<String>,
    /// Add titles, labels and the first words of every entry, with secrets masked
    #[arg(long)]
    pub text: bool,
    /// Name this machine in the folders [default: its host name]
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// Run this SQL on the dataset with your duckdb program: a file, or the name of a recipe; without a store, the dataset
    /// stays unchanged
    #[arg(long, value_name = "FILE|RECIPE")]
    pub query: Option<PathBuf>,
    /// List the recipes for --query
    #[arg(long, exclusive = true)]
    pub recipes: bool,
}

impl ExportArgs {
    /// Returns the session; empty for a dataset, which has none.
    pub fn session(&self) -> &str {
        self.targets.first().filter(|_| !self.is_dataset()).map_or("", String::as_str)
    }

    /// The file to write; `None` for standard output.
    pub fn file(&self) -> Option<&Path> {
        self.out.as_deref().filter(|out| *out != Path::new("-"))
    }

    pub fn format(&self) -> &str {
        self.format.as_deref().or_else(|| self.format_of_file()).unwrap_or(DATASET_FORMAT)
    }

    /// Returns the format of the ending of `--out`, such as `report.html`.
    fn format_of_file(&self) -> Option<&str> {
        let ending = self.file()?.extension()?.to_str()?;
        let word = FORMAT_WORDS.into_iter().find(|word| word.0 == ending).map(|word| word.1);
        let known = DOCUMENT_FORMATS.into_iter().find(|format| *format == ending);
        word.or(known)
    }

    /// Returns the id of the argument that the parser could not know to be missing: the format where the file has no
    /// ending of one, and the session of a format that the ending names.
    pub fn missing_argument(&self) -> Option<&'static str> {
        match (&self.format, self.format_of_file()) {
            (None, None) if !self.dataset.recipes => Some("format"),
            (None, Some(_)) if self.targets.is_empty() => Some("targets"),
            _ => None,
        }
    }

    pub fn is_dataset(&self) -> bool {
        self.format() == DATASET_FORMAT
    }
}
