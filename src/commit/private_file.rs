//! Files of a session that its gateway is to import: new, and readable by their owner alone.

use std::io::{self, Write as _};
use std::path::Path;

use crate::commit::disk::{Disk as _, SystemDisk};
use crate::commit::session_folder::{SessionFolder, file_name};
use crate::files;

/// Writes a new file with the folders above it; fails if the file exists.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    let folder = SessionFolder::containing(path)?;
    let mut file = SystemDisk.create(folder.place(file_name(path)?), true)?;
    file.write_all(bytes)?;
    SystemDisk.sync(&file)
}

/// Removes a file if it has these bytes, which are those of its own copy.
pub fn remove_copy(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // One more byte than expected shows that the file is longer.
    match files::read(path, bytes.len() as u64 + 1) {
        Ok(own) if own == bytes => {
            SystemDisk.remove(SessionFolder::containing(path)?.place(file_name(path)?))
        }
        Ok(_) => Ok(()),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::FileTooLarge) => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_existing_file_is_never_overwritten_and_a_changed_one_never_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/s.jsonl");
        write_private(&path, b"mine").unwrap();
        assert_eq!(write_private(&path, b"other").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        for bytes in [&b"other"[..], b"min", b"mine and more"] {
            remove_copy(&path, bytes).unwrap();
            assert!(path.exists());
        }
        remove_copy(&path, b"mine").unwrap();
        remove_copy(&path, b"mine").unwrap();
        assert!(!path.exists());
    }
}
