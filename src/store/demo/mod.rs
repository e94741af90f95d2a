//! The built-in demo store: a gateway's state dir with more than ten sessions of two agents. All content is invented.
//! Each session shows one reason why a context window fills up, or why it does not.
//!
//! The store never changes, so it ships as an archive. `examples/demo_store` generates it and proves that the archive
//! holds what it generates.
#[cfg(test)]
mod tests;

use crate::units::Moment;
use ruzstd::decoding::StreamingDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// Current time of the demo store: 2026-03-05T14:06:41Z, minutes after its last entry.
pub const NOW_MS: Moment = Moment(1_772_719_601_000.0);

/// One Zstandard frame. Each file in it is a line `<bytes> <path>`, then its bytes.
const ARCHIVE: &[u8] = include_bytes!("../../../assets/demo/store.zst");

/// Returns every file of the demo state dir: path relative to the state dir, bytes.
///
/// # Panics
/// Never: a test unpacks the same bytes.
#[expect(clippy::expect_used, reason = "the archive is part of the program and a test unpacks it")]
pub fn files() -> Vec<(PathBuf, Vec<u8>)> {
    unpack(ARCHIVE).expect(
        "the embedded archive unpacks, as the test `the_archive_unpacks_to_files_below_the_state_dir` proves",
    )
}

/// Writes the demo state dir into `dir`, which must exist and should be empty.
///
/// # Errors
/// A folder or file in `dir` cannot be created or written.
pub fn write_to(dir: &Path) -> io::Result<()> {
    for (path, bytes) in files() {
        let path = dir.join(path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        File::create(path)?.write_all(&bytes)?;
    }
    Ok(())
}

fn unpack(archive: &[u8]) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut unpacked = BufReader::new(StreamingDecoder::new(archive).map_err(io::Error::other)?);
    let mut files = Vec::new();
    let mut header = String::new();
    while unpacked.read_line(&mut header)? > 0 {
        let (size, path) = parse_header(&header).ok_or(io::ErrorKind::InvalidData)?;
        let mut bytes = vec![0; size];
        unpacked.read_exact(&mut bytes)?;
        files.push((PathBuf::from(path), bytes));
        header.clear();
    }
    Ok(files)
}

fn parse_header(line: &str) -> Option<(usize, &str)> {
    let (size, path) = line.strip_suffix('\n')?.split_once(' ')?;
    Some((size.parse().ok()?, path))
}
