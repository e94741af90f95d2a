//! `clawscope doctor --migration`: checks that the import of transcripts into a database kept every entry.

use super::environment::{Invocation, Workspace};
use super::failure::Failure;
use super::migration_json::report_json;
use super::migration_text::print;
use super::migration_totals::MigrationTotals;
use super::output::Output;
use crate::cli::{ListArgs, StoreArgs};
use crate::store::migration::check_import;

pub(super) fn run(
    args: &ListArgs,
    place: &StoreArgs,
    around: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let scene = Workspace::from_path(args.path.as_deref(), place, around)?;
    let migration = check_import(scene.store());
    let totals = MigrationTotals::new(&migration);
    if args.json {
        output.json(report_json(&scene, &migration, &totals))?;
    } else {
        print(&scene, &migration, &totals, output)?;
    }
    if totals.unreadable_pairs > 0 || scene.store().databases.iter().any(|holding| holding.schema.is_none()) {
        let what = "a file or a database cannot be read, so not everything was compared";
        return Err(Failure::unreadable(format!("{}: {what}; see above", scene.listed.name)));
    }
    if totals.is_clean() { Ok(()) } else { Err(Failure::CheckFailed) }
}
