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
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let workspace = Workspace::from_path(args.path.as_deref(), place, invocation)?;
    let migration = check_import(workspace.store());
    let totals = MigrationTotals::new(&migration);
    if args.json {
        output.json(&report_json(&workspace, &migration, &totals))?;
    } else {
        print(&workspace, &migration, &totals, output)?;
    }
    if totals.unreadable_pairs > 0
        || workspace.store().databases.iter().any(|holding| holding.schema.is_none())
    {
        let what = "cannot read a file or a database, so the comparison is incomplete";
        return Err(Failure::unreadable(format!("{}: {what}; see above", workspace.listed.name)));
    }
    if totals.is_clean() { Ok(()) } else { Err(Failure::CheckFailed) }
}
