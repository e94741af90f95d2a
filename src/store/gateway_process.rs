//! Finds a running gateway, or another program that writes to its databases.

use std::path::{Path, PathBuf};

/// Returns the id of a process that has one of these databases open for writing.
///
/// Only Linux shows that; elsewhere nothing is found, and the gateway's own lock stops its importer (sqlite J7).
pub fn find_writer(databases: &[PathBuf]) -> Option<u32> {
    let real: Vec<PathBuf> = databases.iter().filter_map(|path| path.canonicalize().ok()).collect();
    if !cfg!(target_os = "linux") || real.is_empty() {
        return None;
    }
    let processes = std::fs::read_dir("/proc").ok()?.flatten();
    let ids = processes.filter_map(|item| item.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|id| *id != std::process::id()).find(|id| writes_to(*id, &real))
}

fn writes_to(process: u32, databases: &[PathBuf]) -> bool {
    let folder = PathBuf::from(format!("/proc/{process}/fd"));
    let open = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_one = |link: &Path| std::fs::read_link(link).is_ok_and(|target| databases.contains(&target));
    open.map(|item| item.path()).filter(|link| is_one(link)).any(|link| is_open_for_writing(&link))
}

/// The link to an open file has the owner's write permission if the file is open for writing.
#[cfg(unix)]
fn is_open_for_writing(link: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    link.symlink_metadata().is_ok_and(|meta| meta.permissions().mode() & 0o200 != 0)
}

#[cfg(not(unix))]
fn is_open_for_writing(_: &Path) -> bool {
    false
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_that_writes_to_a_database_is_found_and_one_that_reads_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("openclaw-agent.sqlite");
        std::fs::File::create(&database).unwrap();
        let databases = [database.clone(), folder.path().join("missing.sqlite")];
        // `cat` waits for its closed-off input with the file open as its third descriptor.
        let held = |mode: &str| {
            let script = format!("exec 3{mode}\"$0\"; echo; exec cat");
            let mut command = Command::new("sh");
            command.args(["-c", &script]).arg(&database).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let mut ready = [0];
            std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
            let found = find_writer(&databases);
            let id = child.id();
            drop(child.stdin.take());
            child.wait().unwrap();
            (found, id)
        };
        let (found, id) = held("<>");
        assert_eq!(found, Some(id));
        assert_eq!(held("<").0, None);
        assert_eq!(find_writer(&databases), None);
    }
}
