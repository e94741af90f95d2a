//! The commands. Each has one file, which turns arguments into library calls and prints the result; shared parts have
//! separate files.
//!
//! No command decides a rule. All text is written through [`output::Output`], so that text of transcripts cannot control the
//! terminal and a closed pipe is not an error.

mod breakdown;
mod breakdown_json;
mod cache_json;
mod check;
mod commit;
mod commits;
mod compare;
mod completions;
mod context;
mod context_json;
mod cost;
mod dataset;
mod demo;
mod diagnostics;
mod doctor_document;
mod doctor_json;
pub mod environment;
mod estimators;
mod explain;
mod explain_all;
mod explain_json;
pub mod export;
pub mod failure;
mod guide;
mod import_report;
mod learned_window;
mod man;
mod messages;
mod migration;
mod named_session;
mod other_names;
pub mod output;
mod parallel;
mod pi_settings;
mod policies;
mod presets;
mod preview;
mod record;
mod recorded;
mod recovery;
mod regret;
mod regret_json;
mod repair;
mod replay;
mod replay_json;
mod replay_report;
mod rule;
mod rules;
mod ruleset;
mod schema;
pub mod screen;
mod search;
mod self_report;
mod session_output;
mod sessions;
mod settings;
mod simulate;
mod suggest;
mod summarize;
mod summary;
pub mod sweep_report;
mod sweep_text;
mod tree;
mod typed_line;
mod undo;
mod usage_error;
mod usage_totals;
mod watch;
mod writing;

use std::ffi::OsString;
use std::io::Write as _;

use clap::Parser as _;
use clap::error::ErrorKind;
use rayon::prelude::*;

use crate::cli::{Cli, Command, DoctorArgs, StoreArgs};
use crate::config;
use crate::diagnostic::Severity;
use crate::doc::Tone;
use crate::format::{format_count, set_display_zone};
use crate::gateway::config::local_time_zone;
use crate::gateway::env::Environment;
use crate::runtime::pager_line;
use diagnostics::DoctorReport;
use doctor_json::report_json;
use environment::{Invocation, Workspace, note_demo_store};
use failure::{Exit, Failure};
use output::Output;
use repair::{Repair, settle_unfinished};
use ruleset::note_unknown_release;
use usage_error::{missing_argument, path_hint, usage_failure};

pub use completions::complete;

/// Runs a command line, including the program name, and returns the exit code.
pub fn main(words: impl IntoIterator<Item = OsString>, invocation: &Invocation, output: &mut Output) -> u8 {
    let words: Vec<OsString> = words.into_iter().collect();
    main_as(&words, &words, invocation, output)
}

/// Runs a command line and repeats `typed` in the hints of a failure: what the person typed for a store that was copied.
pub fn main_as(words: &[OsString], typed: &[OsString], invocation: &Invocation, output: &mut Output) -> u8 {
    let parsed = Cli::try_parse_from(words);
    let is_parsed = parsed.is_ok();
    let (result, json) = match parsed {
        Ok(mut cli) => {
            let resolved = presets::resolve(&mut cli, &invocation.env);
            (resolved.and_then(|()| dispatch(&cli, typed, invocation, output)), cli.is_json())
        }
        Err(error) => {
            let printed = print_help_or(&error, output, || usage_failure(&error, typed, invocation));
            (printed, words.iter().any(|word| word == "--json"))
        }
    };
    // Flush results before the failure, so that the two streams keep their order.
    let result = result.and_then(|()| Ok(output.flush()?));
    let Err(failure) = result else { return Exit::Success.code() };
    _ = output.flush();
    let failure = failure.with_retry(typed).or_retry(|| path_hint(typed, invocation).filter(|_| is_parsed));
    _ = output.failure(&failure, json);
    failure.exit().code()
}

/// Returns the pager's command line if the output of this command line may be shown in a pager: the text of a command that
/// reads. JSON, documents and scripts for other programs never do, nor does a command that follows, writes or prompts.
pub fn pager_for(words: &[OsString], env: &Environment) -> Option<String> {
    let is_help = |error: &clap::Error| matches!(error.kind(), ErrorKind::DisplayHelp);
    let is_paged = match Cli::try_parse_from(words) {
        Ok(cli) => !cli.no_pager && !cli.is_json() && cli.command.as_ref().is_some_and(Command::is_paged),
        Err(error) => is_help(&error) && words.iter().all(|word| word != "--no-pager"),
    };
    if is_paged { pager_line(env) } else { None }
}

/// Selects the zone of displayed times for this process: the local one, unless `--utc` or the configuration says UTC. A
/// faulty configuration is reported by the command that reads it.
pub fn select_time_zone(words: &[OsString], env: &Environment) {
    let utc = words.iter().any(|word| word == "--utc") || config::load(env).is_ok_and(|config| config.utc);
    set_display_zone((!utc).then(|| local_time_zone(env)));
}

fn dispatch(
    cli: &Cli,
    words: &[OsString],
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    match &cli.command {
        Some(_) if cli.path.is_some() => {
            Err(Failure::usage("a PATH before a command: put it after the command."))
        }
        Some(command) => {
            let missing = if let Command::Export(args) = command { args.missing_argument() } else { None };
            if let Some(id) = missing {
                return Err(missing_argument(id, words, invocation));
            }
            let place = cli.store.with_path(command.store_of_session())?;
            note_demo_store(command.read_place(&invocation.env.cwd), &place, invocation, output)?;
            // `rules` prints it with the rules.
            if !matches!(command, Command::Rules(_)) {
                note_unknown_release(&place, &invocation.env, output)?;
            }
            run_command(command, &place, invocation, output)
        }
        None => screen::run(cli, words, invocation),
    }
}

/// Prints help and version as results; all other parser errors are usage errors.
fn print_help_or(
    error: &clap::Error,
    output: &mut Output,
    failure: impl FnOnce() -> Failure,
) -> Result<(), Failure> {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return Ok(write!(output, "{}", error.render())?);
    }
    Err(failure())
}

/// Runs a command. `place` holds the options that select the store.
fn run_command(
    command: &Command,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    match command {
        Command::Sessions(args) => match args.session(&invocation.env.cwd) {
            Some(session) => record::run(args, session, place, invocation, output),
            None => sessions::run(args, place, invocation, output),
        },
        Command::Search(args) => search::run(args, place, invocation, output),
        Command::Tree(args) => tree::run(args, place, invocation, output),
        Command::Context(args) if args.estimators => estimators::run(args, place, invocation, output),
        Command::Context(args) if args.recorded => recorded::run(args, place, invocation, output),
        Command::Context(args) => context::run(args, place, invocation, output),
        Command::Explain(args) if args.recovery => recovery::run(args, place, invocation, output),
        Command::Explain(args) if args.all => explain_all::run(args, place, invocation, output),
        Command::Explain(args) => explain::run(args, place, invocation, output),
        Command::Cost(args) => cost::run(args, place, invocation, output),
        Command::Simulate(args) if args.summary => summarize::run(args, place, invocation, output),
        Command::Simulate(args) => simulate::run(args, place, invocation, output),
        Command::Replay(args) if args.lost => regret::run(args, place, invocation, output),
        Command::Replay(args) => replay::run(args, place, invocation, output),
        Command::Sweep(args) => sweep_text::run(args, place, invocation, output),
        Command::Check(args) => check::run(args, place, invocation, output),
        Command::Commit(args) => commit::run(args, place, invocation, output),
        Command::Undo(args) if args.list => commits::run(&args.target, place, invocation, output),
        Command::Undo(args) => match &args.compare {
            Some(leaves) => compare::run(args, leaves, place, invocation, output),
            None => undo::run(args, place, invocation, output),
        },
        Command::Export(args) if args.is_dataset() => dataset::run(args, place, invocation, output),
        Command::Export(args) => export::run(args, place, invocation, output),
        Command::Watch(args) => watch::run(args, place, invocation, output),
        Command::Rules(args) => rules::run(args, place, invocation, output),
        Command::Settings(args) if args.presets => presets::run(args.json, invocation, output),
        Command::Settings(args) => settings::run(args, place, invocation, output),
        Command::Doctor(args) if args.about_self => self_report::run(args.list.json, invocation, output),
        Command::Doctor(args) => run(args, place, invocation, output),
        Command::Demo { out } => demo::run(out, invocation, output),
        Command::Schema { name } => schema::run(name.as_deref(), output),
        Command::Guide { topic } => guide::run(*topic, output),
        Command::Completions { shell } => completions::run(*shell, output),
        Command::Man { out: Some(out), .. } => man::write_all(out, invocation, output),
        Command::Man { command, out: None } => man::run(command.as_deref(), output),
    }
}

// `clawscope doctor [PATH]`: prints the store's contents, its problems and the settings in force.

fn run(
    args: &DoctorArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let DoctorArgs { list: args, repair: repairs, migration, about_self: _ } = args;
    if *migration {
        return self::migration::run(args, place, invocation, output);
    }
    let mut workspace = Workspace::from_path(args.path.as_deref(), place, invocation)?;
    let repairs = repairs.then(|| settle_unfinished(&workspace));
    if repairs.as_ref().is_some_and(|repairs| !repairs.is_empty()) {
        workspace = Workspace::from_path(args.path.as_deref(), place, invocation)?;
    }
    let read = |item| workspace.open_item(item).map(Into::into);
    let read = workspace.listed.items.par_iter().map(read).collect();
    let checkup = DoctorReport::new(&workspace, read);
    if args.json {
        output.json(&report_json(&workspace, &checkup, repairs.as_deref()))?;
    } else {
        let doc = checkup.doc(&workspace, repairs.as_deref());
        output.line(Tone::Strong, &doc.headline)?;
        output.doc(&doc)?;
    }
    if repairs.iter().flatten().any(Repair::has_failed) {
        return Err(Failure::refused("cannot repair an interrupted commit; see the reason above"));
    }
    let errors = checkup.diagnostics.iter().filter(|finding| finding.severity == Severity::Error).count();
    if errors == 0 {
        return Ok(());
    }
    let errors = format_count(errors as u64, "problem is an error", "problems are errors");
    Err(Failure::unreadable(format!("{}: {errors}; each explains what to do", workspace.listed.name)))
}
