//! Runs one function over many sessions in parallel: large transcripts one after another on all cores, small ones side
//! by side on one core each. Cores that shared a small transcript would wait for each other longer than they read.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::ThreadPoolBuilder;

use crate::store::location::SharedSnapshots;
use crate::units::Bytes;

/// Transcripts above this many bytes use all cores.
const LARGE_TRANSCRIPT_BYTES: Bytes = Bytes(8 << 20);

/// Transcripts below this many bytes count as equal: they are taken in the order of their ids, in which the index of a
/// database has them. In any other order, each page of a large index is read many times.
const SMALL_TRANSCRIPT_BYTES: Bytes = Bytes(64 << 10);

/// Calls `ask` for each transcript, given by its size and id; returns the answers in the same order.
pub(super) fn map_by_size<T: Send>(transcripts: &[(Bytes, &str)], ask: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let size = |at: &usize| transcripts[*at].0;
    let mut order: Vec<usize> = (0..transcripts.len()).collect();
    // Largest first, so that no large one is left for a single core at the end.
    order.sort_by_key(|at| (Reverse(size(at).max(SMALL_TRANSCRIPT_BYTES)), transcripts[*at].1));
    let (large, small) = order.split_at(order.partition_point(|at| size(at) > LARGE_TRANSCRIPT_BYTES));
    let mut answers: Vec<(usize, T)> = large.iter().map(|at| (*at, ask(*at))).collect();
    let next = AtomicUsize::new(0);
    let on_one_core = || {
        // Nested rayon work stays on this thread.
        let _alone = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
        let shared = SharedSnapshots::on_this_thread();
        let take = || small.get(next.fetch_add(1, Ordering::Relaxed)).copied();
        let answer = |at| {
            let answer = (at, ask(at));
            shared.end_old();
            answer
        };
        std::iter::from_fn(take).map(answer).collect::<Vec<_>>()
    };
    let cores = rayon::current_num_threads().min(small.len());
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(on_one_core)).collect();
        for thread in threads {
            answers.extend(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
    });
    answers.sort_by_key(|(at, _)| *at);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_keep_the_order_and_small_jobs_use_one_thread() {
        const LARGE: u64 = LARGE_TRANSCRIPT_BYTES.get();
        let sizes = [5, LARGE + 1, 0, LARGE, 7, LARGE + 9, 3].map(Bytes);
        let answers = map_by_size(&sizes.map(|size| (size, "")), |at| (at, rayon::current_num_threads()));
        assert_eq!(
            answers.iter().map(|(at, _)| *at).collect::<Vec<_>>(),
            (0..sizes.len()).collect::<Vec<_>>()
        );
        let all = rayon::current_num_threads();
        let expected = sizes.map(|size| if size > LARGE_TRANSCRIPT_BYTES { all } else { 1 });
        assert_eq!(answers.iter().map(|(_, threads)| *threads).collect::<Vec<_>>(), expected);
        assert_eq!(map_by_size(&[], |at| at), [0_usize; 0]);
    }
}
