//! Counts over all files of a migration, for its text and its JSON.

use crate::store::migration::{ImportComparison, Migration};

/// Sums over all pairs of transcript and import.
#[derive(Debug, Default)]
pub(super) struct MigrationTotals {
    pub compared_pairs: u64,
    /// Pairs with an unreadable side.
    pub unreadable_pairs: u64,
    pub faulty_pairs: u64,
    pub comparison: ImportComparison,
    /// Sessions missing from every database.
    pub lost_sessions: u64,
}

impl MigrationTotals {
    pub(super) fn new(migration: &Migration) -> Self {
        let mut totals = Self::default();
        for pair in &migration.pairs {
            let Ok(found) = &pair.comparison else {
                totals.unreadable_pairs += 1;
                continue;
            };
            totals.compared_pairs += 1;
            totals.faulty_pairs += u64::from(!found.faults.is_empty());
            totals.comparison.entries += found.entries;
            totals.comparison.identical += found.identical;
            totals.comparison.rewritten += found.rewritten;
            totals.comparison.skipped += found.skipped;
            totals.comparison.added_rows += found.added_rows;
            totals.comparison.faults.extend(found.faults.iter().cloned());
        }
        let lost = migration.unmatched.iter().filter(|alone| alone.reason.is_fault());
        totals.lost_sessions = lost.count() as u64;
        totals
    }

    pub(super) fn is_clean(&self) -> bool {
        self.comparison.faults.is_empty() && self.lost_sessions == 0
    }
}
