//! A store to rows, and to rows with their counts.

use std::path::PathBuf;

use clawscope::session::loading::open;
use clawscope::units::Moment;
use divan::Bencher;
use rayon::prelude::*;

use crate::{WHOLE, large, made, opened};

const SESSIONS: usize = if WHOLE { 300 } else { 20 };

/// A gateway's state with this many sessions.
fn store() -> PathBuf {
    made("state", |path| {
        large::store(path, SESSIONS, 3).unwrap();
    })
}

/// The first state of the list: rows, files and locks.
#[divan::bench(sample_count = 20)]
fn listing_rows_first(bencher: Bencher<'_, '_>) {
    let store = store();
    bencher.bench_local(|| assert_eq!(opened::listed(&store).items.len(), SESSIONS));
}

/// The complete list: every transcript counted.
#[divan::bench(sample_count = 5)]
fn listing_with_counts(bencher: Bencher<'_, '_>) {
    let store = store();
    bencher.bench_local(|| {
        let listed = opened::listed(&store);
        let count = |item: &clawscope::session::SessionItem| {
            open(&listed.store, &item.key, None, Moment::ZERO, &mut |_, _| true).unwrap().item.entries
        };
        listed.items.par_iter().filter_map(count).sum::<u64>()
    });
}
