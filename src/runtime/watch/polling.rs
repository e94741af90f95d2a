//! Polls a folder: its files, and the changes since the last poll. For network file systems, whose changes by other
//! machines reach no local watcher, and for systems that refuse to watch.
//!
//! A poll does as few system calls as it can. It reads the names only when the folder's own time changed, skips files
//! that never change (archives), checks session lists and recently changed or locked transcripts every time, and
//! checks the other files in turn, an eighth per poll.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::store::archive::{FileKind, classify};
use crate::store::source::file_identity;
use crate::units::{Millis, Moment};

/// The time between two polls.
pub(super) const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Polls until an idle file is checked again.
const POLL_TURNS: usize = 8;
/// Polls for which a changed file is checked every time.
const WARM_POLLS: u32 = 60;
/// Some file systems count time in steps of 2 s, so two changes of the names within this time may leave the folder
/// with one time.
const FOLDER_TIME_TICK: Duration = Duration::from_secs(3);

/// Length, modified time, inode and status change time (mixed into one number); a difference in any of them is a
/// change. The status change time catches writers that reset the modified time.
type FileStamp = (u64, Option<SystemTime>, u64, i64);

#[derive(Debug, Clone, PartialEq)]
struct PolledFile {
    stamp: Option<FileStamp>,
    /// The remaining polls that check it every time.
    warm_polls: u32,
}

/// The files of a folder at the last poll.
#[derive(Debug, Default)]
pub(super) struct FolderSnapshot {
    files: BTreeMap<OsString, PolledFile>,
    modified: Option<SystemTime>,
    turn: usize,
}

impl FolderSnapshot {
    /// Takes the first snapshot. An unreadable folder counts as empty.
    pub(super) fn new(folder: &Path) -> Self {
        let modified = modified_time(folder);
        let named = |name: OsString| {
            let stamp = read_stamp(&folder.join(&name));
            (name, PolledFile { stamp, warm_polls: 0 })
        };
        Self { files: relevant_names(folder).map(|(name, _)| named(name)).collect(), modified, turn: 0 }
    }

    /// Returns files that appeared, vanished or changed since the last poll.
    pub(super) fn poll(&mut self, folder: &Path) -> Vec<PathBuf> {
        let mut changed = self.refresh_names(folder);
        self.turn = (self.turn + 1) % POLL_TURNS;
        let locked = |name: &OsString, files: &BTreeMap<OsString, PolledFile>| {
            let mut lock = name.clone();
            lock.push(".lock");
            files.contains_key(&lock)
        };
        let requested: Vec<OsString> = self
            .files
            .iter()
            .enumerate()
            .filter(|(at, (name, file))| {
                let is_turn = at % POLL_TURNS == self.turn;
                may_change(name)
                    && (file.warm_polls > 0 || is_turn || is_session_list(name) || locked(name, &self.files))
            })
            .map(|(_, (name, _))| name.clone())
            .collect();
        for name in requested {
            let path = folder.join(&name);
            let Some(file) = self.files.get_mut(&name) else { continue };
            file.warm_polls = file.warm_polls.saturating_sub(1);
            let now = read_stamp(&path);
            if file.stamp != now {
                *file = PolledFile { stamp: now, warm_polls: WARM_POLLS };
                changed.push(path);
            }
        }
        changed
    }

    /// Reads the names again if they may have changed; returns those that appeared or vanished.
    fn refresh_names(&mut self, folder: &Path) -> Vec<PathBuf> {
        let time = modified_time(folder);
        let is_fresh = time.is_some_and(|time| time.elapsed().is_ok_and(|age| age < FOLDER_TIME_TICK));
        if time == self.modified && !is_fresh {
            return Vec::new();
        }
        self.modified = time;
        let mut before = std::mem::take(&mut self.files);
        let mut changed = Vec::new();
        for (name, inode) in relevant_names(folder) {
            let path = folder.join(&name);
            let mut file = before.remove(&name).unwrap_or_else(|| {
                changed.push(path.clone());
                PolledFile { stamp: read_stamp(&path), warm_polls: WARM_POLLS }
            });
            // Another file replaced it: it is checked at once.
            let is_another = inode.is_some() && inode != file.stamp.map(|(_, _, inode, _)| inode);
            file.warm_polls = file.warm_polls.max(u32::from(is_another));
            self.files.insert(name, file);
        }
        changed.extend(before.into_keys().map(|gone| folder.join(gone)));
        changed
    }
}

/// The relevant names in a folder, with their inodes if the system lists them.
fn relevant_names(folder: &Path) -> impl Iterator<Item = (OsString, Option<u64>)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.map(|entry| (entry.file_name(), inode_of(&entry)));
    named.filter(|(name, _)| is_relevant(Path::new(name)))
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems have none")]
fn inode_of(entry: &std::fs::DirEntry) -> Option<u64> {
    Some(std::os::unix::fs::DirEntryExt::ino(entry))
}

#[cfg(not(unix))]
fn inode_of(_entry: &std::fs::DirEntry) -> Option<u64> {
    None
}

fn is_session_list(name: &OsString) -> bool {
    name == "sessions.json"
}

/// Archives never change, and of a lock only the existence matters.
fn may_change(name: &OsString) -> bool {
    !matches!(classify(&name.to_string_lossy()), FileKind::Archive(_) | FileKind::Lock(_))
}

fn read_stamp(path: &Path) -> Option<FileStamp> {
    std::fs::symlink_metadata(path).ok().map(|meta| stamp_of(&meta))
}

fn stamp_of(meta: &Metadata) -> FileStamp {
    #[cfg(unix)]
    let status =
        std::os::unix::fs::MetadataExt::ctime(meta) ^ std::os::unix::fs::MetadataExt::ctime_nsec(meta);
    #[cfg(not(unix))]
    let status = 0;
    (meta.len(), meta.modified().ok(), file_identity(meta).inode, status)
}

fn modified_time(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|meta| meta.modified()).ok()
}

/// File systems round times more coarsely than the system clock.
const FILE_TIME_TICK: Millis = Millis(50.0);

/// Returns the files of a folder that changed since a moment, and the folder itself if a name appeared or
/// vanished; nothing since [`Moment::NEVER`].
pub(super) fn changed_since(folder: &Path, since: Moment) -> Vec<PathBuf> {
    if since == Moment::NEVER {
        return Vec::new();
    }
    let from = SystemTime::UNIX_EPOCH
        + Duration::from_millis((since - FILE_TIME_TICK).max(Moment::ZERO).whole().unsigned_abs());
    let inside = relevant_names(folder).map(|(name, _)| folder.join(name));
    inside
        .chain([folder.to_path_buf()])
        .filter(|path| modified_time(path).is_some_and(|time| time >= from))
        .collect()
}

/// Whether a file can affect the screen: transcripts, archives, locks, rows, configs and folders. Temporary files of
/// writers cannot.
pub(super) fn is_relevant(path: &Path) -> bool {
    let Some(name) = path.file_name().map(|name| name.to_string_lossy()) else { return true };
    match name.rsplit_once('.') {
        None | Some(("", _) | (_, "jsonl" | "json" | "json5" | "lock")) => true,
        _ => name.contains(".jsonl.") && !name.ends_with(".tmp"),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn file(dir: &Path, name: &str, text: &str) -> PathBuf {
        let path = dir.join(name);
        std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
        path
    }

    /// Polls until every file had its turn; returns all changes.
    fn all_turns(looked: &mut FolderSnapshot, dir: &Path) -> Vec<PathBuf> {
        let mut reported: Vec<PathBuf> = (0..POLL_TURNS).flat_map(|_| looked.poll(dir)).collect();
        reported.sort();
        reported
    }

    #[test]
    fn new_grown_replaced_and_removed_files_are_reported_once() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let [kept, grown, replaced, gone] =
            ["a.jsonl", "b.jsonl", "c.jsonl", "d.jsonl"].map(|name| file(dir, name, "xyz"));
        file(dir, "notes.txt", "x");
        let mut looked = FolderSnapshot::new(dir);
        assert_eq!(all_turns(&mut looked, dir), [] as [PathBuf; 0]);
        file(dir, "b.jsonl", "xyz and more");
        let time = std::fs::metadata(&replaced).unwrap().modified().unwrap();
        let other = file(dir, "c.tmp", "XYZ");
        std::fs::File::options().write(true).open(&other).unwrap().set_modified(time).unwrap();
        std::fs::rename(&other, &replaced).unwrap();
        let new = file(dir, "e.jsonl.lock", "");
        std::fs::remove_file(&gone).unwrap();
        file(dir, "notes.txt", "xx");
        let reported = all_turns(&mut looked, dir);
        assert_eq!(reported, [grown, replaced, gone, new]);
        assert!(!reported.contains(&kept));
        assert!(all_turns(&mut looked, dir).is_empty());
        assert!(relevant_names(&dir.join("nowhere")).next().is_none());
    }

    #[test]
    fn polling_checks_recent_files_every_time_and_archives_never() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let archive = file(dir, "a.jsonl.reset.2026-02-21T05-16-55.686Z", "x");
        let names: Vec<String> = (0..20).map(|at| format!("s{at:02}.jsonl")).collect();
        for name in &names {
            file(dir, name, "x");
        }
        let mut looked = FolderSnapshot::new(dir);
        // The names were written just now, so they are read again until the folder's time is old enough to be
        // reliable.
        looked.files.values_mut().for_each(|file| file.warm_polls = 0);
        let live = file(dir, "s07.jsonl", "xy");
        assert_eq!(all_turns(&mut looked, dir).as_slice(), std::slice::from_ref(&live));
        for text in ["xyz", "xyz.", "xyz.."] {
            file(dir, "s07.jsonl", text);
            assert_eq!(looked.poll(dir).as_slice(), std::slice::from_ref(&live), "{text}");
        }
        file(dir, archive.file_name().unwrap().to_str().unwrap(), "other");
        assert!(all_turns(&mut looked, dir).is_empty());
    }
}
