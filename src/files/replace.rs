//! Replaces a whole file so that a reader, also after a power failure, sees the old content or the new one: the new
//! bytes go to a temporary file in the same folder, are synced, and are renamed over the old name, which is synced too.

use std::fmt::Debug;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use tempfile::NamedTempFile;

/// The steps of a replacement. They are behind a trait so that a test can record their order.
pub trait ReplaceSteps: Debug {
    /// Creates a temporary file in the folder. Only its owner may read it.
    fn create(&self, folder: &Path) -> io::Result<NamedTempFile> {
        NamedTempFile::new_in(folder)
    }

    fn write(&self, file: &mut NamedTempFile, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)
    }

    /// Syncs the bytes of the temporary file to the disk.
    fn sync(&self, file: &NamedTempFile) -> io::Result<()> {
        file.as_file().sync_all()
    }

    /// Renames the temporary file over `path`.
    fn rename(&self, file: NamedTempFile, path: &Path) -> io::Result<()> {
        file.persist(path).map(drop).map_err(|error| error.error)
    }

    /// Syncs the names in a folder to the disk.
    fn sync_dir(&self, folder: &Path) -> io::Result<()> {
        if cfg!(unix) { open_folder(folder)?.sync_all() } else { Ok(()) }
    }
}

/// The steps on this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemSteps;

impl ReplaceSteps for SystemSteps {}

/// Writes a file, in place of one with the same name.
///
/// # Errors
/// The system's. The old file is unchanged then, except where only the sync of the folder failed.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_with(&SystemSteps, path, bytes)
}

/// Runs [`replace`] with steps that a test can observe.
pub fn replace_with(steps: &dyn ReplaceSteps, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = steps.create(folder)?;
    steps.write(&mut file, bytes)?;
    steps.sync(&file)?;
    steps.rename(file, path)?;
    steps.sync_dir(folder)
}

fn open_folder(folder: &Path) -> io::Result<File> {
    std::fs::OpenOptions::new().read(true).open(folder)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::fs;

    use super::*;

    /// Records each step, with the content that a reader of `path` sees after it.
    #[derive(Debug)]
    struct Recorder<'a> {
        path: &'a Path,
        log: RefCell<Vec<(&'static str, String)>>,
        /// The step that fails.
        fails: &'static str,
    }

    impl Recorder<'_> {
        fn step<T>(&self, name: &'static str, step: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
            let done = if name == self.fails { Err(io::ErrorKind::StorageFull.into()) } else { step() };
            self.log.borrow_mut().push((name, fs::read_to_string(self.path).unwrap()));
            done
        }
    }

    impl ReplaceSteps for Recorder<'_> {
        fn create(&self, folder: &Path) -> io::Result<NamedTempFile> {
            self.step("create", || SystemSteps.create(folder))
        }

        fn write(&self, file: &mut NamedTempFile, bytes: &[u8]) -> io::Result<()> {
            self.step("write", || SystemSteps.write(file, bytes))
        }

        fn sync(&self, file: &NamedTempFile) -> io::Result<()> {
            self.step("sync", || SystemSteps.sync(file))
        }

        fn rename(&self, file: NamedTempFile, path: &Path) -> io::Result<()> {
            self.step("rename", || SystemSteps.rename(file, path))
        }

        fn sync_dir(&self, folder: &Path) -> io::Result<()> {
            self.step("sync folder", || SystemSteps.sync_dir(folder))
        }
    }

    const ORDER: [&str; 5] = ["create", "write", "sync", "rename", "sync folder"];

    #[test]
    fn every_prefix_of_the_steps_leaves_the_old_content_or_the_new() {
        for (at, fails) in ORDER.into_iter().chain(["nothing"]).enumerate() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.toml");
            replace(&path, b"old").unwrap();
            let recorder = Recorder { path: &path, log: RefCell::default(), fails };
            assert_eq!(replace_with(&recorder, &path, b"new content").is_ok(), fails == "nothing");
            let log = recorder.log.into_inner();
            let names: Vec<&str> = log.iter().map(|(name, _)| *name).collect();
            assert_eq!(names, ORDER[..ORDER.len().min(at + 1)], "the steps up to the failure, in order");
            for (place, (name, content)) in log.iter().enumerate() {
                let renamed = place > 3 || (*name == "rename" && fails != "rename");
                assert_eq!(content, if renamed { "new content" } else { "old" }, "after {name}");
            }
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file stays");
        }
    }

    #[test]
    fn a_file_in_the_working_directory_has_a_folder_too() {
        let nowhere = replace(Path::new("/nowhere/at/all"), b"x").unwrap_err();
        assert_eq!(nowhere.kind(), io::ErrorKind::NotFound);
    }
}
