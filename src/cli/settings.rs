//! Arguments of commands that try other settings: previews, replays, sweeps and checks.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::session::{ContextArgs, SessionArgs, WindowArg};
use crate::config::SummarizerKind;

/// The names of the summarizers, for `--with`.
pub(super) const SUMMARIZERS: [&str; 2] =
    [SummarizerKind::Extractive.as_str(), SummarizerKind::Command.as_str()];
/// The policies that `--policy` takes.
pub const POLICIES: [&str; 12] = [
    "compact", "truncate", "repair", "history", "images", "reduce", "check", "prune", "guard", "clear",
    "gateway", "all",
];

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
    /// Use a window of N tokens, as `--set contextWindow=N` does; `learnt` infers it from calls that the provider refused
    /// or answered
    #[arg(long, value_name = "N|learnt", value_parser = WindowArg::parse)]
    pub window: Option<WindowArg>,
    /// Respect the gates, with the next call at this time: `now`, an RFC 3339 time, or ms since 1970
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub now: Option<String>,
    /// Respect the gates now: do not prune while the cache is warm or the provider is not eligible
    #[arg(long)]
    pub gates: bool,
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

/// A preview.
#[derive(Debug, Args)]
pub struct SimulateArgs {
    #[command(flatten)]
    pub context: ContextArgs,
    #[command(flatten)]
    pub plan: PlanArgs,
    /// Print the summary that a compaction with the session's settings would store
    #[arg(long, conflicts_with_all = ["policy", "set", "settings", "window", "now", "gates", "messages"])]
    pub summary: bool,
    /// Write the summary with this summarizer, and count its real length [default: an assumed length; with --summary,
    /// config.toml, else extractive]
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(SUMMARIZERS))]
    pub with: Option<String>,
    /// With --summary: add instructions, like the text after /compact; extractive cannot use them
    #[arg(long, value_name = "TEXT", requires = "summary")]
    pub instructions: Option<String>,
    /// With --summary: only list the calls that the gateway would make, with tokens and cost
    #[arg(long, requires = "summary", conflicts_with_all = ["with", "instructions"])]
    pub calls: bool,
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Settings")]
pub struct ReplaySettingsArgs {
    /// Use a window of N tokens, as `--set contextWindow=N` does; `learnt` infers it from calls that the provider refused
    /// or answered
    #[arg(long, value_name = "N|learnt", value_parser = WindowArg::parse)]
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
    /// End the path at this entry: its id or a unique prefix of it [default: the active leaf]
    #[arg(long, value_name = "ID")]
    pub leaf: Option<String>,
    /// Show every call [default: the last 40]
    #[arg(long)]
    pub all: bool,
    /// Describe the calls in sentences instead of tables, for a screen reader
    #[arg(long, conflicts_with = "all")]
    pub timeline: bool,
    /// Show what was cleared or summarised and then needed again, instead of the calls
    #[arg(long, conflicts_with_all = ["leaf", "timeline"])]
    pub lost: bool,
}

#[derive(Debug, Args)]
pub struct SweepArgs {
    #[command(flatten)]
    pub target: SessionArgs,
    /// Try these values of a setting, and always the value in force; repeatable [default: the two settings that matter
    /// most for this session]
    #[arg(long, value_name = "KEY=A..B:STEP|KEY=a,b,c")]
    pub vary: Vec<String>,
    /// Headroom that every prompt must leave in the provider's window: tokens, or a share such as `10%` [default: 0]
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
    /// End the path at this entry: its id or a unique prefix of it [default: the active leaf]
    #[arg(long, value_name = "ID")]
    pub leaf: Option<String>,
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
    Freed,
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    pub target: SessionArgs,
    /// The limit for every prompt: tokens, or a share of the provider's window such as `80%` [default: all of it]
    #[arg(long, value_name = "N|PCT", default_value = "100%", hide_default_value = true)]
    pub budget: String,
    #[command(flatten)]
    pub overrides: ReplaySettingsArgs,
}
