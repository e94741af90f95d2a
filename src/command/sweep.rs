//! `clawscope sweep SESSION`: replays a grid of settings and prints the best trade-offs, and the smallest change after
//! which every call fits.

use super::environment::Invocation;
use super::failure::Failure;
use super::output::Output;
use super::sweep_report::{SweepReport, run_sweep};
use super::sweep_text::print;
use crate::cli::{StoreArgs, SweepArgs};
use crate::export::json::JsonOutput;
use crate::report::sweep::json::{self, SweepJson};
use crate::runtime::{SaveError, save_as};

/// The user's own file: a patch never overwrites it.
const CONFIG_FILE: &str = "openclaw.json";

impl JsonOutput for SweepJson {}

pub(super) fn run(
    args: &SweepArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    if let Some(file) = args.patch.as_deref().filter(|file| file.ends_with(CONFIG_FILE)) {
        return Err(Failure::refused(format!(
            "--patch {}: clawscope never overwrites your {CONFIG_FILE}. Choose another file name. Nothing was written.",
            file.display()
        )));
    }
    let swept = run_sweep(args, place, invocation, output)?;
    if args.target.json {
        output.json(&json::sweep_json(&swept.session, &swept.sweep))?;
    } else {
        print(&swept, args.measure, output)?;
    }
    match &args.patch {
        Some(file) => save_patch(&swept, file, output),
        None => Ok(()),
    }
}

fn save_patch(swept: &SweepReport, file: &std::path::Path, output: &mut Output) -> Result<(), Failure> {
    let patch = swept.sweep.smallest_fitting.map(|cell| swept.sweep.patch(&swept.session, cell).text);
    let Some(text) = patch.filter(|text| !text.is_empty()) else {
        return Err(Failure::refused(format!(
            "--patch {}: there is no change to write: {}. Nothing was written.",
            file.display(),
            if swept.sweep.smallest_fitting.is_some() {
                "every call already fits"
            } else {
                "no combination makes every call fit"
            }
        )));
    };
    save_as(file, &format!("{text}\n"), false).map_err(|error| match error {
        SaveError::AlreadyExists { .. } => Failure::refused(format!(
            "{}: already exists, and clawscope does not overwrite it. Choose another file name.",
            file.display()
        )),
        error => Failure::refused(error.to_string()),
    })?;
    let into = if text.starts_with("// /") { "the file it names" } else { CONFIG_FILE };
    Ok(output.note(&format!("saved as {}; merge it into {into} yourself", file.display()))?)
}
