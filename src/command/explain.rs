//! `clawscope explain SESSION`: answers four questions. Did the session overflow, what made it large, why did nothing
//! prevent it, and what would have?

use std::io::Write as _;

use super::environment::{Invocation, Workspace, is_store_folder, require_context};
use super::explain_all::{self, verdict_tone};
use super::explain_json::report_json;
use super::failure::Failure;
use super::learned_window::with_learned_window;
use super::output::Output;
use super::ruleset::refuse_unsupported;
use super::session_output::print_session_header;
use crate::cli::{ExplainArgs, StoreArgs};
use crate::doc::Tone;
use crate::report::explain::{Explanation, Question, explain_changes};
use crate::session::LoadedSession;
use crate::session::setting_change::{SettingChange, read_changes};
use crate::session::simulated_settings::{default_replay_policies, simulate_settings};

pub(super) fn run(
    args: &ExplainArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let Some(target) = args.target.as_deref() else {
        return Err(Failure::usage(
            "explain: expected a SESSION, or --all. `clawscope sessions` lists them.",
        ));
    };
    if is_store_folder(target, place, invocation) {
        if !args.set.is_empty() || args.settings.is_some() {
            return Err(Failure::usage(format!(
                "--set and --settings: {target} is a store; name a SESSION in it."
            )));
        }
        return explain_all::run(args, place, invocation, output);
    }
    let workspace = Workspace::for_session(target, place, invocation)?;
    let session = require_context(workspace.open_session(target, output)?)?;
    let changes = requested_changes(args, &session, output)?;
    let explanation = explain_changes(&session, &changes)?;
    if args.json {
        return Ok(output.json(&report_json(&session, &explanation))?);
    }
    print(&session, &explanation, output)
}

/// Returns the changes to try.
fn requested_changes(
    args: &ExplainArgs,
    session: &LoadedSession,
    output: &mut Output,
) -> Result<Vec<SettingChange>, Failure> {
    let changes = read_changes(args.settings.as_deref(), &args.set)?;
    let window = match args.window.as_slice() {
        [] => None,
        [window] => Some(*window),
        _ => return Err(Failure::usage("--window: one window for a SESSION, several only with --all.")),
    };
    let changes = with_learned_window(window, changes, session, output)?;
    refuse_unsupported(&changes, session)?;
    for warning in simulate_settings(session, &changes, default_replay_policies(session, &changes)).warnings()
    {
        output.note(&warning)?;
    }
    Ok(changes)
}

fn print(session: &LoadedSession, explanation: &Explanation, output: &mut Output) -> Result<(), Failure> {
    print_headline(explanation, output)?;
    print_session_header(output, session, session.window)?;
    let has_advice = explanation.has_overflowed() || explanation.asked.is_some();
    for question in Question::ALL.into_iter().filter(|question| has_advice || *question != Question::Advice) {
        let doc = explanation.doc(session, question);
        if doc.rows().next().is_some() {
            writeln!(output)?;
            output.line(Tone::Strong, &doc.headline)?;
            output.indented_doc(&doc)?;
        }
    }
    print_patch(explanation, output)
}

fn print_headline(explanation: &Explanation, output: &mut Output) -> Result<(), Failure> {
    let Some(verdict) = explanation.verdict() else { return Ok(()) };
    output.line(verdict_tone(explanation), &verdict.headline())?;
    if let Some(next_step) = explanation.next_step() {
        output.line(Tone::Strong, &next_step)?;
    }
    if let (Some(line), Some(asked)) = (explanation.asked_line(), &explanation.asked) {
        output.line(if asked.fits_all { Tone::Good } else { Tone::Warning }, &line)?;
    }
    let class = format!("{} · {}", verdict.class.as_str(), verdict.confidence.as_str());
    output.line(Tone::Dim, &class)?;
    Ok(writeln!(output)?)
}

/// Prints the commands or the patch of the best change.
fn print_patch(explanation: &Explanation, output: &mut Output) -> Result<(), Failure> {
    let Some(best) = explanation.tried().find(|advice| advice.fits_all) else { return Ok(()) };
    if best.commands.is_empty() && !best.patch.is_empty() {
        output.line(Tone::Dim, &format!("in {}:", best.file_name()))?;
    }
    let patch = best.patch.lines().filter(|_| best.commands.is_empty());
    for line in best.commands.iter().map(String::as_str).chain(patch) {
        output.line(Tone::Plain, line)?;
    }
    Ok(())
}
