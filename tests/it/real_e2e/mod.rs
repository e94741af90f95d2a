//! The real programs, end to end: pi and `openclaw agent --local` write sessions while a model server on the loopback
//! (`mock/`) decides every count and refusal and logs every request. Then clawscope is asked about each moment of the store,
//! and its answers are compared with what was sent (`checks.rs`).
//!
//! The programs come from npm. Pi 0.55.3, pi 1.5.2 and OpenClaw 2026.3.2 are required if the real programs are; others run on
//! demand (`on_demand.rs`).

mod advice;
mod changes;
mod checks;
mod commits;
mod database;
mod exceptions;
mod installed;
mod kept;
mod mock;
mod moment;
mod on_demand;
mod openclaw;
mod openclaw_scenarios;
mod pi;
mod pi_scenarios;
mod program;
mod recovery;
mod required;
mod scenario;
mod sent;
mod work;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clawscope::commit::{Clock as _, SystemClock};

use scenario::Finished;

fn write_file(path: &Path, bytes: &[u8]) {
    let file = fs::File::create(path).and_then(|mut file| file.write_all(bytes));
    file.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

fn now_ms() -> u64 {
    SystemClock.now_ms().0 as u64
}

/// Directives that read so many files of 8,000 chars, one call after the other.
fn reads(files: usize) -> String {
    (1..=files).fold(String::new(), |text, number| text + "#read f" + &number.to_string() + ".txt\n")
}

/// The transcripts of a folder, the newest first.
fn transcripts(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).expect("sessions").map(|item| item.expect("a file").path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
    let time = |path: &PathBuf| fs::metadata(path).and_then(|data| data.modified()).expect("a time");
    files.sort_by_key(|path| std::cmp::Reverse(time(path)));
    files
}

/// Compares a finished scenario and returns what is neither equal nor a known exception. Its folder is then kept.
fn unexpected(mut finished: Finished) -> Vec<String> {
    kept::write(&finished);
    let mut found = compared(&mut finished);
    if !found.is_empty() || std::env::var_os("CLAWSCOPE_E2E_KEEP").is_some() {
        let folder = finished.folder.keep();
        found.extend((!found.is_empty()).then(|| format!("kept in {}", folder.display())));
    }
    found
}

fn compared(finished: &mut Finished) -> Vec<String> {
    checks::compare(finished);
    exceptions::unexpected(&finished.program, &finished.scenario, &finished.outcome)
}
