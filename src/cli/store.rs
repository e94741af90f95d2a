//! Arguments of commands for a whole store, for releases and for settings.

use std::path::{MAIN_SEPARATOR, Path, PathBuf};

use clap::Args;

use super::Command;
use crate::rulebook::begins_citation;
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

/// A place that a command reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadPlace<'a> {
    /// No store, or none but the gateway's own: the command refuses the demo store.
    NoStore,
    /// This path, else the store of the options.
    Store(Option<&'a Path>),
    /// The transcript with this path, else a session in the store of the options.
    Session(&'a str),
}

/// Whether a word that may be a store or a session names a store: it has the form of a path, or one exists.
pub fn names_store(word: &str, cwd: &Path) -> bool {
    word.contains(['/', MAIN_SEPARATOR]) || matches!(word, "." | "..") || cwd.join(word).exists()
}

impl SessionsArgs {
    /// Returns the session to show; `None` where the arguments name a store to list, or nothing.
    pub fn session(&self, cwd: &Path) -> Option<&str> {
        self.target.as_deref().filter(|word| self.path.is_some() || !names_store(word, cwd))
    }
}

impl Command {
    /// Returns the place that the command reads. `cwd` is the folder that relative paths start from.
    pub fn read_place(&self, cwd: &Path) -> ReadPlace<'_> {
        let session = match self {
            Self::Sessions(args) => match args.session(cwd) {
                None => return ReadPlace::Store(args.target.as_deref().map(Path::new)),
                session => session,
            },
            Self::Search(args) => return ReadPlace::Store(args.list.path.as_deref()),
            Self::Doctor(args) if !args.about_self => return ReadPlace::Store(args.list.path.as_deref()),
            Self::Rules(args) if !args.releases && !args.sections => match args.targets.first() {
                Some(word) if begins_citation(word) || !names_store(word, cwd) => return ReadPlace::NoStore,
                word => return ReadPlace::Store(word.map(Path::new)),
            },
            Self::Explain(args) if args.all => {
                return ReadPlace::Store(args.target.as_deref().map(Path::new));
            }
            Self::Settings(args) if args.markdown || args.presets => return ReadPlace::NoStore,
            Self::Explain(args) => args.target.as_deref(),
            Self::Cost(args) => args.session.as_deref(),
            Self::Settings(args) => args.session.as_deref(),
            Self::Export(args) if args.is_dataset() => return ReadPlace::NoStore,
            Self::Export(args) => Some(args.session()),
            Self::Tree(args) => Some(args.target.session.as_str()),
            Self::Context(args) => Some(args.context.target.session.as_str()),
            Self::Simulate(args) => Some(args.context.target.session.as_str()),
            Self::Replay(args) => Some(args.target.session.as_str()),
            Self::Sweep(args) => Some(args.target.session.as_str()),
            Self::Check(args) => Some(args.target.session.as_str()),
            Self::Commit(args) => Some(args.target.session.as_str()),
            Self::Undo(args) => Some(args.target.session.as_str()),
            Self::Doctor(_)
            | Self::Rules(_)
            | Self::Watch(_)
            | Self::Guide { .. }
            | Self::Demo { .. }
            | Self::Schema { .. }
            | Self::Completions { .. }
            | Self::Man { .. } => return ReadPlace::NoStore,
        };
        session.map_or(ReadPlace::Store(None), ReadPlace::Session)
    }

    /// Returns the store that the arguments name after the session.
    pub fn store_of_session(&self) -> Option<&Path> {
        let path = match self {
            Self::Sessions(args) => &args.path,
            Self::Explain(args) => &args.path,
            Self::Cost(args) => &args.path,
            Self::Settings(args) => &args.path,
            Self::Tree(args) => &args.target.path,
            Self::Context(args) => &args.context.target.path,
            Self::Simulate(args) => &args.context.target.path,
            Self::Replay(args) => &args.target.path,
            Self::Sweep(args) => &args.target.path,
            Self::Check(args) => &args.target.path,
            Self::Commit(args) => &args.target.path,
            Self::Undo(args) => &args.target.path,
            Self::Export(args) if !args.is_dataset() => return args.targets.get(1).map(Path::new),
            _ => return None,
        };
        path.as_deref()
    }

    /// Returns the stores of a dataset.
    pub fn dataset_stores(&self) -> impl Iterator<Item = &Path> {
        let targets = match self {
            Self::Export(args) if args.is_dataset() => args.targets.as_slice(),
            _ => &[],
        };
        targets.iter().map(Path::new)
    }
}
