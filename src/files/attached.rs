//! Files that a person attached to a request from another machine: their settings. They are read from memory, so that
//! answering such a request writes nothing to the disk of this machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

static ATTACHED: OnceLock<AttachedFiles> = OnceLock::new();

/// The files of a request. They belong to the process, as a process answers one request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AttachedFiles {
    /// The person's settings folder. Nothing below it is read from the disk of this machine.
    pub settings_folder: Option<PathBuf>,
    /// Texts by path.
    pub files: BTreeMap<PathBuf, String>,
}

/// Attaches the files of the request that this process answers; returns whether it was the first.
pub fn attach(files: AttachedFiles) -> bool {
    ATTACHED.set(files).is_ok()
}

/// Returns the person's settings folder; `None` when no request came from another machine.
pub fn settings_folder() -> Option<&'static Path> {
    ATTACHED.get()?.settings_folder.as_deref()
}

/// Returns the text of an attached file.
pub fn text(path: &Path) -> Option<&'static str> {
    ATTACHED.get()?.text(path)
}

/// Whether a path is below the person's settings folder without being attached, so that it does not exist.
pub fn is_missing(path: &Path) -> bool {
    ATTACHED.get().is_some_and(|attached| attached.is_missing(path))
}

/// Returns the attached files of a folder; `None` when no request came from another machine.
pub fn files_in(folder: &Path) -> Option<Vec<&'static Path>> {
    let attached = ATTACHED.get()?;
    Some(attached.files.keys().map(PathBuf::as_path).filter(|path| path.parent() == Some(folder)).collect())
}

impl AttachedFiles {
    fn text(&self, path: &Path) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    fn is_missing(&self, path: &Path) -> bool {
        let is_below = self.settings_folder.as_deref().is_some_and(|folder| path.starts_with(folder));
        is_below && self.text(path).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_settings_file_that_the_person_does_not_have_is_not_read_from_this_machine() {
        let attached = AttachedFiles {
            settings_folder: Some("/home/me/.config/clawscope".into()),
            files: [("/home/me/.config/clawscope/config.toml".into(), "utc".to_owned())].into(),
        };
        assert_eq!(attached.text(Path::new("/home/me/.config/clawscope/config.toml")), Some("utc"));
        assert!(!attached.is_missing(Path::new("/home/me/.config/clawscope/config.toml")));
        assert!(attached.is_missing(Path::new("/home/me/.config/clawscope/keymap.toml")));
        assert!(!attached.is_missing(Path::new("/home/me/.config/other")));
        assert!(!AttachedFiles::default().is_missing(Path::new("/a")));
    }
}
