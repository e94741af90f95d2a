//! The command line: commands, options, their help and the guide. [`crate::command`] runs them.

pub mod guide;
mod help;

use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};

use crate::config::SummarizerKind;
use crate::redact::SecretDisplay;
use crate::session::order::SortColumn;

/// The names of the summarizers, for `--with`.
const SUMMARIZERS: [&str; 3] =
    [SummarizerKind::Extractive.as_str(), SummarizerKind::Command.as_str(), SummarizerKind::Http.as_str()];
/// The formats of `export`.
const FORMATS: [&str; 5] = ["html", "md", "json", "svg", "pi"];
/// The policies that `--policy` takes.
pub const POLICIES: [&str; 12] = [
    "compact", "truncate", "repair", "history", "images", "reduce", "check", "prune", "guard", "clear",
    "gateway", "all",
];

/// Why did this LLM session overflow its context window, and which settings would have prevented it?
#[derive(Debug, Parser)]
#[command(name = "clawscope", version, long_about = help::ABOUT, after_help = help::AFTER_HELP, after_long_help = help::after_long_help())]
#[command(override_usage = help::USAGE, max_term_width = 80)]
pub struct Cli {
    /// Open this: a state dir, an agent dir, a sessions dir, a sessions.json, a database or a transcript [default: the
    /// gateway's state dir, or the demo store without one]
    pub path: Option<PathBuf>,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Use these colours on the screen: dark, light or mono [default: dark or light, like the terminal]
    #[arg(long, value_name = "NAME", help_heading = "Screen")]
    pub theme: Option<String>,
    /// Do not capture the mouse, so that the terminal can select text
    #[arg(long, help_heading = "Screen")]
    pub no_mouse: bool,
    /// Draw with ASCII characters only
    #[arg(long, help_heading = "Screen")]
    pub ascii: bool,
    /// Print long output without a pager
    #[arg(long, global = true, help_heading = "Output")]
    pub no_pager: bool,
    /// Show times in UTC instead of the local zone; JSON is always in UTC
    #[arg(long, global = true, help_heading = "Output")]
    pub utc: bool,
    /// The command; without one the screen opens.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The store to read.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Store")]
pub struct StoreArgs {
    /// Use the built-in demo store
    #[arg(long, global = true, conflicts_with = "store")]
    pub demo: bool,
    /// Find SESSION in this store instead of the gateway's state dir
    #[arg(long, value_name = "PATH", global = true)]
    pub store: Option<PathBuf>,
    /// Read a store on another machine through this command, such as "docker exec -i NAME"; `ssh://HOST[/PATH]` as
    /// a PATH does it through ssh
    #[arg(long, value_name = "COMMAND", global = true, conflicts_with = "demo")]
    pub via: Option<String>,
    /// Use only this agent's sessions
    #[arg(long, value_name = "ID", global = true)]
    pub agent: Option<String>,
    /// Use this gateway profile, with the state dir ~/.openclaw-NAME
    #[arg(long, value_name = "NAME", global = true)]
    pub profile: Option<String>,
    /// Read this gateway configuration instead of the store's openclaw.json
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Apply the rules of this release, such as 2026.4.15 or pi-1.5; clawscope knows 2026.1.24 to 2026.9.6 and pi-0.55 to pi-1.5
    /// [default: the release that last wrote the store, else 2026.3.2]
    #[arg(long, value_name = "VERSION", global = true)]
    pub ruleset: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// List sessions with model, window, tokens and compactions
    #[command(after_long_help = help::SESSIONS)]
    Sessions(SessionsArgs),
    /// Search every transcript of a store; exit code 1 if nothing is found
    #[command(after_long_help = help::SEARCH)]
    Search(SearchArgs),
    /// Show what the store knows about a session besides its transcript, field by field
    #[command(after_long_help = help::RECORD)]
    Record(SessionArgs),
    /// Draw a transcript as a tree with sizes, branches and the active leaf
    #[command(after_long_help = help::TREE)]
    Tree(TreeArgs),
    /// Show the messages that the next call would send to the model
    #[command(after_long_help = help::CONTEXT)]
    Context(ContextViewArgs),
    /// Show how the gateway tries to recover from an overflow
    #[command(after_long_help = help::RECOVERY)]
    Recovery(SessionArgs),
    /// Explain why a session overflowed and which settings would have helped
    #[command(after_long_help = help::EXPLAIN)]
    Explain(ExplainArgs),
    /// Show what the prompt cache read and missed, why, and what it cost
    #[command(after_long_help = help::CACHE)]
    Cache(CacheArgs),
    /// Preview pruning, compaction and other policies under other settings
    #[command(after_long_help = help::SIMULATE)]
    Simulate(SimulateArgs),
    /// Replay every call of a session under other settings
    #[command(after_long_help = help::REPLAY)]
    Replay(ReplayArgs),
    /// Show what was cleared or summarised and then needed again
    #[command(after_long_help = help::REGRET)]
    Regret(RegretArgs),
    /// Try a grid of settings and find the smallest change that fits every call
    #[command(after_long_help = help::SWEEP)]
    Sweep(SweepArgs),
    /// Check that every call fits a budget; exit code 1 if one does not
    #[command(after_long_help = help::CHECK)]
    Check(CheckArgs),
    /// Print the summary that a compaction would store
    #[command(after_long_help = help::SUMMARIZE)]
    Summarize(SummarizeArgs),
    /// Write a pruned or compacted branch; without --apply, only show it
    #[command(after_long_help = help::COMMIT)]
    Commit(CommitArgs),
    /// Switch back to the branch before a commit; without --apply, only show it
    #[command(after_long_help = help::UNDO)]
    Undo(UndoArgs),
    /// List the commits and undos of a session and which are active
    #[command(after_long_help = help::COMMITS)]
    Commits(SessionArgs),
    /// Compare two branches of a session by messages, tokens and cost
    #[command(after_long_help = help::COMPARE)]
    Compare(CompareArgs),
    /// Export a session without its secrets as HTML, Markdown, JSON, SVG or JSONL
    #[command(after_long_help = help::EXPORT)]
    Export(ExportArgs),
    /// Write the sessions of stores as Parquet files, for DuckDB and Spark
    #[command(after_long_help = help::DATASET)]
    Dataset(DatasetArgs),
    /// Follow a store and print one line for each new entry
    #[command(after_long_help = help::WATCH)]
    Watch(WatchArgs),
    /// Check the store, its configuration and the settings in force
    #[command(after_long_help = help::DOCTOR)]
    Doctor(DoctorArgs),
    /// Print the rules of a gateway release, or the changes between two
    #[command(after_long_help = help::RULES)]
    Rules(RulesArgs),
    /// List every setting with its value, default, unit and meaning
    #[command(after_long_help = help::SETTINGS_HELP)]
    Settings(SettingsArgs),
    /// Print the full text of a rule, such as pruning-5.12
    #[command(after_long_help = help::RULE)]
    Rule(RuleArgs),
    /// Print a topic of the guide; without a topic, list the topics
    #[command(after_long_help = help::GUIDE)]
    Guide {
        /// Print this topic [default: list the topics]
        #[arg(value_parser = guide::topic_parser(), hide_possible_values = true)]
        topic: Option<guide::Topic>,
    },
    /// List the presets: named sets of settings, for --settings
    #[command(after_long_help = help::PRESETS)]
    Presets {
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Write the demo store to a new folder, to commit there or open it by path
    #[command(after_long_help = help::DEMO)]
    Demo {
        /// Write to this folder, which must be new or empty
        #[arg(short, long, value_name = "DIR")]
        out: PathBuf,
    },
    /// Print the JSON schema of a command's --json; without a name, list the commands
    #[command(after_long_help = help::SCHEMA)]
    Schema {
        /// Print the schema of this command, or of error
        name: Option<String>,
    },
    /// Answer another clawscope, which reads a store of this machine
    #[command(after_long_help = help::SERVE)]
    Serve(ServeArgs),
    /// Print a completion script for your shell
    #[command(after_long_help = help::COMPLETIONS)]
    Completions {
        /// Print the script for this shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page of clawscope or of one command (roff)
    #[command(after_long_help = help::MAN)]
    Man {
        /// Print the page of this command [default: clawscope]
        command: Option<String>,
        /// Write the pages of clawscope and of every command to this folder instead
        #[arg(short, long, value_name = "DIR", conflicts_with = "command")]
        out: Option<PathBuf>,
    },
}

/// The link to another clawscope.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Talk over standard input and output
    #[arg(long, required = true)]
    pub stdio: bool,
}

/// A store to list.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Read this store [default: the gateway's state dir, or the demo store without one]
    pub path: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// Sessions to list.
#[derive(Debug, Args)]
pub struct SessionsArgs {
    #[command(flatten)]
    pub list: ListArgs,
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
    /// Cost of all calls
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

/// A session to look at.
#[derive(Debug, Args)]
pub struct SessionArgs {
    /// The session: its key, its id or the unique start of one, or a transcript's path
    pub session: String,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// A transcript to draw.
#[derive(Debug, Args)]
pub struct TreeArgs {
    #[command(flatten)]
    pub target: SessionArgs,
    /// Show secrets in the rows
    #[arg(long)]
    pub no_redact: bool,
}

/// The sessions to explain.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The session: its key, its id or the unique start of one, or a transcript's path; with --all, the store
    #[arg(value_name = "SESSION", required_unless_present = "all")]
    pub target: Option<String>,
    /// Explain every session of the store, those at risk first
    #[arg(long)]
    pub all: bool,
    /// With --all: check each session against a window of N tokens, such as a fallback model's; repeatable
    #[arg(long, value_name = "N", requires = "all", value_parser = clap::value_parser!(u64).range(1..))]
    pub window: Vec<u64>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// The calls to look up in the cache ledger.
#[derive(Debug, Args)]
pub struct CacheArgs {
    /// The session: its key, its id or the unique start of one, or a transcript's path [default: the whole store]
    pub session: Option<String>,
    /// List every call [default: the newest 40]
    #[arg(long, requires = "session")]
    pub all: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// A session and a leaf.
#[derive(Debug, Args)]
pub struct ContextArgs {
    #[command(flatten)]
    pub target: SessionArgs,
    /// End the context at this entry: its id or the unique start of one [default: the active leaf]
    #[arg(long, value_name = "ID")]
    pub leaf: Option<String>,
    /// Print the messages themselves, as the runtime builds them
    #[arg(long)]
    pub messages: bool,
    /// Show secrets in the rows; --messages always shows them
    #[arg(long)]
    pub no_redact: bool,
}

#[derive(Debug, Args)]
pub struct ContextViewArgs {
    /// The session and the leaf.
    #[command(flatten)]
    pub context: ContextArgs,
    /// Show what fills the window: parts of the prompt, roles, tools, the largest messages
    #[arg(long, conflicts_with = "messages")]
    pub breakdown: bool,
    /// Compare every estimator with the provider's count, call by call
    #[arg(long, conflicts_with_all = ["messages", "breakdown", "window", "policy", "set", "settings"])]
    pub estimators: bool,
    /// With --estimators: show every call [default: the last 20]
    #[arg(long, requires = "estimators")]
    pub all: bool,
    /// Compare the gateway's recording of a run with the context that clawscope builds
    #[arg(long, conflicts_with_all = ["messages", "breakdown", "estimators", "leaf", "window", "policy", "set", "settings"])]
    pub recorded: bool,
    /// With --recorded: use the N-th newest run [default: 1, the newest]
    #[arg(long, value_name = "N", requires = "recorded")]
    pub run: Option<usize>,
    /// The settings of the next call, if any of these options is set.
    #[command(flatten)]
    pub settings: ReplaySettingsArgs,
}

/// The settings of a plan.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Settings")]
pub struct PlanArgs {
    /// Apply these policies, in the gateway's order; `gateway` means those that this release runs for a call, `all` means
    /// every one [default: prune, and the policies of the keys in --set]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = PossibleValuesParser::new(POLICIES))]
    pub policy: Vec<String>,
    /// Change a setting, by the gateway's name for it; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Read settings from a JSON or JSON5 file (an openclaw.json or its contextPruning) or from a preset; --set overrides
    /// it
    #[arg(long, value_name = "FILE|NAME")]
    pub settings: Option<PathBuf>,
    /// Infer the model's window from calls that the provider refused or answered
    #[arg(long, value_name = "learnt", value_enum)]
    pub window: Option<WindowArg>,
    /// Respect the gates, with the next call at this time: `now`, an RFC 3339 time, or ms since 1970
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub now: Option<String>,
    /// Respect the gates now: do not prune while the cache is warm or the provider is not eligible
    #[arg(long)]
    pub gates: bool,
}

/// A preview.
#[derive(Debug, Args)]
pub struct SimulateArgs {
    #[command(flatten)]
    pub context: ContextArgs,
    #[command(flatten)]
    pub plan: PlanArgs,
    /// Write the compaction's summary and count its real length; nothing is stored
    #[arg(long)]
    pub summary: bool,
    /// Write the summary with this summarizer; implies --summary [default: config.toml, else extractive]
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(SUMMARIZERS))]
    pub with: Option<String>,
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Settings")]
pub struct ReplaySettingsArgs {
    /// Infer the model's window from calls that the provider refused or answered
    #[arg(long, value_name = "learnt", value_enum)]
    pub window: Option<WindowArg>,
    /// Apply these policies, as in `simulate`; `compact` replaces the recorded compactions with those that the settings
    /// trigger [default: gateway, and the policies of the keys in --set]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = PossibleValuesParser::new(POLICIES))]
    pub policy: Vec<String>,
    /// Change a setting, by the gateway's name for it; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Read settings from a JSON or JSON5 file (an openclaw.json or its contextPruning) or from a preset; --set overrides
    /// it
    #[arg(long, value_name = "FILE|NAME")]
    pub settings: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ReplayArgs {
    #[command(flatten)]
    pub target: SessionArgs,
    #[command(flatten)]
    pub overrides: ReplaySettingsArgs,
    /// End the path at this entry: its id or the unique start of one [default: the active leaf]
    #[arg(long, value_name = "ID")]
    pub leaf: Option<String>,
    /// Show every call [default: the last 40]
    #[arg(long)]
    pub all: bool,
    /// Describe the calls in sentences instead of tables, for a screen reader
    #[arg(long, conflicts_with = "all")]
    pub timeline: bool,
}

/// The session and the settings whose losses to follow.
#[derive(Debug, Args)]
pub struct RegretArgs {
    #[command(flatten)]
    pub target: SessionArgs,
    #[command(flatten)]
    pub overrides: ReplaySettingsArgs,
    /// List every later use [default: the first 40]
    #[arg(long)]
    pub all: bool,
}

#[derive(Debug, Args)]
pub struct SweepArgs {
    #[command(flatten)]
    pub target: SessionArgs,
    /// Try these values of a setting, and always the value in force; repeatable [default: the two settings that matter
    /// most for this session]
    #[arg(long, value_name = "KEY=A..B:STEP|KEY=a,b,c")]
    pub vary: Vec<String>,
    /// Leave this much of the provider's window free: tokens, or a share such as `10%` [default: 0]
    #[arg(long, value_name = "N|PCT")]
    pub headroom: Option<String>,
    /// Show this measure in the map of two settings
    #[arg(long, value_name = "MEASURE", value_enum, default_value_t = MeasureArg::Peak)]
    pub measure: MeasureArg,
    /// Save the patch of the smallest change to this new file; clawscope never writes openclaw.json
    #[arg(long, value_name = "FILE")]
    pub patch: Option<PathBuf>,
    #[command(flatten)]
    pub overrides: ReplaySettingsArgs,
    /// End the path at this entry: its id or the unique start of one [default: the active leaf]
    #[arg(long, value_name = "ID")]
    pub leaf: Option<String>,
}

/// A window to use in place of the configured one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum WindowArg {
    /// Infer it from calls that the provider refused or answered
    Learnt,
}

/// The measure that a map of cells shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum MeasureArg {
    /// The largest prompt
    Peak,
    /// The cost of calls and summaries
    Cost,
    /// The number of calls that do not fit
    Overflows,
    /// The tokens removed from prompts
    Cleared,
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    pub target: SessionArgs,
    /// The limit for every prompt: tokens, or a share of the provider's window such as `80%` [default: the window]
    #[arg(long, value_name = "N|PCT", default_value = "100%", hide_default_value = true)]
    pub budget: String,
    #[command(flatten)]
    pub overrides: ReplaySettingsArgs,
}

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

#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The session: its key, its id or the unique start of one, or a transcript's path
    pub session: String,
    /// End the first branch at this entry: its id or the unique start of one [default: the leaf before the last commit,
    /// else the newest other leaf]
    #[arg(value_name = "LEAF")]
    pub first: Option<String>,
    /// End the second branch at this entry [default: the active leaf]
    #[arg(value_name = "LEAF")]
    pub second: Option<String>,
    /// List every message [default: only those that differ]
    #[arg(long)]
    pub all: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// The options for writing to a transcript.
#[derive(Debug, Clone, Copy, Args)]
pub struct WriteArgs {
    /// Write to the transcript [default: only show what would be written]
    #[arg(long)]
    pub apply: bool,
    /// Allow writing to a transcript that the store does not list
    #[arg(long)]
    pub allow_orphan: bool,
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
    /// Draw the picture with this many columns and rows
    #[arg(long, value_name = "COLSxROWS", default_value = "130x40")]
    pub size: String,
    /// Use these colours in the picture: dark, light or mono
    #[arg(long, value_name = "NAME", default_value = "dark")]
    pub colours: String,
    /// The plan to include, if any of these options is set.
    #[command(flatten)]
    pub plan: PlanArgs,
}

/// A dataset to write or to query.
#[derive(Debug, Args)]
pub struct DatasetArgs {
    /// Read these stores [default: the gateway's state dir]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Write to this folder: new, empty, or an earlier dataset, of which only changed sessions are read again
    #[arg(short, long, value_name = "DIR", required_unless_present = "recipes")]
    pub out: Option<PathBuf>,
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

/// A store to follow.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Follow this store [default: the gateway's state dir]
    pub path: Option<PathBuf>,
    /// Follow only this session
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
    /// Alert when a session fills this share of its window, such as 80%; repeat it for several
    #[arg(long, value_name = "SHARE", value_parser = crate::config::parse_share)]
    pub alert: Vec<f64>,
    /// Print one JSON object per line instead of text
    #[arg(long)]
    pub json: bool,
    /// Show secrets in the lines
    #[arg(long)]
    pub no_redact: bool,
}

/// Rules to print.
#[derive(Debug, Args)]
pub struct RulesArgs {
    /// Use the release of this store [default: the gateway's state dir, or the demo store without one]
    pub path: Option<PathBuf>,
    /// Print only what changes from the release to this one
    #[arg(long, value_name = "VERSION", conflicts_with = "releases")]
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
    /// Print a Markdown table of keys, defaults and releases, the same for every store
    #[arg(long, conflicts_with_all = ["json", "session"])]
    pub markdown: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// Rules to print in full.
#[derive(Debug, Args)]
pub struct RuleArgs {
    /// Print these rules, by document and id, such as pruning-5.12 [default: list the sections of every document]
    pub rule: Vec<String>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// Whether lists and rows show secrets.
pub fn secrets(no_redact: bool) -> SecretDisplay {
    if no_redact { SecretDisplay::Shown } else { SecretDisplay::Hidden }
}

impl Cli {
    /// Whether to print results and errors as JSON.
    pub fn is_json(&self) -> bool {
        match &self.command {
            Some(Command::Sessions(args)) => args.list.json,
            Some(Command::Search(args)) => args.list.json,
            Some(Command::Doctor(args)) => args.list.json,
            Some(Command::Rules(args)) => args.json,
            Some(Command::Settings(args)) => args.json,
            Some(Command::Rule(args)) => args.json,
            Some(Command::Tree(args)) => args.target.json,
            Some(Command::Record(args) | Command::Recovery(args) | Command::Commits(args)) => args.json,
            Some(Command::Compare(args)) => args.json,
            Some(Command::Explain(args)) => args.json,
            Some(Command::Cache(args)) => args.json,
            Some(Command::Context(args)) => args.context.target.json,
            Some(Command::Simulate(args)) => args.context.target.json,
            Some(Command::Replay(args)) => args.target.json,
            Some(Command::Regret(args)) => args.target.json,
            Some(Command::Sweep(args)) => args.target.json,
            Some(Command::Check(args)) => args.target.json,
            Some(Command::Summarize(args)) => args.target.json,
            Some(Command::Commit(args)) => args.target.json,
            Some(Command::Undo(args)) => args.target.json,
            Some(Command::Watch(args)) => args.json,
            Some(Command::Export(args)) => args.format == "json",
            Some(
                Command::Dataset(_)
                | Command::Guide { .. }
                | Command::Presets { .. }
                | Command::Demo { .. }
                | Command::Schema { .. }
                | Command::Completions { .. }
                | Command::Serve(_)
                | Command::Man { .. },
            )
            | None => false,
        }
    }
}

impl Cli {
    /// Returns `--settings` and `--set` of the command, if it has them.
    pub fn settings_mut(&mut self) -> Option<(&mut Option<PathBuf>, &mut Vec<String>)> {
        let overrides = match self.command.as_mut()? {
            Command::Simulate(args) => return Some((&mut args.plan.settings, &mut args.plan.set)),
            Command::Commit(args) => return Some((&mut args.plan.settings, &mut args.plan.set)),
            Command::Export(args) => return Some((&mut args.plan.settings, &mut args.plan.set)),
            Command::Context(args) => &mut args.settings,
            Command::Replay(args) => &mut args.overrides,
            Command::Regret(args) => &mut args.overrides,
            Command::Sweep(args) => &mut args.overrides,
            Command::Check(args) => &mut args.overrides,
            _ => return None,
        };
        Some((&mut overrides.settings, &mut overrides.set))
    }

    /// Returns `--settings` of the command.
    pub fn settings(&self) -> Option<&Path> {
        match self.command.as_ref()? {
            Command::Simulate(args) => args.plan.settings.as_deref(),
            Command::Commit(args) => args.plan.settings.as_deref(),
            Command::Export(args) => args.plan.settings.as_deref(),
            Command::Context(args) => args.settings.settings.as_deref(),
            Command::Replay(args) => args.overrides.settings.as_deref(),
            Command::Regret(args) => args.overrides.settings.as_deref(),
            Command::Sweep(args) => args.overrides.settings.as_deref(),
            Command::Check(args) => args.overrides.settings.as_deref(),
            _ => None,
        }
    }
}

impl Command {
    /// Whether the text is for reading, so that a pager may show it.
    pub fn is_paged(&self) -> bool {
        !matches!(
            self,
            Self::Watch(_)
                | Self::Export(_)
                | Self::Summarize(_)
                | Self::Commit(_)
                | Self::Undo(_)
                | Self::Demo { .. }
                | Self::Serve(_)
                | Self::Completions { .. }
                | Self::Man { .. }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_an_example_in_its_help() {
        for command in Cli::command().get_subcommands() {
            let help = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
            let example = format!("clawscope {}", command.get_name());
            assert!(help.contains(&example), "{}", command.get_name());
        }
    }

    #[test]
    fn lines_that_are_laid_out_by_hand_stay_whole_at_eighty_columns() {
        let mut commands = vec![Cli::command()];
        commands.extend(Cli::command().get_subcommands().cloned());
        for command in commands {
            let help = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
            for line in help.lines().filter(|line| line.starts_with("  ")) {
                assert!(line.chars().count() <= 80, "{}: {line}", command.get_name());
            }
        }
    }

    #[test]
    fn a_path_alone_opens_the_screen_and_a_command_is_distinguished_from_it() {
        let cli = Cli::try_parse_from(["clawscope", "/tmp/x"]).unwrap();
        assert!(cli.command.is_none() && cli.path == Some("/tmp/x".into()));
        let cli = Cli::try_parse_from(["clawscope", "sessions", "/tmp/x", "--agent", "main"]).unwrap();
        assert!(
            matches!(cli.command, Some(Command::Sessions(_))) && cli.store.agent.as_deref() == Some("main")
        );
    }
}
