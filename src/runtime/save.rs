//! Saves a text to a new file: in the working directory under a free name, or at a given path.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::files;

/// Names to try before failing.
const MAX_TRIES: u32 = 1000;

/// Writes a new file; a number is put before the extension when the name is taken. Never overwrites a file.
pub(super) fn save_unique(folder: &Path, name: &str, text: &str) -> Result<PathBuf, SaveError> {
    for number in 1..=MAX_TRIES {
        let path = folder.join(numbered_name(name, number));
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        match file.and_then(|mut file| file.write_all(text.as_bytes())) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(SaveError::Write { path, source }),
        }
    }
    Err(SaveError::NoFreeName { path: folder.join(name) })
}

/// Writes a file at a path. Replaces an existing file only with `replace`, and then atomically: the complete new file
/// is renamed over it.
pub fn save_as(path: &Path, text: &str, replace: bool) -> Result<(), SaveError> {
    let failed = |source| SaveError::Write { path: path.to_owned(), source };
    if !replace {
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        return match file.and_then(|mut file| file.write_all(text.as_bytes())) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(SaveError::AlreadyExists { path: path.to_owned() })
            }
            other => other.map_err(failed),
        };
    }
    files::replace(path, text.as_bytes()).map_err(failed)
}

/// The reason why a file was not written.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    #[error("{} already exists", .path.display())]
    AlreadyExists { path: PathBuf },
    #[error("{}: every name up to {MAX_TRIES} is taken. Delete some of the files.", .path.display())]
    NoFreeName { path: PathBuf },
    #[error("{}: cannot write the file: {source}.", .path.display())]
    Write { path: PathBuf, source: io::Error },
}

fn numbered_name(name: &str, number: u32) -> String {
    match name.rsplit_once('.') {
        _ if number == 1 => name.to_owned(),
        Some((stem, extension)) if !stem.is_empty() => format!("{stem}-{number}.{extension}"),
        _ => format!("{name}-{number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_existing_file_is_replaced_only_on_request_and_atomically() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.html");
        save_as(&path, "one, long", false).unwrap();
        assert!(matches!(save_as(&path, "two", false), Err(SaveError::AlreadyExists { .. })));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one, long");
        save_as(&path, "two", true).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        let nowhere = save_as(&dir.path().join("b/c"), "x", false).unwrap_err();
        assert!(nowhere.to_string().contains("cannot write the file"));
    }

    #[test]
    fn saving_picks_a_free_name() {
        let dir = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> =
            ["a", "b", "c"].map(|text| save_unique(dir.path(), "plan.json", text).unwrap()).into();
        let names: Vec<_> = paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["plan.json", "plan-2.json", "plan-3.json"]);
        assert_eq!(std::fs::read_to_string(&paths[0]).unwrap(), "a");
        assert_eq!(numbered_name("plan", 2), "plan-2");
        let error = save_unique(&dir.path().join("nowhere"), "x", "").unwrap_err();
        assert!(error.to_string().contains("cannot write the file"), "{error}");
    }
}
