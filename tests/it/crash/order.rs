//! Power failures: the order of writes and syncs of a commit, and every state of the disk that a power failure can
//! leave after each prefix of them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clawscope::commit::{Disk, Place, SessionFolder, SystemClock, SystemDisk, write_to_disk};
use clawscope::units::{Bytes, Millis};

use super::cases::Case;
use super::kills::{Story, settled};

/// A step that changes the disk.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    Create(String),
    Write(String, Vec<u8>),
    Sync(String),
    SyncFolder,
    Truncate(String, u64),
    Remove(String),
}

impl Step {
    fn describe(&self) -> String {
        match self {
            Self::Create(name) => format!("create {name}"),
            Self::Write(name, _) => format!("write {name}"),
            Self::Sync(name) => format!("sync {name}"),
            Self::SyncFolder => "sync folder".to_owned(),
            Self::Truncate(name, _) => format!("truncate {name}"),
            Self::Remove(name) => format!("remove {name}"),
        }
    }
}

/// Performs and records every step.
#[derive(Debug)]
struct Recorder {
    folder: PathBuf,
    steps: RefCell<Vec<Step>>,
}

impl Recorder {
    fn push(&self, step: Step) {
        self.steps.borrow_mut().push(step);
    }

    /// The name of an open file in the folder.
    fn name(&self, file: &File) -> String {
        let inode = file.metadata().unwrap().ino();
        let mut items = fs::read_dir(&self.folder).unwrap().map(Result::unwrap);
        let item = items.find(|item| item.metadata().is_ok_and(|found| found.ino() == inode));
        // Only a lock has no name while it is written.
        item.map_or_else(|| "lock".to_owned(), |item| short_name(&item.path()))
    }
}

/// `session`, `lock` or `journal`.
fn short_name(path: &Path) -> String {
    let name = path.file_name().unwrap().to_str().unwrap();
    let kind = ["lock", "journal"].into_iter().find(|kind| name.ends_with(kind));
    kind.unwrap_or("session").to_owned()
}

impl Disk for Recorder {
    fn create(&self, at: Place<'_>, private: bool) -> io::Result<File> {
        let file = SystemDisk.create(at, private)?;
        self.push(Step::Create(short_name(&at.path())));
        Ok(file)
    }

    fn create_unnamed(&self, folder: &SessionFolder) -> io::Result<File> {
        let file = SystemDisk.create_unnamed(folder)?;
        self.push(Step::Create("lock".to_owned()));
        Ok(file)
    }

    fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<usize> {
        let count = SystemDisk.write(file, bytes)?;
        self.push(Step::Write(self.name(file), bytes[..count].to_vec()));
        Ok(count)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.push(Step::Sync(self.name(file)));
        SystemDisk.sync(file)
    }

    fn sync_dir(&self, folder: &SessionFolder) -> io::Result<()> {
        self.push(Step::SyncFolder);
        SystemDisk.sync_dir(folder)
    }

    fn truncate(&self, file: &File, bytes: Bytes) -> io::Result<()> {
        self.push(Step::Truncate(self.name(file), bytes.get()));
        SystemDisk.truncate(file, bytes)
    }

    fn set_modified(&self, file: &File, at: SystemTime) -> io::Result<()> {
        SystemDisk.set_modified(file, at)
    }

    fn remove(&self, at: Place<'_>) -> io::Result<()> {
        self.push(Step::Remove(short_name(&at.path())));
        SystemDisk.remove(at)
    }
}

/// Commits in a temporary folder and records the steps. The story and the folder hold the same transcript.
fn recorded(case: Case) -> (tempfile::TempDir, PathBuf, Vec<Step>) {
    let folder = tempfile::tempdir().unwrap();
    let path = case.set_up(folder.path());
    let recorder = Recorder { folder: folder.path().to_path_buf(), steps: RefCell::default() };
    let prepared = case.prepare(&case.open(&path));
    write_to_disk(&recorder, &prepared, Millis::ZERO, &SystemClock).unwrap();
    (folder, path, recorder.steps.into_inner())
}

#[test]
fn a_commit_syncs_its_journal_before_the_transcript_and_the_transcript_before_it_removes_the_journal() {
    for case in Case::ALL {
        let (_folder, _, steps) = recorded(case);
        let words: Vec<String> =
            steps.iter().map(Step::describe).filter(|words| !words.ends_with("lock")).collect();
        let expected = [
            "create journal",
            "write journal",
            "sync journal",
            "sync folder",
            "write session",
            "sync session",
            "remove journal",
        ];
        assert_eq!(words, expected, "{case:?}");
    }
}

/// A file after a power failure: the synced content, and the later writes that may have reached the disk.
#[derive(Debug, Clone, Default)]
struct Durable {
    /// Whether the name is certainly on the disk.
    name_synced: bool,
    named: bool,
    synced: Vec<u8>,
    content: Vec<u8>,
}

/// The contents that a file may have, `None` for no file.
fn possible(file: &Durable) -> Vec<Option<Vec<u8>>> {
    let mut contents = Vec::new();
    if !(file.name_synced && file.named) {
        contents.push(None);
    }
    if file.name_synced || file.named {
        let half = file.synced.len().midpoint(file.content.len());
        contents.push(Some(file.synced.clone()));
        contents.push(Some(file.content[..half.min(file.content.len())].to_vec()));
        contents.push(Some(file.content.clone()));
    }
    contents.dedup();
    contents
}

/// The files after the first `count` steps.
fn after(steps: &[Step], old: &[u8]) -> BTreeMap<String, Durable> {
    let transcript = Durable { name_synced: true, named: true, synced: old.to_vec(), content: old.to_vec() };
    let mut files = BTreeMap::from([("session".to_owned(), transcript)]);
    for step in steps {
        match step {
            Step::Create(name) => {
                files.insert(name.clone(), Durable { named: true, ..Durable::default() });
            }
            Step::Write(name, bytes) => files.get_mut(name).unwrap().content.extend_from_slice(bytes),
            Step::Sync(name) => {
                let file = files.get_mut(name).unwrap();
                file.synced.clone_from(&file.content);
            }
            Step::SyncFolder => files.values_mut().for_each(|file| file.name_synced = file.named),
            Step::Truncate(name, bytes) => files.get_mut(name).unwrap().content.truncate(*bytes as usize),
            Step::Remove(name) => {
                files.get_mut(name).unwrap().named = false;
            }
        }
    }
    files
}

fn put(path: &Path, bytes: &[u8]) {
    // Rewritten in place: the journal names the inode of the transcript.
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path).unwrap().write_all(bytes).unwrap();
}

#[test]
fn a_power_failure_after_any_step_leaves_the_old_context_or_the_new_one() {
    let (mut states, mut found) = (0, BTreeMap::<&str, usize>::new());
    for case in [Case::Branch, Case::Compaction, Case::Unended] {
        let (_folder, path, steps) = recorded(case);
        let new = fs::read(&path).unwrap();
        let story = Story::of(case);
        assert_eq!((story.new.len(), &story.new[..story.old.len()]), (new.len(), &new[..story.old.len()]));
        let journal = path.with_file_name("session.jsonl.clawscope-journal");
        for count in 0..=steps.len() {
            let files = after(&steps[..count], &story.old);
            let journals = files.get("journal").map_or(vec![None], possible);
            for transcript in possible(&files["session"]).into_iter().flatten() {
                for left in &journals {
                    put(&path, &transcript);
                    let _ = fs::remove_file(&journal);
                    if let Some(bytes) = left {
                        put(&journal, bytes);
                    }
                    // The restart ended the holder of the lock, which no file outlives here.
                    let state = settled(&story, &path, count);
                    *found.entry(state).or_default() += 1;
                    let synced = steps[..count].contains(&Step::Sync("session".into()));
                    assert!(
                        !synced || state == "new",
                        "{case:?}: a synced commit is lost after step {count}"
                    );
                    states += 1;
                }
            }
        }
    }
    println!("{states} states after a power failure: {found:?}");
    assert!(states >= 50 && found["old"] > 10 && found["new"] > 10, "{states}: {found:?}");
}
