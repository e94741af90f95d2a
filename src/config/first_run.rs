//! Remembers that the first screen was introduced, so that no later start does it again.

use std::io;
use std::path::PathBuf;

use super::files::log_dir;
use crate::files;
use crate::gateway::env::Environment;

/// The file in the state folder that marks an introduced screen.
const MARKER: &str = "introduced";

/// Whether no screen was introduced yet. Without a home, which could remember it, none ever is.
pub fn is_first_run(env: &Environment) -> bool {
    let home = env.first(&["HOME", "USERPROFILE"]).map(PathBuf::from).or_else(|| env.os_home.clone());
    home.is_some_and(|home| home.is_dir()) && !log_dir(env).join(MARKER).exists()
}

/// Remembers that the screen was introduced.
///
/// # Errors
/// When the state folder cannot be written.
pub fn remember_first_run(env: &Environment) -> io::Result<()> {
    let marker: PathBuf = log_dir(env).join(MARKER);
    if let Some(folder) = marker.parent() {
        std::fs::create_dir_all(folder)?;
    }
    files::replace::replace(&marker, b"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_is_introduced_once_and_never_where_nothing_can_remember_it() {
        let home = tempfile::tempdir().unwrap();
        let env = Environment::new([("HOME", home.path().to_string_lossy())], None, "/".into());
        assert!(is_first_run(&env));
        remember_first_run(&env).unwrap();
        assert!(!is_first_run(&env));
        assert!(home.path().join(".local/state/clawscope").join(MARKER).is_file());
        let missing = home.path().join("missing");
        assert!(!is_first_run(&Environment::new([("HOME", missing.to_string_lossy())], None, "/".into())));
    }
}
