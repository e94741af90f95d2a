//! Finds programs in the folders of `PATH`, as a shell does.

use std::path::{Path, PathBuf};

use super::env::{Environment, absolute};

/// Returns the file that runs for `program`: the path itself if it is one, else the first match in `PATH`.
pub fn find_program(env: &Environment, program: &str) -> Option<PathBuf> {
    if program.is_empty() {
        return None;
    }
    if program.contains(std::path::is_separator) {
        return runnable(absolute(&env.cwd, Path::new(program)));
    }
    let folders = env.verbatim("PATH").unwrap_or_default();
    std::env::split_paths(folders).find_map(|folder| runnable(absolute(&env.cwd, &folder.join(program))))
}

/// Returns the path if it is a program, with the system's suffix where it needs one.
fn runnable(path: PathBuf) -> Option<PathBuf> {
    if is_runnable(&path) {
        return Some(path);
    }
    let suffix = std::env::consts::EXE_EXTENSION;
    let with_suffix = path.with_extension(suffix);
    (!suffix.is_empty() && is_runnable(&with_suffix)).then_some(with_suffix)
}

#[cfg(unix)]
fn is_runnable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_runnable(path: &Path) -> bool {
    path.is_file()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::OpenOptionsExt as _;

    use super::*;

    #[test]
    fn the_first_folder_with_a_program_of_that_name_wins() {
        let dir = tempfile::tempdir().unwrap();
        let make = |path: &str, mode: u32| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(mode)
                .open(path)
                .unwrap();
        };
        make("a/tool", 0o644);
        make("b/tool", 0o755);
        make("c/tool", 0o755);
        std::fs::create_dir_all(dir.path().join("b/folder")).unwrap();
        let path = format!("{0}/a:b:{0}/c:{0}/nowhere", dir.path().display());
        let env = Environment::new([("PATH", path.as_str())], None, dir.path().to_path_buf());
        for (program, expected) in [
            ("tool", Some("b/tool")),
            ("c/tool", Some("c/tool")),
            ("./a/tool", None),
            ("folder", None),
            ("missing", None),
            ("", None),
        ] {
            let expected = expected.map(|path| dir.path().join(path));
            assert_eq!(find_program(&env, program), expected, "{program:?}");
        }
        assert_eq!(find_program(&Environment::new([("A", "b")], None, "/".into()), "sh"), None);
    }
}
