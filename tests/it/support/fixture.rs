//! Unpacks stores that real gateways wrote into temporary folders.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A file or folder below `tests/fixtures`.
pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// Copies a file or a folder with its contents.
pub(crate) fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).expect("a folder");
        for item in fs::read_dir(from).expect("a folder") {
            let item = item.expect("an item");
            copy(&item.path(), &to.join(item.file_name()));
        }
    } else {
        fs::copy(from, to).expect("a copy");
    }
}

/// Writes a file.
pub(crate) fn put(path: &Path, text: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    let written = fs::File::create(path).and_then(|mut file| file.write_all(text.as_ref()));
    written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// Unpacks a packed file.
pub(crate) fn unpack(from: &Path, to: &Path) {
    put(to, unpacked(fs::File::open(from).expect("a fixture")));
}

/// Unpacks bytes in zstd.
pub(crate) fn unpacked(packed: impl std::io::Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(packed).expect("packed bytes");
    decoder.read_to_end(&mut bytes).expect("the whole text");
    bytes
}

/// The agent `main` of a state dir.
pub(crate) fn main_of(state: &Path) -> PathBuf {
    state.join("agents/main")
}

/// Its database.
pub(crate) fn database_of(state: &Path) -> PathBuf {
    main_of(state).join("agent/openclaw-agent.sqlite")
}

/// The state dir that 2026.8.1 left: schema 19, the files its import moved aside, and a deleted session.
pub(crate) fn state_2026_8_1() -> TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    let from = fixture("sqlite-2026.8.1");
    unpack(&from.join("openclaw-agent.sqlite.zst"), &database_of(dir.path()));
    for folder in ["sessions", "session-sqlite-import-archive"] {
        copy(&from.join(folder), &main_of(dir.path()).join(folder));
    }
    dir
}
