//! A text as a new file in the working directory.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Names tried before giving up.
const TRIES: u32 = 1000;

/// Writes a new file; a number goes before the extension when the name is taken. Nothing is ever
/// overwritten.
pub(super) fn save(folder: &Path, name: &str, text: &str) -> Result<PathBuf, String> {
    for number in 1..=TRIES {
        let path = folder.join(numbered(name, number));
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        match file.and_then(|mut file| file.write_all(text.as_bytes())) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(format!("{}: cannot be written: {error}.", path.display())),
        }
    }
    Err(format!("{}: every name up to {TRIES} is taken. Remove some.", folder.join(name).display()))
}

/// Writes a new file of exactly this name.
///
/// # Errors
/// When there is one already, or the folder takes none: what to do is told.
pub fn save_new(path: &Path, text: &str) -> Result<(), String> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            format!("{}: is there already, and nothing is overwritten. Name another file.", path.display())
        }
        _ => format!("{}: cannot be written: {error}.", path.display()),
    })
}

fn numbered(name: &str, number: u32) -> String {
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
    fn nothing_is_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> =
            ["a", "b", "c"].map(|text| save(dir.path(), "plan.json", text).unwrap()).into();
        let names: Vec<_> = paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["plan.json", "plan-2.json", "plan-3.json"]);
        assert_eq!(std::fs::read_to_string(&paths[0]).unwrap(), "a");
        assert_eq!(numbered("plan", 2), "plan-2");
        let error = save(&dir.path().join("nowhere"), "x", "").unwrap_err();
        assert!(error.contains("cannot be written"), "{error}");
    }
}
