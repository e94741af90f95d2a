//! Arguments of commands that write: summaries, branches and exports.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::session::SessionArgs;
use super::settings::{PlanArgs, SUMMARIZERS};

/// The formats of `export`.
const FORMATS: [&str; 5] = ["html", "md", "json", "svg", "pi"];

#[derive(Debug, Args)]
pub struct SummarizeArgs {
    #[command(flatten)]
    pub target: SessionArgs,
    /// End the branch at this entry: its id or the unique start of one [default: the active leaf]
    #[arg(long, value_name = "ID")]
    pub leaf: Option<String>,
    /// Write the summary with this summarizer [default: config.toml, else extractive]
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(SUMMARIZERS))]
    pub with: Option<String>,
    /// Add instructions, like the text after /compact; extractive cannot use them
    #[arg(long, value_name = "TEXT")]
    pub instructions: Option<String>,
    /// Only list the calls that the gateway would make, with tokens and cost
    #[arg(long, conflicts_with_all = ["with", "instructions"])]
    pub calls: bool,
}

#[derive(Debug, Args)]
pub struct CommitArgs {
    #[command(flatten)]
    pub target: SessionArgs,
    #[command(flatten)]
    pub plan: PlanArgs,
    /// Make the branch that ends with this entry the active one: its id or the unique start of one; no policy runs
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
    /// Undo this commit or undo and everything after it; `clawscope commits` lists ids [default: the last commit]
    #[arg(long, value_name = "ID", conflicts_with = "redo")]
    pub commit: Option<String>,
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
    /// The session: its key, its id or the unique start of one, or a transcript's path
    pub session: String,
    /// Write this format: html, md, json, svg (a picture of the screen) or pi (a transcript that the runtime opens)
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(FORMATS))]
    pub format: String,
    /// End the branch at this entry: its id or the unique start of one [default: the active leaf]
    #[arg(long, value_name = "ID")]
    pub leaf: Option<String>,
    /// Write to this file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
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
    /// The plan to include, if any of these options is set.
    #[command(flatten)]
    pub plan: PlanArgs,
}
