//! Measures a search over a store against `rg` on the same files: `cargo bench --bench search`.
//!
//! Both run in turn, several times, in one run, so that the ratio holds on a busy machine too. `SESSIONS=200` makes a
//! smaller store.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a bench that cannot begin stops there")]
#![allow(clippy::print_stdout, reason = "a bench prints its numbers")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use clawscope::gateway::env::Environment;
use clawscope::session::list::list_sessions;
use clawscope::session::search::{SearchQuery, search_store};
use clawscope::session::store_location::{StoreLocation, StoreRequest};
use clawscope::store::discovery::Store;
use clawscope::units::Moment;

#[path = "../tests/it/support/generate.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod generate;
#[path = "../tests/it/support/large.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod large;

const ROUNDS: usize = 7;
/// Nothing, a word of one message in ten, and one of two in three.
const QUERIES: [&str; 3] = ["libatomic", "naïve", "error"];

fn main() {
    let sessions = std::env::var("SESSIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(2_000);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("search-{sessions}"));
    if !folder.join("openclaw.json").exists() {
        large::store(&folder, sessions, 11).unwrap();
    }
    let place = StoreLocation::new(&StoreRequest::Path(folder.clone()), Environment::default()).unwrap();
    let store = list_sessions(&place, Moment::ZERO).store;
    let has_rg = Command::new("rg").arg("--version").stdout(Stdio::null()).status().is_ok();
    println!("{:>14} {:>9} {:>10} {:>10} {:>10} {:>7}", "query", "hits", "first", "all", "rg", "ratio");
    for query in QUERIES {
        let mut runs: Vec<(Duration, Duration, Duration)> = Vec::new();
        let mut hits = 0;
        for _ in 0..ROUNDS {
            let (count, first, all) = search(&store, query);
            hits = count;
            runs.push((first, all, if has_rg { rg(&folder, query) } else { Duration::ZERO }));
        }
        let median = |pick: fn(&(Duration, Duration, Duration)) -> Duration| {
            let mut times: Vec<Duration> = runs.iter().map(pick).collect();
            times.sort();
            times[ROUNDS / 2]
        };
        let (first, all, rg) = (median(|run| run.0), median(|run| run.1), median(|run| run.2));
        let ratio = all.as_secs_f64() / rg.as_secs_f64().max(1e-9);
        println!("{query:>14} {hits:>9} {first:>10.1?} {all:>10.1?} {rg:>10.1?} {ratio:>7.2}");
    }
}

/// Returns the hits, and the time until the first session was found and until all were.
fn search(store: &Store, query: &str) -> (usize, Duration, Duration) {
    let began = Instant::now();
    let found = Mutex::new((0, None));
    search_store(store, &SearchQuery::new(query), &|| true, &|session| {
        let mut found = found.lock().unwrap();
        found.0 += session.count;
        found.1.get_or_insert_with(|| began.elapsed());
    });
    let (count, first) = found.into_inner().unwrap();
    (count, first.unwrap_or_else(|| began.elapsed()), began.elapsed())
}

/// Lets `rg` find the lines with the first word; it knows neither JSON nor messages.
fn rg(folder: &Path, query: &str) -> Duration {
    let word = query.split(' ').next().unwrap_or_default();
    let transcripts: PathBuf = folder.join("agents/main/sessions");
    let began = Instant::now();
    let mut command = Command::new("rg");
    command.args(["--smart-case", "--count", "--no-ignore", "--glob", "*.jsonl", word]);
    command.arg(transcripts).stdout(Stdio::null()).status().unwrap();
    began.elapsed()
}
