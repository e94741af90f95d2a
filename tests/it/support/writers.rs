//! A store with many sessions, and other programs that write to it like a gateway, a person or a repair.

use clawscope::units::Moment;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// Rounds of each writer.
const ROUNDS: u64 = 12;
/// Sessions that are archived, and that are deleted.
pub(crate) const ROTATED: usize = 6;
pub(crate) const DELETED: usize = 4;
/// Between two writes: time enough for some to be noticed one by one, and for others not.
const PAUSE: Duration = Duration::from_millis(15);

/// Time of the entries that existed before, ms since 1970.
const OLD_MS: i64 = 1_772_704_801_000;

/// The entries noticed so far.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    entries: Mutex<BTreeSet<String>>,
    more: Condvar,
    everything: bool,
}

impl Seen {
    /// Marks all entries as noticed, so that no writer waits.
    pub(crate) fn everything() -> Self {
        Self { everything: true, ..Self::default() }
    }

    pub(crate) fn add(&self, entry: &str) {
        self.entries.lock().unwrap().insert(entry.to_owned());
        self.more.notify_all();
    }

    pub(crate) fn has(&self, entry: &str) -> bool {
        self.everything || self.entries.lock().unwrap().contains(entry)
    }

    /// Waits until an entry is noticed. A test that waits in vain has its own deadline.
    fn wait(&self, entry: &str) {
        let mut entries = self.entries.lock().unwrap();
        while !self.everything && !entries.contains(entry) {
            entries = self.more.wait(entries).unwrap();
        }
    }
}

/// A busy store.
pub(crate) struct Busy {
    dir: tempfile::TempDir,
}

fn name(at: usize) -> String {
    format!("s{at:05}")
}

fn header(id: &str) -> String {
    format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\",\"timestamp\":\"2026-03-05T10:00:00.000Z\",\"cwd\":\"/w\"}}\n"
    )
}

/// An entry called `<file>-<number>`, under the one before it, written now.
fn line(entry: &str) -> String {
    line_at(entry, jiff::Timestamp::now().as_millisecond())
}

/// The same, written at a time (ms since 1970).
fn line_at(entry: &str, ms: i64) -> String {
    let (file, number) = entry.rsplit_once('-').unwrap();
    let parent = number
        .parse::<u64>()
        .unwrap()
        .checked_sub(1)
        .map_or("null".to_owned(), |n| format!("\"{file}-{n}\""));
    format!(
        "{{\"type\":\"message\",\"id\":\"{entry}\",\"parentId\":{parent},\"timestamp\":\"{}\",\"message\":{{\"role\":\"user\",\"content\":\"words of {entry}\",\"timestamp\":{ms}}}}}\n",
        clawscope::js::iso_text(Moment::from_whole(ms))
    )
}

impl Busy {
    /// Four of five sessions have a row; each has two entries.
    pub(crate) fn new(sessions: usize) -> Self {
        let busy = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir_all(busy.sessions()).unwrap();
        let mut rows = String::from("{");
        for at in 0..sessions {
            let name = name(at);
            let old = format!("{name}old");
            let text =
                header(&name) + &line_at(&format!("{old}-0"), OLD_MS) + &line_at(&format!("{old}-1"), OLD_MS);
            create(&busy.file(at), &text);
            if at % 5 != 4 {
                let comma = if rows.len() > 1 { "," } else { "" };
                write!(rows, "{comma}\n\"{}\":{{\"sessionId\":\"{name}\",\"updatedAt\":{at}}}", busy.key(at))
                    .unwrap();
            }
        }
        create(&busy.sessions().join("sessions.json"), &(rows + "}"));
        busy
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    fn sessions(&self) -> PathBuf {
        self.path().join("agents/main/sessions")
    }

    fn file(&self, at: usize) -> PathBuf {
        self.sessions().join(format!("{}.jsonl", name(at)))
    }

    /// The key of a session that has a row.
    #[expect(clippy::unused_self, reason = "a key of this store")]
    pub(crate) fn key(&self, at: usize) -> String {
        format!("agent:main:telegram:direct:{}", 10_000 + at)
    }

    /// Adds an entry to a session.
    pub(crate) fn append(&self, at: usize, entry: &str) {
        append(&self.file(at), &line(entry));
    }

    /// The entries of a session in the order of its file.
    pub(crate) fn entries(&self, at: usize) -> Vec<String> {
        let text = fs::read_to_string(self.file(at)).unwrap();
        let lines = text.lines().skip(1).map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        lines.map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
    }

    /// Starts all writers. Each returns its entries.
    pub(crate) fn start(&self, seen: &Arc<Seen>) -> Vec<JoinHandle<Vec<String>>> {
        let dir = self.sessions();
        let files =
            |from: usize, count: usize| (from..from + count).map(|at| (name(at), self.file(at))).collect();
        let begin = |write: fn(&Files, &Path, &Seen) -> Vec<String>, own: Vec<(String, PathBuf)>| {
            let (dir, seen) = (dir.clone(), Arc::clone(seen));
            std::thread::spawn(move || write(&own, &dir, &seen))
        };
        vec![
            begin(add, files(0, 5)),
            begin(add, files(40, 5)),
            begin(add_in_pieces, files(80, 4)),
            begin(replace, files(120, 4)),
            begin(cut_and_write_anew, files(160, 4)),
            begin(put_aside, files(200, ROTATED)),
            begin(delete, files(240, DELETED)),
            begin(create_new, Vec::new()),
            begin(come_and_go, Vec::new()),
        ]
    }
}

type Files = [(String, PathBuf)];

fn create(path: &Path, text: &str) {
    File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
}

fn append(path: &Path, text: &str) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

fn pause() {
    std::thread::park_timeout(PAUSE);
}

/// Calls with a file and the name of its next entry, round by round; all names.
fn each(files: &Files, mut write: impl FnMut(&Path, &str)) -> Vec<String> {
    let mut written = Vec::new();
    for round in 0..ROUNDS {
        for (name, path) in files {
            let entry = format!("{name}-{round}");
            write(path, &entry);
            written.push(entry);
            pause();
        }
    }
    written
}

fn add(files: &Files, _dir: &Path, _seen: &Seen) -> Vec<String> {
    each(files, |path, entry| append(path, &line(entry)))
}

/// A line comes in two writes (store J7).
fn add_in_pieces(files: &Files, _dir: &Path, _seen: &Seen) -> Vec<String> {
    each(files, |path, entry| {
        let text = line(entry);
        let (first, rest) = text.split_at(text.len() / 2);
        append(path, first);
        pause();
        append(path, rest);
    })
}

/// Writes the file again next to the old one and renames it over that, as repairs do (store J13).
fn replace(files: &Files, _dir: &Path, _seen: &Seen) -> Vec<String> {
    each(files, |path, entry| {
        let text = fs::read_to_string(path).unwrap() + &line(entry);
        let other = path.with_extension("jsonl.repair-1-2.tmp");
        create(&other, &text);
        fs::rename(other, path).unwrap();
    })
}

/// Empties the file and writes it again in place, as migrations do (store L4).
fn cut_and_write_anew(files: &Files, _dir: &Path, _seen: &Seen) -> Vec<String> {
    each(files, |path, entry| {
        let text = fs::read_to_string(path).unwrap() + &line(entry);
        let half = text.len() / 2;
        let mut file = File::create(path).unwrap();
        file.write_all(&text.as_bytes()[..half]).unwrap();
        pause();
        file.write_all(&text.as_bytes()[half..]).unwrap();
    })
}

fn archive(path: &Path, reason: &str, number: usize) {
    let mut name = path.file_name().unwrap().to_os_string();
    name.push(format!(".{reason}.2026-03-05T10-00-{number:02}.000Z"));
    fs::rename(path, path.with_file_name(name)).unwrap();
}

/// Appends a last entry and archives the transcript at once (store F2).
fn put_aside(files: &Files, _dir: &Path, _seen: &Seen) -> Vec<String> {
    let mut written = Vec::new();
    for (number, (name, path)) in files.iter().enumerate() {
        for at in 0..3 {
            let entry = format!("{name}-{at}");
            append(path, &line(&entry));
            written.push(entry);
        }
        archive(path, if number % 2 == 0 { "reset" } else { "deleted" }, number);
        pause();
    }
    written
}

/// A deleted file cannot be read: it is removed after its last entry was noticed.
fn delete(files: &Files, _dir: &Path, seen: &Seen) -> Vec<String> {
    let mut written = Vec::new();
    for (name, path) in files {
        let entry = format!("{name}-0");
        append(path, &line(&entry));
        seen.wait(&entry);
        fs::remove_file(path).unwrap();
        written.push(entry);
    }
    written
}

/// Creates sessions, in time with the other writers.
fn create_new(_files: &Files, dir: &Path, _seen: &Seen) -> Vec<String> {
    let mut written = Vec::new();
    for at in 0..ROUNDS {
        let name = format!("new{at}");
        let path = dir.join(format!("{name}.jsonl"));
        let first = format!("{name}-0");
        create(&path, &(header(&name) + &line(&first)));
        pause();
        append(&path, &line(&format!("{name}-1")));
        written.extend([first, format!("{name}-1")]);
    }
    written
}

/// Creates sessions and archives them before most polls.
fn come_and_go(_files: &Files, dir: &Path, _seen: &Seen) -> Vec<String> {
    let mut written = Vec::new();
    for at in 0..5 {
        let name = format!("brief{at}");
        let path = dir.join(format!("{name}.jsonl"));
        let first = format!("{name}-0");
        create(&path, &(header(&name) + &line(&first)));
        archive(&path, "reset", at);
        written.push(first);
        pause();
    }
    written
}
