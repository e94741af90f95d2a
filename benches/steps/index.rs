//! Bytes to an index, and growth of it.

use std::io::Write as _;

use clawscope::ids::LineIds;
use clawscope::store::index::Index;
use clawscope::store::load::{FileChange, load, refresh};
use clawscope::store::source::Source;
use divan::counter::BytesCount;
use divan::{Bencher, black_box};

use crate::{SIZES, folder, transcript};

fn read(source: &Source) -> Index {
    load(source, &mut LineIds, &mut |_, _| true).unwrap()
}

/// On one core and on two.
#[divan::bench(args = [1, 2], sample_count = 10)]
fn indexing_the_large_one_on_cores(bencher: Bencher<'_, '_>, cores: usize) {
    let path = transcript(SIZES[1]);
    let bytes = std::fs::metadata(&path).unwrap().len();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(cores).build().unwrap();
    let source = Source::open(&path).unwrap();
    bencher.counter(BytesCount::new(bytes)).bench_local(|| pool.install(|| read(&source)));
}

#[divan::bench(sample_count = 40)]
fn indexing_the_small_one(bencher: Bencher<'_, '_>) {
    let path = transcript(SIZES[0]);
    let bytes = std::fs::metadata(&path).unwrap().len();
    let source = Source::open(&path).unwrap();
    bencher.counter(BytesCount::new(bytes)).bench_local(|| read(&source));
}

/// Adds one line to a file of this many MB: its size must not matter.
#[divan::bench(args = SIZES, sample_count = 30)]
fn growth_by_a_line_at_mb(bencher: Bencher<'_, '_>, megabytes: u64) {
    let path = folder().join(format!("growing-{megabytes}.jsonl"));
    std::fs::copy(transcript(megabytes), &path).unwrap();
    let known = read(&Source::open(&path).unwrap());
    let mut file = std::fs::File::options().append(true).open(&path).unwrap();
    let line = r#"{"type":"message","id":"one-more","parentId":null,"message":{"role":"user","content":"and now?"}}"#;
    writeln!(file, "{line}").unwrap();
    bencher.with_inputs(|| known.clone()).bench_values(|known| {
        let source = Source::open(&path).unwrap();
        let grown = refresh(&known, &source, &mut LineIds, &mut |_, _| true).unwrap();
        assert!(matches!(grown, FileChange::Grown(_)));
        black_box(grown)
    });
    std::fs::remove_file(path).unwrap();
}

/// Checks a file that did not grow.
#[divan::bench(args = SIZES)]
fn growth_by_nothing_at_mb(bencher: Bencher<'_, '_>, megabytes: u64) {
    let path = transcript(megabytes);
    let known = read(&Source::open(&path).unwrap());
    bencher.bench_local(|| {
        let source = Source::open(&path).unwrap();
        assert!(matches!(
            refresh(&known, &source, &mut LineIds, &mut |_, _| true).unwrap(),
            FileChange::Unchanged
        ));
    });
}
