//! Folders looked at now and then: what lies in them, and what changed since. For file systems of other
//! machines, whose changes this one is not told of.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The files of a folder with their sizes (bytes) and times.
pub(super) type Seen = BTreeMap<PathBuf, (u64, Option<SystemTime>)>;

/// What lies in a folder now. One that cannot be read is empty.
pub(super) fn look(folder: &Path) -> Seen {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let seen = entries.filter_map(|entry| {
        let metadata = entry.metadata().ok()?;
        Some((entry.path(), (metadata.len(), metadata.modified().ok())))
    });
    seen.collect()
}

/// Files that came, went or changed.
pub(super) fn differences(before: &Seen, now: &Seen) -> Vec<PathBuf> {
    let other = |(path, state): &(&PathBuf, &(u64, Option<SystemTime>))| before.get(*path) != Some(*state);
    let new = now.iter().filter(other).map(|(path, _)| path.clone());
    let gone = before.keys().filter(|path| !now.contains_key(*path)).cloned();
    new.chain(gone).collect()
}

/// Clocks of file systems tick more coarsely than the system's, ms.
const TICK_MS: i64 = 50;

/// Files of a folder that changed since a moment (ms since 1970), and the folder itself where one came or went.
pub(super) fn changed_since(folder: &Path, seen: &Seen, ms: i64) -> Vec<PathBuf> {
    let from = SystemTime::UNIX_EPOCH + Duration::from_millis(ms.saturating_sub(TICK_MS).max(0) as u64);
    let own = std::fs::metadata(folder).and_then(|metadata| metadata.modified()).ok();
    let all = seen.iter().map(|(path, (_, time))| (path.as_path(), *time)).chain([(folder, own)]);
    all.filter(|(_, time)| time.is_some_and(|time| time >= from))
        .map(|(path, _)| path.to_path_buf())
        .collect()
}

/// Whether a folder lies on a file system whose changes may be made by other machines.
#[cfg(target_os = "linux")]
pub(super) fn is_remote(folder: &Path) -> bool {
    /// `f_type` of NFS, SMB (three kinds), 9P, AFS, Ceph, and FUSE, which sshfs and virtiofs are.
    const REMOTE: [u64; 8] =
        [0x6969, 0x517B, 0xFF53_4D42, 0xFE53_4D42, 0x0102_1997, 0x5346_414F, 0x00C3_6400, 0x6573_5546];
    // Of a signed type some values are negative; their lower half is the number.
    rustix::fs::statfs(folder).is_ok_and(|stat| REMOTE.contains(&(stat.f_type as u64 & 0xFFFF_FFFF)))
}

/// Whether a folder lies on a file system whose changes may be made by other machines; unknown here.
#[cfg(not(target_os = "linux"))]
pub(super) fn is_remote(_folder: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn files_that_come_grow_and_go_are_told() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
            path
        };
        let (kept, grown, gone) = (file("kept", "x"), file("grown", "x"), file("gone", "x"));
        let before = look(dir.path());
        assert_eq!(before.len(), 3);
        file("grown", "xyz");
        let new = file("new", "");
        std::fs::remove_file(&gone).unwrap();
        let told = differences(&before, &look(dir.path()));
        assert_eq!(told, [grown, new, gone]);
        assert!(!told.contains(&kept));
        assert!(look(&dir.path().join("nowhere")).is_empty());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_folder_of_this_machine_is_not_remote() {
        assert!(!is_remote(Path::new("/proc")));
    }
}
