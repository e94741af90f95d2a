//! The command line: what can be asked, and the help that teaches it. The answers are in [`crate::command`].

mod help;

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};

use crate::config::SummarizerKind;
use crate::redact::SecretDisplay;

/// Summarizers.
const SUMMARIZERS: [&str; 3] =
    [SummarizerKind::Extractive.as_str(), SummarizerKind::Command.as_str(), SummarizerKind::Http.as_str()];
/// Forms of an export.
const FORMATS: [&str; 5] = ["html", "md", "json", "svg", "pi"];
/// Policies that are built.
pub const POLICIES: [&str; 12] = [
    "compact", "truncate", "repair", "history", "images", "reduce", "check", "prune", "guard", "clear",
    "gateway", "all",
];

/// Why did this LLM session overflow its context window, and which settings would have prevented it?
#[derive(Debug, Parser)]
#[command(name = "clawscope", version, long_about = help::ABOUT, after_help = help::AFTER_HELP, after_long_help = help::after_long_help())]
#[command(override_usage = help::USAGE, max_term_width = 100)]
pub struct Cli {
    /// What to open: a state dir, an agent dir, a sessions dir, a sessions.json, a database or a transcript [default: the gateway's
    /// state dir; the demo store when there is none]
    pub path: Option<PathBuf>,
    /// The store.
    #[command(flatten)]
    pub store: StoreArgs,
    /// Colours of the screen: dark, light or mono [default: as the terminal's background]
    #[arg(long, value_name = "NAME", help_heading = "Screen")]
    pub theme: Option<String>,
    /// Leave the mouse to the terminal
    #[arg(long, help_heading = "Screen")]
    pub no_mouse: bool,
    /// Draw with plain ASCII signs, for terminals and fonts without others
    #[arg(long, help_heading = "Screen")]
    pub ascii: bool,
    /// What to do; without one the screen opens.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Where sessions are looked for.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Store")]
pub struct StoreArgs {
    /// The embedded demo store instead of your own
    #[arg(long, global = true, conflicts_with = "store")]
    pub demo: bool,
    /// Where the sessions are, for commands that take a SESSION
    #[arg(long, value_name = "PATH", global = true)]
    pub store: Option<PathBuf>,
    /// Only this agent's sessions
    #[arg(long, value_name = "ID", global = true)]
    pub agent: Option<String>,
    /// The gateway's profile: its state dir is ~/.openclaw-NAME
    #[arg(long, value_name = "NAME", global = true)]
    pub profile: Option<String>,
    /// A gateway configuration (openclaw.json) instead of the store's own
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// The gateway release whose rules apply, such as 2026.4.15 (known: 2026.1.24 to 2026.9.6), or pi-0.55 to pi-1.5; a newer one
    /// gets the newest known rules [default: the release that last wrote the store, else 2026.3.2]
    #[arg(long, value_name = "VERSION", global = true)]
    pub ruleset: Option<String>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List sessions: model, window, tokens, compactions, marks
    #[command(after_long_help = help::SESSIONS)]
    Sessions(SessionsArgs),
    /// Draw a transcript as a tree, with sizes, branches and the active leaf
    #[command(after_long_help = help::TREE)]
    Tree(TreeArgs),
    /// Show what the model would be sent, message by message
    #[command(after_long_help = help::CONTEXT)]
    Context(ContextViewArgs),
    /// Show what the gateway tries after an overflow, beside what the transcript records
    #[command(after_long_help = help::RECOVERY)]
    Recovery(SessionArgs),
    /// Tell why a session overflowed, with evidence, and which settings would have helped
    #[command(after_long_help = help::EXPLAIN)]
    Explain(ExplainArgs),
    /// Preview what pruning, compaction and other steps would do under other settings; writes nothing
    #[command(after_long_help = help::SIMULATE)]
    Simulate(SimulateArgs),
    /// Follow a session call by call again under other settings, beside what is recorded
    #[command(after_long_help = help::REPLAY)]
    Replay(ReplayArgs),
    /// Replay a session over a grid of settings: the best trade-offs, and the smallest change after which every call fits
    #[command(after_long_help = help::SWEEP)]
    Sweep(SweepArgs),
    /// Tell whether every call of a session fits a budget under some settings, by the exit code
    #[command(after_long_help = help::CHECK)]
    Check(CheckArgs),
    /// Make the summary that a compaction would store; writes nothing
    #[command(after_long_help = help::SUMMARIZE)]
    Summarize(SummarizeArgs),
    /// Write what pruning would do as a new branch, or a compaction; a dry run without --apply
    #[command(after_long_help = help::COMMIT)]
    Commit(CommitArgs),
    /// Make the branch before the last commit active again; a dry run without --apply
    #[command(after_long_help = help::UNDO)]
    Undo(UndoArgs),
    /// List the commits and undos of a session, and which of them are in force
    #[command(after_long_help = help::COMMITS)]
    Commits(SessionArgs),
    /// Compare two branches of a session: messages, tokens and costs
    #[command(after_long_help = help::COMPARE)]
    Compare(CompareArgs),
    /// Write a session as a page, Markdown, JSON, a picture or a transcript of its own, without its secrets
    #[command(after_long_help = help::EXPORT)]
    Export(ExportArgs),
    /// Follow a store: one line for each new entry, with running totals
    #[command(after_long_help = help::WATCH)]
    Watch(WatchArgs),
    /// Tell what was found, what is wrong with it, and which settings are in force
    #[command(after_long_help = help::DOCTOR)]
    Doctor(DoctorArgs),
    /// Print the rules of a gateway release, or what changes between two
    #[command(after_long_help = help::RULES)]
    Rules(RulesArgs),
    /// List the settings: value in force, default, unit and meaning of each
    #[command(after_long_help = help::SETTINGS_HELP)]
    Settings(SettingsArgs),
    /// Print a rule that a screen or a report cites, such as pruning-5.12
    #[command(after_long_help = help::RULE)]
    Rule(RuleArgs),
    /// Print the JSON schema of a command's --json, or the names that have one
    #[command(after_long_help = help::SCHEMA)]
    Schema {
        /// A command, or error
        name: Option<String>,
    },
    /// Print a completion script for a shell
    #[command(after_long_help = help::COMPLETIONS)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page (roff), or that of one command
    #[command(after_long_help = help::MAN)]
    Man {
        /// The command [default: clawscope itself]
        command: Option<String>,
    },
}

/// A store to list.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// What to read [default: the gateway's state dir; the demo store when there is none]
    pub path: Option<PathBuf>,
    /// One JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// Sessions to list.
#[derive(Debug, Args)]
pub struct SessionsArgs {
    /// The store.
    #[command(flatten)]
    pub list: ListArgs,
    /// Leave secrets in titles
    #[arg(long)]
    pub no_redact: bool,
}

/// A store to examine.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// The store.
    #[command(flatten)]
    pub list: ListArgs,
    /// Finish commits that were broken off, or take them back where they cannot be finished
    #[arg(long)]
    pub repair: bool,
    /// Compare every transcript file with its import in the database instead, entry by entry
    #[arg(long, conflicts_with = "repair")]
    pub migration: bool,
}

/// A session to look at.
#[derive(Debug, Args)]
pub struct SessionArgs {
    /// A session key, a session id or the unique start of one, or a path to a transcript
    pub session: String,
    /// One JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// A transcript to draw.
#[derive(Debug, Args)]
pub struct TreeArgs {
    /// The session.
    #[command(flatten)]
    pub target: SessionArgs,
    /// Leave secrets in the rows
    #[arg(long)]
    pub no_redact: bool,
}

/// What to explain.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// A session key, a session id or the unique start of one, or a path to a transcript; with --all, the store
    #[arg(value_name = "SESSION", required_unless_present = "all")]
    pub target: Option<String>,
    /// Every session of the store, those at risk first
    #[arg(long)]
    pub all: bool,
    /// With --all: whether each session would fit in a window of so many tokens, as of a fallback model; may be given
    /// often
    #[arg(long, value_name = "N", requires = "all", value_parser = clap::value_parser!(u64).range(1..))]
    pub window: Vec<u64>,
    /// One JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// A session and a leaf.
#[derive(Debug, Args)]
pub struct ContextArgs {
    /// The session.
    #[command(flatten)]
    pub target: SessionArgs,
    /// The entry the context ends at, by its id or the unique start of one [default: the active leaf]
    #[arg(long, value_name = "ID")]
    pub leaf: Option<String>,
    /// The messages themselves, as the runtime builds them
    #[arg(long)]
    pub messages: bool,
    /// Leave secrets in the rows; the messages themselves are always shown whole
    #[arg(long)]
    pub no_redact: bool,
}

/// What to show of a context.
#[derive(Debug, Args)]
pub struct ContextViewArgs {
    /// The session and the leaf.
    #[command(flatten)]
    pub context: ContextArgs,
    /// What is in the window instead: the parts of the prompt, roles, tools, the heaviest messages, and what is not
    /// accounted for
    #[arg(long, conflicts_with = "messages")]
    pub breakdown: bool,
    /// Every estimator beside the provider's count, call by call
    #[arg(long, conflicts_with_all = ["messages", "breakdown"])]
    pub estimators: bool,
    /// With --estimators: every call, not the last 20
    #[arg(long, requires = "estimators")]
    pub all: bool,
    /// Compare the gateway's recording of a run with the context rebuilt from the transcript
    #[arg(long, conflicts_with_all = ["messages", "breakdown", "estimators", "leaf"])]
    pub recorded: bool,
    /// With --recorded: the N-th newest run [default: 1, the newest]
    #[arg(long, value_name = "N", requires = "recorded")]
    pub run: Option<usize>,
}

/// Which settings a plan is made with.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Settings")]
pub struct PlanArgs {
    /// The steps that are taken, in the gateway's own order whatever the order here; `gateway`: what a call of this
    /// version goes through; `all`: each of them [default: prune, and the steps whose settings are --set]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = PossibleValuesParser::new(POLICIES))]
    pub policy: Vec<String>,
    /// A setting by the gateway's own name; may be given often
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Settings from a JSON or JSON5 file: an openclaw.json, or its contextPruning alone; --set comes after
    #[arg(long, value_name = "FILE")]
    pub settings: Option<PathBuf>,
    /// The window of the model: `learnt`, what the session's refusals and answers teach, as its contextWindow
    #[arg(long, value_name = "learnt", value_enum)]
    pub window: Option<WindowArg>,
    /// Obey the gates as they are when the next call is made at this time: `now`, a time, or ms since 1970
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub now: Option<String>,
    /// Obey the gates as they are now: nothing is planned while the cache is warm or the provider is not eligible
    #[arg(long)]
    pub gates: bool,
}

/// A preview.
#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// The session.
    #[command(flatten)]
    pub context: ContextArgs,
    /// The settings.
    #[command(flatten)]
    pub plan: PlanArgs,
    /// Make the compaction's summary and count its real length; stored nowhere
    #[arg(long)]
    pub summary: bool,
    /// Who writes that summary [default: as config.toml says, else extractive]; without --summary too
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(SUMMARIZERS))]
    pub with: Option<String>,
}

/// Which settings a session is replayed with.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Settings")]
pub struct ReplaySettingsArgs {
    /// The window of the model: `learnt`, what the session's refusals and answers teach, as its contextWindow
    #[arg(long, value_name = "learnt", value_enum)]
    pub window: Option<WindowArg>,
    /// The steps that take part, as for `simulate`; with `compact` the recorded compactions are left out, and made where
    /// the settings say [default: gateway, and the steps whose settings are --set]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = PossibleValuesParser::new(POLICIES))]
    pub policy: Vec<String>,
    /// A setting by the gateway's own name; may be given often
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Settings from a JSON or JSON5 file: an openclaw.json, or its contextPruning alone; --set comes after
    #[arg(long, value_name = "FILE")]
    pub settings: Option<PathBuf>,
}

/// A replay.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// The session.
    #[command(flatten)]
    pub target: SessionArgs,
    /// The settings.
    #[command(flatten)]
    pub overrides: ReplaySettingsArgs,
    /// The entry the path ends at, by its id or the unique start of one [default: the active leaf]
    #[arg(long, value_name = "ID")]
    pub leaf: Option<String>,
    /// Every call, not the last 40
    #[arg(long)]
    pub all: bool,
    /// The course of both in sentences, as a screen reader reads them, instead of tables
    #[arg(long, conflicts_with = "all")]
    pub timeline: bool,
}

/// A sweep.
#[derive(Debug, Args)]
pub struct SweepArgs {
    /// The session.
    #[command(flatten)]
    pub target: SessionArgs,
    /// A setting and its values, from A to B in steps or one by one; may be given often. The value in force is always among
    /// them [default: the two settings that matter most for this session]
    #[arg(long, value_name = "KEY=A..B:STEP|KEY=a,b,c")]
    pub vary: Vec<String>,
    /// Tokens that every prompt has to leave free of the provider's window, or a share of it such as `10%`
    #[arg(long, value_name = "N|PCT")]
    pub headroom: Option<String>,
    /// What the map of two settings shows
    #[arg(long, value_name = "MEASURE", value_enum, default_value_t = MeasureArg::Peak)]
    pub measure: MeasureArg,
    /// Save the patch of the smallest change as a new file; nothing is overwritten, and openclaw.json is never written
    #[arg(long, value_name = "FILE")]
    pub patch: Option<PathBuf>,
    /// The settings of every cell.
    #[command(flatten)]
    pub overrides: ReplaySettingsArgs,
    /// The entry the path ends at, by its id or the unique start of one [default: the active leaf]
    #[arg(long, value_name = "ID")]
    pub leaf: Option<String>,
}

/// A window that stands for the configured one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum WindowArg {
    /// What the session's refusals and answers teach
    Learnt,
}

/// What a map of cells shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum MeasureArg {
    /// The largest prompt
    Peak,
    /// What calls and summaries cost
    Cost,
    /// Calls that did not fit
    Overflows,
    /// Tokens that were not sent
    Cleared,
}

/// A check.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The session.
    #[command(flatten)]
    pub target: SessionArgs,
    /// Tokens that no prompt may exceed, or a share of the provider's window such as `80%`
    #[arg(long, value_name = "N|PCT")]
    pub budget: String,
    /// The settings.
    #[command(flatten)]
    pub overrides: ReplaySettingsArgs,
}

/// A summary.
#[derive(Debug, Args)]
pub struct SummarizeArgs {
    /// The session.
    #[command(flatten)]
    pub target: SessionArgs,
    /// The entry the branch ends at, by its id or the unique start of one [default: the active leaf]
    #[arg(long, value_name = "ID")]
    pub leaf: Option<String>,
    /// Who writes it [default: as config.toml says, else extractive]
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(SUMMARIZERS))]
    pub with: Option<String>,
    /// What to look at besides, as after /compact; extractive cannot follow it
    #[arg(long, value_name = "TEXT")]
    pub instructions: Option<String>,
    /// Only tell the calls that the gateway would make, with tokens and cost; make none
    #[arg(long, conflicts_with_all = ["with", "instructions"])]
    pub calls: bool,
}

/// A commit.
#[derive(Debug, Args)]
pub struct CommitArgs {
    /// The session.
    #[command(flatten)]
    pub target: SessionArgs,
    /// The settings.
    #[command(flatten)]
    pub plan: PlanArgs,
    /// Who writes a compaction's summary [default: with --apply as config.toml says, else extractive; a dry run asks
    /// nobody but extractive]
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(SUMMARIZERS))]
    pub with: Option<String>,
    /// How it is written.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// An undo.
#[derive(Debug, Args)]
pub struct UndoArgs {
    /// The session.
    #[command(flatten)]
    pub target: SessionArgs,
    /// Take the last undo back: the commit is active again
    #[arg(long)]
    pub redo: bool,
    /// Take this commit or undo back, with everything after it; `clawscope commits` lists them [default: the last commit]
    #[arg(long, value_name = "ID", conflicts_with = "redo")]
    pub commit: Option<String>,
    /// How it is written.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// A comparison.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// A session key, a session id or the unique start of one, or a path to a transcript
    pub session: String,
    /// The entry that one branch ends at, by its id or the unique start of one [default: where the last commit came from,
    /// else the newest other end]
    #[arg(value_name = "LEAF")]
    pub first: Option<String>,
    /// The entry that the other ends at [default: the active leaf]
    #[arg(value_name = "LEAF")]
    pub second: Option<String>,
    /// Every message, not only those that are not the same
    #[arg(long)]
    pub all: bool,
    /// One JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// How something is written.
#[derive(Debug, Clone, Copy, Args)]
pub struct WriteArgs {
    /// Write; without it, only tell what would be written
    #[arg(long)]
    pub apply: bool,
    /// Write even to a transcript that no row of the store names
    #[arg(long)]
    pub allow_orphan: bool,
}

/// An export.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// A session key, a session id or the unique start of one, or a path to a transcript
    pub session: String,
    /// The form: html, md, json, svg (a picture of the screen) or pi (a transcript that the runtime opens)
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(FORMATS))]
    pub format: String,
    /// The entry the branch ends at, by its id or the unique start of one [default: the active leaf]
    #[arg(long, value_name = "ID")]
    pub leaf: Option<String>,
    /// The file to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace the file of --out where it is there
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Leave secrets and images in
    #[arg(long)]
    pub no_redact: bool,
    /// Replace every word by another of the same shape: sizes and structure stay, for reports of faults
    #[arg(long, conflicts_with = "no_redact")]
    pub shape_only: bool,
    /// Columns and rows of the picture
    #[arg(long, value_name = "COLSxROWS", default_value = "130x40")]
    pub size: String,
    /// Colours of the picture: dark, light or mono
    #[arg(long, value_name = "NAME", default_value = "dark")]
    pub colours: String,
    /// The plan that is told along, where any of these is given.
    #[command(flatten)]
    pub plan: PlanArgs,
}

/// What to follow.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// What to follow [default: the gateway's state dir]
    pub path: Option<PathBuf>,
    /// Only this session
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
    /// One JSON object a line instead of text
    #[arg(long)]
    pub json: bool,
    /// Leave secrets in the lines
    #[arg(long)]
    pub no_redact: bool,
}

/// Rules to print.
#[derive(Debug, Args)]
pub struct RulesArgs {
    /// Use the release of this store [default: the gateway's state dir; the demo store when there is none]
    pub path: Option<PathBuf>,
    /// Only what changes from the release to this one
    #[arg(long, value_name = "VERSION", conflicts_with = "releases")]
    pub diff: Option<String>,
    /// Every ruleset and its releases
    #[arg(long)]
    pub releases: bool,
    /// One JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// Settings to list.
#[derive(Debug, Args)]
pub struct SettingsArgs {
    /// The session whose values are listed [default: those of the store, for a window of 200,000 tokens]
    pub session: Option<String>,
    /// A Markdown table of keys, defaults and releases, whatever the store
    #[arg(long, conflicts_with_all = ["json", "session"])]
    pub markdown: bool,
    /// One JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// Rules to print in full.
#[derive(Debug, Args)]
pub struct RuleArgs {
    /// Document and id, such as pruning-5.12 [default: the sections of every document]
    pub rule: Vec<String>,
    /// One JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// Whether lists and rows show secrets.
pub fn secrets(no_redact: bool) -> SecretDisplay {
    if no_redact { SecretDisplay::Shown } else { SecretDisplay::Hidden }
}

impl Cli {
    /// Whether results and errors are wanted as JSON.
    pub fn is_json(&self) -> bool {
        match &self.command {
            Some(Command::Sessions(args)) => args.list.json,
            Some(Command::Doctor(args)) => args.list.json,
            Some(Command::Rules(args)) => args.json,
            Some(Command::Settings(args)) => args.json,
            Some(Command::Rule(args)) => args.json,
            Some(Command::Tree(args)) => args.target.json,
            Some(Command::Recovery(args) | Command::Commits(args)) => args.json,
            Some(Command::Compare(args)) => args.json,
            Some(Command::Explain(args)) => args.json,
            Some(Command::Context(args)) => args.context.target.json,
            Some(Command::Simulate(args)) => args.context.target.json,
            Some(Command::Replay(args)) => args.target.json,
            Some(Command::Sweep(args)) => args.target.json,
            Some(Command::Check(args)) => args.target.json,
            Some(Command::Summarize(args)) => args.target.json,
            Some(Command::Commit(args)) => args.target.json,
            Some(Command::Undo(args)) => args.target.json,
            Some(Command::Watch(args)) => args.json,
            Some(Command::Export(args)) => args.format == "json",
            Some(Command::Schema { .. } | Command::Completions { .. } | Command::Man { .. }) | None => false,
        }
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
    fn lines_that_are_laid_out_by_hand_stay_whole_at_a_hundred_columns() {
        let mut commands = vec![Cli::command()];
        commands.extend(Cli::command().get_subcommands().cloned());
        for command in commands {
            let help = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
            for line in help.lines().filter(|line| line.starts_with("  ")) {
                assert!(line.chars().count() <= 100, "{}: {line}", command.get_name());
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
