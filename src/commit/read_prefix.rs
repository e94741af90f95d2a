//! The bytes of a session file that were read, by their hash. They distinguish a file that only grew from one that was
//! rewritten, replaced or truncated (store H10).

use std::io;

use sha2::{Digest as _, Sha256};

use crate::store::index::{FileIdentity, Index};
use crate::store::source::Source;
use crate::units::Bytes;

/// Bytes hashed at a time.
const BLOCK_BYTES: u64 = 256 * 1024;

/// The read part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadPrefix {
    identity: FileIdentity,
    /// Length in bytes, from the start of the file.
    bytes: Bytes,
    sha256: [u8; 32],
}

impl ReadPrefix {
    /// Hashes the part of a file that an index covers. `None` where nothing can be appended, or the part cannot be read
    /// any more.
    pub fn of(source: &Source, index: &Index) -> Option<Self> {
        let Source::File { .. } = source else { return None };
        let bytes = index.file_bytes();
        Some(Self { identity: index.identity, bytes, sha256: hash(source, bytes).ok()? })
    }

    /// Returns the kind of change if the file no longer begins with these bytes.
    pub fn difference(&self, source: &Source) -> io::Result<Option<&'static str>> {
        Ok(if source.identity()? != self.identity {
            Some("the file was replaced")
        } else if source.len()? < self.bytes.get() {
            Some("the file became shorter")
        } else if hash(source, self.bytes)? != self.sha256 {
            Some("the file was rewritten")
        } else {
            None
        })
    }
}

fn hash(source: &Source, bytes: Bytes) -> io::Result<[u8; 32]> {
    let mut hasher = Sha256::new();
    let mut at = 0;
    while at < bytes.get() {
        let block = BLOCK_BYTES.min(bytes.get() - at);
        hasher.update(source.read_span(at, block as usize)?);
        at += block;
    }
    Ok(hasher.finalize().into())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, OpenOptions};
    use std::io::Write as _;
    use std::path::Path;

    use super::*;
    use crate::ids::LineIds;
    use crate::store::load::load;

    fn create(path: &Path, text: &str) {
        File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn only_growth_keeps_the_bytes_that_were_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        // A change in the middle of a long file leaves both ends unchanged.
        let line = |id: usize| format!("{{\"type\":\"custom\",\"id\":\"e{id:05}\",\"parentId\":null}}\n");
        let text: String = (0..9000).map(line).collect();
        create(&path, &text);
        let source = Source::open(&path).unwrap();
        let index = load(&source, &mut LineIds, &mut |_, _| true).unwrap();
        let read = ReadPrefix::of(&source, &index).unwrap();
        let difference = || read.difference(&Source::open(&path).unwrap()).unwrap();
        assert_eq!(difference(), None);
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{}\n").unwrap();
        assert_eq!(difference(), None, "it only grew");
        create(&path, &(text.replace("e04500", "e99999") + "{}\n"));
        assert_eq!(difference(), Some("the file was rewritten"));
        create(&path, &text[..text.len() - 9]);
        assert_eq!(difference(), Some("the file became shorter"));
        create(&path.with_extension("new"), &text);
        fs::rename(path.with_extension("new"), &path).unwrap();
        assert_eq!(difference(), cfg!(unix).then_some("the file was replaced"));
        let memory = Source::from_memory("m.jsonl", text.as_bytes());
        assert_eq!(ReadPrefix::of(&memory, &index), None, "nothing is appended to memory");
    }
}
