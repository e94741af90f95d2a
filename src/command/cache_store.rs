//! The cache ledgers of a store, summed by session and by day.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use super::environment::Workspace;
use super::failure::Failure;
use super::parallel::map_by_size;
use crate::report::cache_ledger::{CacheTotals, cache_ledger};
use crate::session::{Mark, SessionItem};

/// Sessions whose sums by day are in memory at once.
const BATCH_SESSIONS: usize = 4096;

/// The sums of a store.
#[derive(Debug)]
pub(super) struct StoreLedger<'a> {
    /// Sessions with billed calls, the most expensive first.
    pub(super) sessions: Vec<(&'a SessionItem, CacheTotals)>,
    /// By UTC day.
    pub(super) days: BTreeMap<String, CacheTotals>,
    pub(super) totals: CacheTotals,
    /// Sessions that cannot be read, and why.
    pub(super) unread: Vec<(&'a SessionItem, Failure)>,
}

type Sums = (CacheTotals, BTreeMap<String, CacheTotals>);

/// Reads every transcript once: for several keys, under the first of them (store D4). Backups and imported files repeat the
/// calls of other sessions and are left out.
pub(super) fn read_store(workspace: &Workspace) -> StoreLedger<'_> {
    let repeats = [Mark::Missing, Mark::Backup, Mark::Imported];
    let mut seen: HashSet<&Path> = HashSet::new();
    let items: Vec<&SessionItem> = workspace
        .listed
        .items
        .iter()
        .filter(|item| !repeats.iter().any(|mark| item.has(*mark)))
        .filter(|item| item.path.as_deref().is_some_and(|path| seen.insert(path)))
        .collect();
    let mut store = StoreLedger {
        sessions: Vec::new(),
        days: BTreeMap::new(),
        totals: CacheTotals::default(),
        unread: Vec::new(),
    };
    for batch in items.chunks(BATCH_SESSIONS) {
        let transcripts: Vec<_> = batch.iter().map(|item| (item.bytes, item.id.as_str())).collect();
        let sums = map_by_size(&transcripts, |at| sum_session(workspace, batch[at]));
        for (item, sum) in batch.iter().zip(sums) {
            match sum {
                Ok((totals, days)) => store.add(item, totals, &days),
                Err(failure) => store.unread.push((item, failure)),
            }
        }
    }
    store.sessions.sort_by(|(_, one), (_, other)| {
        let cost = |totals: &CacheTotals| totals.cost.total().unwrap_or(0.0);
        cost(other).total_cmp(&cost(one)).then(other.prompt_tokens().total_cmp(&one.prompt_tokens()))
    });
    store
}

impl<'a> StoreLedger<'a> {
    fn add(&mut self, item: &'a SessionItem, totals: CacheTotals, days: &BTreeMap<String, CacheTotals>) {
        self.totals.merge(&totals);
        for (day, own) in days {
            self.days.entry(day.clone()).or_default().merge(own);
        }
        if totals.billed_calls() > 0 {
            self.sessions.push((item, totals));
        }
    }
}

fn sum_session(workspace: &Workspace, item: &SessionItem) -> Result<Sums, Failure> {
    let session = workspace.open_item(item)?;
    let ledger = cache_ledger(&session)?;
    Ok((ledger.totals(), ledger.totals_by_day()))
}
