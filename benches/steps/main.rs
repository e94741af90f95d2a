//! Measures each step between a file and the screen on generated transcripts: `cargo bench --bench steps`.
//! Run one with `cargo bench --bench steps -- growth`, or each once and small as a check: `cargo test --bench steps`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a bench that cannot begin stops there")]

#[path = "../../tests/it/support/generate.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod generate;
mod index;
#[path = "../../tests/it/support/large.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod large;
mod listing;
mod opened;
mod plans;
mod screen;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

/// Unoptimised, only whether they work matters.
const WHOLE: bool = !cfg!(debug_assertions);
/// Sizes of transcripts, MB.
const SIZES: [u64; 2] = if WHOLE { [10, 100] } else { [1, 2] };

static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
static MADE: Mutex<()> = Mutex::new(());

fn main() {
    divan::main();
    if let Some(folder) = FOLDER.get() {
        let _ = std::fs::remove_dir_all(folder.path());
    }
}

/// Where generated files are, until the benches end.
fn folder() -> &'static Path {
    FOLDER.get_or_init(|| tempfile::Builder::new().prefix("clawscope-bench-").tempdir().unwrap()).path()
}

/// Makes a file once for all benches that use it.
fn made(name: &str, make: impl FnOnce(&Path)) -> PathBuf {
    let _one = MADE.lock().unwrap();
    let path = folder().join(name);
    if !path.exists() {
        make(&path);
    }
    path
}

/// A transcript of this many MB.
fn transcript(megabytes: u64) -> PathBuf {
    made(&format!("{megabytes}.jsonl"), |path| {
        large::file(large::Recipe::of(megabytes * 1_000_000, 1), path).unwrap();
    })
}

/// A transcript whose messages are all in the context.
fn whole(megabytes: u64) -> PathBuf {
    made(&format!("whole-{megabytes}.jsonl"), |path| {
        let recipe = large::Recipe { compact_every: 0, ..large::Recipe::of(megabytes * 1_000_000, 2) };
        large::file(recipe, path).unwrap();
    })
}
