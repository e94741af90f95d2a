//! `clawscope doctor [PATH]`: prints the store's contents, its problems and the settings in force.

use rayon::prelude::*;

use super::diagnostics::DoctorReport;
use super::doctor_json::report_json;
use super::doctor_text::print;
use super::environment::{Invocation, Workspace};
use super::failure::Failure;
use super::output::Output;
use super::repair::{Repair, settle_unfinished};
use crate::cli::{DoctorArgs, StoreArgs};
use crate::diagnostic::Severity;
use crate::format::format_count;

pub(super) fn run(
    args: &DoctorArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let DoctorArgs { list: args, repair: repairs, migration, about_self: _ } = args;
    if *migration {
        return super::migration::run(args, place, invocation, output);
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
        print(&workspace, &checkup, repairs.as_deref(), output)?;
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
