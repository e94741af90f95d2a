//! Arguments of commands for a whole store, for releases and for settings.

use std::path::PathBuf;

use clap::Args;

use crate::session::order::SortColumn;

/// A store to list.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Read this store [default: the gateway's state dir, or the demo store without one]
    pub path: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// Sessions to list, or one to show.
#[derive(Debug, Args)]
pub struct SessionsArgs {
    /// List the sessions of this store, or show what the store knows about this session, field by field [default: the
    /// gateway's state dir, or the demo store without one]
    #[arg(value_name = "PATH|SESSION")]
    pub target: Option<String>,
    /// Find the session in this store, as with --store
    pub path: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// List only the sessions that meet every word and condition, such as '>80% model:opus'
    #[arg(long, value_name = "FILTER")]
    pub filter: Option<String>,
    /// Sort the sessions of all agents together by this column [default: by agent, the newest first]
    #[arg(long, value_enum, value_name = "COLUMN")]
    pub sort: Option<SortBy>,
    /// Reverse the order: the oldest or smallest first
    #[arg(long, requires = "sort")]
    pub reverse: bool,
    /// Show secrets in titles
    #[arg(long)]
    pub no_redact: bool,
}

/// The column that sessions are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum SortBy {
    /// Last change
    Age,
    /// Share of the window
    Fullness,
    /// Cost of all calls on every branch
    Cost,
    /// Number of compactions
    Compactions,
    /// Number of overflows
    Overflows,
}

impl From<SortBy> for SortColumn {
    fn from(sort: SortBy) -> Self {
        match sort {
            SortBy::Age => Self::Age,
            SortBy::Fullness => Self::Fullness,
            SortBy::Cost => Self::Cost,
            SortBy::Compactions => Self::Compactions,
            SortBy::Overflows => Self::Overflows,
        }
    }
}

/// Words to search for.
#[derive(Debug, Args)]
pub struct SearchArgs {
    /// Find messages that contain all these words; a word with a capital is case-sensitive
    pub text: String,
    #[command(flatten)]
    pub list: ListArgs,
    /// Print at most this many hits; 0 prints the newest 100 of every session
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub limit: usize,
    /// Show secrets in titles and lines
    #[arg(long)]
    pub no_redact: bool,
}

/// A store to examine.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    pub list: ListArgs,
    /// Finish interrupted commits
    #[arg(long)]
    pub repair: bool,
    /// Compare every transcript file, entry by entry, with its copy in the database
    #[arg(long, conflicts_with = "repair")]
    pub migration: bool,
    /// Show this program instead of a store: version, build, terminal, paths and the programs that it can use
    #[arg(long = "self", conflicts_with_all = ["path", "repair", "migration"])]
    pub about_self: bool,
}

/// Rules to print.
#[derive(Debug, Args)]
pub struct RulesArgs {
    /// Use the release of this store [default: the gateway's state dir, or the demo store without one]; or print these
    /// rules in full, by document and id, such as pruning-5.12
    #[arg(value_name = "PATH|RULE")]
    pub targets: Vec<String>,
    /// List the sections of every document of rules
    #[arg(long, conflicts_with_all = ["diff", "releases", "targets"])]
    pub sections: bool,
    /// Print only what changes from the release to this one
    #[arg(long, value_name = "RELEASE", conflicts_with = "releases")]
    pub diff: Option<String>,
    /// List every ruleset and its releases
    #[arg(long)]
    pub releases: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// Settings to list.
#[derive(Debug, Args)]
pub struct SettingsArgs {
    /// List the values of this session [default: those of the store, for a window of 200,000 tokens]
    pub session: Option<String>,
    /// Find the session in this store, as with --store
    pub path: Option<PathBuf>,
    /// List your presets: named sets of settings, for --settings
    #[arg(long, conflicts_with_all = ["session", "markdown"])]
    pub presets: bool,
    /// Print a Markdown table of keys, defaults and releases, the same for every store
    #[arg(long, conflicts_with_all = ["json", "session"])]
    pub markdown: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}
