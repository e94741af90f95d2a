//! `clawscope doctor --migration`: whether the move of transcripts from files into a database kept every entry.

use std::path::Path;

use super::failure::Failure;
use super::migration_json::answer;
use super::migration_text::print;
use super::output::Output;
use super::scene::{Around, Scene};
use crate::cli::{ListArgs, PlaceArgs};
use crate::store::migration::{Comparison, Migration, check};

/// Compares every transcript of a store with its import.
pub(super) fn run(
    args: &ListArgs,
    place: &PlaceArgs,
    around: &Around,
    output: &mut Output,
) -> Result<(), Failure> {
    let scene = Scene::list(args.path.as_deref(), place, around)?;
    let migration = check(scene.store());
    let totals = Totals::of(&migration);
    if args.json {
        output.json(answer(&scene, &migration, &totals))?;
    } else {
        print(&scene, &migration, &totals, output)?;
    }
    if totals.unreadable > 0 || scene.store().databases.iter().any(|holding| holding.schema.is_none()) {
        let what = "a file or a database cannot be read, so not everything was compared";
        return Err(Failure::unreadable(format!("{}: {what}; see above", scene.listed.name)));
    }
    if totals.is_clean() { Ok(()) } else { Err(Failure::No) }
}

/// The sums over all pairs.
#[derive(Debug, Default)]
pub(super) struct Totals {
    /// Pairs that were compared.
    pub compared: u64,
    /// Pairs of which one side cannot be read.
    pub unreadable: u64,
    /// Pairs with a fault.
    pub faulty: u64,
    /// Sums over the comparisons.
    pub sum: Comparison,
    /// Sessions that no database has.
    pub lost_sessions: u64,
}

impl Totals {
    fn of(migration: &Migration) -> Self {
        let mut totals = Self::default();
        for pair in &migration.pairs {
            let Ok(found) = &pair.result else {
                totals.unreadable += 1;
                continue;
            };
            totals.compared += 1;
            totals.faulty += u64::from(!found.faults.is_empty());
            totals.sum.entries += found.entries;
            totals.sum.identical += found.identical;
            totals.sum.rewritten += found.rewritten;
            totals.sum.left_out += found.left_out;
            totals.sum.later += found.later;
            totals.sum.faults.extend(found.faults.iter().cloned());
        }
        let lost = migration.alone.iter().filter(|alone| alone.why.is_fault());
        totals.lost_sessions = lost.count() as u64;
        totals
    }

    /// Whether everything that was compared is there.
    pub(super) fn is_clean(&self) -> bool {
        self.sum.faults.is_empty() && self.lost_sessions == 0
    }
}

/// A path as JSON has it.
pub(super) fn path_text(path: &Path) -> crate::js::Value {
    crate::js::Value::from(path.to_string_lossy().as_ref())
}
