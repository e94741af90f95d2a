//! The JSON of `clawscope cost`.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::environment::Workspace;
use super::explain_all::UnreadJson;
use super::failure::Failure;
use super::parallel::map_by_size;
use super::session_output::{SessionJson, finite, rounded, session_json};
use crate::export::json::JsonOutput;
use crate::replay::{Cost, CostOrigin};
use crate::report::cache_ledger::{CacheLedger, CacheTotals, CachedCall, CallCount, MissCause, cache_ledger};
use crate::session::{LoadedSession, Mark, SessionItem};
use crate::units::{Millis, Moment, Tokens};

/// The cache ledger of a session, all branches included.
#[derive(Serialize, JsonSchema)]
pub(super) struct CacheJson {
    session: SessionJson,
    /// The configured time for which the provider keeps a prompt: none, 5m, 1h or 24h.
    retention: &'static str,
    totals: CacheTotalsJson,
    days: Vec<DayJson>,
    /// The calls with a counted prompt, in file order.
    pub(super) calls: Vec<CachedCallJson>,
}

impl JsonOutput for CacheJson {}

/// The cache ledgers of a store, summed.
#[derive(Serialize, JsonSchema)]
pub(super) struct StoreCacheJson {
    totals: CacheTotalsJson,
    /// Sessions with billed calls, the most expensive first.
    sessions: Vec<SessionCacheJson>,
    days: Vec<DayJson>,
    /// Sessions that cannot be read.
    unread: Vec<UnreadJson>,
}

impl JsonOutput for StoreCacheJson {}

#[derive(Serialize, JsonSchema)]
struct SessionCacheJson {
    session: SessionJson,
    totals: CacheTotalsJson,
}

#[derive(Serialize, JsonSchema)]
struct DayJson {
    /// UTC, as 2026-11-19; unknown for calls without a time.
    day: String,
    totals: CacheTotalsJson,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CacheTotalsJson {
    /// Calls whose prompt was counted.
    calls: usize,
    /// Other billed calls: summaries, calls of tools, calls without a count of their prompt.
    side_calls: usize,
    /// Calls of providers that had reported no cache activity.
    uncached_calls: usize,
    /// Prompt tokens read from the cache.
    read: Option<Tokens>,
    /// Prompt tokens written to the cache.
    written: Option<Tokens>,
    /// Prompt tokens neither read nor written.
    input: Option<Tokens>,
    /// Cost of the calls and side calls, USD.
    cost: Option<f64>,
    #[serde(flatten)]
    origin: CostOrigin,
    misses: CallCountJson,
    /// The share of the cost that the misses added, 0 to 1.
    miss_share: Option<f64>,
    /// Tokens that were not read, by cause.
    causes: Vec<CauseJson>,
}

#[derive(Serialize, JsonSchema)]
struct CallCountJson {
    calls: usize,
    /// Tokens that were not read.
    tokens: Option<Tokens>,
    /// Extra cost of these tokens, USD.
    cost: Option<f64>,
    #[serde(flatten)]
    origin: CostOrigin,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CauseJson {
    cause: &'static str,
    /// False for a new prompt, which is not a miss.
    is_miss: bool,
    #[serde(flatten)]
    count: CallCountJson,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CachedCallJson {
    /// The answer.
    entry: String,
    /// ms since 1970.
    time: Option<Moment>,
    read: Option<Tokens>,
    written: Option<Tokens>,
    input: Option<Tokens>,
    /// Cost of the call, USD.
    cost: Option<f64>,
    /// Whether no cache activity was ever reported up to this call.
    uncached: bool,
    miss: Option<MissJson>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct MissJson {
    cause: &'static str,
    /// False for a new prompt, which is not a miss.
    is_miss: bool,
    /// The entry at which the prompt changed.
    at: Option<String>,
    /// Tokens that were not read.
    tokens: Option<Tokens>,
    /// Extra cost, USD.
    cost: Option<f64>,
    #[serde(flatten)]
    origin: CostOrigin,
    /// ms since the previous prompt was sent.
    age: Option<Millis>,
}

impl CacheJson {
    pub(super) fn new(session: &LoadedSession, ledger: &CacheLedger) -> Self {
        Self {
            session: session_json(&session.item),
            retention: ledger.retention.as_str(),
            totals: totals_json(&ledger.totals()),
            days: days_json(&ledger.totals_by_day()),
            calls: ledger.calls.iter().map(|call| call_json(session, call)).collect(),
        }
    }
}

pub(super) fn store_json(store: &StoreLedger) -> StoreCacheJson {
    let sessions = store.sessions.iter();
    let unread = store.unread.iter();
    StoreCacheJson {
        totals: totals_json(&store.totals),
        sessions: sessions
            .map(|(item, totals)| SessionCacheJson {
                session: session_json(item),
                totals: totals_json(totals),
            })
            .collect(),
        days: days_json(&store.days),
        unread: unread
            .map(|(item, failure)| UnreadJson {
                session: session_json(item),
                error: failure.message().to_owned(),
            })
            .collect(),
    }
}

fn days_json(days: &std::collections::BTreeMap<String, CacheTotals>) -> Vec<DayJson> {
    days.iter().map(|(day, totals)| DayJson { day: day.clone(), totals: totals_json(totals) }).collect()
}

fn totals_json(totals: &CacheTotals) -> CacheTotalsJson {
    let cause = |(cause, count): (&MissCause, &CallCount)| CauseJson {
        cause: cause.as_str(),
        is_miss: !cause.makes_new_prompt(),
        count: count_json(count),
    };
    CacheTotalsJson {
        calls: totals.calls,
        side_calls: totals.side_calls,
        uncached_calls: totals.uncached_calls,
        read: finite(totals.read),
        written: finite(totals.written),
        input: finite(totals.input),
        cost: totals.cost.total(),
        origin: origin(&totals.cost),
        misses: count_json(&totals.misses),
        miss_share: totals.miss_share(),
        causes: totals.by_cause.iter().map(cause).collect(),
    }
}

fn count_json(count: &CallCount) -> CallCountJson {
    CallCountJson {
        calls: count.calls,
        tokens: rounded(count.tokens),
        cost: count.cost.total(),
        origin: origin(&count.cost),
    }
}

fn origin(cost: &Cost) -> CostOrigin {
    CostOrigin::from(cost)
}

fn call_json(session: &LoadedSession, call: &CachedCall) -> CachedCallJson {
    let index = &session.index;
    CachedCallJson {
        entry: index.display_id(call.entry),
        time: finite(call.ended),
        read: finite(call.split.read),
        written: finite(call.split.write),
        input: finite(call.split.input),
        cost: call.cost.total(),
        uncached: call.is_uncached,
        miss: call.miss.map(|miss| MissJson {
            cause: miss.cause.as_str(),
            is_miss: miss.is_counted(),
            at: miss.at.map(|entry| index.display_id(entry)),
            tokens: rounded(miss.tokens),
            cost: miss.cost.total(),
            origin: origin(&miss.cost),
            age: finite(miss.age_ms),
        }),
    }
}

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
