//! The command line: commands, options, their help and the guide. [`crate::command`] runs them.

mod help;
mod session;
mod settings;
mod store;
mod writing;

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};

use crate::redact::SecretDisplay;

pub use crate::guide::{TOPICS, Topic};
pub use session::{ContextArgs, CostArgs, ExplainArgs, SessionArgs, TreeArgs, WatchArgs, WindowArg};
pub use settings::{
    CheckArgs, ContextViewArgs, MeasureArg, POLICIES, PlanArgs, ReplayArgs, ReplaySettingsArgs, SimulateArgs,
    SweepArgs,
};
pub use store::{
    DoctorArgs, ListArgs, ReadPlace, RulesArgs, SearchArgs, SessionsArgs, SettingsArgs, SortBy, names_store,
};
pub use writing::{CommitArgs, DatasetArgs, ExportArgs, UndoArgs, WriteArgs};

#[derive(Debug, Parser)]
#[command(name = "clawscope", version, about = help::ABOUT, after_help = help::AFTER_HELP, help_template = help::template())]
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
    /// Use this store instead of the gateway's state dir
    #[arg(long, value_name = "PATH", global = true)]
    pub store: Option<PathBuf>,
    /// Run clawscope on another machine through this command, such as "docker exec -i NAME"; a PATH such as
    /// `ssh://HOST[/PATH]` does the same through ssh
    #[arg(long, value_name = "COMMAND", global = true, conflicts_with = "demo")]
    pub via: Option<String>,
    /// Copy the other machine's store here and read the copy; LIMITS such as
    /// size=8GB,files=500000,folders=100000,time=30m replace the default limits
    #[arg(long, value_name = "LIMITS", global = true, num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub copy: Option<String>,
    /// Use only this agent's sessions
    #[arg(long, value_name = "ID", global = true)]
    pub agent: Option<String>,
    /// Use this gateway profile, with the state dir ~/.openclaw-NAME
    #[arg(long, value_name = "NAME", global = true)]
    pub profile: Option<String>,
    /// Read this gateway configuration instead of the store's openclaw.json
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    #[arg(long, value_name = "RELEASE", global = true, help = help::ruleset())]
    pub ruleset: Option<String>,
}

/// Returns the store options without a place in the help, for commands that read no store. They stay global options,
/// so that a line with them is not an error.
fn hidden_store_options() -> Vec<clap::Arg> {
    let options = StoreArgs::augment_args(clap::Command::new("store"));
    options.get_arguments().map(|option| option.clone().hide(true)).collect()
}

#[derive(Debug, Subcommand)]
pub enum Command {
    #[command(about = help::about("sessions"), after_long_help = help::SESSIONS)]
    Sessions(SessionsArgs),
    #[command(about = help::about("search"), after_long_help = help::SEARCH)]
    Search(SearchArgs),
    #[command(about = help::about("tree"), after_long_help = help::TREE)]
    Tree(TreeArgs),
    #[command(about = help::about("context"), after_long_help = help::CONTEXT)]
    Context(ContextViewArgs),
    #[command(about = help::about("watch"), after_long_help = help::WATCH)]
    Watch(WatchArgs),
    #[command(about = help::about("explain"), after_long_help = help::EXPLAIN)]
    Explain(ExplainArgs),
    #[command(about = help::about("cost"), after_long_help = help::COST)]
    Cost(CostArgs),
    #[command(about = help::about("simulate"), after_long_help = help::SIMULATE)]
    Simulate(SimulateArgs),
    #[command(about = help::about("replay"), after_long_help = help::REPLAY)]
    Replay(ReplayArgs),
    #[command(about = help::about("sweep"), after_long_help = help::SWEEP)]
    Sweep(SweepArgs),
    #[command(about = help::about("check"), after_long_help = help::CHECK)]
    Check(CheckArgs),
    #[command(about = help::about("commit"), after_long_help = help::COMMIT)]
    Commit(CommitArgs),
    #[command(about = help::about("undo"), after_long_help = help::UNDO)]
    Undo(UndoArgs),
    #[command(about = help::about("export"), after_long_help = help::EXPORT)]
    Export(ExportArgs),
    #[command(about = help::about("doctor"), after_long_help = help::DOCTOR)]
    Doctor(DoctorArgs),
    #[command(about = help::about("settings"), after_long_help = help::SETTINGS_HELP)]
    Settings(SettingsArgs),
    #[command(about = help::about("rules"), after_long_help = help::RULES)]
    Rules(RulesArgs),
    #[command(about = help::about("demo"), after_long_help = help::DEMO, args = hidden_store_options())]
    Demo {
        /// Write to this folder, which must be new or empty
        #[arg(short, long, value_name = "DIR")]
        out: PathBuf,
    },
    #[command(about = help::about("guide"), after_long_help = help::GUIDE, args = hidden_store_options())]
    Guide {
        /// Print this topic [default: list the topics]
        #[arg(value_parser = topic_parser(), hide_possible_values = true)]
        topic: Option<Topic>,
    },
    /// Print the JSON schema of a command's --json; without a name, list the commands
    #[command(hide = true, after_long_help = help::SCHEMA, args = hidden_store_options())]
    Schema {
        /// Print the schema of this command, or of error
        name: Option<String>,
    },
    /// Print a completion script for your shell
    #[command(hide = true, after_long_help = help::COMPLETIONS, args = hidden_store_options())]
    Completions {
        /// Print the script for this shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page of clawscope or of one command (roff)
    #[command(hide = true, after_long_help = help::MAN, args = hidden_store_options())]
    Man {
        /// Print the page of this command [default: clawscope]
        command: Option<String>,
        /// Write the pages of clawscope and of every command to this folder instead
        #[arg(short, long, value_name = "DIR", conflicts_with = "command")]
        out: Option<PathBuf>,
    },
}

/// Whether lists and rows show secrets.
pub fn secrets(no_redact: bool) -> SecretDisplay {
    if no_redact { SecretDisplay::Shown } else { SecretDisplay::Hidden }
}

impl Cli {
    /// Whether to print results and errors as JSON.
    pub fn is_json(&self) -> bool {
        match &self.command {
            Some(Command::Sessions(args)) => args.json,
            Some(Command::Search(args)) => args.list.json,
            Some(Command::Doctor(args)) => args.list.json,
            Some(Command::Rules(args)) => args.json,
            Some(Command::Settings(args)) => args.json,
            Some(Command::Tree(args)) => args.target.json,
            Some(Command::Explain(args)) => args.json,
            Some(Command::Cost(args)) => args.json,
            Some(Command::Context(args)) => args.context.target.json,
            Some(Command::Simulate(args)) => args.context.target.json,
            Some(Command::Replay(args)) => args.target.json,
            Some(Command::Sweep(args)) => args.target.json,
            Some(Command::Check(args)) => args.target.json,
            Some(Command::Commit(args)) => args.target.json,
            Some(Command::Undo(args)) => args.target.json,
            Some(Command::Watch(args)) => args.json,
            Some(Command::Export(args)) => args.format() == "json",
            Some(
                Command::Guide { .. }
                | Command::Demo { .. }
                | Command::Schema { .. }
                | Command::Completions { .. }
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
            Command::Sweep(args) => args.overrides.settings.as_deref(),
            Command::Check(args) => args.overrides.settings.as_deref(),
            _ => None,
        }
    }
}

impl Command {
    /// Whether the text is for reading, so that a pager may show it.
    pub fn is_paged(&self) -> bool {
        match self {
            Self::Simulate(args) => !args.summary,
            Self::Undo(args) => args.list || args.compare.is_some(),
            Self::Watch(_)
            | Self::Export(_)
            | Self::Commit(_)
            | Self::Demo { .. }
            | Self::Completions { .. }
            | Self::Man { .. } => false,
            _ => true,
        }
    }
}

/// Parses the name of a topic; the error for an unknown name suggests the nearest.
fn topic_parser() -> impl TypedValueParser<Value = Topic> {
    let names = PossibleValuesParser::new(TOPICS.map(|topic| topic.name));
    names.try_map(|name| TOPICS.into_iter().find(|topic| topic.name == name).ok_or("no such topic"))
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
    fn the_groups_of_the_help_have_every_command_that_is_not_hidden() {
        let listed = help::GROUPS.iter().flat_map(|(_, commands)| commands.iter().map(|(name, _)| *name));
        let cli = Cli::command();
        let visible = cli.get_subcommands().filter(|command| !command.is_hide_set());
        assert!(listed.eq(visible.map(clap::Command::get_name)));
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
    fn indented_help_lines_fit_eighty_columns() {
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
    fn a_single_path_opens_the_screen_and_a_command_name_runs_the_command() {
        let cli = Cli::try_parse_from(["clawscope", "/tmp/x"]).unwrap();
        assert!(cli.command.is_none() && cli.path == Some("/tmp/x".into()));
        let cli = Cli::try_parse_from(["clawscope", "sessions", "/tmp/x", "--agent", "main"]).unwrap();
        assert!(
            matches!(cli.command, Some(Command::Sessions(_))) && cli.store.agent.as_deref() == Some("main")
        );
    }
}
