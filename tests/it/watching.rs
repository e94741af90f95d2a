//! A store of 2,000 sessions while others write to it: added to, rewritten, cut, put aside, deleted, begun. `watch` and
//! the program's event loop report every entry once, in the order of its file.
#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use clawscope::app::event::Event;
use clawscope::gateway::env::Environment;
use clawscope::runtime::RunOptions;
use clawscope::runtime::run::Headless;
use clawscope::session::Mark;
use clawscope::session::list::list_sessions;
use clawscope::session::store_location::{StoreLocation, StoreRequest};
use clawscope::units::Moment;
use serde_json::Value;

use crate::support::writers::{self, Busy, Seen};

/// A debug build on a busy machine takes its time.
const DEADLINE: Duration = Duration::from_mins(4);

/// The program watching a store.
struct Watching {
    child: Child,
    lines: Receiver<Value>,
    /// Sequence numbers of the reported entries, by file, in order.
    reported: BTreeMap<String, Vec<u64>>,
    fates: Vec<(String, String)>,
    seen: Arc<Seen>,
}

impl Watching {
    fn start(store: &Path, variables: &[(&str, &str)]) -> Self {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("clawscope"));
        command.args(["watch", "--json"]).arg(store).env_clear().envs(variables.iter().copied());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let output = child.stdout.take().unwrap();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(serde_json::from_str(&line).unwrap()).is_err() {
                    return;
                }
            }
        });
        Self { child, lines, reported: BTreeMap::new(), fates: Vec::new(), seen: Arc::default() }
    }

    /// Takes a line; returns its kind of event.
    fn take(&mut self) -> String {
        let line = self.lines.recv_timeout(DEADLINE).expect("a line in time");
        self.note(&line)
    }

    fn note(&mut self, line: &Value) -> String {
        let event = line["event"].as_str().unwrap().to_owned();
        if event == "entry" {
            let (file, number) = line["entry"].as_str().unwrap().rsplit_once('-').unwrap();
            self.seen.add(line["entry"].as_str().unwrap());
            self.reported.entry(file.to_owned()).or_default().push(number.parse().unwrap());
        } else if let Some(path) = line["path"].as_str() {
            self.fates.push((event.clone(), path.rsplit('/').next().unwrap().to_owned()));
        }
        event
    }

    /// Takes lines until this entry is reported.
    fn until(&mut self, entry: &str) {
        let deadline = Instant::now() + DEADLINE;
        while !self.seen.has(entry) {
            assert!(Instant::now() < deadline, "{entry} was never reported");
            self.take();
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Checks that the program reports everything written while it watches once and in order, for any writer.
fn everything_is_reported_once(sessions: usize, variables: &[(&str, &str)]) -> Watching {
    let busy = Busy::new(sessions);
    let mut watching = Watching::start(busy.path(), variables);
    while watching.take() != "following" {}
    let writers = busy.start(&watching.seen);
    let deadline = Instant::now() + DEADLINE;
    while !writers.iter().all(std::thread::JoinHandle::is_finished) {
        assert!(Instant::now() < deadline, "the writers wait for an entry that is never reported");
        if let Ok(line) = watching.lines.recv_timeout(Duration::from_millis(50)) {
            watching.note(&line);
        }
    }
    let written: Vec<String> = writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect();
    for entry in &written {
        watching.until(entry);
    }
    // Repeated reports would come before this.
    busy.append(0, "end-0");
    watching.until("end-0");
    let expected: BTreeSet<&str> = written.iter().map(String::as_str).chain(["end-0"]).collect();
    for (file, numbers) in &watching.reported {
        assert!(numbers.is_sorted_by(|a, b| a < b), "{file} is reported in order and once: {numbers:?}");
        let unknown = numbers.iter().map(|number| format!("{file}-{number}"));
        let unknown: Vec<String> = unknown.filter(|entry| !expected.contains(entry.as_str())).collect();
        assert!(unknown.is_empty(), "never written while it watched: {unknown:?}");
    }
    watching
}

#[test]
fn of_2000_sessions_with_many_writers_watch_shows_every_entry_once() {
    let mut watching = everything_is_reported_once(2_000, &[]);
    let count =
        |watching: &Watching, what: &str| watching.fates.iter().filter(|(event, _)| event == what).count();
    let fates = [("archived", writers::ROTATED), ("gone", writers::DELETED)];
    while fates.iter().any(|(what, files)| count(&watching, what) < *files) {
        watching.take();
    }
    assert_eq!(fates.map(|(what, _)| count(&watching, what)), fates.map(|(_, files)| files));
    assert!(count(&watching, "rewritten") > 0);
}

#[test]
fn polling_watch_shows_every_entry_once() {
    let watching = everything_is_reported_once(300, &[("CLAWSCOPE_POLL", "1")]);
    assert!(watching.reported.len() > 10);
}

fn environment() -> Environment {
    Environment::new([("HOME", "/nonexistent"), ("TZ", "UTC")], None, "/".into())
}

/// Key, bytes, entries and archive mark of every session.
type Shown = BTreeMap<String, (u64, Option<u64>, bool)>;

/// Reads the store again: the list must show this in the end.
fn truth(store: &Path) -> Shown {
    let place = StoreLocation::new(&StoreRequest::Path(store.to_owned()), environment()).unwrap();
    let listed = list_sessions(&place, Moment::ZERO);
    let shown = listed.items.iter().map(|item| {
        let text = item.path.as_ref().and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
        let entries = text.lines().filter(|line| !line.contains("\"type\":\"session\"")).count() as u64;
        let aside = item.marks.iter().any(|mark| mark.is_archive());
        (item.key.0.clone(), (text.len() as u64, (!item.has(Mark::Missing)).then_some(entries), aside))
    });
    shown.collect()
}

fn shown(app: &clawscope::app::App) -> Shown {
    let items = app.sessions.items.iter();
    items
        .map(|item| {
            let aside = item.marks.iter().any(|mark| mark.is_archive());
            (item.key.0.clone(), (item.bytes.get(), item.entries, aside))
        })
        .collect()
}

#[tokio::test]
async fn the_session_list_and_the_open_session_follow_2000_sessions_with_many_writers() {
    let busy = Busy::new(2_000);
    let options = RunOptions { environment: environment(), ..RunOptions::default() };
    let mut program =
        Headless::start(StoreRequest::Path(busy.path().to_owned()), options, (120, 40)).unwrap();
    assert!(program.run_until(DEADLINE, |app| app.sessions.items.len() >= 2_000).await.unwrap());
    program.dispatch(Event::Paste(busy.key(0)));
    let is_open = |app: &clawscope::app::App| {
        app.displayed_session().is_some_and(|open| open.item.key.0 == busy.key(0))
    };
    assert!(program.run_until(DEADLINE, is_open).await.unwrap());
    let seen = Arc::new(Seen::everything());
    let writers = busy.start(&seen);
    let ended = |_: &clawscope::app::App| writers.iter().all(std::thread::JoinHandle::is_finished);
    assert!(program.run_until(DEADLINE, ended).await.unwrap());
    for writer in writers {
        writer.join().unwrap();
    }
    let expected = truth(busy.path());
    let is_true = program.run_until(DEADLINE, |app| shown(app) == expected).await.unwrap();
    let now = shown(program.app());
    let wrong: Vec<_> =
        expected.iter().filter(|(key, value)| now.get(*key) != Some(*value)).take(5).collect();
    let more: Vec<_> = now.keys().filter(|key| !expected.contains_key(*key)).take(5).collect();
    assert!(is_true, "missing or other: {wrong:?}; too many: {more:?}");
    // The open session holds every entry in the order of its file.
    let lines = busy.entries(0);
    let open = |app: &clawscope::app::App| {
        let index = &app.displayed_session().unwrap().index;
        index.iter().map(|(ix, _)| index.display_id(ix)).collect::<Vec<_>>()
    };
    assert!(
        program.run_until(DEADLINE, |app| open(app) == lines).await.unwrap(),
        "{:?}",
        open(program.app())
    );
}
